//! Forward passes in whole profiles.

use super::*;

#[test]
fn passes_are_listed_and_copied() -> TestResult {
    let folder = Folder::new()?;
    let header = "Step Id,Type,Start Time(us),Duration(us)\n";
    folder.write("k.csv", format!("{header}1,Add,1,2\n2,Add,9,2\n2,Mul,12,1\n"))?;
    let list = folder.run("cut-forward-pass", &["k.csv"])?.stdout;
    assert!(list.contains(" found by step column\n"), "{list}");
    let cut = folder.run("cut-forward-pass", &["k.csv", "--pass", "2", "--output", "two.csv"])?;
    assert_eq!(cut.code, Some(0));
    assert_eq!(folder.read("two.csv")?, format!("{header}2,Add,9,2\n2,Mul,12,1\n"));
    folder.fails(
        "cut-forward-pass",
        &["k.csv", "--pass", "3", "--output", "three.csv"],
        &["k.csv", "this pass does not exist"],
    )?;
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

#[test]
fn explain_prediction_counts_passes_by_their_steps() -> TestResult {
    let folder = Folder::new()?;
    let header = "Step Id,Type,Start Time(us),Duration(us),Input Shapes\n";
    folder.write("steps.csv", format!("{header}1,MatMulV2,1,100,16\n2,MatMulV2,200,100,16\nN/A,Add,300,4,16\n"))?;
    folder.write("step.csv", format!("{header}1,MatMulV2,1,100,16\n1,MatMulV2,200,100,16\nN/A,Add,300,4,16\n"))?;
    let run = |arguments: &[&str]| folder.run("explain-prediction", arguments);
    let two = run(&["--tc-trace", "t.json", "--prof-trace", "steps.csv"])?;
    assert!(two.stderr.contains("warning: steps.csv: 2 forward passes seem to be in this file"), "{two:?}");
    let given = run(&["--tc-trace", "t.json", "--prof-trace", "steps.csv", "--n-forward-passes", "2"])?;
    assert!(!given.stderr.contains("forward passes seem"), "{given:?}");
    let one = run(&["--tc-trace", "t.json", "--prof-trace", "step.csv"])?;
    assert!(!one.stderr.contains("forward passes seem"), "{one:?}");
    Ok(())
}
