"""Comparisons, checks and readers: the same figures as the tools'."""

import json
import subprocess

import perfdb
import pytest
from perfdb._tools import launcher


def tool(*arguments):
    done = subprocess.run([*launcher(), *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.stdout


@pytest.fixture
def gpu_traces(testdata):
    return sorted((testdata / "gpu-traces").rglob("*.json"))[:2]


def test_explain_prediction_is_the_tool(testdata, tmp_path):
    scenario = testdata / "scenarios" / "qwen3_32b_decode"
    files = scenario / "trace.json", scenario / "forward_pass.csv"
    result = perfdb.explain_prediction(*files, data_dir=testdata / "scenarios")
    assert result.difference_ps == sum(leaf.difference_ps for leaf in result.leaves)
    out = tmp_path / "explained.json"
    tool("explain-prediction", "--tc-trace", files[0], "--prof-trace", files[1], "--data-dir", testdata / "scenarios", "--json", out)
    assert result.to_dict() == json.loads(out.read_text())
    assert "<table>" in result.leaves[0]._repr_html_()


def test_compare_traces_is_the_tool(gpu_traces):
    result = perfdb.compare_traces(*gpu_traces)
    told = json.loads(tool("compare-traces", *gpu_traces, "--format", "json"))
    assert result.operations[0].operation == told["operations"][0]["operation"]
    assert result.to_dict() == told


def test_check_trace_is_the_tool(gpu_traces):
    for path in gpu_traces:
        assert perfdb.check_trace(path).to_dict() == json.loads(tool("check-trace", path, "--json"))


def test_forecast_is_the_tool(testdata, tmp_path):
    model, database = testdata / "forecast" / "model", testdata / "forecast" / "tables" / "h100_sxm" / "vllm" / "1.0.0"
    result = perfdb.forecast(model, database, tp=[1, 2, 3], batch=[1, 16])
    out = tmp_path / "forecast.json"
    tool("forecast", "--model", model, "--database-path", database, "--tp", "1,2", "--batch", "1,16", "-o", out)
    told = json.loads(out.read_text())
    assert result.to_dict()["forecasts"] == told["forecasts"]
    assert [refused.deployment for refused in result.refused] == ["tp 3, batch 1", "tp 3, batch 16"]
    first = result.forecasts[0].tpot
    assert first.low_ms < first.value_ms < first.high_ms
    assert perfdb.forecast(model, database, against=out).forecasts[0].against.tpot.value_ms == first.value_ms
    assert "<circle" in result.to_html()


def test_forecast_says_what_is_wrong(testdata):
    model, database = testdata / "forecast" / "model", testdata / "forecast" / "tables" / "h100_sxm" / "vllm" / "1.0.0"
    with pytest.raises(perfdb.Error, match="tensor parallel size: 3 does not divide the 16 heads"):
        perfdb.forecast(model, database, tp=3)
    with pytest.raises(ValueError, match="not bfloat16 or fp8"):
        perfdb.forecast(model, database, kv_cache="int4")
    with pytest.raises(perfdb.MissingFileError, match="no such file"):
        perfdb.forecast(testdata / "missing", database)
    with pytest.raises(ValueError, match="either model or layers"):
        perfdb.forecast(None, database)


def test_results_have_attributes_and_say_what_there_is(gpu_traces):
    result = perfdb.check_trace(gpu_traces[0])
    assert result.trust == result["trust"] and "trust" in dir(result)
    with pytest.raises(AttributeError, match="there are"):
        result.nothing


def test_notebooks_show_the_page(gpu_traces, testdata):
    scenario = testdata / "scenarios" / "qwen3_32b_decode"
    explained = perfdb.explain_prediction(scenario / "trace.json", scenario / "forward_pass.csv")
    for result in (explained, perfdb.compare_traces(*gpu_traces), perfdb.check_trace(gpu_traces[0])):
        page = result.to_html()
        assert page.startswith("<!doctype html>") and page.endswith("</html>") and "<table" in page
        shown = result._repr_html_()
        assert shown.startswith("<iframe srcdoc=") and shown.count('"') == 6 and "<script" not in shown


def test_names_are_escaped_in_notebooks():
    result = perfdb.Result({"name": "<script>", "rows": [{"kernel": "<b>"}]})
    shown = result._repr_html_()
    assert "<script>" not in shown and "<b>" not in shown and "&lt;script&gt;" in shown


def test_traces_stream_into_tables(gpu_traces):
    pyarrow = pytest.importorskip("pyarrow")
    events = json.loads(gpu_traces[0].read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    table = pyarrow.table(perfdb.read_trace(gpu_traces[0], args=["stream"]))
    assert table.num_rows == len(events)
    assert table["name"].to_pylist() == [event.get("name") for event in events]
    durations = [None if event.get("dur") is None else float(event["dur"]) for event in events]
    assert table["duration_us"].to_pylist() == durations
    streams = [event.get("args", {}).get("stream") for event in events]
    assert table["args.stream"].to_pylist() == [None if stream is None else str(stream) for stream in streams]


def test_kernel_tables_stream_too(testdata):
    path = testdata / "scenarios" / "qwen3_32b_decode" / "forward_pass.csv"
    stream = perfdb.read_kernels(path)
    table = stream.read_all()
    assert stream.column_names[0] == "line" and len(table) == len(path.read_text().splitlines()) - 1
    assert sum(len(batch) for batch in stream) == len(table) == len(stream.read_all())
    pyarrow = pytest.importorskip("pyarrow")
    read = [pyarrow.table(stream), pyarrow.table(stream)]
    assert read[0].equals(read[1]) and read[0]["line"].to_pylist() == list(range(2, len(table) + 2))


def test_a_file_that_changed_its_columns_is_an_error(tmp_path):
    path = tmp_path / "kernels.csv"
    path.write_text("Type,Duration(us)\nAdd,1\n")
    stream = perfdb.read_kernels(path)
    path.write_text("Duration(us),Type\n1,Add\n")
    with pytest.raises(perfdb.Error, match="other columns"):
        stream.read_all()


def test_missing_and_broken_files_are_errors(tmp_path):
    with pytest.raises(perfdb.Error, match="missing.json"):
        perfdb.check_trace(tmp_path / "missing.json")
    broken = tmp_path / "broken.json"
    broken.write_text('{"traceEvents": [{"name": "a"}, {"name": ')
    with pytest.raises(perfdb.Error, match="broken.json"):
        perfdb.read_trace(broken).read_all()
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(Exception, match="broken.json"):
        pyarrow.table(perfdb.read_trace(broken))
