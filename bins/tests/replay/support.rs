//! What the tests have in common.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) use perfdb_harness::copy_folder;
use serde_json::Value;

pub(crate) type TestResult = Result<(), Box<dyn std::error::Error>>;

/// Waits for something that a program does; fails where it ends before.
pub(crate) fn wait_until(child: &mut std::process::Child, is_done: impl Fn() -> bool) -> TestResult {
    while !is_done() {
        if let Some(status) = child.try_wait()? {
            return if is_done() { Ok(()) } else { Err(format!("ended early: {status}").into()) };
        }
        std::thread::yield_now();
    }
    Ok(())
}

pub(crate) fn program(name: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin(name));
    for variable in ["PERFDB_REPLAY_BACKEND", "PERFDB_WORKER", "PERFDB_RUN_STATUS", "PERFDB_REPLAY_JOURNAL"] {
        command.env_remove(variable);
    }
    command.env("SOURCE_DATE_EPOCH", "1767225600");
    command
}

pub(crate) fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(path)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn succeeded(output: &Output) -> TestResult {
    if output.status.success() { Ok(()) } else { Err(format!("{}: {}", output.status, text(&output.stderr)).into()) }
}

pub(crate) fn read_json(path: &Path) -> Result<Value, Box<dyn std::error::Error>> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

/// A folder with the fake worker of the golden cases and a table of small Add rows.
pub(crate) fn with_fake_worker(rules: &str, rows: usize) -> Result<tempfile::TempDir, Box<dyn std::error::Error>> {
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
