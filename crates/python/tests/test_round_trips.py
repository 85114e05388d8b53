"""Databases as Parquet, through the engines and back: what is not installed is skipped with a word."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import perfdb
import pytest
from conftest import MAPPING

PERFDB = Path(sysconfig.get_path("scripts")) / "perfdb"

COLLECTIVE = (
    "message_bytes,num_devices,dtype,topology_tier,Duration(us),bandwidth_gbps\n"
    "8192,16,DT_BF16,1,10.50,1.56\n67108864,16,DT_BF16,1,900,149.13\n8388608,16,DT_BF16,1,120.25,139.5\n"
)
PRODUCTS = (
    "Input Shapes,Input Data Types,Input Formats,Average Duration(us),Profiling Average Duration(us),Block Num\n"
    '"16,512;512,2048",DT_BF16;DT_BF16,ND;ND,5.0,5.50,24\n"32,512;512,2048",DT_BF16;DT_BF16,ND;ND,7.5,,\n'
)


@pytest.fixture
def tables(tmp_path):
    """An export of a database, beside it."""
    database = tmp_path / "database"
    database.mkdir()
    (database / "hcom_allReduce_.csv").write_text(COLLECTIVE)
    (database / "MatMulV2.csv").write_text(PRODUCTS)
    (database / "_triton_rope.csv").write_text(PRODUCTS)
    (database / "op_mapping.yaml").write_text(f"device: ATLAS_800_A3_752T_128G_DIE\n{MAPPING}")
    subprocess.run([PERFDB, "export-database", database, "--parquet", tmp_path / "tables"], check=True, capture_output=True)
    return tmp_path / "tables"


def through_pandas(path, to, change):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.read_parquet(path)
    if change:
        frame.loc[frame.index[0], "duration_us"] = change
    frame.to_parquet(to)


def through_polars(path, to, change):
    polars = pytest.importorskip("polars")
    frame = polars.read_parquet(path)
    if change:
        frame[0, "duration_us"] = change
    frame.write_parquet(to)


def through_duckdb(path, to, change):
    duckdb = pytest.importorskip("duckdb")
    given = f"case when line = 2 then {change} else duration_us end" if change else "duration_us"
    duckdb.sql(f"copy (select * replace ({given} as duration_us) from '{path}' order by line) to '{to}' (format parquet)")


def through_pyarrow(path, to, change):
    pytest.importorskip("pyarrow")
    import pyarrow
    from pyarrow import parquet

    table = parquet.read_table(path)
    if change:
        durations = [change, *table["duration_us"].to_pylist()[1:]]
        at = table.column_names.index("duration_us")
        table = table.set_column(at, "duration_us", pyarrow.array(durations))
    parquet.write_table(table, to)


def through_spark(path, to, change):
    pyspark = pytest.importorskip("pyspark")
    if not shutil.which("java"):
        pytest.skip("Spark needs Java, which is not installed")
    spark = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    frame = spark.read.parquet(str(path)).orderBy("line")
    if change:
        frame = frame.selectExpr(
            *[f"`{name}`" for name in frame.columns if name != "duration_us"],
            f"case when line = 2 then {change}D else duration_us end as duration_us",
        )
    frame.coalesce(1).write.parquet(str(to))


ENGINES = [through_pandas, through_polars, through_duckdb, through_pyarrow, through_spark]


@pytest.mark.parametrize("through", ENGINES)
def test_every_byte_comes_back_through_an_engine(through, tables, tmp_path):
    again = tmp_path / "again"
    again.mkdir()
    names = sorted(path.name for path in tables.glob("*.parquet"))
    assert names == ["MatMulV2.parquet", "hcom_allReduce_.parquet", "kernel_triton_rope.parquet"]
    for name in names:
        through(tables / name, again / name, None)
    subprocess.run([PERFDB, "import-database", again, "--database-path", tmp_path / "back"], check=True, capture_output=True)
    for name, text in [("hcom_allReduce_", COLLECTIVE), ("MatMulV2", PRODUCTS), ("_triton_rope", PRODUCTS)]:
        assert (tmp_path / "back" / f"{name}.csv").read_text() == text, name


@pytest.mark.parametrize("through", ENGINES)
def test_a_duration_that_an_engine_changed_is_imported(through, tables, tmp_path):
    again = tmp_path / "again"
    again.mkdir()
    through(tables / "MatMulV2.parquet", again / "MatMulV2.parquet", 6.25)
    subprocess.run([PERFDB, "import-database", again, "--database-path", tmp_path / "back"], check=True, capture_output=True)
    assert (tmp_path / "back" / "MatMulV2.csv").read_text() == PRODUCTS.replace(",5.0,5.50,", ",6.25,5.50,")
    (tmp_path / "back" / "op_mapping.yaml").write_text(MAPPING)
    assert perfdb.Database(tmp_path / "back").lookup("MatMulV2", "16,512;512,2048").duration_us == 6.25


def test_numbers_are_numbers(tables):
    duckdb = pytest.importorskip("duckdb")
    files = f"read_parquet('{tables}/*.parquet', union_by_name = true)"
    sizes = duckdb.sql(f"select message_bytes from {files} where message_bytes is not null order by message_bytes").fetchall()
    assert sizes == [(8192,), (8388608,), (67108864,)]
    types = dict(duckdb.sql(f"select column_name, column_type from (describe select * from {files})").fetchall())
    assert types["Duration(us)"] == types["Average Duration(us)"] == "DOUBLE" and types["message_bytes"] == "BIGINT"
    assert types["Input Shapes"] == types["dtype"] == "VARCHAR"
    assert duckdb.sql(f"select distinct device, version from {files}").fetchall() == [("ATLAS_800_A3_752T_128G_DIE", "database")]


def test_engines_see_every_kernel_type(tables):
    dataset = pytest.importorskip("pyarrow.dataset")
    found = dataset.dataset(tables / "kernel_triton_rope.parquet").to_table()["kernel_type"].to_pylist()
    assert set(found) == {"_triton_rope"}
    assert all(not path.name.startswith(("_", ".")) for path in tables.iterdir())


def test_a_table_from_scratch(tmp_path):
    polars = pytest.importorskip("polars")
    made = tmp_path / "made"
    made.mkdir()
    polars.DataFrame(
        {
            "kernel_type": ["MatMulV2", "Add"],
            "input_shapes": ["16,512;512,2048", "16;16"],
            "input_data_types": ["DT_BF16;DT_BF16", "DT_BF16;DT_BF16"],
            "duration_us": [5.0, 1.25],
        }
    ).write_parquet(made / "mine.parquet")
    subprocess.run([PERFDB, "import-database", made, "--database-path", tmp_path / "db"], check=True, capture_output=True)
    (tmp_path / "db" / "op_mapping.yaml").write_text(MAPPING)
    database = perfdb.Database(tmp_path / "db")
    assert sorted(database.kernel_types()) == ["Add", "MatMulV2"]
    assert database.lookup("Add", "16;16").duration_us == 1.25


def test_kernel_tables_have_numbers(tables, tmp_path):
    path = tmp_path / "database" / "hcom_allReduce_.csv"
    stream = perfdb.read_kernels(path)
    assert stream.schema["message_bytes"] == "Int64" and stream.schema["Duration(us)"] == "Float64"
    assert stream.schema["dtype"] == "Utf8"
    table = stream.read_all()
    assert table.column("message_bytes") == [8192, 67108864, 8388608] and table.column("Duration(us)")[0] == 10.5
    assert table.column("as_written")[0] == "8192,16,DT_BF16,1,10.50,1.56"
