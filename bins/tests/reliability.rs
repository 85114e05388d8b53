//! A little of what the programs of perfdb-harness try at length; `docs/reliability.md` has the figures of long runs.

use perfdb_harness::reliability::Error;
use perfdb_harness::reliability::contention;
use perfdb_harness::reliability::findings::{Tally, on_threads};
use perfdb_harness::reliability::interruptions::{Interruptions, has_strace};
use perfdb_harness::reliability::mutated::Mutated;
use perfdb_harness::reliability::program::{Limits, Program};
use std::time::Duration;

fn program() -> Result<Program, Error> {
    Program::find(Some(&assert_cmd::cargo::cargo_bin("perfdb")))
}

fn try_all(count: u64, run: impl Fn(u64, &Tally) -> Result<(), Error> + Sync) {
    let tally = Tally::default();
    on_threads(2, 0..count, |number| {
        if let Err(error) = run(number, &tally) {
            tally.found(number, error.to_string());
        }
    });
    let found: Vec<String> =
        tally.findings().iter().map(|finding| format!("run {}: {}", finding.run, finding.what)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn mutated_inputs_are_read_or_refused() -> Result<(), Error> {
    // Other tests run beside this one.
    let limits = Limits { time: Duration::from_secs(60), ..Limits::default() };
    let mutated = Mutated::new(program()?, limits, &[])?;
    let (tools, cases) = mutated.size();
    assert!(tools > 24 && cases > 400, "{tools} tools, {cases} cases");
    try_all(200, |number, tally| mutated.run(7, number, tally, None));
    Ok(())
}

#[test]
fn writers_that_are_interrupted_leave_files_old_or_new() -> Result<(), Error> {
    if !has_strace() {
        eprintln!("skipped: strace is not there, or may not trace here");
        return Ok(());
    }
    let interruptions = Interruptions::new(program()?)?;
    try_all(40, |number, tally| interruptions.run(7, number, tally));
    Ok(())
}

#[test]
fn ten_writers_lose_no_row() -> Result<(), Error> {
    let program = program()?;
    try_all(1, |_, tally| contention::rounds(&program, 7, 0, 2, tally));
    Ok(())
}
