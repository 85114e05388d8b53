//! Ends writers in the middle, and has the system refuse them.

use clap::Parser;
use perfdb_harness::reliability::Error;
use perfdb_harness::reliability::findings::make_runs;
use perfdb_harness::reliability::interruptions::Interruptions;
use perfdb_harness::reliability::numbers::Numbers;
use std::process::ExitCode;

/// End every tool that writes at a system call or at some moment, or have a call fail: files are old or new, and the same command again completes the work
///
/// Needs strace.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    numbers: Numbers,
}

fn main() -> Result<ExitCode, Error> {
    let arguments = Arguments::parse();
    let interruptions = Interruptions::new(arguments.numbers.program()?)?;
    let repeat = format!("interrupted-writers --seed {} --only RUN", arguments.numbers.seed);
    Ok(make_runs(arguments.numbers.jobs, arguments.numbers.runs(), &repeat, |number, tally| {
        interruptions.run(arguments.numbers.seed, number, tally)
    }))
}
