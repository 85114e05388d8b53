//! Runs every tool with mutated inputs.

use clap::Parser;
use perfdb_reliability::Error;
use perfdb_reliability::findings::{Tally, on_threads, report};
use perfdb_reliability::mutated::Mutated;
use perfdb_reliability::program::{Limits, Program};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Run every tool with mutated inputs: none may panic, hang, take too much memory, leave half a result or change a file when it fails
///
/// The cases are the golden ones and command lines of every tool. Set TMPDIR to a file system in memory: each run writes its folder anew.
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
    /// Only these tools
    #[arg(long, value_name = "TOOL", num_args = 1..)]
    tools: Vec<String>,
    /// Runs at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Seconds after which a run hangs
    #[arg(long, default_value_t = 10)]
    time: u64,
    /// Private memory of a run in MiB
    #[arg(long, default_value_t = 512)]
    memory: u32,
    /// Where to copy the folders of findings, before and after
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Run every case once without mutations, and print how long each took
    #[arg(long)]
    unmutated: bool,
    /// The perfdb to run [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

fn main() -> Result<ExitCode, Error> {
    let arguments = Arguments::parse();
    let program = Program::find(arguments.program.as_deref())?;
    let limits = Limits { time: Duration::from_secs(arguments.time), memory_mib: arguments.memory };
    let mutated = Mutated::new(program, limits, &arguments.tools)?;
    if arguments.unmutated {
        for (milliseconds, name, ended) in mutated.unmutated()? {
            println!("{milliseconds:>6} ms  {ended}  {name}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (tools, cases) = mutated.size();
    println!("{cases} cases of {tools} tools, seed {}", arguments.seed);
    let numbers = match arguments.only {
        Some(only) => only..only + 1,
        None => 0..arguments.count,
    };
    let tally = Tally::default();
    on_threads(arguments.jobs, numbers, |number| {
        if let Err(error) = mutated.run(arguments.seed, number, &tally, arguments.keep.as_deref()) {
            tally.found(number, format!("the run could not be made: {error}"));
        }
    });
    let tools: String = arguments.tools.iter().map(|tool| format!(" {tool}")).collect();
    let tools = if tools.is_empty() { tools } else { format!(" --tools{tools}") };
    let repeat = format!("mutated-inputs --seed {} --only RUN --keep DIR{tools}", arguments.seed);
    Ok(if report(&tally, &repeat) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
