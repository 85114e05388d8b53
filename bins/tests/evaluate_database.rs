//! evaluate-database as it is called: figures for people and programs, what it refuses.

use assert_cmd::Command;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

type TestResult = Result<(), Box<dyn Error>>;

/// Products whose time goes with their work, one of them measured twice.
fn database() -> Result<tempfile::TempDir, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut table = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n".to_owned();
    for rows in [1, 16, 256, 4096] {
        for columns in [256, 1024, 4096] {
            let us = 3.0 + f64::from(rows * columns) / 2e5;
            writeln!(table, "\"{rows},512;512,{columns}\",DT_BF16;DT_BF16,ND;ND,{us}")?;
        }
    }
    table += "\"16,512;512,256\",DT_BF16;DT_BF16,ND;ND,9\n";
    std::fs::write(folder.path().join("MatMulV2.csv"), table)?;
    std::fs::write(folder.path().join("Broken.csv"), "Input Shapes\n\"1")?;
    Ok(folder)
}

fn run(folder: &Path, arguments: &[&str]) -> Result<(Option<i32>, String, String), Box<dyn Error>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evaluate-database"));
    let output = command.current_dir(folder).args(["--database-path", "."]).args(arguments).output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
}

#[test]
fn people_read_figures_and_contradictions() -> TestResult {
    let folder = database()?;
    let (status, stdout, stderr) = run(folder.path(), &[])?;
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stdout.starts_with("kernel    left out       asked"), "{stdout}");
    assert!(stdout.contains("\nMatMulV2  single rows       12 "), "{stdout}");
    let contradiction = "MatMulV2: contradicts itself: 1 of 1 shapes with several rows differ by more than 10 %: lines 5 and 14 (3.02 and 9.00 µs)\n";
    assert!(stdout.contains(contradiction), "{stdout}");
    assert!(stderr.contains("warning: Broken: not evaluated: "), "{stderr}");
    assert!(!stdout.contains("Fewer than"), "{stdout}");
    Ok(())
}

#[test]
fn a_row_that_is_absurd_takes_no_line_of_digits() -> TestResult {
    let folder = database()?;
    let table = std::fs::read_to_string(folder.path().join("MatMulV2.csv"))?;
    let absurd = |rows: u32| format!("\"{rows},512;512,1024\",DT_BF16;DT_BF16,ND;ND,1e300\n");
    // One spoils no figure of the others, two of fourteen are more than a tenth.
    for (rows, is_absurd) in [(absurd(64), false), (absurd(64) + &absurd(1024), true)] {
        std::fs::write(folder.path().join("MatMulV2.csv"), table.clone() + &rows)?;
        let (status, stdout, _) = run(folder.path(), &[])?;
        assert_eq!(status, Some(0));
        assert_eq!(stdout.contains("> 999999 %"), is_absurd, "{stdout}");
        assert!(stdout.lines().all(|line| line.len() < 200), "{stdout}");
    }
    Ok(())
}

#[test]
fn figures_of_few_rows_say_so() -> TestResult {
    let folder = database()?;
    let table = std::fs::read_to_string(folder.path().join("MatMulV2.csv"))?;
    let few: Vec<&str> = table.lines().take(7).collect();
    std::fs::write(folder.path().join("MatMulV3.csv"), few.join("\n") + "\n")?;
    let (status, stdout, _) = run(folder.path(), &["--html", "o.html"])?;
    assert_eq!(status, Some(0));
    let remark = "Fewer than 10 rows were left out of 1 of 2 tables: figures of so few say little";
    assert!(stdout.lines().any(|line| line == remark), "{stdout}");
    assert!(std::fs::read_to_string(folder.path().join("o.html"))?.contains(remark));
    Ok(())
}

#[test]
fn programs_read_the_same() -> TestResult {
    let folder = database()?;
    let (status, _, stderr) = run(folder.path(), &["--kernel", "MatMulV2", "--json", "o.json", "--html", "o.html"])?;
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("o.json"))?)?;
    let kernel = &json["kernels"][0];
    assert_eq!((&json["format_version"], &kernel["rows"]), (&1.into(), &13.into()));
    let left_out: Vec<_> = kernel["scores"].as_array().ok_or("scores")?.iter().map(|one| &one["left_out"]).collect();
    assert_eq!(left_out, ["row", "axis", "axis", "configuration"]);
    assert_eq!(kernel["contradictions"][0]["rows"], serde_json::json!([[5, 3.02048], [14, 9.0]]));
    assert!(std::fs::read_to_string(folder.path().join("o.html"))?.contains("<td>MatMulV2</td><td>single rows</td>"));
    Ok(())
}

#[test]
fn a_kernel_without_a_table_is_an_error() -> TestResult {
    let folder = database()?;
    let (status, stdout, stderr) = run(folder.path(), &["--kernel", "Mul"])?;
    assert_eq!((status, stdout.as_str()), (Some(1), ""));
    assert_eq!(stderr, "error: .: no table of kernel type Mul\n");
    Ok(())
}
