//! What the tools write and print.

use super::*;

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
    for part in [
        "reading t.json",
        "t.json: 3 events read in ",
        "reading p.csv",
        "p.csv: 3 lines read in ",
        "wrote m6.json",
        "compute-m6 took",
    ] {
        assert!(verbose.stderr.contains(&format!(" INFO {part}")), "without colours, {part}: {verbose:?}");
    }
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
fn verbose_names_the_phases_of_an_explanation_and_of_a_cut() -> TestResult {
    let folder = Folder::new()?;
    let explained = folder.run("explain-prediction", &[&M6[..], &["-v"]].concat())?;
    let parts = [
        "t.json: 3 events read in ",
        "2 predicted and 2 measured calls of 3 kernel types and shapes",
        "counting passes took ",
        "splitting the difference took ",
        "comparing layers took ",
    ];
    for part in parts {
        assert!(explained.stderr.contains(part), "{part}: {}", explained.stderr);
    }
    let cut = folder.run("cut-forward-pass", &["p.csv", "-v"])?;
    for part in ["p.csv: 2 rows read in ", "1 passes found by nothing that repeats: one pass in "] {
        assert!(cut.stderr.contains(part), "{part}: {}", cut.stderr);
    }
    Ok(())
}

#[test]
fn tables_of_events_have_the_columns_and_the_process_that_are_asked_for() -> TestResult {
    let folder = Folder::new()?;
    folder.write(
        "both.json",
        r#"{"traceEvents": [
{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}},
{"name": "aten.mm.default", "cat": "empirical", "ph": "X", "ts": 0.5, "dur": 90, "pid": 0, "tid": 3, "args": {"source": "MEASURED", "tier": 2}},
{"name": "aten.mm.default", "cat": "analytic", "ph": "X", "ts": 1, "pid": 1, "tid": 3, "args": {"is_compute_bound": true}}]}"#,
    )?;
    let run = |arguments: &[&str]| folder.run("trace-to-csv", &[&["--trace", "both.json"], arguments].concat());
    let chosen = run(&["--columns", "pid,ts,op_name,dur_us,tier,is_compute_bound,none,pid"])?.stdout;
    let expected = "pid,ts,op_name,dur_us,tier,is_compute_bound,none,pid\r\n\
                    0,0.5,aten.mm.default,90,2,,,0\r\n\
                    1,1,aten.mm.default,0,,True,,1\r\n";
    assert_eq!(chosen, expected);
    let one = run(&["--pid", "1", "--columns", "cat,op_name"])?.stdout;
    assert_eq!(one, "cat,op_name\r\nanalytic,aten.mm.default\r\n");
    let all = run(&["--columns", "all"])?.stdout;
    assert!(all.lines().next().is_some_and(|header| header.ends_with(",cat,ph,ts,pid,tid,id,tier,is_compute_bound")));
    // The default columns are the same either way.
    let default = run(&[])?.stdout;
    let columns = default.lines().next().unwrap_or_default();
    assert_eq!(run(&["--columns", columns])?.stdout, default);
    assert_eq!(run(&["--pid", "0"])?.stdout.lines().collect::<Vec<_>>(), default.lines().take(2).collect::<Vec<_>>());
    let none = run(&["--pid", "7"])?;
    assert_eq!((none.code, none.stderr.as_str()), (Some(0), "warning: both.json: no operator of process 7\n"));
    assert_eq!(run(&["--columns", ""])?.code, Some(2));
    Ok(())
}
