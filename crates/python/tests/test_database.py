"""Looking durations up."""

import os
import signal
import subprocess
import sys
import threading

import perfdb
import pytest

SHAPES, TYPE = "16,512;512,2048", "DT_BF16"


def test_an_exact_row_answers_with_its_file_and_line(folder):
    answer = perfdb.Database(folder).lookup("MatMulV2", SHAPES, TYPE)
    assert answer and answer.hit
    assert (answer.duration_us, answer.source, answer.rule, answer.confidence) == (5.0, "MEASURED", "identity", 1.0)
    (row,) = answer.rows
    assert (row.file, row.line, str(row)) == (str(folder / "MatMulV2.csv"), 2, "MatMulV2.csv:2")
    assert answer.low_us is None and answer.reason is None
    assert answer.to_dict()["duration_us"] == answer.to_dict()["latency_us"] == 5.0


def test_shapes_may_be_texts_or_sequences(folder):
    database = perfdb.Database(folder)
    ways = [
        database.lookup("MatMulV2", SHAPES),
        database.lookup("MatMulV2", SHAPES, "DT_BF16;DT_BF16"),
        database.lookup("MatMulV2", [(16, 512), (512, 2048)]),
        database.lookup("MatMulV2", [[16, 512], [512, 2048]], ["bf16", "torch.bfloat16"]),
        database.lookup_operator("aten.mm.default", [((16, 512), "bf16"), ((512, 2048), "bf16")]),
        database.lookup_operator("torch.ops.aten.mm.default", [((16, 512), "bf16"), ((512, 2048), "bf16")]),
        database.ask_query({"kernel": "MatMulV2", "inputs": [{"shape": [16, 512], "dtype": "bf16"}, {"shape": [512, 2048], "dtype": "bf16"}]}),
    ]
    assert [answer.duration_us for answer in ways] == [5.0] * len(ways)


def test_between_rows(folder):
    upstream = perfdb.Database(folder, "upstream").lookup("MatMulV2", "24,512;512,2048")
    assert upstream.source == "INTERPOLATED" and upstream.method == "linear_1d"
    assert upstream.duration_us == pytest.approx(6.25)
    best = perfdb.Database(folder, "best").lookup("MatMulV2", "24,512;512,2048")
    assert best.low_us < best.duration_us < best.high_us
    assert best.class_ in ("inside", "beyond", "new configuration") and best.sentence
    measured = perfdb.Database(folder, "upstream", layer="measured").lookup("MatMulV2", "17,512;512,2049")
    assert not measured


def test_a_miss_says_why_and_what_comes_near(folder):
    answer = perfdb.Database(folder).lookup("MatMulV2", "16,512;512,4096")
    assert not answer and answer.duration_us is None and answer.rows == []
    assert answer.reason and answer.meaning
    near = answer.nearest(2)
    assert [row["line"] for row in near] == [2, 3] and near[0]["difference"]


def test_a_batch_of_queries_dictionaries_and_tables(folder):
    database = perfdb.Database(folder)
    query = perfdb.Query.kernel("MatMulV2", SHAPES, TYPE)
    missing = {"op": "aten.nothing.default", "inputs": []}
    answers = database.lookup_batch([query, missing, query])
    assert len(answers) == 3 and [answer.duration_us for answer in answers] == [5.0, None, 5.0]
    assert answers[-1].rows[0].line == 2 and answers[1].reason == "wrapper_unmapped"
    with pytest.raises(IndexError):
        answers[3]
    pyarrow = pytest.importorskip("pyarrow")
    asked = pyarrow.table({"kernel_type": ["MatMulV2"] * 2, "input_shapes": [SHAPES, "64,512;512,2048"], "data_types": [TYPE] * 2})
    table = pyarrow.table(database.lookup_batch(asked))
    assert table["duration_us"].to_pylist() == [5.0, 12.0] and table["line"].to_pylist() == [2, 4]


def test_rows_reach_every_engine(folder):
    rows = perfdb.Database(folder).rows("MatMulV2")
    assert len(rows) == 3 and rows.column_names[:2] == ["kernel_type", "line"]
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(rows)
    assert table["input_shapes"].to_pylist()[1] == "32,512;512,2048"
    assert table["duration_us"].to_pylist() == [5.0, 7.5, 12.0] and table["line"].to_pylist() == [2, 3, 4]
    pandas = pytest.importorskip("pandas")
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert pandas.DataFrame.from_arrow(rows)["duration_us"].sum() == 24.5
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(rows)["duration_us"].sum() == 24.5
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.sql("select sum(duration_us) from rows").fetchall() == [(24.5,)]


@pytest.mark.parametrize(
    "call, exception, words",
    [
        (lambda d: d.lookup("MatMulV2", "16,x;512,2048"), ValueError, "no shape"),
        (lambda d: d.lookup("MatMulV2", SHAPES, "DT_NOTHING"), ValueError, "DT_NOTHING"),
        (lambda d: d.lookup("MatMulV2", SHAPES, "INT8;INT8;INT8"), ValueError, "3 data types for 2 shapes"),
        (lambda d: d.lookup("MatMulV2", 5), TypeError, "int"),
        (lambda d: d.lookup_batch(7), TypeError, "not int"),
        (lambda d: d.lookup_batch([7]), TypeError, "not int"),
        (lambda d: d.ask_query({"op": "aten.mm.default", "inputs": [{"shape": 5}]}), ValueError, "inputs"),
        (lambda d: d.rows("Nothing"), KeyError, "Nothing.csv"),
        (lambda d: perfdb.Database(d.path, "wrong"), ValueError, "corrected"),
        (lambda d: perfdb.Database(d.path / "missing"), perfdb.Error, "missing"),
    ],
)
def test_bad_input_is_an_exception(folder, call, exception, words):
    with pytest.raises(exception, match=words):
        call(perfdb.Database(folder))


def test_a_table_that_cannot_be_read_is_an_error_with_its_line(folder):
    (folder / "MatMulV2.csv").write_text('Input Shapes,Input Data Types,Average Duration(us)\n"16,512')
    with pytest.raises(perfdb.Error, match="MatMulV2.csv"):
        perfdb.Database(folder).lookup("MatMulV2", SHAPES)


def test_readers_see_old_or_new(folder):
    database = perfdb.Database(folder)
    before = database.lookup("MatMulV2", SHAPES)
    assert not database.reopen()
    new = folder / "new"
    new.write_text((folder / "MatMulV2.csv").read_text().replace(",5.0\n", ",55.0\n"))
    os.replace(new, folder / "MatMulV2.csv")
    assert database.lookup("MatMulV2", SHAPES).duration_us == 5.0
    assert database.reopen()
    assert database.lookup("MatMulV2", SHAPES).duration_us == 55.0 and before.duration_us == 5.0


def test_threads_share_a_database(folder):
    database, found = perfdb.Database(folder), []
    batch = [perfdb.Query.kernel("MatMulV2", SHAPES, TYPE)] * 1000
    ask = lambda: found.append(set(database.lookup_batch(batch).durations_us))  # noqa: E731
    threads = [threading.Thread(target=ask) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [{5.0}] * 8


def test_a_database_works_after_a_fork(folder):
    database = perfdb.Database(folder)
    database.lookup("MatMulV2", SHAPES)
    child = os.fork()
    if child == 0:
        os._exit(0 if database.lookup("MatMulV2", "32,512;512,2048").duration_us == 7.5 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_ctrl_c_ends_a_long_batch(folder):
    script = f"""
import perfdb, os, signal, threading
database = perfdb.Database({str(folder)!r})
batch = [perfdb.Query.kernel("MatMulV2", {SHAPES!r}, {TYPE!r})] * 20_000
database.lookup_batch(batch)
threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
try:
    while True:
        database.lookup_batch(batch)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
    assert signal.SIGINT == 2
