//! compute-m6, generate-op-comparison, generate-per-shape-comparison and trace-to-csv as their users see them: exit statuses,
//! error lines, what is left behind. What they compute is in the golden cases.

mod explained;
mod gates;
mod inputs;
mod outputs;
mod passes;
#[cfg(feature = "parquet")]
mod tables;

use assert_cmd::Command;
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

const TRACE: &str = r#"{"traceEvents": [
{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}},
{"name": "aten.mm.default", "ph": "X", "ts": 0, "dur": 90, "pid": 0, "tid": 0, "args": {"simulation_shapes": "[[16, 5120], [5120, 768]]", "source": "MEASURED", "kernel_type": "MatMulV2"}},
{"name": "aten.add.Tensor", "ph": "X", "ts": 90, "dur": 10, "pid": 0, "tid": 0, "args": {"simulation_shapes": "[[16]]"}}]}"#;
const PROFILE: &str =
    "Type,Start Time(us),Duration(us),Input Shapes\nMatMulV2,0.5\t,100,\"\"\"16,5120;5120,768\"\"\"\nAdd,101\t,4,16\n";

/// An empty folder with a trace and a profile in it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Result<Folder, Box<dyn Error>> {
        let folder = Folder(TempDir::new()?);
        folder.write("t.json", TRACE)?;
        folder.write("p.csv", PROFILE)?;
        Ok(folder)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> std::io::Result<()> {
        let path = self.0.path().join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, content)
    }

    fn read(&self, name: &str) -> std::io::Result<String> {
        fs::read_to_string(self.0.path().join(name))
    }

    fn names(&self) -> std::io::Result<Vec<String>> {
        let mut names = fs::read_dir(self.0.path())?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<std::io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    fn run(&self, tool: &str, arguments: &[&str]) -> Result<Ran, Box<dyn Error>> {
        let output = Command::cargo_bin(tool)?.current_dir(self.0.path()).args(arguments).output()?;
        Ok(Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    /// Runs a tool that has to fail with one `error:` line that holds `parts`, and leave nothing behind.
    fn fails(&self, tool: &str, arguments: &[&str], parts: &[&str]) -> TestResult {
        let before = self.names()?;
        let ran = self.run(tool, arguments)?;
        assert_eq!(ran.code, Some(1), "{tool} {arguments:?}: {ran:?}");
        let is_error = |line: &&str| !line.starts_with("warning:") && !line.starts_with("note:");
        let lines: Vec<&str> = ran.stderr.lines().filter(is_error).collect();
        assert_eq!(lines.len(), 1, "{tool} {arguments:?}: {ran:?}");
        assert!(lines[0].starts_with("error: "), "{ran:?}");
        for part in parts {
            assert!(lines[0].contains(part), "{part:?} is not in {:?}", lines[0]);
        }
        assert_eq!(ran.stdout, "", "{tool} {arguments:?}");
        assert_eq!(self.names()?, before, "{tool} {arguments:?}");
        Ok(())
    }
}

#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

const M6: [&str; 4] = ["--tc-trace", "t.json", "--prof-trace", "p.csv"];

#[test]
fn original_options_may_be_abbreviated_and_new_ones_may_not() -> TestResult {
    let folder = Folder::new()?;
    let ran = folder.run("compute-m6", &["--tc", "t.json", "--p=p.csv", "--s", "NOPE", "--j", "out.json"])?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Source filter:   ['NOPE']"));
    for arguments in [["--sem", "corrected"], ["--fail", "0,1"], ["--semantic", "corrected"]] {
        let ran = folder.run("compute-m6", &[&M6[..], &arguments[..]].concat())?;
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(ran.stderr.contains(arguments[0]), "{}", ran.stderr);
    }
    Ok(())
}

#[test]
fn wrong_usage_writes_nothing() -> TestResult {
    let folder = Folder::new()?;
    let cases: [(&str, &[&str], &str); 9] = [
        ("compute-m6", &["--tc-trace", "t.json", "--prof-trace"], "--prof-trace"),
        ("compute-m6", &[&M6[..], &["stray"]].concat(), "stray"),
        ("compute-m6", &[&M6[..], &["--fail-outside", "1.1,0.9"]].concat(), "--fail-outside"),
        ("compute-m6", &[&M6[..], &["--semantics", "best"]].concat(), "--semantics"),
        ("generate-op-comparison", &["--jobs", "-1"], "--jobs"),
        ("generate-op-comparison", &["--jobs", "two"], "--jobs"),
        ("generate-op-comparison", &["--min-share", "1"], "--fail-above"),
        ("generate-op-comparison", &["--fail-above", "nan"], "--fail-above"),
        ("trace-to-csv", &["--trace", "t.json", "--semantics", "corrected"], "--semantics"),
    ];
    let before = folder.names()?;
    for (tool, arguments, part) in cases {
        let ran = folder.run(tool, arguments)?;
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{tool} {arguments:?}");
        assert!(ran.stderr.contains(part), "{tool} {arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("\nUsage: {tool} ")), "{tool} {arguments:?}: {}", ran.stderr);
        assert_eq!(folder.names()?, before);
    }
    Ok(())
}

#[test]
fn a_failed_scenario_does_not_hide_the_others() -> TestResult {
    let folder = Folder::new()?;
    folder.write("cut.json", &TRACE[..300])?;
    folder.write(
        "s.yaml",
        "- {name: bad, tc_trace: cut.json, trace_csv: p.csv}\n- {name: good, tc_trace: t.json, trace_csv: p.csv}",
    )?;
    folder.write("op.json", "old")?;
    let run = |more: &[&str]| {
        folder.run("generate-op-comparison", &[&["--scenarios", "s.yaml", "--output", "op.json"][..], more].concat())
    };
    let ran = run(&[])?;
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.starts_with("error: cut.json: ") && ran.stderr.lines().count() == 1, "{ran:?}");
    assert!(ran.stdout.contains("good — TC") && !ran.stdout.contains("bad") && !ran.stdout.contains("Saved"));
    assert_eq!(folder.read("op.json")?, "old");
    let ran = run(&["--keep-going"])?;
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.ends_with("\nSaved to op.json\n") && folder.read("op.json")?.starts_with("{\n  \"good\": ["));
    Ok(())
}

/// generate-op-comparison on the scenarios that come with the repository.
fn on_shipped_scenarios() -> Result<Command, Box<dyn std::error::Error>> {
    let mut command = Command::cargo_bin("generate-op-comparison")?;
    let arguments = ["--scenarios", "testdata/scenarios.yaml", "--data-dir", "testdata/scenarios"];
    command.current_dir(repository()).args(arguments);
    Ok(command)
}

#[test]
fn the_number_of_jobs_shows_nowhere() -> TestResult {
    let folder = Folder::new()?;
    let mut first: Option<(String, String)> = None;
    for jobs in ["1", "2", "4", "9"] {
        let output = folder.0.path().join("op.json");
        let ran = on_shipped_scenarios()?.args(["--jobs", jobs, "--output"]).arg(&output).output()?;
        assert_eq!(ran.status.code(), Some(0));
        let found = (String::from_utf8(ran.stdout)?, fs::read_to_string(&output)?);
        assert_eq!(found, *first.get_or_insert_with(|| found.clone()), "--jobs {jobs}");
    }
    Ok(())
}

#[test]
fn the_shipped_scenarios_as_a_newcomer_sees_them() -> TestResult {
    let folder = Folder::new()?;
    let output = folder.0.path().join("op.json");
    let ran = on_shipped_scenarios()?.args(["--semantics", "corrected", "--output"]).arg(&output).output()?;
    let text = String::from_utf8(ran.stdout)?;
    insta::assert_snapshot!(text.replace(&output.to_string_lossy().into_owned(), "results/op_comparison.json"));
    Ok(())
}

#[test]
fn explanations_as_people_read_them() -> TestResult {
    let scenarios = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/scenarios");
    let arguments = ["--tc-trace", "trace.json", "--prof-trace", "forward_pass.csv", "--data-dir", ".."];
    let output = Command::cargo_bin("explain-prediction")?
        .current_dir(scenarios.join("qwen3_32b_decode"))
        .args(arguments)
        .output()?;
    assert!(output.status.success());
    insta::assert_snapshot!("explain_prediction", String::from_utf8(output.stdout)?);
    Ok(())
}
