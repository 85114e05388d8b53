//! What holds for every tool: paths may be any bytes, and `-v` shows what a run does.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use assert_cmd::Command;
use clap::error::ErrorKind;
use perfdb_tools::all_tools::TOOLS;

type TestResult = Result<(), Box<dyn Error>>;

/// Names of values that are paths, or hold one.
const PATHS: [&str; 15] = [
    "FILE",
    "DIR",
    "INTO",
    "FROM",
    "PATH",
    "CMD",
    "TRACE",
    "TRACE.json",
    "CSV",
    "OLD.json",
    "OUTPUT_DIR",
    "TRACE1",
    "TRACE2",
    "LIST",
    "FOLDER",
];

fn odd_path() -> OsString {
    OsStr::from_bytes(b"no-text-\xff").to_owned()
}

#[test]
fn no_option_for_a_path_insists_on_text() {
    let mut tried = 0;
    for tool in TOOLS {
        let arguments: Vec<_> = (tool.command)().get_arguments().cloned().collect();
        for argument in arguments.iter().filter(|argument| argument.get_action().takes_values()) {
            let names: Vec<&str> =
                argument.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
            let id = argument.get_id().as_str();
            // Models are named, or given by the path of their description.
            let is_path =
                names.iter().any(|name| PATHS.contains(name)) || id.ends_with("_dir") || id == "target_models";
            if !is_path {
                continue;
            }
            let mut line = vec![OsString::from(tool.name)];
            line.extend(argument.get_long().map(|name| OsString::from(format!("--{name}"))));
            line.push(odd_path());
            let parsed = (tool.command)().try_get_matches_from(line);
            let kind = parsed.err().map(|error| error.kind());
            assert_ne!(kind, Some(ErrorKind::InvalidUtf8), "{} {}", tool.name, id);
            tried += 1;
        }
    }
    assert!(tried > 60, "only {tried} options for paths were found");
}

#[test]
fn every_tool_answers_to_a_path_that_is_no_text() -> TestResult {
    let path = odd_path();
    let last: &[(&str, &[&str])] = &[
        ("audit-coverage", &["--from-trace"]),
        ("bundle-reports", &[]),
        ("calibrate-database", &["--output", "new", "--with", "db"]),
        ("check-database", &["--database-path"]),
        ("check-density", &["--database-path"]),
        ("check-trace", &[]),
        ("compare-traces", &["--trace1", "a.json", "--trace2"]),
        ("compute-m6", &["--tc-trace", "a.json", "--forward-csv"]),
        ("cut-forward-pass", &[]),
        ("cut-trace", &[]),
        ("database-from-trace", &["--database-path", "db"]),
        ("diff-databases", &["db"]),
        ("evaluate-database", &["--database-path"]),
        ("explain-prediction", &["--tc-trace", "a.json", "--forward-csv"]),
        ("explain-trace", &[]),
        ("export-database", &["db", "--parquet"]),
        ("fill-fia-runtime-metadata", &["--database-path"]),
        ("forecast", &["--database-path", "db", "--model"]),
        ("generate-comm-microbench", &["--from-results"]),
        ("generate-op-comparison", &["--config"]),
        ("generate-per-shape-comparison", &["--tc-trace", "a.json", "--prof-trace"]),
        ("generate-shape-grid", &["--database-path"]),
        ("merge-databases", &["db"]),
        ("import-database", &["--database-path", "db"]),
        ("op-replay", &["Add", "--csv"]),
        ("parse-kernel-details", &["--database-path", "db", "--profiling-path"]),
        ("probe-dfc-constraints", &["--worker"]),
        ("query-database", &["aten.mm.default", "--database-path"]),
        ("run-all-op", &["--database-path"]),
        ("run-comm-bench", &["--plan-out", "/dev/null/x", "--"]),
        ("start-microbench", &["--dry-run", "--prof-path"]),
        ("trace-to-csv", &[]),
        ("validate-comm-alignment", &["--csv-dir"]),
    ];
    for tool in TOOLS {
        let (_, arguments) =
            last.iter().find(|(name, _)| *name == tool.name).ok_or_else(|| format!("{} is not tried", tool.name))?;
        let folder = tempfile::tempdir()?;
        let mut command = Command::cargo_bin(tool.name)?;
        let output = command.args(*arguments).arg(&path).current_dir(&folder).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{}: {:?} {stderr}", tool.name, output.status);
        assert!(stderr.contains("error: ") && !stderr.contains("UTF-8 was detected"), "{}: {stderr}", tool.name);
    }
    Ok(())
}

fn verbose(folder: &Path, tool: &str, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let mut command = Command::cargo_bin(tool)?;
    let output = command.arg("-v").args(arguments).current_dir(folder).env("PERFDB_PYTHON", "/bin/false").output()?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn verbose_shows_files_phases_and_processes() -> TestResult {
    let folder = tempfile::tempdir()?;
    let header = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)";
    fs::write(folder.path().join("Add.csv"), format!("{header}\n\"4,4;4,4\",FLOAT;FLOAT,ND;ND,\"4,4\",FLOAT,ND,\n"))?;
    for (tool, arguments, shown) in [
        (
            "generate-shape-grid",
            &["--database-path", ".", "--rows", "3", "--seed", "1", "--dry-run"][..],
            &[
                "found folder=. tables=1",
                "look at tables: close time.busy=",
                "choose candidates: close time.busy=",
                "read table=Add.csv bytes=",
                "rows=3",
                "make rows",
            ][..],
        ),
        (
            "op-replay",
            &["Add", "--csv", "Add.csv", "--output", "out", "--repeat-count", "1"],
            &[
                "read Add.csv: 1 row(s), ",
                "plan rows{",
                "Add: 1 row(s) to run",
                "executor on ",
                "Add: rows took ",
                "op-replay took ",
            ],
        ),
        (
            "generate-comm-microbench",
            &["--do-run", "--output-dir", "out", "--num-devices", "2", "--bytes-grid", "64", "--python", "/bin/false"],
            &["asking the interpreter for torch program=/bin/false", "the interpreter has answered", "took "],
        ),
    ] {
        let stderr = verbose(folder.path(), tool, arguments)?;
        for text in shown {
            assert!(stderr.contains(text), "{tool}: no {text:?} in\n{stderr}");
        }
    }
    Ok(())
}

#[test]
fn a_database_goes_out_and_back_by_two_names() -> TestResult {
    let folder = tempfile::tempdir()?;
    let database = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/first-database/database");
    let run = |tool: &str, arguments: &[&OsStr]| -> Result<Option<i32>, Box<dyn Error>> {
        Ok(Command::cargo_bin("perfdb")?.arg(tool).args(arguments).current_dir(&folder).output()?.status.code())
    };
    assert_eq!(run("export-database", &[database.as_os_str(), "tables".as_ref()])?, Some(0));
    assert_eq!(run("import-database", &["tables".as_ref(), "copy".as_ref()])?, Some(0));
    assert_eq!(std::fs::read(folder.path().join("copy/MatMulV2.csv"))?, std::fs::read(database.join("MatMulV2.csv"))?);
    assert_eq!(run("export-database", &[database.as_os_str()])?, Some(2));
    let twice: [&OsStr; 4] = ["tables".as_ref(), "a".as_ref(), "--database-path".as_ref(), "b".as_ref()];
    assert_eq!(run("import-database", &twice)?, Some(2));
    Ok(())
}
