//! check-density as it is called: findings and conditions, what it refuses, rows that close findings.

use assert_cmd::Command;
use std::error::Error;
use std::fs;
use std::path::Path;

type TestResult = Result<(), Box<dyn Error>>;

fn run(folder: &Path, arguments: &[&str]) -> Result<(Option<i32>, String, String), Box<dyn Error>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_check-density"));
    let output = command.current_dir(folder).args(["--database-path", "db"]).args(arguments).output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
}

const HEADER: &str =
    "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)\n";

fn row(tokens: u32, us: &str) -> String {
    format!("\"{tokens},600;{tokens},600\",DT_BF16;DT_BF16,ND;ND,\"{tokens},600\",DT_BF16,ND,{us}\n")
}

/// A table that lacks 512 tokens, and has one row that is not measured.
fn database() -> Result<tempfile::TempDir, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("db"))?;
    let rows = [row(128, "5"), row(256, "6"), row(1024, "9"), row(4096, "")].concat();
    fs::write(folder.path().join("db/Add.csv"), format!("{HEADER}{rows}"))?;
    let query = "{\"kernel\": \"Add\", \"inputs\": [{\"shape\": [128, 600], \"dtype\": \"bf16\"}, {\"shape\": [128, 600], \"dtype\": \"bf16\"}]}";
    fs::write(folder.path().join("q.jsonl"), format!("{{\"id\": \"w\", \"critical\": true, \"query\": {query}}}\n"))?;
    Ok(folder)
}

#[test]
fn people_read_findings_and_conditions() -> TestResult {
    let folder = database()?;
    let (status, stdout, stderr) = run(folder.path(), &["--manifest", "q.jsonl"])?;
    assert_eq!((status, stderr.as_str()), (Some(3), ""));
    insta::assert_snapshot!(stdout);
    Ok(())
}

#[test]
fn rows_that_are_suggested_close_the_findings() -> TestResult {
    let folder = database()?;
    let (status, _, stderr) = run(folder.path(), &["--suggest", "missing", "--json", "o.json"])?;
    assert_eq!((status, stderr.as_str()), (Some(3), ""));
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(folder.path().join("o.json"))?)?;
    let wide = json["findings"].as_array().ok_or("findings")?.iter().find(|one| one["kind"] == "too-wide");
    let wide = wide.ok_or("too wide")?;
    assert_eq!((&wide["from"], &wide["to"], &wide["repair"]), (&256.into(), &1024.into(), &512.into()));
    assert_eq!((&wide["limit"], &wide["bucket"]["D"], &wide["line"]), (&"ratio 2".into(), &"600".into(), &2.into()));
    assert_eq!(json["gates"][1], serde_json::json!({"gate": 2, "verdict": "failed", "missing": null}));
    let missing = fs::read_to_string(folder.path().join("missing/Add.csv"))?;
    assert_eq!(missing, format!("{HEADER}{}", row(512, "")).replace('\n', "\r\n"));
    // Measured and appended, they are what was missing.
    let measured = fs::read_to_string(folder.path().join("db/Add.csv"))? + &row(512, "7");
    fs::write(folder.path().join("db/Add.csv"), measured)?;
    let (status, stdout, _) = run(folder.path(), &[])?;
    assert_eq!(status, Some(0), "{stdout}");
    assert!(stdout.contains("passed: 1 rules used, 2 density,"), "{stdout}");
    assert_eq!(run(folder.path(), &["--strict"])?.0, Some(3));
    Ok(())
}

#[test]
fn no_database_that_is_read_and_no_row_is_overwritten() -> TestResult {
    let folder = database()?;
    let before = fs::read(folder.path().join("db/Add.csv"))?;
    fs::create_dir(folder.path().join("old"))?;
    fs::copy(folder.path().join("db/Add.csv"), folder.path().join("old/Add.csv"))?;
    std::os::unix::fs::symlink("db", folder.path().join("link"))?;
    for (own, arguments) in [
        ("db", &["--suggest", "db"][..]),
        ("link", &["--suggest", "link"]),
        ("old", &["--suggest", "old", "--baseline-database", "old"]),
    ] {
        let (status, stdout, stderr) = run(folder.path(), arguments)?;
        assert_eq!((status, stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert_eq!(stderr, format!("error: {own}: is a database that this run reads; give --suggest another folder\n"));
    }
    let (status, _, stderr) = run(folder.path(), &["--suggest", "link/missing"])?;
    assert_eq!((status, folder.path().join("db/missing").exists()), (Some(1), false));
    assert_eq!(
        stderr,
        "error: link/missing: lies in db, a database that this run reads; give --suggest another folder\n"
    );
    assert_eq!(fs::read(folder.path().join("db/Add.csv"))?, before);
    // What was suggested and measured stays, also where more is suggested.
    run(folder.path(), &["--suggest", "missing"])?;
    let measured = format!("{HEADER}{}{}", row(512, "7"), row(64, "3"));
    fs::write(folder.path().join("missing/Add.csv"), &measured)?;
    fs::write(folder.path().join("db/Add.csv"), [before, row(16384, "30").into_bytes()].concat())?;
    let (status, _, stderr) = run(folder.path(), &["--suggest", "missing"])?;
    assert_eq!((status, stderr.as_str()), (Some(3), ""));
    let after = fs::read_to_string(folder.path().join("missing/Add.csv"))?;
    assert!(after.starts_with(&measured) && after.len() > measured.len(), "{after}");
    assert_eq!(after.matches("512,600;512,600").count(), 1, "{after}");
    Ok(())
}

#[test]
fn what_cannot_be_used_is_one_error_line() -> TestResult {
    let folder = database()?;
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
    let head = "schema_version: 1\nstandard_version: own\npolicy: minimum\n";
    write(
        "d.yaml",
        &format!(
            "{head}grids: {{M_GRID: {{range: {{min: 1, max: 9}}, segments: [{{min: 1, max: 4, max_gap: 1}}, {{min: 6, max: 9, max_gap: 2}}]}}}}\n"
        ),
    )?;
    write("r.yaml", "[{kernel: Add, axis: tokens, range: [9, 1]}]\n")?;
    fs::create_dir(folder.path().join("broken"))?;
    fs::copy(folder.path().join("db/Add.csv"), folder.path().join("broken/Add.csv"))?;
    write("broken/op_mapping.yaml", "operator_mappings: [\n")?;
    for (arguments, error) in [
        (&["--density", "d.yaml"][..], "d.yaml: grids.M_GRID.segments[1].min: 6 leaves a hole: it must be 5"),
        (&["--ranges", "r.yaml"], "r.yaml: [0].range: 9 is above 1"),
        (&["--baseline-database", "none"], "none: No such file or directory"),
        (&["--baseline-database", "broken"], "broken/op_mapping.yaml: unclosed bracket"),
    ] {
        let (status, stdout, stderr) = run(folder.path(), arguments)?;
        assert_eq!((status, stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(stderr.starts_with(&format!("error: {error}")) && stderr.lines().count() == 1, "{stderr}");
    }
    let (status, _, stderr) = run(folder.path(), &["--manifest", "q.jsonl", "--manifest-sha256", "00"])?;
    assert_eq!(status, Some(1));
    assert!(
        stderr.contains("q.jsonl: its SHA-256 is ") && stderr.contains("not what --manifest-sha256 says"),
        "{stderr}"
    );
    assert_eq!(run(folder.path(), &["--ranges", "r.yaml", "--full-range"])?.0, Some(2));
    Ok(())
}
