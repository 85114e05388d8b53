//! Limits for continuous integration.

use super::*;

#[test]
fn m6_outside_its_limits_is_status_3_after_everything_is_written() -> TestResult {
    let folder = Folder::new()?;
    let plain = folder.run("compute-m6", &[&M6[..], &["--json-output", "a.json"]].concat())?;
    assert!(plain.stdout.contains("M6 = 0.865"), "{plain:?}");
    let outside =
        folder.run("compute-m6", &[&M6[..], &["--json-output", "b.json", "--fail-outside", "0.9,1.10"]].concat())?;
    assert_eq!((outside.code, outside.stderr.as_str()), (Some(3), "limit: M6 is 0.865 (limit 0.9 to 1.10)\n"));
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
        "limit: one: aten.add.Tensor is predicted and was never measured, 1 more kernel type is beyond (limit 9.5 %)\n";
    assert_eq!(gated.stderr, never_measured);
    let gated = run(&["--fail-above", "9.5", "--min-share", "20"])?;
    assert_eq!(gated.stderr, "limit: one: MatMulV2 is off by -10.0 % (limit 9.5 %)\n");
    assert_eq!(folder.read("op.json")?, json);
    let gated = run(&["--fail-above", "9.5"])?;
    assert_eq!(gated.stderr, never_measured.replace("1 more kernel type is", "2 more kernel types are"));
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
        worse.stderr.contains("limit: M6 was off by 0.0 % and is off by -13.5 % now, too few measured calls to separate it from noise (limit 10 %)"),
        "{}",
        worse.stderr
    );
    assert_eq!(run("bad.json")?.code, Some(0), "it was outside before");
    assert_eq!(run("none.json")?.code, Some(1));
    Ok(())
}

/// Ten calls of one product that take 95 to 104 µs, 995 µs in all.
fn noisy_profile() -> String {
    let mut text = "Type,Start Time(us),Duration(us),Input Shapes\n".to_owned();
    for (at, duration) in [95, 104, 97, 102, 99, 100, 98, 101, 96, 103].iter().enumerate() {
        text += &format!("MatMulV2,{},{duration},\"16,5120;5120,768\"\n", at * 200);
    }
    text
}

/// Ten calls of the product that are predicted with one time.
fn trace_of(duration_us: u32) -> String {
    let event = |at: u32| {
        format!(
            r#",{{"name": "aten.mm.default", "ph": "X", "ts": {}, "dur": {duration_us}, "pid": 0, "tid": 0, "args": {{"kernel_shapes": "[[16, 5120], [5120, 768]]", "source": "MEASURED", "kernel_type": "MatMulV2"}}}}"#,
            at * 200
        )
    };
    let name = r#"{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}}"#;
    format!(r#"{{"traceEvents": [{name}{}]}}"#, (0..10).map(event).collect::<String>())
}

#[test]
fn a_difference_inside_the_spread_of_the_measured_calls_is_no_regression() -> TestResult {
    let folder = Folder::new()?;
    folder.write("p.csv", noisy_profile())?;
    folder.write("t.json", trace_of(99))?;
    let inputs = ["--tc-trace", "t.json", "--prof-trace", "p.csv"];
    let run = |tool: &str, more: &[&str]| folder.run(tool, &[&inputs[..], more].concat());
    run("compute-m6", &["--json-output", "old-m6.json"])?;
    run("generate-op-comparison", &["--output", "old-op.json"])?;
    run("explain-prediction", &["--json", "old-explained.json"])?;
    // P10 is 95 and P90 is 103, the mean 99.5.
    for (predicted, code, place) in [(103, 0, "note"), (96, 0, "note"), (105, 3, "limit"), (93, 3, "limit")] {
        folder.write("t.json", trace_of(predicted))?;
        for (tool, old) in [
            ("compute-m6", "old-m6.json"),
            ("generate-op-comparison", "old-op.json"),
            ("explain-prediction", "old-explained.json"),
        ] {
            let ran = run(tool, &["--baseline", old, "--fail-regression", "2"])?;
            assert_eq!(ran.code, Some(code), "{tool} {predicted}: {ran:?}");
            let line = ran.stderr.lines().find(|line| line.contains("was off by")).unwrap_or_default();
            assert!(line.starts_with(place), "{tool} {predicted}: {ran:?}");
            let kernel = if tool == "compute-m6" { "M6" } else { "MatMulV2" };
            let where_it_is = if code == 0 { "inside" } else { "beyond" };
            let spread = format!("{where_it_is} the P10-P90 of the measured calls, -4.5 to +3.5 %");
            for part in [kernel, "was off by -0.5 %", spread.as_str()] {
                assert!(line.contains(part), "{tool} {predicted}, {part}: {line}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_single_call_can_not_be_told_from_noise() -> TestResult {
    let folder = Folder::new()?;
    folder.write("old.json", r#"{"t": [{"kernel_type": "MatMulV2", "error_pct": 1.0, "prof_per_fwd_us": 100.0}]}"#)?;
    let arguments = [&M6[..], &["--baseline", "old.json", "--fail-regression", "5"]].concat();
    let ran = folder.run("generate-op-comparison", &arguments)?;
    let line = "limit: t: MatMulV2 was off by 1.0 % and is off by -10.0 % now, too few measured calls to separate it from noise (limit 5 %)\n";
    assert_eq!((ran.code, ran.stderr.contains(line)), (Some(3), true), "{ran:?}");
    Ok(())
}

/// Every gate writes a comment: the verdict, the limits that are exceeded, and what the screen shows.
#[test]
fn markdown_has_the_verdict_and_the_limits() -> TestResult {
    let folder = Folder::new()?;
    folder.write("m6.json", r#"{"m6_ratio": 1.0}"#)?;
    folder.write("none/hcom_allReduce_.csv", "message_bytes,num_devices,topology_tier,Duration(us)\n")?;
    for name in ["a", "b"] {
        let duration = if name == "a" { 10 } else { 20 };
        folder.write(
            &format!("{name}/MatMulV2.csv"),
            format!("Input Shapes,Profiling Average Duration(us)\n\"16,512;512,768\",{duration}\n"),
        )?;
    }
    let pair = "t.json p.csv";
    for (line, verdict, limit) in [
        (
            format!("compute-m6 {pair} --fail-outside 0.9,1.1"),
            "**M6 0.865: predicted ",
            "M6 is 0.865 (limit 0.9 to 1.1)",
        ),
        (
            format!("compute-m6 {pair} --baseline m6.json --fail-regression 10"),
            "**M6 0.865: predicted ",
            "M6 was off by 0.0 % and is off by -13.5 % now, too few measured calls to separate it from noise (limit 10 %)",
        ),
        (
            format!("generate-op-comparison {pair} --output op.json --fail-above 5 --min-share 20"),
            "**1 scenario compared: predicted 100.0 us, measured 104.0 us (-3.8 %)**",
            "t: MatMulV2 is off by -10.0 % (limit 5 %)",
        ),
        (
            "diff-databases a b --fail-slower 5 --min-rows 1".to_owned(),
            "**",
            "MatMulV2: 100.0 % slower over 1 rows (limit 5 %)",
        ),
        (
            "validate-comm-alignment none --fail-empty".to_owned(),
            "**OK: 0 rows, PASS 0, WARN 0, FAIL 0**",
            "none: no table has a row to compare (limit at least 1)",
        ),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let plain = folder.run(words[0], &words[1..])?;
        let ran = folder.run(words[0], &[&words[1..], &["-o", "comment.md"]].concat())?;
        assert_eq!((ran.code, &ran.stdout), (Some(3), &plain.stdout), "{line}: {ran:?}");
        assert!(ran.stderr.contains(&format!("limit: {limit}\n")), "{line}: {ran:?}");
        let comment = folder.read("comment.md")?;
        assert!(comment.starts_with(verdict), "{line}: {comment}");
        assert!(comment.contains(&format!("\n- limit exceeded: {limit}\n")), "{line}: {comment}");
        assert!(comment.contains("```text\n"), "{line}: {comment}");
    }
    // Neither file of one form is lost in silence.
    let words = ["t.json", "p.csv", "-o", "a.json", "--output", "b.json"];
    let twice = folder.run("generate-op-comparison", &words)?;
    assert!(twice.code == Some(2) && twice.stderr.contains("two files of one form"), "{twice:?}");
    Ok(())
}
