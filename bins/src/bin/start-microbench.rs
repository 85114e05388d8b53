//! Measures the cases of a database and writes the durations back.

use perfdb_store::update::{AggregateOptions, aggregate, find_summaries};
use perfdb_tools::microbench::{Arguments, ORIGINAL_OPTIONS, WriteBack, write_back};
use perfdb_tools::{Failure, Status, run};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    run(&ORIGINAL_OPTIONS, execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    arguments.check()?;
    let operators = arguments.selected_operators()?;
    let database = arguments.database.directory(None)?;
    let Some(profile) = &arguments.prof_path else {
        return Err(Failure::lines(vec!["measuring is not available yet; give --prof-path".to_owned()]));
    };
    let home = (!arguments.allow_foreign_times).then(|| arguments.database.home(&database));
    let ep_size = arguments.dispatch_ffn_combine_ep_size;
    let options = AggregateOptions { ep_size, home, ..AggregateOptions::default() };
    let mut samples = aggregate(&find_summaries(Path::new(profile))?, &options)?;
    if let Some(operators) = &operators {
        samples.retain_operators(operators);
    }
    let job = WriteBack {
        arguments: &arguments,
        database: &database,
        operators: operators.as_deref(),
        samples: &samples,
        status: None,
        origin: None,
    };
    write_back(&job)?;
    Ok(Status::Success)
}
