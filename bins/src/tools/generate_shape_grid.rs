//! Appends theory shapes to the tables of a database.

mod arguments;

use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print, print_line, print_note, progress, run, warn};
use arguments::Arguments;
use perfdb_files::replace::{Parents, Staged, refuse_inputs};
use perfdb_grid::{Mode, RowFilter, Semantics, prepare};
use perfdb_replay::plan::can_replay;
use std::ffi::OsString;
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "generate-shape-grid",
    job: Job::MakeDatabase,
    summary: "add rows for shapes that a model could ask for",
    main,
    command: command_of::<Arguments>,
};

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], generate)
}

fn generate(arguments: Arguments) -> Result<Status, Failure> {
    let options = arguments.options()?;
    let locking = arguments.lock.options(TOOL.name);
    let mode = if arguments.dry_run { Mode::DryRun } else { Mode::Write(&locking) };
    let bar = progress::items("tables", None);
    let filter: Option<RowFilter<'_>> = match options.semantics {
        Semantics::Upstream | Semantics::Newest => None,
        Semantics::Corrected => Some(&can_replay),
    };
    let prepared = prepare(&options, mode, filter, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let prepared = prepared?;
    // Before the first file changes.
    if let Some(warning) = arguments.warning() {
        print_note(&warning);
    }
    if arguments.draws_by_new_seed() {
        // Before the first file changes, so that a run that is killed then can be completed.
        print_line(&format!("seed: {0} (--seed {0} draws the same shapes again)", options.seed));
    }
    for warning in prepared.warnings() {
        warn(&warning);
    }
    for line in prepared.summary().memory_lines() {
        print_line(&line);
    }
    for line in prepared.summary().refusal_lines() {
        print_note(&line);
    }
    if let Some(report) = &arguments.json {
        let tables = prepared.summary().files.iter().map(|file| file.path.as_path());
        refuse_inputs([report.as_path()], tables.chain(options.config.as_deref()))?;
    }
    let report = arguments.json.as_deref();
    let report = report.map(|file| Staged::with(file, prepared.summary().json().as_bytes(), Parents::MustExist));
    let report = report.transpose()?;
    // A stdout that takes nothing fails before any table changes.
    print(&prepared.summary().text())?;
    prepared.commit(report.into_iter().collect())?;
    Ok(Status::Success)
}
