"""The examples of README and guide run, one after the other, beside the test data."""

import importlib.util
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def test_the_guide_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text() + (ROOT / "docs" / "guide" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    names, skipped = {}, set()
    for block in blocks:
        needs = re.match(r"# needs: (.*)\n", block)
        missing = [name for name in needs.group(1).split() if not importlib.util.find_spec(name)] if needs else []
        if missing:
            skipped.update(missing)
            continue
        exec(compile(block, "docs/guide/python.md", "exec"), names)
    shown = capsys.readouterr().out
    assert "9.603 MEASURED ['MatMulV2.csv:52']" in shown and os.getcwd() == str(ROOT)
    if skipped:
        pytest.skip(f"not installed, their block was not run: {', '.join(sorted(skipped))}")
