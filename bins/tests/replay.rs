//! Op replay and start-microbench from the outside: what the golden cases cannot show.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn program(name: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin(name));
    for variable in ["PERFDB_REPLAY_BACKEND", "PERFDB_WORKER", "PERFDB_RUN_STATUS", "PERFDB_REPLAY_JOURNAL"] {
        command.env_remove(variable);
    }
    command.env("SOURCE_DATE_EPOCH", "1767225600");
    command
}

fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(path)
}

fn copy_folder(from: &Path, to: &Path) -> TestResult {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?
        } else {
            fs::copy(entry.path(), target).map(drop)?
        }
    }
    Ok(())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn succeeded(output: &Output) -> TestResult {
    if output.status.success() { Ok(()) } else { Err(format!("{}: {}", output.status, text(&output.stderr)).into()) }
}

fn read_json(path: &Path) -> Result<Value, Box<dyn std::error::Error>> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

/// A folder with the fake worker of the golden cases and a table of small Add rows.
fn with_fake_worker(rules: &str, rows: usize) -> Result<tempfile::TempDir, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    fs::copy(testdata("golden/op-replay/worker-ok/fake_worker.py"), folder.path().join("fake_worker.py"))?;
    fs::write(folder.path().join("worker.json"), rules)?;
    let mut table = "OP State,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types\n".to_owned();
    for row in 1..=rows {
        table.push_str(&format!("dynamic,\"{row},8;{row},8\",FLOAT;FLOAT,ND;ND,\"{row},8\",FLOAT\n"));
    }
    fs::write(folder.path().join("Add.csv"), table)?;
    Ok(folder)
}

#[test]
fn the_demo_database_goes_from_the_grid_to_a_report() -> TestResult {
    let folder = tempfile::tempdir()?;
    copy_folder(&testdata("demo-database"), folder.path())?;
    let database = "HOST_CPU/demo";
    let grid = program("generate-shape-grid")
        .args(["--database-path", database, "--config", "rules.yaml", "--rows", "0", "--seed", "1"])
        .current_dir(folder.path())
        .output()?;
    succeeded(&grid)?;
    let measured = program("start-microbench")
        .args(["--database-path", database, "--backend", "native", "--repeat-count", "3"])
        .current_dir(folder.path())
        .output()?;
    succeeded(&measured)?;
    assert!(text(&measured.stdout).contains("| Rows updated         | 44 "), "{}", text(&measured.stdout));
    assert!(text(&measured.stdout).contains("[CLEAN] removed HOST_CPU/demo/msprof_run_"));
    let origin = read_json(&folder.path().join("HOST_CPU/demo/reports/profile_update_report_20260101_000000.json"))?;
    assert_eq!(
        (&origin["backend"], &origin["repeats"], &origin["date"]),
        (&"native".into(), &3.into(), &"2026-01-01T00:00:00Z".into())
    );
    let cases = origin["cases"].as_array().ok_or("cases")?;
    assert_eq!(cases.len(), 44);
    assert!(cases.iter().all(|case| case[2] == "HOST_CPU" && case[3] == 3 && case[4].as_f64() > Some(0.0)));
    // Nothing is missing any more.
    let again = program("start-microbench")
        .args(["--database-path", database, "--backend", "native", "--update-mode", "missing-only"])
        .current_dir(folder.path())
        .output()?;
    succeeded(&again)?;
    assert!(text(&again.stdout).ends_with("[SUMMARY] All target CSV files already have usable replay durations.\n"));
    Ok(())
}

#[test]
fn times_of_the_host_do_not_land_in_an_accelerators_directory() -> TestResult {
    let folder = tempfile::tempdir()?;
    copy_folder(&testdata("demo-database/HOST_CPU/demo"), &folder.path().join("db"))?;
    let run = |further: &[&str]| {
        program("start-microbench")
            .args(["--database-path", "db", "--backend", "native", "--ops", "SwiGlu"])
            .args(further)
            .current_dir(folder.path())
            .output()
    };
    let refused = run(&[])?;
    assert_eq!(refused.status.code(), Some(1));
    let error = text(&refused.stderr);
    assert!(error.contains("HOST_CPU") && error.contains("--allow-foreign-times"), "{error}");
    assert!(fs::read_dir(folder.path().join("db"))?.count() == 4, "nothing was made");
    succeeded(&run(&["--allow-foreign-times"])?)?;
    succeeded(&run(&["--device", "HOST_CPU"])?)
}

#[test]
fn a_journal_passes_over_what_is_done() -> TestResult {
    let folder = with_fake_worker(r#"{"rows": {"4": {"do": "crash"}}, "log": "calls.log"}"#, 4)?;
    let run = |id: &str| {
        program("op-replay")
            .args(["Add", "--csv", "Add.csv", "--backend", "torch-cpu", "--worker", "python3 fake_worker.py"])
            .args([
                "--repeat-count",
                "2",
                "--journal",
                "j.jsonl",
                "--results",
                "r.json",
                "--output",
                "out",
                "--run-id",
                id,
            ])
            .current_dir(folder.path())
            .output()
    };
    succeeded(&run("1")?)?;
    let first = read_json(&folder.path().join("r.json"))?;
    assert_eq!(first[2]["error"], "crash");
    fs::write(folder.path().join("worker.json"), r#"{"log": "calls.log"}"#)?;
    fs::write(folder.path().join("calls.log"), "")?;
    succeeded(&run("2")?)?;
    let calls = fs::read_to_string(folder.path().join("calls.log"))?;
    assert_eq!(calls.lines().filter(|line| line.starts_with("case")).collect::<Vec<_>>(), ["case Add:4"]);
    let second = read_json(&folder.path().join("r.json"))?;
    assert_eq!((&second[0], &second[3]), (&first[0], &first[3]));
    assert_eq!(second[2]["status"], "ok");
    let summary = "out/PROF_000001_2_PERFDB/mindstudio_profiler_output/op_summary_2.csv";
    assert_eq!(fs::read_to_string(folder.path().join(summary))?.lines().count(), 1 + 4 * 2);
    Ok(())
}

#[test]
fn devices_share_the_rows_and_results_stay_in_order() -> TestResult {
    let folder = with_fake_worker(r#"{"rows": {"5": {"do": "error", "message": "no"}}}"#, 40)?;
    let run = |further: &[&str]| {
        program("op-replay")
            .args(["Add", "--csv", "Add.csv", "--backend", "npu", "--worker", "python3 fake_worker.py"])
            .args(["--repeat-count", "1", "--results", "r.json", "--output", "out", "--invalid-rows", "keep"])
            .args(further)
            .env("PERFDB_VISIBLE_NPUS", "3")
            .current_dir(folder.path())
            .output()
    };
    succeeded(&run(&[])?)?;
    let alone = read_json(&folder.path().join("r.json"))?;
    succeeded(&run(&["--num-devices", "3"])?)?;
    assert_eq!(read_json(&folder.path().join("r.json"))?, alone);
    for (further, code) in [(["--num-devices", "4"], 1), (["--devices", "0,3"], 1), (["--devices", "1,1"], 2)] {
        assert_eq!(run(&further)?.status.code(), Some(code), "{further:?}");
    }
    Ok(())
}

#[test]
fn a_link_names_the_operator() -> TestResult {
    let folder = with_fake_worker("{}", 1)?;
    let link = folder.path().join("Add_run.py");
    std::os::unix::fs::symlink(assert_cmd::cargo::cargo_bin("op-replay"), &link)?;
    let output = Command::new(link).args(["--csv", "Add.csv", "--plan"]).current_dir(folder.path()).output()?;
    succeeded(&output)?;
    let case: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!((&case["op"], &case["row"]), (&"Add".into(), &2.into()));
    Ok(())
}

#[test]
fn an_interrupt_ends_the_worker_and_keeps_what_ran() -> TestResult {
    let folder = with_fake_worker(r#"{"rows": {"3": {"do": "hang"}}, "log": "calls.log"}"#, 3)?;
    let child = program("op-replay")
        .args(["Add", "--csv", "Add.csv", "--backend", "torch-cpu", "--worker", "python3 fake_worker.py"])
        .args(["--repeat-count", "1", "--results", "r.json", "--output", "out"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let log = folder.path().join("calls.log");
    while !fs::read_to_string(&log).unwrap_or_default().contains("Add:3") {
        std::thread::yield_now();
    }
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::Signal::SIGINT)?;
    let output = child.wait_with_output()?;
    assert_eq!((output.status.code(), output.status.signal()), (Some(130), None), "{}", text(&output.stderr));
    let results = read_json(&folder.path().join("r.json"))?;
    assert_eq!(results.as_array().map(Vec::len), Some(1), "{results}");
    Ok(())
}
