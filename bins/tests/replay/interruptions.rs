//! Runs that are interrupted or killed, and go on.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use super::support::*;

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

/// The run folder that start-microbench has made in a database.
fn run_folder(database: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(database).ok()?.filter_map(Result::ok);
    entries.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("/msprof_run_"))
}

/// Medians of the cases that a journal says are done.
fn finished_medians(journal: &Path) -> Vec<f64> {
    let text = fs::read_to_string(journal).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line["result"]["median_us"].as_f64()).collect()
}

/// Ends a measurement by that signal in the middle, and continues it.
fn resume_after(signal: nix::sys::signal::Signal) -> TestResult {
    const ROWS: usize = 60;
    let folder = tempfile::tempdir()?;
    let database = folder.path().join("db");
    fs::create_dir(&database)?;
    let mut table = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Average Duration(us)\n".to_owned();
    for row in 0..ROWS {
        let shape = format!("{},512", 1000 + row);
        table.push_str(&format!("\"{shape};{shape}\",DT_BF16;DT_BF16,ND;ND,\"{shape}\",\n"));
    }
    fs::write(database.join("Add.csv"), &table)?;
    let measure = || {
        let mut command = program("start-microbench");
        command.args(["--database-path", "db", "--device", "HOST_CPU", "--backend", "native", "--repeat-count", "5"]);
        command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let mut child = measure().spawn()?;
    let finished_now = || run_folder(&database).map(|run| finished_medians(&run.join("replay_journal.jsonl")).len());
    wait_until(&mut child, || finished_now().unwrap_or_default() >= 3)?;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), signal)?;
    let output = child.wait_with_output()?;
    assert!(!output.status.success(), "it was still running");
    assert_eq!(fs::read_to_string(database.join("Add.csv"))?, table, "the database is as it was");
    let finished = finished_medians(&run_folder(&database).ok_or("a preserved run")?.join("replay_journal.jsonl"));
    assert!((3..ROWS).contains(&finished.len()), "{} cases", finished.len());
    if signal != nix::sys::signal::Signal::SIGKILL {
        let left = format!("[LEFT] 1 of 1 operators are not measured: Add ({} of {ROWS} rows are)", finished.len());
        assert!(text(&output.stderr).contains(&left), "{}", text(&output.stderr));
    }

    succeeded(&measure().arg("--resume").output()?)?;
    let origin = read_json(&database.join("reports/profile_update_report_20260101_000000.json"))?;
    assert_eq!(origin["resumed"], true);
    let medians: Vec<f64> =
        origin["cases"].as_array().ok_or("cases")?.iter().filter_map(|case| case[5].as_f64()).collect();
    assert_eq!(medians.len(), ROWS);
    let is_kept = |median: &f64| medians.iter().any(|other| (other - median).abs() < 1e-6);
    assert!(finished.iter().all(is_kept), "{finished:?} measured again: {medians:?}");
    let updated = fs::read_to_string(database.join("Add.csv"))?;
    assert_eq!(updated.lines().filter(|line| !line.ends_with(',')).count(), 1 + ROWS, "{updated}");
    assert_eq!(run_folder(&database), None);
    Ok(())
}

#[test]
fn an_interrupted_measurement_goes_on_where_it_was() -> TestResult {
    resume_after(nix::sys::signal::Signal::SIGINT)
}

#[test]
fn a_killed_measurement_goes_on_where_it_was() -> TestResult {
    resume_after(nix::sys::signal::Signal::SIGKILL)
}

#[test]
fn a_run_that_was_killed_before_it_cleaned_up_is_not_measured_again() -> TestResult {
    let folder = tempfile::tempdir()?;
    copy_folder(&testdata("demo-database/HOST_CPU/demo"), &folder.path().join("db"))?;
    let before = fs::read(folder.path().join("db/SwiGlu.csv"))?;
    let run = folder.path().join("db/msprof_run_abcdefgh");
    fs::create_dir_all(run.join("PROF_1"))?;
    fs::write(run.join("written_back"), "")?;
    let resumed = program("start-microbench")
        .args(["--database-path", "db", "--device", "HOST_CPU", "--backend", "native", "--resume"])
        .current_dir(folder.path())
        .output()?;
    succeeded(&resumed)?;
    assert_eq!(text(&resumed.stdout), "[CLEAN] removed db/msprof_run_abcdefgh\n");
    assert!(text(&resumed.stderr).contains("in the tables already"), "{}", text(&resumed.stderr));
    assert!(!run.exists());
    assert_eq!(fs::read(folder.path().join("db/SwiGlu.csv"))?, before);
    Ok(())
}

#[test]
fn an_interrupt_ends_the_worker_and_keeps_what_ran() -> TestResult {
    let folder = with_fake_worker(r#"{"rows": {"3": {"do": "hang"}}, "log": "calls.log"}"#, 3)?;
    let mut child = program("op-replay")
        .args(["Add", "--csv", "Add.csv", "--backend", "torch-cpu", "--worker", "python3 fake_worker.py"])
        .args(["--repeat-count", "1", "--results", "r.json", "--output", "out"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let log = folder.path().join("calls.log");
    wait_until(&mut child, || fs::read_to_string(&log).unwrap_or_default().contains("Add:3"))?;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::Signal::SIGINT)?;
    let output = child.wait_with_output()?;
    assert_eq!((output.status.code(), output.status.signal()), (Some(130), None), "{}", text(&output.stderr));
    let results = read_json(&folder.path().join("r.json"))?;
    assert_eq!(results.as_array().map(Vec::len), Some(1), "{results}");
    Ok(())
}

#[test]
fn an_interrupt_ends_msprof() -> TestResult {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("db"))?;
    fs::create_dir(folder.path().join("bin"))?;
    let msprof = folder.path().join("bin/msprof");
    fs::write(&msprof, "#!/bin/sh\ntouch started\nsleep 20\ntouch ended\n")?;
    fs::set_permissions(&msprof, fs::Permissions::from_mode(0o755))?;
    let search_path = format!("{}:{}", folder.path().join("bin").display(), std::env::var("PATH")?);
    let mut child = program("start-microbench")
        .args(["--database-path", "db", "--ops", "Add"])
        .env("PATH", search_path)
        .env("PERFDB_VISIBLE_NPUS", "1")
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    wait_until(&mut child, || folder.path().join("started").exists())?;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::Signal::SIGTERM)?;
    let output = child.wait_with_output()?;
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    assert!(!folder.path().join("ended").exists(), "msprof went on to its end");
    assert!(text(&output.stdout).starts_with("[PRESERVE] "), "{}", text(&output.stdout));
    Ok(())
}

/// Results, op_summary and the table without its invalid rows are written together or not at all.
#[test]
fn a_lock_that_cannot_be_taken_leaves_everything_as_it_was() -> TestResult {
    let folder = tempfile::tempdir()?;
    let header = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats\n";
    let table = format!("{header}x;4,FLOAT;FLOAT,ND;ND,4,FLOAT,ND\n4;4,FLOAT;FLOAT,ND;ND,4,FLOAT,ND\n");
    fs::create_dir(folder.path().join("db"))?;
    fs::write(folder.path().join("db/Add.csv"), &table)?;
    fs::write(folder.path().join("r.json"), "old")?;
    let line = ["Add", "--csv", "db/Add.csv", "--invalid-rows", "drop", "--backend", "native", "--repeat-count", "1"];
    let run = || {
        let further = ["--output", "out", "--run-id", "1", "--results", "r.json"];
        program("op-replay").args(line).args(further).current_dir(folder.path()).output()
    };
    fs::create_dir(folder.path().join("db/.perfdb.lock"))?;
    let failed = run()?;
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stdout));
    assert_eq!(fs::read_to_string(folder.path().join("r.json"))?, "old");
    assert_eq!(fs::read_to_string(folder.path().join("db/Add.csv"))?, table);
    assert!(!folder.path().join("out").exists());
    fs::remove_dir(folder.path().join("db/.perfdb.lock"))?;
    succeeded(&run()?)?;
    assert_ne!(fs::read_to_string(folder.path().join("r.json"))?, "old");
    assert!(folder.path().join("out/PROF_000001_1_PERFDB/mindstudio_profiler_output/op_summary_1.csv").is_file());
    Ok(())
}

#[test]
fn a_database_that_is_not_there_is_named_before_it_is_made() -> TestResult {
    let folder = tempfile::tempdir()?;
    let profile = folder.path().join("PROF_1/mindstudio_profiler_output");
    fs::create_dir_all(&profile)?;
    let header = "OP Type,Task Type,Task Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types\n";
    fs::write(profile.join("op_summary_1.csv"), format!("{header}Add,AI_CORE,5,4;4,FLOAT;FLOAT,ND;ND,4,FLOAT\n"))?;
    let run = |further: &[&str]| {
        let line = ["--prof-path", "PROF_1", "--database-path", "bd"];
        program("start-microbench").args(line).args(further).current_dir(folder.path()).output()
    };
    let refused = run(&["--must-exist"])?;
    assert_eq!(text(&refused.stderr), "error: bd: no such database\n");
    assert!(!folder.path().join("bd").exists());
    let made = run(&[])?;
    succeeded(&made)?;
    assert!(text(&made.stderr).contains("note: bd: no such database, a new one is made"), "{}", text(&made.stderr));
    succeeded(&run(&["--must-exist"])?)
}
