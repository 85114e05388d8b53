"""The guides of tables and of shards: commands are run with the installed program, blocks of Python with what engines are here."""

import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run_guide(name, count, folder, monkeypatch):
    """Runs the blocks of a guide that need no more than the repository: what Python has named, and the engines that are missing."""
    (folder / "testdata").symlink_to(ROOT / "testdata")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]))
    text = (ROOT / "docs" / "guide" / name).read_text()
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == count
    names, skipped = {}, set()
    for language, block in blocks:
        # What a page removes at its end is looked at here.
        if block.startswith("rm "):
            continue
        if language == "sh":
            done = subprocess.run(["bash", "-euc", block], capture_output=True, text=True)
            assert done.returncode == 0, done
            continue
        needs = re.match(r"# needs: (.*)\n", block).group(1).split()
        missing = [name for name in needs if not importlib.util.find_spec(name)]
        skipped.update(missing)
        if not missing:
            exec(compile(block, f"docs/guide/{name}", "exec"), names)
    return names, skipped


def skip_without(engines):
    if engines:
        pytest.skip(f"not installed, their block was not run: {', '.join(sorted(engines))}")


def test_the_guide_of_tables(tmp_path, monkeypatch):
    names, skipped = run_guide("tables.md", 7, tmp_path, monkeypatch)
    if "exact" in names:
        assert names["exact"] == pytest.approx(names["delta"], abs=1)
    skip_without(skipped)


def test_the_guide_of_shards(tmp_path, monkeypatch):
    run_guide("scale.md", 2, tmp_path, monkeypatch)
    assert (tmp_path / "all.parquet").is_file()
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.sql("select count(distinct scenario) from 'all.parquet'").fetchall() == [(4,)]


@pytest.mark.parametrize("engine", ["pyarrow", "duckdb", "polars", "pandas", "pyspark"])
def test_every_engine_reads_every_type(engine, tmp_path):
    pytest.importorskip(engine)
    if engine == "pandas":
        pytest.importorskip("pyarrow")
    if engine == "pyspark" and not shutil.which("java"):
        pytest.skip("Spark needs Java, which is not installed")
    scenario = ROOT / "testdata" / "scenarios" / "qwen3_32b_decode"
    path = tmp_path / "leaves.parquet"
    command = ["explain-prediction", "--tc-trace", scenario / "trace.json", "--prof-trace", scenario / "forward_pass.csv"]
    program = Path(sysconfig.get_path("scripts")) / "perfdb"
    subprocess.run([program, *command, "--parquet", path], check=True, capture_output=True)
    if engine == "pyarrow":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
        assert table.schema.metadata[b"perfdb.table"] == b"leaves"
        types = dict(zip(table.schema.names, map(str, table.schema.types)))
        assert types["difference_us"] == "double" and types["difference_ps"] == "int64" and types["cause"] == "string"
        whole = sum(table["difference_ps"].to_pylist())
    elif engine == "duckdb":
        import duckdb

        ((whole,),) = duckdb.sql(f"select sum(difference_ps) from '{path}'").fetchall()
    elif engine == "polars":
        import polars

        whole = polars.read_parquet(path)["difference_ps"].sum()
    elif engine == "pyspark":
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        table = spark.read.parquet(str(path))
        types = dict(table.dtypes)
        whole = sum(row.difference_ps for row in table.select("difference_ps").collect())
        spark.stop()
        assert types["difference_us"] == "double" and types["difference_ps"] == "bigint" and types["cause"] == "string"
    else:
        import pandas

        whole = pandas.read_parquet(path)["difference_ps"].sum()
    import perfdb

    result = perfdb.explain_prediction(scenario / "trace.json", scenario / "forward_pass.csv")
    assert whole == result.difference_ps
