//! Measures the cases of a database and writes the durations back.

mod arguments;
mod measuring;
mod publisher;

use crate::json_file::JsonFile;
use crate::registry::{Job, Tool};
use crate::replay::stopped_run_of_all;
use crate::{Failure, Status, command_of, run};
use arguments::{Arguments, original_options};
use perfdb_microbench::error::Error;
use perfdb_microbench::run::Microbench;
use publisher::{TerminalPublisher, print_own_line};
use std::ffi::OsString;
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
    let json = JsonFile::open_for(arguments.json_file(), &database)?;
    let page = JsonFile::open_for(arguments.html.as_deref(), &database)?;
    let microbench = Microbench {
        database: &database,
        selected: operators.as_deref(),
        mode: arguments.update_mode,
        prune: arguments.prune_empty_duration_rows,
        home: (!arguments.allow_foreign_times).then(|| arguments.database.home(&database)),
        ep_size: arguments.dispatch_ffn_combine_ep_size,
        follow_links: arguments.follow_links,
        dry_run: arguments.dry_run,
        lock: arguments.lock.options(TOOL.name),
        outputs: json.iter().chain(&page).map(|json| json.path().to_owned()).collect(),
    };
    let publisher = TerminalPublisher::new(&arguments, &database, json, page);
    match &arguments.prof_path {
        Some(profile) => microbench.write_back_profile(profile.as_ref(), &publisher)?,
        None => measuring::measure(&arguments, &microbench, &publisher)?,
    }
    Ok(Status::Success)
}

/// How a run ends that an error of the library has stopped.
struct Stopped(Failure);

impl From<Error> for Stopped {
    fn from(error: Error) -> Stopped {
        Stopped(stopped_run_of_all(error))
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Stopped {
        Stopped(failure)
    }
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Failure {
        stopped.0
    }
}
