//! Ten writers, readers and a victim at one database.

use clap::Parser;
use perfdb_harness::reliability::Error;
use perfdb_harness::reliability::contention::{rounds, rounds_of_a_database};
use perfdb_harness::reliability::findings::make_runs;
use perfdb_harness::reliability::program::Program;
use std::path::PathBuf;
use std::process::ExitCode;

/// Let ten writers, three readers and a writer that is killed work at one database at once: no row is lost, none comes twice, none is half there
#[derive(Parser)]
struct Arguments {
    /// What the draws start from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many rounds; twenty share a database
    #[arg(long, default_value_t = 100)]
    count: u64,
    /// Databases at a time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// The perfdb to run [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

fn main() -> Result<ExitCode, Error> {
    let arguments = Arguments::parse();
    let program = Program::find(arguments.program.as_deref())?;
    let firsts = (0..arguments.count).step_by(usize::try_from(rounds_of_a_database())?);
    let repeat = format!("many-writers --seed {} --count {}", arguments.seed, arguments.count);
    Ok(make_runs(arguments.jobs, firsts, &repeat, |first, tally| {
        rounds(&program, arguments.seed, first, arguments.count, tally)
    }))
}
