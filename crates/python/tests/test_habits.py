"""What Python programmers take for granted: pickles, copies, errors, types, batches of any kind."""

import copy
import pickle
import subprocess
import sys

import perfdb
import pytest
from conftest import MATMUL

SHAPES = "16,512;512,2048"


def again(value):
    return pickle.loads(pickle.dumps(value))


def test_everything_is_pickled_and_copied(folder):
    database = perfdb.Database(folder, "best", layer="interpolating")
    answers = database.lookup_batch([perfdb.Query.kernel("MatMulV2", SHAPES)] * 3)
    other = again(database)
    assert (other.path, other.semantics) == (database.path, "best")
    assert other.lookup("MatMulV2", "24,512;512,2048").high_us == database.lookup("MatMulV2", "24,512;512,2048").high_us
    measured = perfdb.Database(folder, "upstream", layer="measured")
    assert not again(measured).lookup("MatMulV2", "24,512;512,2048")
    query = perfdb.Query.operator("aten.mm.default", [((16, 512), "bf16"), 2, None, [1.5, "x"]], tp_size=4)
    assert again(query) == query == copy.deepcopy(query)
    assert again(answers[0]).to_dict() == answers[0].to_dict()
    assert again(answers).durations_us == answers.durations_us
    assert again(answers[0].rows[0]) == answers[0].rows[0] == copy.copy(answers[0].rows[0])
    table = database.rows("MatMulV2")
    assert again(table).schema == table.schema and again(table).column("input_shapes") == table.column("input_shapes")
    stream = perfdb.read_kernels(folder / "MatMulV2.csv")
    assert again(stream).read_all().shape == stream.read_all().shape
    for value in [database, answers, answers[0], table]:
        assert type(copy.deepcopy(value)) is type(value) and type(copy.copy(value)) is type(value)


def test_an_answer_is_not_taken_from_a_database_that_has_changed(folder):
    database = perfdb.Database(folder)
    kept = [pickle.dumps(database.lookup("MatMulV2", SHAPES)), pickle.dumps(database.lookup_batch([{"kernel": "MatMulV2"}]))]
    (folder / "MatMulV2.csv").write_text(MATMUL.replace(",5.0\n", ",55.0\n"))
    with pytest.raises(perfdb.Error, match="another answer than when it was pickled"):
        pickle.loads(kept[0])
    assert len(pickle.loads(kept[1])) == 1


def test_other_processes_take_a_database(folder):
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    database = perfdb.Database(folder)
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(database.lookup)("MatMulV2", SHAPES) for _ in range(4))
    assert [answer.duration_us for answer in found] == [5.0] * 4


def test_errors_name_file_and_line(folder):
    with pytest.raises(FileNotFoundError) as raised:
        perfdb.check_trace(folder / "missing.json")
    assert isinstance(raised.value, perfdb.Error) and raised.value.path == str(folder / "missing.json")
    assert raised.value.line is None and type(raised.value) is perfdb.MissingFileError
    with pytest.raises(FileNotFoundError):
        perfdb.Database(folder / "missing")
    (folder / "MatMulV2.csv").write_text('Input Shapes,Input Data Types,Average Duration(us)\n"16,512')
    with pytest.raises(perfdb.Error) as raised:
        perfdb.Database(folder).lookup("MatMulV2", SHAPES)
    assert raised.value.path == str(folder / "MatMulV2.csv") and raised.value.line == 2
    assert not isinstance(raised.value, FileNotFoundError)


def test_batches_of_any_kind(folder):
    database = perfdb.Database(folder)
    query = perfdb.Query.kernel("MatMulV2", SHAPES)
    for queries in [(query, query), [query, query], (query for _ in range(2)), iter([query, query])]:
        answers = database.lookup_batch(queries)
        assert list(answers.durations_us) == [5.0, 5.0] and [answer.duration_us for answer in answers] == [5.0, 5.0]
    answers = database.lookup_batch(database.rows("MatMulV2"))
    assert list(answers.durations_us) == [5.0, 7.5, 12.0]
    for bad in ["text", {"kernel": "x"}, 7]:
        with pytest.raises(TypeError, match="iterable or an Arrow table"):
            database.lookup_batch(bad)


def test_durations_are_an_array(folder):
    answers = perfdb.Database(folder).lookup_batch([perfdb.Query.kernel("MatMulV2", SHAPES), perfdb.Query.kernel("No", "1")])
    assert memoryview(answers.durations_us).format == "d"
    assert answers.durations_us[0] == 5.0 and answers.durations_us[1] != answers.durations_us[1]
    numpy = pytest.importorskip("numpy")
    assert numpy.nansum(answers.durations_us) == 5.0


def test_a_null_or_malformed_cell_is_an_error_of_its_row(folder):
    pyarrow = pytest.importorskip("pyarrow")
    asked = {
        "kernel_type": ["MatMulV2", "MatMulV2", "MatMulV2"],
        "input_shapes": [SHAPES, None, "16,x;512"],
        "data_types": ["DT_BF16"] * 3,
    }
    database = perfdb.Database(folder)
    categories = pyarrow.table({name: pyarrow.array(cells).dictionary_encode() for name, cells in asked.items()})
    for table in [pyarrow.table(asked), categories]:
        answers = database.lookup_batch(table)
        assert [answer.hit for answer in answers] == [True, False, False]
        assert answers[1].reason == answers[2].reason == "malformed_query" and "not a query" in answers[1].meaning
        reasons = pyarrow.table(answers)["reason"].to_pylist()
        assert reasons[0] is None and "input_shapes is null" in reasons[1] and "16,x" in reasons[2]
        assert pyarrow.table(again(answers))["reason"].to_pylist() == reasons


def test_answers_as_arrow_say_what_they_are(folder):
    table = perfdb.Database(folder, "best").lookup_batch([perfdb.Query.kernel("MatMulV2", "24,512;512,2048")]).to_arrow()
    assert table.column("class") == ["inside"] and table.column("sentence")[0]
    assert table.column("low_us")[0] < table.column("duration_us")[0] < table.column("high_us")[0]


def test_tables_are_looked_at(folder):
    rows = perfdb.Database(folder).rows("MatMulV2")
    assert rows.shape == (3, 10) and rows.schema["duration_us"] == "Float64" and rows.column_names[0] == "kernel_type"
    assert rows[1:].column("line") == [3, 4] and rows[-1:].column("duration_us") == [12.0] and len(rows[5:]) == 0
    with pytest.raises(ValueError, match="step"):
        rows[::2]
    with pytest.raises(KeyError):
        rows.column("nothing")
    shown = rows._repr_html_()
    assert shown.startswith("<table>") and shown.count("<tr>") == 4 and "16,512;512,2048" in shown


TYPED = """
import perfdb
database = perfdb.Database("db")
answers = database.lookup_batch([perfdb.Query.kernel("A", "1")])
durations: list[float] = [answer.duration_us or 0.0 for answer in answers]
explained = perfdb.explain_prediction("a", "b")
difference: int = explained.difference_ps
causes: list[str] = [leaf.cause for leaf in explained.leaves]
trust: str = perfdb.check_trace("a").trust
verdict: str = perfdb.compare_traces("a", "b").verdict
try:
    pass
except perfdb.Error as error:
    line: int | None = error.line
"""


def test_types_are_checked(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    (tmp_path / "typed.py").write_text(TYPED)
    for arguments in [["mypy", "--strict", str(tmp_path / "typed.py")], ["mypy", "--strict", "-p", "perfdb"]]:
        done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stdout
    command = [sys.executable, "-m", "mypy.stubtest", "perfdb._perfdb", "--ignore-disjoint-bases"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout
