//! What the tools read: faults of traces and profiles, pipes, names of any bytes.

use super::*;

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
