//! Limits for continuous integration.

use super::*;

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
