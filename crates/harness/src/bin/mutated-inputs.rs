//! Runs every tool with mutated inputs.

use clap::Parser;
use perfdb_harness::reliability::Error;
use perfdb_harness::reliability::findings::make_runs;
use perfdb_harness::reliability::mutated::Mutated;
use perfdb_harness::reliability::numbers::{Numbers, tools_option};
use perfdb_harness::reliability::program::Limits;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Run every tool with mutated inputs: none may panic, hang, take too much memory, leave half a result or change a file when it fails
///
/// The cases are the golden ones and command lines of every tool. Set TMPDIR to a file system in memory: each run writes its folder again.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    numbers: Numbers,
    /// Only these tools
    #[arg(long, value_name = "TOOL", num_args = 1..)]
    tools: Vec<String>,
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
}

fn main() -> Result<ExitCode, Error> {
    let arguments = Arguments::parse();
    let program = arguments.numbers.program()?;
    let limits = Limits { time: Duration::from_secs(arguments.time), memory_mib: arguments.memory };
    let mutated = Mutated::new(program, limits, &arguments.tools)?;
    if arguments.unmutated {
        for (milliseconds, name, ended) in mutated.unmutated()? {
            println!("{milliseconds:>6} ms  {ended}  {name}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (tools, cases) = mutated.size();
    println!("{cases} cases of {tools} tools, seed {}", arguments.numbers.seed);
    let tools = tools_option(&arguments.tools);
    let repeat = format!("mutated-inputs --seed {} --only RUN --keep DIR{tools}", arguments.numbers.seed);
    Ok(make_runs(arguments.numbers.jobs, arguments.numbers.runs(), &repeat, |number, tally| {
        mutated.run(arguments.numbers.seed, number, tally, arguments.keep.as_deref())
    }))
}
