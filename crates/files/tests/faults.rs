//! A set of files that is replaced under a lock, with a fault at every call that changes a file. Each child process is this test again.

use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::replace::{Parents, Staged};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

type TestResult = Result<(), Box<dyn Error>>;
type Files = BTreeMap<String, String>;

const FOLDER: &str = "PERFDB_FAULT_FOLDER";
const LOCK: LockOptions<'static> =
    LockOptions { tool: "test", timeout: Duration::ZERO, notice: &|notice| eprintln!("notice: {notice}") };

/// What a child does: `a` and `reports/c` are replaced, `b` is new.
fn replace_set(folder: &Path) -> TestResult {
    perfdb_files::interrupt::install()?;
    let locks = DirectoryLocks::acquire([folder], &LOCK)?;
    let mut set = Vec::new();
    for name in ["a", "b", "reports/c"] {
        let mut staged = Staged::create(&folder.join(name), Parents::Create)?;
        staged.write_all(b"ne")?;
        staged.write_all(b"w")?;
        set.push(staged);
    }
    locks.commit(set)?;
    Ok(())
}

fn run(folder: &Path, fault: &str) -> std::io::Result<Output> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["faults::a_set_survives_every_fault", "--exact", "--nocapture"]).env(FOLDER, folder);
    command.env("PERFDB_FAULT", fault).output()
}

fn found(folder: &Path) -> std::io::Result<Files> {
    let mut files = Files::new();
    for place in ["", "reports/"] {
        for entry in fs::read_dir(folder.join(place))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                let name = format!("{place}{}", entry.file_name().to_string_lossy());
                files.insert(name, fs::read_to_string(entry.path())?);
            }
        }
    }
    Ok(files)
}

fn files(content: &[(&str, &str)]) -> Files {
    content.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_set_survives_every_fault() -> TestResult {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return replace_set(folder.as_ref());
    }
    let old = files(&[("a", "old"), ("reports/c", "old")]);
    let new = files(&[("a", "new"), ("b", "new"), ("reports/c", "new")]);
    for kind in ["kill", "enospc", "eio", "term", "int", "hup"] {
        for at in 1.. {
            let folder = tempfile::tempdir()?;
            fs::create_dir(folder.path().join("reports"))?;
            for name in ["a", "reports/c"] {
                fs::write(folder.path().join(name), "old")?;
            }
            let output = run(folder.path(), &format!("{at}:{kind}"))?;
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            let after = found(folder.path())?;
            if !stderr.contains("fault: ") {
                assert!(output.status.success() && after == new, "{kind} at {at}: {stderr}");
                assert!(at > 10, "{kind} met only {at} calls");
                break;
            }
            let place = format!("{kind} at {at} ({})", stderr.lines().next().unwrap_or_default());
            if kind == "kill" {
                for name in ["a", "b", "reports/c"] {
                    let text = after.get(name);
                    assert!(text == old.get(name) || text == new.get(name), "{place}: {name} is {text:?}");
                }
            } else {
                assert!(after == old || after == new, "{place}: {after:?}");
            }
            if matches!(kind, "enospc" | "eio") {
                assert_eq!(after == new, output.status.success(), "{place}: {after:?}");
            }
            // Whoever locks the directory next finds a whole set, and nothing else. Temporaries below it are for who writes there.
            drop(DirectoryLocks::acquire([folder.path()], &LOCK)?);
            let mut end = found(folder.path())?;
            end.retain(|name, _| !name.starts_with("reports/."));
            assert!(end == old || end == new, "{place}, then: {end:?}");
        }
    }
    Ok(())
}

#[test]
fn a_lock_that_is_interrupted_is_tried_again_and_one_that_cannot_be_had_is_said() -> TestResult {
    let new = files(&[("a", "new"), ("b", "new"), ("reports/c", "new")]);
    for (fault, is_said) in [("1:eintr", false), ("1:enolck", true)] {
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("reports"))?;
        let output = run(folder.path(), fault)?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && stderr.contains("fault: lock"), "{fault}: {stderr}");
        assert_eq!(stderr.contains("notice: "), is_said, "{fault}: {stderr}");
        assert_eq!(found(folder.path())?, new, "{fault}");
    }
    Ok(())
}
