//! generate-shape-grid as it is called: usage errors, what goes to stderr.

use std::fs;
use std::process::Output;

use assert_cmd::Command;
use tempfile::TempDir;

const ADD: &str = "Input Shapes,Input Data Types\n\"1,2;1,2\",FLOAT;FLOAT\n";

fn database() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("db")).expect("a folder");
    fs::write(folder.path().join("db/Add.csv"), ADD).expect("a file");
    folder
}

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::cargo_bin("generate-shape-grid").expect("the tool");
    command.current_dir(folder.path()).env_remove("PERFDB_DATA_DIR").args(arguments).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn a_run_that_cannot_begin_says_only_why() {
    let output = run(&database(), &["--database-path", "nowhere"]);
    assert_eq!(text(&output.stderr), "error: data directory does not exist: nowhere\n");
}

#[test]
fn files_that_are_pointers_are_named_so() {
    let folder = database();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n";
    for name in ["rules.yaml", "model.json", "db/op_mapping.yaml"] {
        fs::write(folder.path().join(name), pointer).expect("a file");
        let arguments = ["--database-path", "db", "--config", "rules.yaml", "--target-models", "model.json"];
        let arguments = match name {
            "rules.yaml" => &arguments[..4],
            "model.json" => &[&arguments[..2], &arguments[4..]].concat(),
            _ => &arguments[..2],
        };
        let output = run(&folder, arguments);
        assert_eq!(text(&output.stderr), format!("error: {name}: Git LFS pointer, run git lfs pull\n"));
    }
}

/// Of a pipe whose reader is gone, as in `tool 2>&1 | head`.
#[cfg(target_os = "linux")]
#[test]
fn a_stderr_that_takes_nothing_stops_no_run() {
    let folder = database();
    for (arguments, status) in [(["--rows", "3"], 0), (["--rows", "x"], 2), (["--config", "nowhere"], 1)] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("the full device");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_generate-shape-grid"));
        command.current_dir(folder.path()).args(["--database-path", "db"]).args(arguments);
        let ended = command.stderr(full).stdout(std::process::Stdio::null()).status().expect("it runs");
        assert_eq!(ended.code(), Some(status), "{arguments:?}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("db/Add.csv")).expect("a table").lines().count(), 5);
}

#[test]
fn usage_errors_name_the_flag_and_change_nothing() {
    let folder = database();
    let cases: [&[&str]; 11] = [
        &["--rows"],
        &["--rows=1.5"],
        &["--seed", "twelve"],
        &["--max-hbm-gb", "inf"],
        &["--max-hbm-gb=nan"],
        &["--max-hbm-gb", "1e301"],
        &["--target-models", ","],
        &["--device", "ATLAS_900"],
        &["--cann-version", "8/5"],
        &["--lock-timeout=-1"],
        // Whole flags only.
        &["--target-model", "dsv3"],
    ];
    for case in cases {
        let output = run(&folder, &[&["--database-path", "db"], case].concat());
        assert_eq!(output.status.code(), Some(2), "{case:?}");
        assert!(output.stdout.is_empty(), "{case:?}");
        let flag = case[0].split('=').next().unwrap_or_default();
        assert!(text(&output.stderr).starts_with("error: ") && text(&output.stderr).contains(flag), "{case:?}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("db/Add.csv")).expect("a file"), ADD);
}

#[test]
fn a_seed_that_was_not_given_is_told_and_draws_the_same_again() {
    let (first, second) = (database(), database());
    let stderr = text(&run(&first, &["--data-dir", "nowhere", "--database-path", "db", "--rows", "7"]).stderr);
    let seed = stderr.lines().find_map(|line| line.strip_prefix("seed: ")).expect("a seed");
    let seed = seed.split(' ').next().expect("digits");
    assert_eq!(run(&second, &["--database-path", "./db//", "--rows", "7", "--seed", seed]).status.code(), Some(0));
    let table = |folder: &TempDir| fs::read(folder.path().join("db/Add.csv")).expect("a file");
    assert_eq!(table(&first), table(&second));
    assert_ne!(table(&first), ADD.as_bytes());
    // All candidates are taken without a draw.
    assert!(!text(&run(&first, &["--database-path", "db", "--rows", "0"]).stderr).contains("seed"));
}

#[test]
fn a_run_without_limits_says_beforehand_what_comes() {
    let folder = database();
    let note = "note: without --rows and --target-models up to 1000 rows are appended to each table, drawn from all shapes that the \
                   rules know; --dry-run counts them\n";
    let stderr = |options: &[&str]| text(&run(&folder, &[&["--database-path", "db"], options].concat()).stderr);
    assert!(!stderr(&["--dry-run"]).contains("without --rows"));
    assert!(stderr(&[]).starts_with(note), "{}", stderr(&[]));
    assert!(!stderr(&["--rows", "5"]).contains("without --rows"));
}

#[test]
fn the_report_for_programs_is_written_with_the_tables_or_not_at_all() {
    let folder = database();
    let output = run(&folder, &["--database-path", "db", "--rows", "0", "--json", "missing/report.json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("error: missing/report.json: "), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(folder.path().join("db/Add.csv")).expect("a file"), ADD);
    let output = run(&folder, &["--database-path", "db", "--rows", "0", "--dry-run", "--json", "report.json"]);
    assert!(
        text(&output.stdout).ends_with("Would append 481 rows across 1 CSV files under db.\nAdd.csv: 481 rows\n"),
        "{}",
        text(&output.stdout)
    );
    let report = fs::read_to_string(folder.path().join("report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!((&report["dry_run"], &report["appended"]), (&true.into(), &481.into()));
    assert_eq!((&report["seed"], &report["files"][0]["duplicates"]), (&serde_json::Value::Null, &0.into()));
    assert_eq!(fs::read_to_string(folder.path().join("db/Add.csv")).expect("a file"), ADD);
}

#[test]
fn measurements_are_planned_the_same_way_every_time() {
    let planned = |further: &[&str]| {
        let folder = database();
        let output = run(&folder, &[&["--database-path", "db", "--plan-measurements", "6"][..], further].concat());
        (
            output.status.code(),
            text(&output.stdout) + &text(&output.stderr),
            fs::read(folder.path().join("db/Add.csv")).expect("a file"),
        )
    };
    let (status, printed, table) = planned(&["--semantics", "corrected"]);
    assert_eq!((status, printed.contains("seed")), (Some(0), false), "{printed}");
    assert_eq!(text(&table).lines().count(), 8);
    assert_eq!(planned(&["--semantics", "corrected"]).2, table);
    let (status, printed, table) = planned(&[]);
    assert_eq!((status, text(&table).as_str()), (Some(2), ADD));
    assert!(printed.contains("--plan-measurements needs --semantics corrected"), "{printed}");
    assert_eq!(planned(&["--rows", "3"]).0, Some(2));
}
