//! `--parquet`. What is in the tables is tested in the crates that make them; engines read them in the tests of the Python package.

use super::*;
use perfdb_files::tables::Values;
use perfdb_store::parquet::ParquetFile;

impl Folder {
    /// A column of a table; the texts of all its cells.
    fn column(&self, table: &str, name: &str) -> Result<Vec<String>, Box<dyn Error>> {
        let file = ParquetFile::open(&self.0.path().join(table))?;
        fn texts<T: std::fmt::Debug>(cells: &[Option<T>]) -> Vec<String> {
            cells.iter().map(|cell| cell.as_ref().map_or("-".to_owned(), |cell| format!("{cell:?}"))).collect()
        }
        Ok(match file.read_column(name)?.ok_or("no such column")? {
            Values::Text(cells) => texts(&cells),
            Values::Integer(cells) => texts(&cells),
            Values::Real(cells) => texts(&cells),
            Values::Truth(cells) => texts(&cells),
        })
    }
}

#[test]
fn events_of_a_trace() -> TestResult {
    let folder = Folder::new()?;
    let arguments = ["trace-to-csv", "--trace", "t.json", "--parquet", "t.parquet"];
    let ran = folder.run("perfdb", &arguments)?;
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(folder.column("t.parquet", "dur_us")?, ["90.0", "10.0"]);
    assert_eq!(folder.column("t.parquet", "kernel_type")?, ["\"MatMulV2\"", "-"]);
    // The CSV beside it is what it always is.
    let alone = folder.run("trace-to-csv", &["--trace", "t.json"])?.stdout;
    folder.run("perfdb", &[&arguments[..], &["--output", "t.csv"]].concat())?;
    assert_eq!(folder.read("t.csv")?, alone);
    let columns = ["--columns", "ts,op_name"];
    assert_eq!(folder.run("perfdb", &[&arguments[..], &columns].concat())?.code, Some(0));
    assert_eq!(folder.column("t.parquet", "ts_us")?, ["0.0", "90.0"]);
    Ok(())
}

#[test]
fn a_number_that_is_none_leaves_nothing() -> TestResult {
    let folder = Folder::new()?;
    folder.write(
        "bad.json",
        r#"{"traceEvents": [{"name": "a", "ph": "X", "ts": 0, "dur": 1, "args": {"confidence": "high"}}]}"#,
    )?;
    let before = folder.names()?;
    let ran = folder
        .run("perfdb", &["trace-to-csv", "--trace", "bad.json", "--parquet", "t.parquet", "--output", "t.csv"])?;
    let expected = "error: --parquet: column confidence has high, which is no number; leave it out with --columns\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), expected));
    let twice = ["trace-to-csv", "--trace", "t.json", "--columns", "ts,ts_us", "--parquet", "t.parquet"];
    assert_eq!(folder.run("perfdb", &twice)?.code, Some(2));
    assert_eq!(folder.names()?, before);
    Ok(())
}

#[test]
fn comparisons() -> TestResult {
    let folder = Folder::new()?;
    let files = ["--tc-trace", "t.json", "--prof-trace", "p.csv"];
    let shapes = [&["generate-per-shape-comparison"], &files[..], &["--parquet", "s.parquet"]].concat();
    let ran = folder.run("perfdb", &shapes)?;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert_eq!(folder.column("s.parquet", "prof_dur_us")?, ["100.0", "4.0"]);
    let operators =
        [&["generate-op-comparison"], &files[..], &["--output", "o.json", "--parquet", "o.parquet"]].concat();
    assert_eq!(folder.run("perfdb", &operators)?.code, Some(0));
    assert_eq!(folder.column("o.parquet", "predicted_us")?[0], "90.0");
    let leaves = [&["explain-prediction"], &files[..], &["--parquet", "l.parquet"]].concat();
    assert_eq!(folder.run("perfdb", &leaves)?.code, Some(0));
    let parts = folder.column("l.parquet", "difference_ps")?;
    let sum: i64 = parts.iter().map(|part| part.parse::<i64>()).sum::<Result<_, _>>()?;
    assert_eq!(sum, (90 + 10 - 100 - 4) * 1_000_000);
    Ok(())
}

impl Folder {
    /// Checks that a table has the columns of a CSV in their order, each of the type that is told, and the same cells. Numbers of the CSV may
    /// be rounded to their last decimal; texts that a spreadsheet would run have an apostrophe there.
    fn agrees(&self, csv: &str, table: &str, columns: &[(&str, &str)]) -> TestResult {
        let file = ParquetFile::open(&self.0.path().join(table))?;
        let mut lines = csv::Reader::from_reader(csv.as_bytes());
        let names: Vec<String> = lines.headers()?.iter().map(str::to_owned).collect();
        assert_eq!(names, columns.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        assert_eq!(file.column_names(), names);
        let rows = lines.records().collect::<Result<Vec<_>, _>>()?;
        assert!(!rows.is_empty());
        assert_eq!(file.row_count()?, rows.len());
        for (at, (name, kind)) in columns.iter().enumerate() {
            let cells = rows.iter().map(|row| row.get(at).unwrap_or_default());
            let values = file.read_column(name)?.ok_or("no such column")?;
            let count = match &values {
                Values::Text(cells) => cells.len(),
                Values::Integer(cells) => cells.len(),
                Values::Real(cells) => cells.len(),
                Values::Truth(cells) => cells.len(),
            };
            assert_eq!(count, rows.len(), "{name}");
            let same = |row: usize, cell: &str| match &values {
                Values::Text(values) => values[row].as_deref().unwrap_or_default() == cell.trim_start_matches('\''),
                Values::Integer(values) => values[row] == cell.parse().ok(),
                Values::Truth(values) => values[row] == cell.parse().ok(),
                Values::Real(values) => match (values[row], cell.parse::<f64>()) {
                    (Some(value), Ok(read)) => {
                        let decimals = cell.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
                        value == read || (value - read).abs() <= 0.5001 * 10_f64.powi(-decimals)
                    }
                    (Some(value), Err(_)) => value.is_infinite(),
                    (None, read) => read.is_err(),
                },
            };
            let found = match &values {
                Values::Text(_) => "text",
                Values::Integer(_) => "integer",
                Values::Real(_) => "double",
                Values::Truth(_) => "boolean",
            };
            assert_eq!(found, *kind, "{name}");
            for (row, cell) in cells.enumerate() {
                assert!(same(row, cell), "{table}: {name} of row {row} is not {cell}: {values:?}");
            }
        }
        Ok(())
    }
}

fn shipped(path: &str) -> String {
    repository().join("testdata").join(path).display().to_string()
}

#[test]
fn two_traces() -> TestResult {
    let folder = Folder::new()?;
    let traces = [shipped("gpu-traces/mi300x.json"), shipped("gpu-traces/h100.json")];
    let compare = |further: &[&str]| {
        let arguments = [&["compare-traces", &traces[0], &traces[1], "--quiet", "--output", "o.txt"][..], further];
        folder.run("perfdb", &arguments.concat())
    };
    let tables = ["--parquet", "o.parquet", "--parquet", "kernels=k.parquet", "--parquet", "layers=l.parquet"];
    let csv = ["--result-csv", "o.csv", "--events", "k.csv"];
    assert_eq!(compare(&[&tables[..], &csv].concat())?.code, Some(0));
    assert_eq!(compare(&["--layers", "--result-csv", "l.csv"])?.code, Some(0));
    let operations = [
        ("operation", "text"),
        ("trace1_count", "integer"),
        ("trace2_count", "integer"),
        ("trace1_avg_us", "double"),
        ("trace2_avg_us", "double"),
        ("trace1_total_ms", "double"),
        ("trace2_total_ms", "double"),
        ("trace2_over_trace1", "double"),
        ("avg_trace2_over_trace1", "double"),
        ("difference_ms", "double"),
        ("status", "text"),
        ("trace1_kernel", "text"),
        ("trace2_kernel", "text"),
        ("trace1_cpu_op", "text"),
        ("trace2_cpu_op", "text"),
        ("phases", "text"),
        ("verdict", "text"),
        ("interval_low", "double"),
        ("interval_high", "double"),
        ("detectable_percent", "double"),
    ];
    folder.agrees(&folder.read("o.csv")?, "o.parquet", &operations)?;
    let kernels = [
        ("trace", "integer"),
        ("index", "integer"),
        ("name", "text"),
        ("start_us", "double"),
        ("duration_us", "double"),
        ("class", "text"),
        ("family", "text"),
        ("layer", "integer"),
        ("part", "text"),
        ("pair", "text"),
    ];
    folder.agrees(&folder.read("k.csv")?, "k.parquet", &kernels)?;
    let layers = [
        ("layer", "integer"),
        ("trace1_kernels", "integer"),
        ("trace2_kernels", "integer"),
        ("trace1_total_ms", "double"),
        ("trace2_total_ms", "double"),
        ("trace2_over_trace1", "double"),
        ("difference_ms", "double"),
        ("status", "text"),
        ("in_both", "boolean"),
    ];
    folder.agrees(&folder.read("l.csv")?, "l.parquet", &layers)
}

#[test]
fn questions_of_workloads() -> TestResult {
    let folder = Folder::new()?;
    let database = shipped("first-database/database");
    let trace = shipped("demo-database/trace.json");
    let manifest = r#"{"id": "asked", "critical": true, "calls": 3, "query": {"kernel": "MatMulV2", "inputs": [
        {"shape": [1, 1024], "dtype": "bf16"}, {"shape": [768, 1024], "dtype": "bf16"}]}}"#;
    folder.write("m.jsonl", manifest.replace('\n', ""))?;
    let arguments = [
        "audit-coverage",
        "--database-path",
        &database,
        "--from-trace",
        &trace,
        "--manifest",
        "m.jsonl",
        "--csv",
        "a.csv",
    ];
    let ran = folder.run("perfdb", &[&arguments[..], &["--parquet", "a.parquet"]].concat())?;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let columns = [
        ("workload", "text"),
        ("place", "integer"),
        ("name", "text"),
        ("kernel_type", "text"),
        ("critical", "boolean"),
        ("standing", "text"),
        ("axes", "text"),
        ("calls", "integer"),
        ("duration_us", "double"),
        ("low_us", "double"),
        ("high_us", "double"),
        ("time_us", "double"),
        ("reason", "text"),
        ("rows", "text"),
        ("input_shapes", "text"),
        ("input_types", "text"),
        ("query", "text"),
    ];
    folder.agrees(&folder.read("a.csv")?, "a.parquet", &columns)?;
    // Both kinds of workloads are there, and calls with an answer as well as without.
    let workloads = folder.column("a.parquet", "workload")?;
    assert!(
        workloads.contains(&"\"trace\"".to_owned()) && workloads.contains(&"\"asked\"".to_owned()),
        "{workloads:?}"
    );
    let bounds = folder.column("a.parquet", "low_us")?;
    assert!(bounds.iter().any(|cell| cell == "-") && bounds.iter().any(|cell| cell != "-"), "{bounds:?}");
    Ok(())
}

#[test]
fn a_table_that_cannot_be_written_is_told_before_the_work() -> TestResult {
    let files = ["--tc-trace", "t.json", "--prof-trace", "no.csv"];
    for tool in [
        &["generate-per-shape-comparison"][..],
        &["generate-op-comparison", "--output", "o.json"],
        &["explain-prediction"],
    ] {
        for place in ["t.json/s.parquet", "no/s.parquet"] {
            let folder = Folder::new()?;
            let ran = folder.run("perfdb", &[tool, &files, &["--parquet", place]].concat())?;
            let makes_folders = tool[0] == "generate-op-comparison" && place.starts_with("no/");
            assert_eq!(
                ran.stderr.starts_with(&format!("error: {place}: ")),
                !makes_folders,
                "{tool:?}: {}",
                ran.stderr
            );
            assert!(makes_folders || !folder.names()?.contains(&"no".to_owned()));
        }
    }
    Ok(())
}

#[test]
fn a_program_of_one_tool_says_where_parquet_is() -> TestResult {
    let folder = Folder::new()?;
    let ran = folder.run("trace-to-csv", &["--trace", "t.json", "--parquet", "t.parquet"])?;
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("this program does not write Parquet; use `perfdb trace-to-csv`"), "{}", ran.stderr);
    assert!(!folder.names()?.contains(&"t.parquet".to_owned()));
    Ok(())
}
