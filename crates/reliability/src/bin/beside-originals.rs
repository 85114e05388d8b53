//! Runs the original scripts beside perfdb.

use clap::Parser;
use perfdb_reliability::Error;
use perfdb_reliability::findings::{Tally, on_threads, report};
use perfdb_reliability::originals::Originals;
use perfdb_reliability::program::Program;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run the original scripts and perfdb on the same mutated inputs, and compare what they print and write byte for byte
///
/// Compared is what the originals accept (exit 0). docs/differences.md lists the differences that are meant.
#[derive(Parser)]
struct Arguments {
    /// A checkout of msmodeling
    #[arg(long, value_name = "DIR")]
    originals: PathBuf,
    /// The Python that runs them
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,
    /// What the draws start from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many inputs
    #[arg(long, default_value_t = 200)]
    count: u64,
    /// Only the input of this number
    #[arg(long, value_name = "RUN")]
    only: Option<u64>,
    /// Only these tools
    #[arg(long, value_name = "TOOL", num_args = 1..)]
    tools: Vec<String>,
    /// Inputs at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// The perfdb to run [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

fn main() -> Result<ExitCode, Error> {
    let arguments = Arguments::parse();
    let program = Program::find(arguments.program.as_deref())?;
    let originals = Originals::new(&arguments.python, &arguments.originals, program, &arguments.tools)?;
    let numbers = match arguments.only {
        Some(only) => only..only + 1,
        None => 0..arguments.count,
    };
    let tally = Tally::default();
    on_threads(arguments.jobs, numbers, |number| {
        if let Err(error) = originals.run(arguments.seed, number, &tally) {
            tally.found(number, format!("the run could not be made: {error}"));
        }
    });
    let tools: String = arguments.tools.iter().map(|tool| format!(" {tool}")).collect();
    let tools = if tools.is_empty() { tools } else { format!(" --tools{tools}") };
    let from = arguments.originals.display();
    let repeat = format!("beside-originals --originals {from} --seed {} --only RUN{tools}", arguments.seed);
    Ok(if report(&tally, &repeat) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
