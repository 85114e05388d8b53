//! Runs the original scripts beside perfdb.

use clap::Parser;
use perfdb_harness::reliability::Error;
use perfdb_harness::reliability::findings::make_runs;
use perfdb_harness::reliability::numbers::{Numbers, tools_option};
use perfdb_harness::reliability::originals::Originals;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run the original scripts and perfdb on the same mutated inputs, and compare what they print and write byte for byte
///
/// Compared is what the originals accept (exit 0). docs/differences.md lists the differences that are meant.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    numbers: Numbers,
    /// A checkout of msmodeling
    #[arg(long, value_name = "DIR")]
    originals: PathBuf,
    /// The Python that runs them
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,
    /// Only these tools
    #[arg(long, value_name = "TOOL", num_args = 1..)]
    tools: Vec<String>,
}

fn main() -> Result<ExitCode, Error> {
    let arguments = Arguments::parse();
    let program = arguments.numbers.program()?;
    let originals = Originals::new(&arguments.python, &arguments.originals, program, &arguments.tools)?;
    let tools = tools_option(&arguments.tools);
    let from = arguments.originals.display();
    let repeat = format!("beside-originals --originals {from} --seed {} --only RUN{tools}", arguments.numbers.seed);
    Ok(make_runs(arguments.numbers.jobs, arguments.numbers.runs(), &repeat, |number, tally| {
        originals.run(arguments.numbers.seed, number, tally)
    }))
}
