//! calibrate-database at the command line: public rows scaled to a few measured ones, and what each number is called.

use assert_cmd::Command;
use serde_json::Value;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

type TestResult = Result<(), Box<dyn Error>>;

const HEADER: &str = "Input Shapes,Input Data Types,Average Duration(us)\n";

/// A database of one table of products with these sizes, each of which takes `us(m)`.
fn database(folder: &Path, table: &str, sizes: &[u64], us: impl Fn(u64) -> f64) -> TestResult {
    fs::create_dir(folder)?;
    let mut text = HEADER.to_owned();
    for m in sizes {
        writeln!(text, "\"{m},1024;1024,2048\",DT_BF16;DT_BF16,{}", us(*m))?;
    }
    fs::write(folder.join(format!("{table}.csv")), text)?;
    fs::write(folder.join("op_mapping.yaml"), format!("kernel_tables:\n  {table}: {{class: matmul, layout: k_n}}\n"))?;
    Ok(())
}

/// Rows of a public table: 10 us and 5 us for each 64 rows of the product.
fn public_us(m: u64) -> f64 {
    10.0 + 5.0 * m as f64 / 64.0
}

fn run(folder: &Path, tool: &str, arguments: &[&str]) -> Result<(Option<i32>, String, String), Box<dyn Error>> {
    let output = Command::cargo_bin(tool)?.args(arguments).current_dir(folder).output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
}

#[test]
fn public_rows_are_scaled_to_the_few_that_were_measured() -> TestResult {
    let folder = tempfile::tempdir()?;
    let sizes: Vec<u64> = (1..=200).map(|number| 16 * number).collect();
    let mine: Vec<u64> = sizes.iter().copied().step_by(10).collect();
    // Of other names: class, shapes and types make the case.
    database(&folder.path().join("public"), "gemm_bfloat16", &sizes, public_us)?;
    let wobble = |m: u64| 1.0 + 0.01 * ((m / 160 % 3) as f64 - 1.0);
    database(&folder.path().join("mine"), "aten_mm_cublas", &mine, |m| 1.25 * public_us(m) * wobble(m))?;
    let arguments = ["public", "--with", "mine", "-o", "own", "--suggest", "3"];
    let (status, stdout, stderr) = run(folder.path(), "calibrate-database", &arguments)?;
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stdout.starts_with("20 rows measured here, 180 calibrated to them, in 1 tables → own\n"), "{stdout}");
    assert_eq!(stdout.matches(" us expected (").count(), 3, "{stdout}");
    let mut reader = csv::Reader::from_path(folder.path().join("own/gemm_bfloat16.csv"))?;
    let header = reader.headers()?.clone();
    let column = |name: &str| header.iter().position(|own| own == name).ok_or(format!("no column {name}"));
    let [us, low, high, public, source] =
        ["Average Duration(us)", "Duration Low(us)", "Duration High(us)", "Public Duration(us)", "Duration Source"]
            .map(column);
    let (us, low, high, public, source) = (us?, low?, high?, public?, source?);
    let mut sources = [0, 0];
    for (record, m) in reader.records().zip(&sizes) {
        let record = record?;
        let number = |at: usize| record[at].parse::<f64>();
        assert_eq!(number(public)?, public_us(*m));
        let truth = 1.25 * public_us(*m);
        if &record[source] == "measured" {
            sources[0] += 1;
            assert!((number(us)? - truth * wobble(*m)).abs() < 1e-5, "{m}");
        } else {
            sources[1] += 1;
            assert_eq!(&record[source], "calibrated");
            assert!((number(us)? / truth - 1.0).abs() < 0.03, "{m}: {record:?}");
            assert!(number(low)? < truth && truth < number(high)?, "{m}: {record:?}");
        }
    }
    assert_eq!(sources, [20, 180]);
    let record = fs::read_to_string(folder.path().join("own/database.toml"))?;
    assert!(
        record.contains("tool = \"calibrate-database\"") && record.contains("from = [\"public\", \"mine\"]"),
        "{record}"
    );
    // What was not measured is not called so.
    for (m, name) in [("16", "MEASURED"), ("32", "INTERPOLATED")] {
        let shapes = format!("{m},1024;1024,2048");
        let arguments =
            ["own", "--kernel", "gemm_bfloat16", "--input-shapes", &shapes, "--semantics", "best", "--json", "-"];
        let (_, stdout, stderr) = run(folder.path(), "query-database", &arguments)?;
        let answer: Value = serde_json::from_str(stdout.lines().next().unwrap_or_default()).map_err(|_| stderr)?;
        assert_eq!(answer["answer"]["source"], name, "{answer}");
        assert_eq!(answer["answer"]["rule"] == "calibrated", name == "INTERPOLATED", "{answer}");
    }
    // Nothing is replaced, and nothing is made of databases without a common case.
    let (status, _, stderr) = run(folder.path(), "calibrate-database", &arguments)?;
    assert!(status == Some(1) && stderr.contains("is there already, and nothing is replaced"), "{stderr}");
    database(&folder.path().join("other"), "aten_mm_cublas", &[7, 9], public_us)?;
    let (status, _, stderr) = run(folder.path(), "calibrate-database", &["public", "--with", "other", "-o", "new"])?;
    assert!(
        status == Some(1) && stderr.contains("no row measured here is of a case of the public database"),
        "{stderr}"
    );
    assert!(!folder.path().join("new").exists());
    Ok(())
}
