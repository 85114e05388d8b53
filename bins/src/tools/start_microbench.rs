//! Measures the cases of a database and writes the durations back.

mod arguments;
mod measuring;
mod write_back;

use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, run};
use arguments::{Arguments, original_options};
use perfdb_files::paths::normalised;
use perfdb_store::update::find_summaries;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "start-microbench",
    job: Job::MeasureOperators,
    summary: "measure every case and write the times back",
    main,
    command: command_of::<Arguments>,
};

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &original_options(), execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    arguments.check()?;
    let operators = arguments.selected_operators()?;
    let database = arguments.database.directory(Some(arguments.replay.interpreter()))?;
    let run = Run { arguments: &arguments, database: &database, selected: operators.as_deref() };
    match &arguments.prof_path {
        Some(profile) => {
            let summaries = find_summaries(&normalised(profile.as_ref()))?;
            run.write_back(&run.samples(&summaries, false)?, &summaries, None)?;
        }
        None => run.measure()?,
    }
    Ok(Status::Success)
}

/// What every step needs.
struct Run<'a> {
    arguments: &'a Arguments,
    database: &'a Path,
    selected: Option<&'a [String]>,
}
