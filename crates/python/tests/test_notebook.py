"""The notebook of docs runs from top to bottom."""

from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_the_notebook_runs():
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: the notebook was not run")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("pandas")
    notebook = nbformat.read(DOCS / "notebooks" / "ask-a-database.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(DOCS)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("<iframe" in output.get("data", {}).get("text/html", "") for output in shown)
