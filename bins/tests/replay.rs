//! Op replay and start-microbench from the outside: what the golden cases cannot show.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

type TestResult = Result<(), Box<dyn std::error::Error>>;

/// Waits for something that a program does; fails where it ends before.
fn wait_until(child: &mut std::process::Child, is_done: impl Fn() -> bool) -> TestResult {
    while !is_done() {
        if let Some(status) = child.try_wait()? {
            return if is_done() { Ok(()) } else { Err(format!("ended early: {status}").into()) };
        }
        std::thread::yield_now();
    }
    Ok(())
}

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

/// An interpreter whose torchrun starts two processes that come together on gloo.
fn interpreter_with_torchrun() -> Option<String> {
    let named = std::env::var("PERFDB_PYTHON").ok().filter(|name| !name.is_empty());
    named.into_iter().chain(["python3".to_owned(), "/usr/bin/python3".to_owned()]).find(|python| {
        let mut command = Command::new(python);
        command.args(["-m", "torch.distributed.run", "--nproc_per_node=2", "--master_port=0", "--no_python", "true"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

#[test]
fn ranks_under_torchrun_run_every_row_together() -> TestResult {
    let Some(python) = interpreter_with_torchrun() else {
        println!(
            "SKIPPED ranks_under_torchrun_run_every_row_together: no Python interpreter with a torchrun that works"
        );
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let row = "\"5,64;4,64,64;4,32,64;5,2;4,64;256;5,2\",DT_BF16;INT8;INT8;INT32;INT64;INT64;FLOAT,\
               ND;FRACTAL_NZ;FRACTAL_NZ;ND;ND;ND;ND,\"5,64;4\",DT_BF16;INT32,ND;ND,2\n";
    let header = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,EP Size\n";
    fs::write(folder.path().join("DispatchFFNCombine.csv"), format!("{header}{row}{row}"))?;
    let output = program("op-replay")
        .args(["DispatchFFNCombine", "--csv", "DispatchFFNCombine.csv", "--backend", "npu", "--ep-size", "2"])
        .args(["--repeat-count", "2", "--dump-outputs", "outputs.json", "--python", &python])
        .env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/replay/tests/standins-ranks"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(folder.path())
        .output()?;
    succeeded(&output)?;
    let cases = read_json(&folder.path().join("outputs.json"))?;
    assert_eq!(cases.as_array().map(Vec::len), Some(2));
    for case in cases.as_array().into_iter().flatten() {
        assert_eq!(case["outputs"][0]["values"][0], 1, "the first rank answers");
        assert_eq!(case["outputs"][1]["values"], serde_json::json!([2, 2, 2, 2]), "two ranks came together");
    }
    Ok(())
}

#[test]
fn a_plan_names_refused_rows() -> TestResult {
    let folder = with_fake_worker("{}", 1)?;
    let table = fs::read_to_string(folder.path().join("Add.csv"))?;
    fs::write(folder.path().join("Add.csv"), table + "dynamic,N/A,FLOAT,ND,,\n")?;
    let output =
        program("op-replay").args(["Add", "--csv", "Add.csv", "--plan"]).current_dir(folder.path()).output()?;
    succeeded(&output)?;
    assert_eq!(text(&output.stdout).lines().count(), 2);
    assert_eq!(text(&output.stderr), "[INVALID] Add.csv:3 bad-shape: input 0: \"N/A\" is no shape\n");
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

#[test]
fn results_without_a_folder_are_told_before_anything_is_measured() -> TestResult {
    let folder = with_fake_worker(r#"{"log": "calls.log"}"#, 1)?;
    let run = |results: &str| {
        program("op-replay")
            .args(["Add", "--csv", "Add.csv", "--backend", "torch-cpu", "--worker", "python3 fake_worker.py"])
            .args(["--repeat-count", "1", "--output", "out", "--results", results])
            .current_dir(folder.path())
            .output()
    };
    let refused = run("none/r.json")?;
    assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(1), String::new()), "{}", text(&refused.stderr));
    assert!(!folder.path().join("calls.log").exists() && !folder.path().join("out").exists());
    succeeded(&run("out/r.json")?)
}
