//! compute-m6, generate-op-comparison, generate-per-shape-comparison and trace-to-csv as their users see them: exit statuses,
//! error lines, what is left behind. What they compute is in the golden cases.

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
        fs::write(self.0.path().join(name), content)
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
fn traces_that_cannot_be_read() -> TestResult {
    let folder = Folder::new()?;
    let cut = &TRACE[..TRACE.len() - 40];
    let mut gzip = flate2_of(TRACE)?;
    gzip.truncate(gzip.len() - 12);
    folder.write("cut.json.gz", gzip)?;
    folder.write("cut.json", cut)?;
    folder.write("lfs.json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")?;
    folder.write("list.json", "[]")?;
    folder.write("late.json", TRACE.replace("}]}", "}, 7]}"))?;
    folder.write("bytes.json", [TRACE.as_bytes(), b"\xff"].concat())?;
    folder.write("args.json", TRACE.replace(r#"{"simulation_shapes": "[[16]]"}"#, "null"))?;
    fs::create_dir(folder.0.path().join("dir.json"))?;
    for (trace, part) in [
        ("cut.json", "at byte"),
        ("cut.json.gz", "cut.json.gz: the gzip stream breaks off (event "),
        ("lfs.json", "LFS"),
        ("list.json", "line 1, column 1"),
        ("late.json", "(event 3) at byte"),
        ("bytes.json", "UTF-8"),
        ("args.json", "args is not an object (event 2) at byte 294 (line 4, column 1)"),
        ("dir.json", "irectory"),
        ("none.json", "No such file"),
    ] {
        folder.fails(
            "compute-m6",
            &["--tc-trace", trace, "--prof-trace", "p.csv", "--json-output", "new/m6.json"],
            &[trace, part],
        )?;
        folder.fails("trace-to-csv", &["--trace", trace, "--output", "out.csv"], &[trace, part])?;
        folder.fails("trace-to-csv", &["--trace", trace], &[trace, part])?;
        folder.fails(
            "generate-per-shape-comparison",
            &["--tc-trace", trace, "--prof-trace", "p.csv", "--output", "out.csv"],
            &[trace, part],
        )?;
    }
    Ok(())
}

#[test]
fn faults_of_the_chosen_process_name_their_event() -> TestResult {
    let folder = Folder::new()?;
    folder.write("t.json", TRACE.replace(r#""dur": 10"#, r#""dur": "10""#))?;
    folder.write("s.yaml", "- {name: one, tc_trace: t.json, trace_csv: p.csv}")?;
    let arguments = ["--scenarios", "s.yaml", "--data-dir", ".", "--output", "new/op.json"];
    folder.fails(
        "generate-op-comparison",
        &arguments,
        &["t.json: dur is not a number (event 2) at byte 294 (line 4, column 1)"],
    )?;
    folder.write("t.json", TRACE.replace(r#""dur": 10, "pid": 0"#, r#""dur": "10", "pid": 1"#))?;
    let ran = folder.run("generate-op-comparison", &arguments)?;
    assert_eq!(ran.code, Some(0), "another process may hold what it likes: {ran:?}");
    Ok(())
}

fn flate2_of(text: &str) -> std::io::Result<Vec<u8>> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

#[test]
fn profiles_that_cannot_be_read() -> TestResult {
    let folder = Folder::new()?;
    folder.write("lfs.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")?;
    folder.write("bad.csv", PROFILE.replace("101", "x\u{7}1"))?;
    folder.write("inf.csv", PROFILE.replace("Add,101", "hcom_x,inf"))?;
    folder.write("bytes.csv", [PROFILE.as_bytes(), b"\xff"].concat())?;
    folder.write("columns.csv", "Type,Duration(us)\nA,1\n")?;
    let m6 = |profile| ["--tc-trace", "t.json", "--prof-trace", profile, "--json-output", "new/m6.json"];
    let shapes = |profile| ["--tc-trace", "t.json", "--prof-trace", profile, "--output", "out.csv"];
    for (profile, part) in [
        ("lfs.csv", "LFS"),
        ("inf.csv", "inf.csv:3: Start Time(us): "),
        ("bytes.csv", "UTF-8"),
        ("none.csv", "No such file"),
    ] {
        folder.fails("compute-m6", &m6(profile), &[profile, part])?;
        folder.fails("generate-per-shape-comparison", &shapes(profile), &[profile, part])?;
    }
    folder.fails(
        "generate-per-shape-comparison",
        &shapes("bad.csv"),
        &["bad.csv:3: Start Time(us): not a number: \"x\\u{7}1\\t\""],
    )?;
    let corrected = [&m6("columns.csv")[..], &["--semantics", "corrected"]].concat();
    folder.fails("compute-m6", &corrected, &["columns.csv: no column \"Start Time(us)\""])?;
    let ran =
        folder.run("compute-m6", &M6.map(|argument| if argument == "p.csv" { "columns.csv" } else { argument }))?;
    assert!(ran.stderr.starts_with("warning: columns.csv: no column \"Start Time(us)\""), "{ran:?}");
    let quiet = folder.run("compute-m6", &["-q", "--tc-trace", "t.json", "--prof-trace", "columns.csv"])?;
    assert_eq!((quiet.stderr.as_str(), quiet.stdout), ("", ran.stdout));
    Ok(())
}

#[test]
fn outputs_that_cannot_be_written() -> TestResult {
    let folder = Folder::new()?;
    let shapes = ["--tc-trace", "t.json", "--prof-trace", "p.csv", "--output", "no/out.csv"];
    folder.fails("generate-per-shape-comparison", &shapes, &["no/out.csv"])?;
    folder.fails("trace-to-csv", &["--trace", "t.json", "--output", "no/out.csv"], &["no/out.csv"])?;
    folder.fails("trace-to-csv", &["--trace", "t.json", "--output", "."], &["irectory"])?;
    let ran = folder.run("compute-m6", &[&M6[..], &["--json-output", "p.csv/m6.json"]].concat())?;
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.ends_with("(Empirical / Real)\n"), "the report is out before the JSON: {ran:?}");
    assert!(ran.stderr.starts_with("error: "));
    let ran = folder.run("generate-op-comparison", &["--output="])?;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let ran = folder.run("generate-op-comparison", &["--output", "new/a.json", "--html-output", "new/a.json"])?;
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(1), "error: new/a.json: another output of this run goes to the same file\n")
    );
    assert!(!folder.names()?.contains(&"new".to_owned()));
    if Path::new("/dev/full").exists() {
        folder.fails("trace-to-csv", &["--trace", "t.json", "--output", "/dev/full"], &["/dev/full"])?;
    }
    Ok(())
}

/// What is printed and what is written share the file that the shell opened.
#[test]
fn the_standard_output_may_be_named_as_the_output() -> TestResult {
    let folder = Folder::new()?;
    let all = folder.0.path().join("all.txt");
    let run = |tool: &str, arguments: &[&str]| -> Result<String, Box<dyn Error>> {
        let stdout = fs::File::create(&all)?;
        let program = Command::cargo_bin(tool)?.get_program().to_owned();
        let mut command = std::process::Command::new(program);
        let status = command.current_dir(folder.0.path()).args(arguments).stdout(stdout).status()?;
        assert!(status.success());
        Ok(fs::read_to_string(&all)?)
    };
    let shapes = ["--tc-trace", "t.json", "--prof-trace", "p.csv", "--output"];
    let table = run("generate-per-shape-comparison", &shapes[..4])?;
    let text = run("generate-per-shape-comparison", &[&shapes[..], &["/dev/stdout"]].concat())?;
    assert_eq!(text, format!("{table}Generated 2 per-shape comparison rows → /dev/stdout\n"));
    let text = run("compute-m6", &[&M6[..], &["--json-output", "/dev/stdout"]].concat())?;
    assert!(
        text.contains("(Empirical / Real)\n{\n") && text.ends_with("}\nJSON output written to: /dev/stdout\n"),
        "{text}"
    );
    Ok(())
}

#[test]
fn a_slash_behind_the_m6_file_is_dropped_as_in_its_message() -> TestResult {
    let folder = Folder::new()?;
    let ran = folder.run("compute-m6", &[&M6[..], &["--json-output", "new//m6.json/"]].concat())?;
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.ends_with("\nJSON output written to: new/m6.json\n"), "{ran:?}");
    assert!(folder.read("new/m6.json")?.ends_with('}'));
    Ok(())
}

#[test]
fn an_m6_of_nothing_gives_a_warning() -> TestResult {
    let folder = Folder::new()?;
    let ran = folder.run("compute-m6", &[&M6[..], &["--source-filter", "MEASURD,"]].concat())?;
    let warning = "warning: t.json: no event with a duration, a kernel type and a source among \"\", \"MEASURD\", \
                   so M6 is 0 (see --source-filter)\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), warning));
    assert!(ran.stdout.contains("M6 = 0.000"));
    assert_eq!(folder.run("compute-m6", &[&M6[..], &["--source-filter=X", "-q"]].concat())?.stderr, "");
    folder.write("p.csv", "Type,Start Time(us),Duration(us)\n")?;
    let ran = folder.run("compute-m6", &M6)?;
    let warning = "warning: p.csv: no kernel with a duration, so M6 is 0 (is this a forward pass?)\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), warning));
    Ok(())
}

#[test]
fn verbose_names_the_files_on_stderr_alone() -> TestResult {
    let folder = Folder::new()?;
    let arguments = [&M6[..], &["--json-output", "m6.json"]].concat();
    let quiet = folder.run("compute-m6", &arguments)?;
    let verbose = folder.run("compute-m6", &[&arguments[..], &["-v"]].concat())?;
    assert_eq!(verbose.stdout, quiet.stdout);
    for part in ["reading t.json", "reading p.csv", "wrote m6.json", "compute-m6 took"] {
        assert!(verbose.stderr.contains(&format!(" INFO {part}")), "without colours, {part}: {verbose:?}");
    }
    Ok(())
}

#[test]
fn m6_outside_its_limits_is_status_3_after_everything_is_written() -> TestResult {
    let folder = Folder::new()?;
    let plain = folder.run("compute-m6", &[&M6[..], &["--json-output", "a.json"]].concat())?;
    assert!(plain.stdout.contains("M6 = 0.865"), "{plain:?}");
    let outside =
        folder.run("compute-m6", &[&M6[..], &["--json-output", "b.json", "--fail-outside", "0.9,1.10"]].concat())?;
    assert_eq!((outside.code, outside.stderr.as_str()), (Some(3), "limit: M6 0.865 is outside 0.9..1.10\n"));
    assert_eq!(outside.stdout.replace("b.json", "a.json"), plain.stdout);
    assert_eq!(folder.read("a.json")?, folder.read("b.json")?);
    let inside = folder.run("compute-m6", &[&M6[..], &["--fail-outside=0.8,0.9"]].concat())?;
    assert_eq!((inside.code, inside.stderr.as_str()), (Some(0), ""));
    Ok(())
}

#[test]
fn the_gate_names_the_worst_kernel_type() -> TestResult {
    let folder = Folder::new()?;
    folder.write(
        "s.yaml",
        "- {name: one, tc_trace: t.json, trace_csv: p.csv}\n- {name: two, tc_trace: none.json, trace_csv: p.csv}",
    )?;
    let run = |more: &[&str]| {
        folder.run("generate-op-comparison", &[&["--scenarios", "s.yaml", "--output", "op.json"][..], more].concat())
    };
    let plain = run(&[])?;
    assert_eq!((plain.code, plain.stderr.as_str()), (Some(0), ""));
    assert!(plain.stdout.ends_with("SKIP two: [Errno 2] No such file or directory: 'none.json'\n\nSaved to op.json\n"));
    let json = folder.read("op.json")?;
    let gated = run(&["--fail-above", "9.5", "--min-share", "5"])?;
    assert_eq!((gated.code, &gated.stdout), (Some(3), &plain.stdout));
    let never_measured =
        "limit: one: aten.add.Tensor is predicted and was never measured (limit 9.5%), 2 kernel types beyond it\n";
    assert_eq!(gated.stderr, never_measured);
    let gated = run(&["--fail-above", "9.5", "--min-share", "20"])?;
    assert_eq!(gated.stderr, "limit: one: MatMulV2 is off by -10.0% (limit 9.5%), 1 kernel types beyond it\n");
    assert_eq!(folder.read("op.json")?, json);
    let gated = run(&["--fail-above", "9.5"])?;
    assert_eq!(gated.stderr, never_measured.replace("2 kernel", "3 kernel"));
    assert_eq!(run(&["--fail-above", "10", "--min-share", "20"])?.code, Some(0));
    let nothing = run(&["--fail-above", "10", "--min-share", "99"])?;
    assert_eq!(nothing.code, Some(3));
    assert!(nothing.stderr.starts_with("limit: one: "), "{nothing:?}");
    folder.write("s.yaml", "[]")?;
    let nothing = run(&["--fail-above", "10"])?;
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(3), "\nSaved to op.json\n"));
    assert!(nothing.stderr.starts_with("limit: "), "{nothing:?}");
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

#[test]
fn the_number_of_jobs_shows_nowhere() -> TestResult {
    let folder = Folder::new()?;
    let mut first: Option<(String, String)> = None;
    for jobs in ["1", "2", "4", "9"] {
        let output = folder.0.path().join("op.json");
        let ran = Command::cargo_bin("generate-op-comparison")?
            .current_dir(repository())
            .args([
                "--scenarios",
                "testdata/scenarios.yaml",
                "--data-dir",
                "testdata/scenarios",
                "--jobs",
                jobs,
                "--output",
            ])
            .arg(&output)
            .output()?;
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
    let ran = Command::cargo_bin("generate-op-comparison")?
        .current_dir(repository())
        .args([
            "--scenarios",
            "testdata/scenarios.yaml",
            "--data-dir",
            "testdata/scenarios",
            "--semantics",
            "corrected",
            "--output",
        ])
        .arg(&output)
        .output()?;
    let text = String::from_utf8(ran.stdout)?;
    insta::assert_snapshot!(text.replace(&output.to_string_lossy().into_owned(), "results/op_comparison.json"));
    Ok(())
}

#[test]
fn a_reader_that_goes_away_is_no_failure() -> TestResult {
    use std::process::{Command, Stdio};
    let folder = Folder::new()?;
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("compute-m6"))
        .current_dir(folder.0.path())
        .args(M6)
        .args(["--json-output", "m6.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    drop(child.stdout.take());
    let output = child.wait_with_output()?;
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    assert!(folder.read("m6.json")?.starts_with("{\n  \"m6_ratio\": 0.86"));
    Ok(())
}

#[test]
fn pipes_are_read_in_one_pass() -> TestResult {
    let folder = Folder::new()?;
    let from_file = folder.run("generate-per-shape-comparison", &["--tc-trace", "t.json", "--prof-trace", "p.csv"])?;
    for text in [TRACE.as_bytes().to_vec(), flate2_of(TRACE)?] {
        let output = Command::cargo_bin("generate-per-shape-comparison")?
            .current_dir(folder.0.path())
            .args(["--tc-trace", "/dev/stdin", "--prof-trace", "p.csv"])
            .write_stdin(text)
            .output()?;
        assert_eq!(String::from_utf8(output.stdout)?, from_file.stdout);
    }
    Ok(())
}

#[test]
fn a_second_trace_events_replaces_the_first() -> TestResult {
    let folder = Folder::new()?;
    let first = r#"{"traceEvents": [{"name": "x", "ph": "X", "dur": "bad", "pid": 5, "args": 7}], "#;
    folder.write("twice.json", TRACE.replacen('{', first, 1))?;
    for arguments in [&["--trace", "t.json"][..], &["--trace", "t.json", "--output", "out.csv"]] {
        let once = folder.run("trace-to-csv", arguments)?;
        let written = folder.read("out.csv").ok();
        let twice = folder.run(
            "trace-to-csv",
            &arguments.iter().map(|&a| if a == "t.json" { "twice.json" } else { a }).collect::<Vec<_>>(),
        )?;
        assert_eq!((twice.code, &twice.stdout), (Some(0), &once.stdout), "{twice:?}");
        assert_eq!(folder.read("out.csv").ok(), written);
    }
    let once = folder.run("compute-m6", &M6)?;
    let twice = folder.run("compute-m6", &["--tc-trace", "twice.json", "--prof-trace", "p.csv"])?;
    assert_eq!(twice.stdout.replace("twice.json", "t.json"), once.stdout, "{twice:?}");
    Ok(())
}

#[test]
fn paths_may_be_of_any_bytes() -> TestResult {
    let folder = Folder::new()?;
    let name = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    for (from, to) in [("t.json", &b"t\xff.json"[..]), ("p.csv", b"p\xff.csv")] {
        fs::rename(folder.0.path().join(from), folder.0.path().join(name(to)))?;
    }
    let mut compute_m6 = Command::cargo_bin("compute-m6")?;
    compute_m6.current_dir(folder.0.path()).arg("--tc-trace").arg(name(b"t\xff.json"));
    compute_m6.arg("--prof-trace").arg(name(b"p\xff.csv")).arg("--json-output").arg(name(b"new/m\xff.json"));
    compute_m6.assert().success();
    assert!(folder.0.path().join(name(b"new/m\xff.json")).is_file());

    let mut generate_op_comparison = Command::cargo_bin("generate-op-comparison")?;
    generate_op_comparison.current_dir(folder.0.path()).arg("--trace-dir").arg(name(b"d\xff"));
    generate_op_comparison.arg("--output").arg(name(b"o\xff.json")).assert().success();
    assert!(folder.0.path().join(name(b"o\xff.json")).is_file());

    let kernel = r#"{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "Cijk_A", "ts": 0, "dur": 10}]}"#;
    fs::write(folder.0.path().join(name(b"k\xff.json")), kernel)?;
    let mut compare_traces = Command::cargo_bin("compare-traces")?;
    compare_traces.current_dir(folder.0.path()).args([name(b"k\xff.json"), name(b"k\xff.json")]);
    compare_traces.arg("--output").arg(name(b"c\xff.txt")).assert().success();
    assert!(folder.0.path().join(name(b"c\xff.txt")).is_file());
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

#[test]
fn only_what_has_become_worse_fails() -> TestResult {
    let folder = Folder::new()?;
    folder.write("good.json", r#"{"m6_ratio": 1.0}"#)?;
    folder.write("bad.json", r#"{"m6_ratio": 0.5}"#)?;
    let run = |baseline: &str| {
        let arguments =
            ["--tc-trace", "t.json", "--prof-trace", "p.csv", "--fail-regression", "10", "--baseline", baseline];
        folder.run("compute-m6", &arguments)
    };
    let worse = run("good.json")?;
    assert_eq!(worse.code, Some(3));
    assert!(
        worse.stderr.contains("limit: M6 was off by 0.0% and is off by -13.5% now (limit 10%)"),
        "{}",
        worse.stderr
    );
    assert_eq!(run("bad.json")?.code, Some(0), "it was outside before");
    assert_eq!(run("none.json")?.code, Some(1));
    Ok(())
}

#[test]
fn passes_are_listed_and_copied() -> TestResult {
    let folder = Folder::new()?;
    let header = "Step Id,Type,Start Time(us),Duration(us)\n";
    folder.write("k.csv", format!("{header}1,Add,1,2\n2,Add,9,2\n2,Mul,12,1\n"))?;
    let list = folder.run("cut-forward-pass", &["k.csv"])?.stdout;
    assert!(list.starts_with("passes found by step column\n"), "{list}");
    let cut = folder.run("cut-forward-pass", &["k.csv", "--pass", "2", "--output", "two.csv"])?;
    assert_eq!(cut.code, Some(0));
    assert_eq!(folder.read("two.csv")?, format!("{header}2,Add,9,2\n2,Mul,12,1\n"));
    folder.fails("cut-forward-pass", &["k.csv", "--pass", "3", "--output", "three.csv"], &["k.csv", "no such pass"])?;
    folder.fails("cut-forward-pass", &["k.csv", "--pass", "2", "--output", "k.csv"], &["k.csv", "is an input"])
}

/// Forward passes of eight layers each, one after the other.
fn profile_of(passes: usize) -> String {
    let (mut text, mut start_us) = ("Type,Start Time(us),Duration(us),Input Shapes\n".to_owned(), 1000);
    for _ in 0..passes {
        for kernel_type in ["RmsNorm", "MatMulV2", "Add"].repeat(8).into_iter().chain(["ArgMaxV2"]) {
            text += &format!("{kernel_type},{start_us}.5\t,10,16\n");
            start_us += 11;
        }
        start_us += 40;
    }
    text
}

#[test]
fn several_passes_compared_as_one_are_worth_a_warning() -> TestResult {
    let folder = Folder::new()?;
    folder.write("one.csv", profile_of(1))?;
    folder.write("three.csv", profile_of(3))?;
    folder.write(
        "s.yaml",
        "- {name: told, tc_trace: t.json, trace_csv: three.csv, n_forward_passes: 3}\n\
         - {name: untold, tc_trace: t.json, trace_csv: three.csv, n_forward_passes: 1}\n",
    )?;
    let warning = "warning: three.csv: 3 forward passes seem to be in this file, and it is compared as one (cut-forward-pass copies one of them)";
    let warnings = |ran: &Ran| -> Vec<String> {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!ran.stdout.contains("forward passes seem"), "{ran:?}");
        ran.stderr.lines().filter(|line| line.contains("forward pass")).map(str::to_owned).collect()
    };
    for semantics in ["upstream", "corrected"] {
        for tool in ["compute-m6", "generate-per-shape-comparison", "generate-op-comparison"] {
            let run = |profile| {
                folder.run(tool, &["--tc-trace", "t.json", "--prof-trace", profile, "--semantics", semantics])
            };
            assert_eq!(warnings(&run("three.csv")?), [warning], "{tool} {semantics}");
            assert!(warnings(&run("one.csv")?).is_empty(), "{tool} {semantics}");
        }
        let ran = folder.run("generate-op-comparison", &["--scenarios", "s.yaml", "--semantics", semantics])?;
        assert_eq!(warnings(&ran), [warning], "whoever gives the number knows it: {semantics}");
    }
    Ok(())
}
