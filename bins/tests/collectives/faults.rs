//! Runs in which something goes wrong.

use crate::case::{Case, TestResult, expect_parts, expect_status};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The module that Python imports by itself, and that makes one rank misbehave.
const FAULTS: &str = include_str!("faults.py");

/// Call number of `all_gather` in the middle of measuring the second size: one for the trial, two to verify, and per size
/// three to warm up and one untimed besides those measured.
const WHILE_MEASURING: u32 = 30;

/// A run of three operators on two ranks in which rank 1 misbehaves in its n-th `all_gather`.
fn faulty(case: &Case, fault: &str, call: u32, launcher: &str) -> Result<Command, std::io::Error> {
    std::fs::create_dir(case.path("faults"))?;
    std::fs::write(case.path("faults/sitecustomize.py"), FAULTS)?;
    let arguments = "--do-run --backend gloo --bench-mode event --ops all_reduce all_gather all_to_all --num-devices 2 \
                     --grid-shape 2 2 --bytes-grid 1024 65536 --iters 10 --warmup 3 --output-dir out --results-dir results";
    let mut command = case.tool("generate-comm-microbench");
    command.args(arguments.split_whitespace()).args(["--launcher", launcher]);
    command.env("PYTHONPATH", case.path("faults"));
    command.env("FAULT", fault).env("FAULT_RANK", "1").env("FAULT_CALL", call.to_string());
    Ok(command)
}

/// What was measured before is kept, what is missing is named, nobody is left behind.
fn expect_the_rest(case: &Case, output: &Output) -> TestResult {
    expect_status(output, 3)?;
    assert_eq!(case.rows(Path::new("out/hcom_allReduce_.csv"))?.len(), 2);
    assert_eq!(case.rows(Path::new("out/hcom_allGather_.csv"))?.len(), 1);
    expect_parts(&output.stderr, &["error: no row for all_gather, 65536 bytes, 2 devices, tier 1: "])?;
    assert_eq!(case.workers()?, Vec::<String>::new());
    Ok(())
}

pub(crate) fn a_wrong_result_leaves_no_row() -> TestResult {
    let case = Case::new()?;
    // The third call verifies the second size.
    let output = faulty(&case, "wrong", 3, "direct")?.output()?;
    expect_the_rest(&case, &output)?;
    expect_parts(&output.stderr, &["no row for all_gather, 65536 bytes, 2 devices, tier 1: wrong result on rank 1"])?;
    assert_eq!(case.rows(Path::new("out/hcom_alltoallv_.csv"))?.len(), 2);
    Ok(())
}

pub(crate) fn a_rank_that_dies() -> TestResult {
    let case = Case::new()?;
    let output = faulty(&case, "die", WHILE_MEASURING, "direct")?.output()?;
    expect_the_rest(&case, &output)?;
    expect_parts(&output.stderr, &["error: rank 1 died while measuring all_gather, 65536 bytes, 2 devices, tier 1"])?;
    // What was measured can be turned into the same rows again.
    let again = ["--from-results", "results", "--output-dir", "again"];
    expect_status(&case.tool("generate-comm-microbench").args(again).output()?, 3)?;
    assert_eq!(case.read("again/hcom_allReduce_.csv")?, case.read("out/hcom_allReduce_.csv")?);
    Ok(())
}

pub(crate) fn a_rank_that_dies_under_torchrun() -> TestResult {
    let case = Case::new()?;
    let output = faulty(&case, "die", WHILE_MEASURING, "torchrun")?.output()?;
    expect_the_rest(&case, &output)?;
    expect_parts(&output.stderr, &["error: rank 1 died while measuring all_gather, 65536 bytes, 2 devices, tier 1"])
}

pub(crate) fn a_rank_that_hangs() -> TestResult {
    let case = Case::new()?;
    let output = faulty(&case, "stop", WHILE_MEASURING, "torchrun")?.args(["--timeout", "20"]).output()?;
    expect_the_rest(&case, &output)?;
    expect_parts(&output.stderr, &["error: rank 1 hung while measuring all_gather, 65536 bytes, 2 devices, tier 1"])
}

pub(crate) fn a_rank_that_writes_rubbish() -> TestResult {
    let case = Case::new()?;
    let output = faulty(&case, "rubbish", WHILE_MEASURING, "direct")?.output()?;
    expect_the_rest(&case, &output)?;
    expect_parts(
        &output.stderr,
        &[
            "error: rank 1 wrote a line that is not the worker's while measuring all_gather, 65536 bytes, 2 devices, tier 1",
        ],
    )
}

pub(crate) fn a_rank_that_chatters_does_no_harm() -> TestResult {
    let case = Case::new()?;
    expect_status(&faulty(&case, "chatter", WHILE_MEASURING, "torchrun")?.output()?, 0)?;
    assert_eq!(case.rows(Path::new("out/hcom_alltoallv_.csv"))?.len(), 2);
    Ok(())
}

/// Starts a run that would take hours and waits until both ranks measure.
fn endless(case: &Case) -> Result<std::process::Child, Box<dyn std::error::Error>> {
    let mut command = faulty(case, "spin", WHILE_MEASURING, "direct")?;
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let measures =
        |rank: u32| case.read(&format!("results/rank{rank}.jsonl")).is_ok_and(|text| text.contains("\"measure\""));
    let begin = Instant::now();
    while !(measures(0) && measures(1)) {
        if child.try_wait()?.is_some() || begin.elapsed() > Duration::from_secs(120) {
            child.kill()?;
            return Err(format!("no measuring: {:?}", child.wait_with_output()?).into());
        }
        std::thread::yield_now();
    }
    Ok(child)
}

pub(crate) fn a_signal_ends_the_run_in_order() -> TestResult {
    let case = Case::new()?;
    let child = endless(&case)?;
    expect_status(&Command::new("kill").args(["-TERM", &child.id().to_string()]).output()?, 0)?;
    let output = child.wait_with_output()?;
    expect_status(&output, 1)?;
    expect_parts(&output.stderr, &["error: ended by a signal; --from-results"])?;
    assert!(!case.path("out").exists());
    assert_eq!(case.workers()?, Vec::<String>::new());
    Ok(())
}

pub(crate) fn ranks_go_with_a_killed_tool() -> TestResult {
    let case = Case::new()?;
    let mut child = endless(&case)?;
    assert_eq!(case.workers()?.len(), 2);
    child.kill()?;
    child.wait()?;
    let begin = Instant::now();
    while !case.workers()?.is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(60), "left behind: {:?}", case.workers()?);
        std::thread::yield_now();
    }
    Ok(())
}
