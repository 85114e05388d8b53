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
    assert!(stdout.starts_with("1 of 1 table can be judged: median error "), "{stdout}");
    assert!(stdout.contains("\n\nkernel    left out        rows"), "{stdout}");
    assert!(stdout.contains("\nMatMulV2  single rows       12 "), "{stdout}");
    let contradiction = "MatMulV2: contradicts itself: 1 of 1 shapes with several rows differ by more than 10 %: lines 5 and 14 (3.02 and 9.00 µs)\n";
    assert!(stdout.contains(contradiction), "{stdout}");
    assert!(stderr.contains("warning: Broken: not evaluated: "), "{stderr}");
    assert!(!stdout.contains("Fewer than"), "{stdout}");
    Ok(())
}

#[test]
fn the_rules_of_queries_are_judged_and_rows_without_an_answer_counted() -> TestResult {
    let folder = database()?;
    let (status, stdout, stderr) = run(folder.path(), &["--semantics", "corrected", "--json", "o.json"])?;
    assert_eq!(status, Some(0), "{stderr}");
    assert!(
        stdout.contains(" under corrected: ") && stdout.contains("MatMulV2: left out without an answer: "),
        "{stdout}"
    );
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.path().join("o.json"))?)?;
    assert_eq!(json["semantics"], "corrected");
    let unanswered = &json["kernels"][0]["unanswered"][0];
    assert!(unanswered["left_out"] == "row" && unanswered["rows"].as_u64() > Some(0), "{unanswered}");
    let (status, _, stderr) = run(folder.path(), &["--kernel", "matmulv2"])?;
    assert_eq!(status, Some(1));
    assert!(stderr.contains("no table of kernel type matmulv2; did you mean MatMulV2?"), "{stderr}");
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
    let verdict = stdout.lines().next().unwrap_or_default();
    assert!(verdict.starts_with("1 of 2 tables can be judged: "), "{stdout}");
    assert!(verdict.ends_with("; 1 has fewer than 10 rows to leave out"), "{stdout}");
    assert!(!stdout.contains("MatMulV3") && stdout.contains("… 1 more table with --all\n"), "{stdout}");
    // A page keeps a number and its unit on one line.
    let page = std::fs::read_to_string(folder.path().join("o.html"))?.replace('\u{a0}', " ");
    assert!(page.contains(verdict));
    assert!(run(folder.path(), &["--all"])?.1.contains("\nMatMulV3  single rows"));
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

/// Noise that a table has once more under another data type, in another format or with a bias is no better predicted.
#[test]
fn the_same_durations_once_more_do_not_flatter() -> TestResult {
    let header = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n";
    let noise = |at: u32| (f64::from(at.wrapping_mul(2_654_435_761) >> 16) / 65_536.0 - 0.5) * 1.4;
    let rows = |types: &str, formats: &str, bias: bool| -> String {
        let row = |at: u32| {
            let (m, n) = (1u32 << (at / 2), if at.is_multiple_of(2) { 512 } else { 4096 });
            let us = (3.0 + f64::from(m * n) / 2e4) * noise(at + 1).exp();
            let bias = if bias { format!(";{n}") } else { String::new() };
            format!("\"{m},1024;{n},1024{bias}\",{types},{formats},{us}\n")
        };
        (0..26).map(row).collect()
    };
    let plain = rows("DT_BF16;DT_BF16", "ND;ND", false);
    let more = [
        String::new(),
        plain.clone(),
        rows("DT_FLOAT16;DT_FLOAT16", "ND;ND", false),
        rows("DT_BF16;DT_BF16", "ND;NC1HWC0", false),
        rows("DT_BF16;DT_BF16;DT_BF16", "ND;ND;ND", true),
    ];
    let mut medians = Vec::new();
    for more in more {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("MatMulV2.csv"), format!("{header}{plain}{more}"))?;
        assert_eq!(run(folder.path(), &["--json", "o.json"])?.0, Some(0));
        let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("o.json"))?)?;
        assert_eq!(json["summary"]["single_rows"], json["kernels"][0]["scores"][0]);
        medians.push(json["summary"]["single_rows"]["median_error"].as_f64().ok_or("a median")?);
    }
    assert!(medians[0] > 0.1 && medians.iter().all(|median| *median > medians[0] / 2.0), "{medians:?}");
    Ok(())
}

#[test]
fn a_folder_without_tables_is_an_error() -> TestResult {
    let folder = tempfile::tempdir()?;
    let (status, stdout, stderr) = run(folder.path(), &[])?;
    assert_eq!((status, stdout.as_str()), (Some(1), ""));
    assert_eq!(stderr, "error: .: not a database: neither a table (*.csv) nor op_mapping.yaml is in it\n");
    Ok(())
}

#[test]
fn tables_that_cannot_be_read_are_errors_where_there_are_no_others() -> TestResult {
    let folder = tempfile::tempdir()?;
    std::fs::File::create(folder.path().join("Add.csv"))?.set_len(1 << 20)?;
    let (status, stdout, stderr) = run(folder.path(), &[])?;
    assert_eq!((status, stdout.as_str()), (Some(1), ""));
    assert!(stderr.starts_with("error: Add: not evaluated: ") && stderr.lines().count() == 1, "{stderr}");
    Ok(())
}

#[test]
fn a_kernel_without_a_table_is_an_error() -> TestResult {
    let folder = database()?;
    let (status, stdout, stderr) = run(folder.path(), &["--kernel", "Gelu"])?;
    assert_eq!((status, stdout.as_str()), (Some(1), ""));
    assert_eq!(stderr, "error: .: no table of kernel type Gelu\n");
    Ok(())
}
