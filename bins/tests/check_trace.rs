//! check-trace as it is called: exit statuses, JSON, repaired copies.

use assert_cmd::Command;
use serde_json::Value;
use std::error::Error;
#[cfg(target_os = "linux")]
use std::io::Write;
use std::path::{Path, PathBuf};

type Outcome = Result<(), Box<dyn Error>>;

fn vector(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden/check-trace/vectors").join(name)
}

fn check_trace(arguments: &[&str], file: &Path) -> Result<(Option<i32>, String, String), Box<dyn Error>> {
    let output = Command::new(env!("CARGO_BIN_EXE_check-trace")).args(arguments).arg(file).output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
}

#[test]
fn the_exit_status_says_whether_something_was_found() -> Outcome {
    assert_eq!(check_trace(&[], &vector("01-clean.json"))?.0, Some(0));
    assert_eq!(check_trace(&[], &vector("08-old-kineto.json"))?.0, Some(0));
    assert_eq!(check_trace(&[], &vector("13-overlap-pdl.json"))?.0, Some(3));
    assert_eq!(check_trace(&["--ignore", "OVERLAP_PDL"], &vector("13-overlap-pdl.json"))?.0, Some(0));
    assert_eq!(check_trace(&["--only", "LOST_BUFFER"], &vector("13-overlap-pdl.json"))?.0, Some(0));
    assert_eq!(check_trace(&["--only", "LOST"], &vector("13-overlap-pdl.json"))?.0, Some(2));
    let (status, stdout, stderr) = check_trace(&[], &vector("missing.json"))?;
    assert_eq!((status, stdout.as_str(), stderr.lines().count()), (Some(1), "", 1));
    Ok(())
}

#[test]
fn a_folder_of_a_profiler_gives_its_best_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    let deeper = folder.path().join("run_ascend_pt/ASCEND_PROFILER_OUTPUT");
    std::fs::create_dir_all(&deeper)?;
    std::fs::copy(vector("13-overlap-pdl.json"), deeper.join("trace_view.json"))?;
    std::fs::copy(vector("20-pass.csv"), deeper.join("kernel_details.csv"))?;
    let (status, stdout, _) = check_trace(&[], folder.path())?;
    assert_eq!(status, Some(3));
    assert!(stdout.contains("/trace_view.json: gpu-trace") && stdout.contains("OVERLAP_PDL"), "{stdout}");
    let (status, stdout, stderr) = check_trace(&[], &deeper.join("none"))?;
    assert_eq!((status, stdout.as_str(), stderr.lines().count()), (Some(1), "", 1));
    std::fs::remove_dir_all(folder.path().join("run_ascend_pt"))?;
    let (status, _, stderr) = check_trace(&[], folder.path())?;
    assert!(status == Some(1) && stderr.contains("a folder without a profile"), "{stderr}");
    Ok(())
}

#[test]
fn the_json_is_one_document() -> Outcome {
    let (status, stdout, _) = check_trace(&["--json"], &vector("20-pass.csv"))?;
    assert_eq!(status, Some(3));
    let report: Value = serde_json::from_str(&stdout)?;
    assert_eq!((&report["kind"], &report["trust"]), (&"kernel-csv".into(), &"medium".into()));
    Ok(())
}

#[test]
fn a_repaired_copy_is_in_order() -> Outcome {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("copy.json.gz");
    let out = copy.to_str().ok_or("a name")?;
    let (status, stdout, _) = check_trace(&["--repair", out], &vector("06-control-bom.json"))?;
    assert_eq!(status, Some(3));
    assert!(stdout.ends_with("repaired: BYTE_ORDER_MARK: 1\nrepaired: CONTROL_CHARACTERS: 2\n"), "{stdout}");
    assert!(std::fs::read(&copy)?.starts_with(&[0x1f, 0x8b]));
    assert_eq!(check_trace(&[], &copy)?.0, Some(0));
    Ok(())
}

#[test]
fn nothing_is_written_over_the_file_or_from_no_data() -> Outcome {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("trace.json");
    std::fs::copy(vector("07-duplicate-keys.json"), &file)?;
    let before = std::fs::read(&file)?;
    assert_eq!(check_trace(&["--repair", file.to_str().ok_or("a name")?], &file)?.0, Some(1));
    assert_eq!(std::fs::read(&file)?, before);
    let out = folder.path().join("out.json");
    assert_eq!(check_trace(&["--repair", out.to_str().ok_or("a name")?], &vector("02-lfs.json"))?.0, Some(1));
    assert!(!out.exists());
    Ok(())
}

#[test]
fn no_output_replaces_what_a_database_says_of_itself() -> Outcome {
    let folder = tempfile::tempdir()?;
    for name in ["op_mapping.yaml", "database.toml"] {
        let path = folder.path().join(name);
        std::fs::write(&path, "version: 1\n")?;
        for option in ["--repair", "--html", "--result-json"] {
            let out = path.to_str().ok_or("a name")?;
            let (status, _, stderr) = check_trace(&[option, out], &vector("01-clean.json"))?;
            assert!(status == Some(1) && stderr.contains("give the output another name"), "{option}: {stderr}");
            assert_eq!(std::fs::read_to_string(&path)?, "version: 1\n", "{option}");
        }
    }
    Ok(())
}

/// What a repair leaves out does not depend on what is looked for.
#[test]
fn a_selection_changes_no_repair() -> Outcome {
    let folder = tempfile::tempdir()?;
    let copies = [&[][..], &["--only", "LOST_BUFFER"], &["--ignore", "DUPLICATE_KEYS"]].map(|selection| {
        let out = folder.path().join("out.json");
        let arguments = [selection, &["--repair", out.to_str().ok_or("a name")?]].concat();
        check_trace(&arguments, &vector("07-duplicate-keys.json"))?;
        Ok::<_, Box<dyn Error>>(std::fs::read(&out)?)
    });
    let [all, only, ignored] = copies;
    let all = all?;
    assert!(all == only? && all == ignored?);
    Ok(())
}

/// Refused memory is an error of one line, not the end of the process by a signal.
#[cfg(target_os = "linux")]
#[test]
fn refused_memory_is_an_error() -> Outcome {
    const OPERATIONS: usize = 1_500_000;
    let folder = tempfile::tempdir()?;
    let (metadata, large) = (folder.path().join("metadata.json.gz"), folder.path().join("large.json.gz"));
    for (path, phase, events) in [(&metadata, "M", OPERATIONS / 10), (&large, "X", OPERATIONS)] {
        let mut file = flate2::write::GzEncoder::new(std::fs::File::create(path)?, flate2::Compression::fast());
        let first =
            r#"{"traceEvents":[{"ph":"X","name":"a","ts":0,"dur":1,"pid":0,"args":{"simulation_shapes":"[[1]]"}}"#;
        let event = format!(r#",{{"ph":"{phase}","ts":1,"dur":1,"pid":0}}"#);
        file.write_all(format!("{first}{}]}}", event.repeat(events)).as_bytes())?;
        file.finish()?;
    }
    let within = |kib: usize, file: &Path| {
        let limited = format!("ulimit -c 0; ulimit -v {kib} && exec \"$0\" \"$1\"");
        let program = env!("CARGO_BIN_EXE_check-trace");
        // Threads that start late would need different amounts of memory each time.
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &limited, program]).arg(file).env("RAYON_NUM_THREADS", "1").output()
    };
    let is_enough = |kib: usize| Ok::<_, std::io::Error>(within(kib, &metadata)?.status.success());
    let mut enough_kib = 1 << 24;
    let mut step_kib = enough_kib / 2;
    while step_kib >= 1 << 11 {
        if is_enough(enough_kib - step_kib)? {
            enough_kib -= step_kib;
        }
        step_kib /= 2;
    }
    // What the rows take, but not what they grow to: it is they that find no room, and nothing else does.
    let output = within(enough_kib + OPERATIONS * 24 / 1024, &large)?;
    let stderr = String::from_utf8(output.stderr)?;
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
    assert!(stderr.starts_with("error: ") && stderr.ends_with("large.json.gz: out of memory\n"), "{stderr}");
    assert!(output.stdout.is_empty());
    Ok(())
}

/// A pipe is read once: the report and the copy are of the same bytes.
#[test]
fn a_pipe_is_repaired_as_a_file_is() -> Outcome {
    let folder = tempfile::tempdir()?;
    let trace =
        r#"{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 5}, {"#;
    let path = folder.path().join("t.json");
    std::fs::write(&path, trace)?;
    let repaired = |input: &str, stdin: std::process::Stdio| -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("check-trace"));
        let line = [input, "--repair", "good.json"];
        let output =
            command.args(line).current_dir(folder.path()).env("TMPDIR", folder.path()).stdin(stdin).output()?;
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(std::fs::read(folder.path().join("good.json"))?)
    };
    let expected = repaired("t.json", std::process::Stdio::null())?;
    let mut cat = std::process::Command::new("cat").arg(&path).stdout(std::process::Stdio::piped()).spawn()?;
    let pipe = cat.stdout.take().ok_or("a pipe")?;
    assert_eq!(repaired("/dev/stdin", pipe.into())?, expected);
    cat.wait()?;
    assert!(expected.ends_with(b"]}"), "{}", String::from_utf8_lossy(&expected));
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 2, "nothing else is left");
    Ok(())
}
