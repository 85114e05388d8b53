//! `--parquet`. What is in the tables is tested in the crates that make them; engines read them in the tests of the Python package.

use super::*;
use perfdb_parquet::ParquetFile;
use perfdb_tables::Values;

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

#[test]
fn a_program_of_one_tool_says_where_parquet_is() -> TestResult {
    let folder = Folder::new()?;
    let ran = folder.run("trace-to-csv", &["--trace", "t.json", "--parquet", "t.parquet"])?;
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("this program does not write Parquet; use `perfdb trace-to-csv`"), "{}", ran.stderr);
    assert!(!folder.names()?.contains(&"t.parquet".to_owned()));
    Ok(())
}
