//! Ends writers in the middle, and has the system refuse them.

use clap::Parser;
use perfdb_reliability::Error;
use perfdb_reliability::findings::{Tally, on_threads, report};
use perfdb_reliability::interruptions::Interruptions;
use perfdb_reliability::program::Program;
use std::path::PathBuf;
use std::process::ExitCode;

/// End every tool that writes at a system call or at some moment, or have a call fail: files are old or new, and the same command again completes the work
///
/// Needs strace.
#[derive(Parser)]
struct Arguments {
    /// What the draws start from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many runs
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Only the run of this number
    #[arg(long, value_name = "RUN")]
    only: Option<u64>,
    /// Runs at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// The perfdb to run [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

fn main() -> Result<ExitCode, Error> {
    let arguments = Arguments::parse();
    let interruptions = Interruptions::new(Program::find(arguments.program.as_deref())?)?;
    let numbers = match arguments.only {
        Some(only) => only..only + 1,
        None => 0..arguments.count,
    };
    let tally = Tally::default();
    on_threads(arguments.jobs, numbers, |number| {
        if let Err(error) = interruptions.run(arguments.seed, number, &tally) {
            tally.found(number, format!("the run could not be made: {error}"));
        }
    });
    let repeat = format!("interrupted-writers --seed {} --only RUN", arguments.seed);
    Ok(if report(&tally, &repeat) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
