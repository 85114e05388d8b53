//! Runs over tables and databases.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use perfdb_store::table::{ReadOptions, Table};
use serde_json::Value;

use super::support::*;

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
fn children_hand_over_what_a_run_in_one_process_writes() -> TestResult {
    let run = |mode: &str| -> Result<_, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let database = folder.path().join("db");
        fs::create_dir(&database)?;
        let header = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats\n";
        let add = format!("{header}x;4,FLOAT;FLOAT,ND;ND,4,FLOAT,ND\n4;4,FLOAT;FLOAT,ND;ND,4,FLOAT,ND\n");
        fs::write(database.join("Add.csv"), add)?;
        fs::write(database.join("TensorMove.csv"), format!("{header}4,FLOAT,ND,4,FLOAT,ND\n"))?;
        let output = program("run-all-op")
            .args(["--database-path", "db", "--ops", "Add", "TensorMove", "--invalid-rows", "drop", "--run-id", "1"])
            .args(["--backend", "native", "--repeat-count", "2", "--output", "out", "--results", "r.json"])
            .args(["--execution-mode", mode])
            .current_dir(folder.path())
            .output()?;
        succeeded(&output)?;
        let tables: Vec<String> = ["Add.csv", "Add.csv.dropped.csv", "TensorMove.csv"]
            .iter()
            .map(|name| fs::read_to_string(database.join(name)))
            .collect::<Result<_, _>>()?;
        let results = read_json(&folder.path().join("r.json"))?;
        let mut summaries = String::new();
        let mut profiles: Vec<_> = fs::read_dir(folder.path().join("out"))?.collect::<Result<_, _>>()?;
        profiles.sort_by_key(fs::DirEntry::file_name);
        for profile in &profiles {
            summaries += &fs::read_to_string(profile.path().join("mindstudio_profiler_output/op_summary_1.csv"))?;
        }
        let statuses: Vec<Value> = results.as_array().into_iter().flatten().map(|row| row["status"].clone()).collect();
        Ok((tables, statuses, profiles.len(), summaries.matches("HOST_CPU").count(), text(&output.stdout)))
    };
    let (tables, statuses, profiles, samples, _) = run("inprocess")?;
    let children = run("subprocess")?;
    assert_eq!((&children.0, &children.1, children.3), (&tables, &statuses, samples));
    assert_eq!((profiles, children.2), (1, 2), "a profile directory per process, none of them written twice");
    assert!(children.4.contains("[CLEANUP] db/Add.csv: 1 row(s) moved to db/Add.csv.dropped.csv"), "{}", children.4);
    assert!(children.4.contains("; op_summary: out/PROF_000002_1_PERFDB/"), "{}", children.4);
    Ok(())
}

#[test]
fn unknown_operators_come_with_near_names_and_no_npu_is_said_first() -> TestResult {
    let folder = tempfile::tempdir()?;
    let run = |further: &[&str]| {
        program("start-microbench")
            .args(["--database-path", "db"])
            .args(further)
            .env("PERFDB_VISIBLE_NPUS", "0")
            .env_remove("ASCEND_CUSTOM_OPP_PATH")
            .current_dir(folder.path())
            .output()
    };
    let unknown = run(&["--ops", "matmulv2", "Sort"])?;
    assert_eq!(unknown.status.code(), Some(2));
    let error = text(&unknown.stderr);
    assert!(error.contains("Unsupported --ops: matmulv2 (did you mean 'MatMulV2'?). Available: Add, "), "{error}");
    let without = run(&["--ops", "KvRmsNormRopeCache"])?;
    assert_eq!(without.status.code(), Some(1));
    let error = text(&without.stderr);
    assert!(error.contains("error: NPU not found") && !error.contains("ASCEND_CUSTOM_OPP_PATH"), "{error}");
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
fn results_without_a_folder_are_an_error_before_anything_is_measured() -> TestResult {
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

#[test]
fn rows_of_profilers_are_measured_if_faults_are_mended() -> TestResult {
    let folder = tempfile::tempdir()?;
    let database = folder.path().join("HOST_CPU/db");
    fs::create_dir_all(&database)?;
    let header = "OP State,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,\
                  Average Duration(us)";
    let argmax = "dynamic,\"4,32;1\",FLOAT;INT64,ND;ND,\"4\",INT64,ND,";
    let fill = "dynamic,\"4,8;4,1;1\",DT_BF16;BOOL;DT_BF16,ND;ND;ND,\"4,8\",DT_BF16,ND,";
    for (kernel, row) in [("ArgMaxV2", argmax), ("MaskedFill", fill)] {
        fs::write(database.join(format!("{kernel}.csv")), format!("{header}\n{row}\n"))?;
    }
    let measured = |further: &[&str]| -> Result<usize, Box<dyn std::error::Error>> {
        let mut command = program("start-microbench");
        command.args(["--database-path", "HOST_CPU/db", "--backend", "native", "--repeat-count", "2"]).args(further);
        command.current_dir(folder.path()).output()?;
        let mut measured = 0;
        for kernel in ["ArgMaxV2", "MaskedFill"] {
            let table = Table::read(&database.join(format!("{kernel}.csv")), &ReadOptions::database())?;
            let duration = table.column("Average Duration(us)").ok_or("a column of durations")?;
            assert_eq!(table.row_count(), 1, "no row is lost and none is added");
            measured += usize::from(!table.cell(0, duration).is_empty());
        }
        Ok(measured)
    };
    assert_eq!((measured(&[])?, measured(&["--semantics", "corrected"])?), (0, 2));
    Ok(())
}
