//! All operators, or some, one after the other, with a status file.

pub mod children;

use std::path::{Path, PathBuf};

use crate::error::Error as ReplayError;
use crate::executor::StartError;
use crate::folder::require_writable;
use crate::microbench::error::Error;
use crate::microbench::status::{FailedOperator, RunStatus, script_name};
use crate::operator::Operator;
use crate::operators::{OPERATORS, find, suggestion};
use crate::session::{Event, OperatorOutcome, RunReport, Session, Starters};
use crate::settings::RunSettings;
use perfdb_files::interrupt::Interrupt;
use perfdb_store::kernel::operator_name;

/// How a run over several operators is made.
#[derive(Clone, Debug)]
pub struct RunAllOptions {
    pub database: PathBuf,
    /// The operators, in running order.
    pub operators: Vec<&'static Operator>,
    /// Go on after a failed operator.
    pub continue_on_error: bool,
    /// Where the status file goes.
    pub status_file: PathBuf,
}

/// What came of a run over several operators.
#[derive(Debug)]
pub struct RunAllOutcome {
    /// The content of the status file.
    pub status: RunStatus,
    /// Results of the run, where this process ran it.
    pub report: Option<RunReport>,
    /// The error that stopped it.
    pub stopped_by: Option<Error>,
}

/// The chosen operators in running order: by the bytes of the old scripts' names. No names mean all.
/// Unknown names are an error that lists them all.
pub fn choose<S: AsRef<str>>(names: &[S]) -> Result<Vec<&'static Operator>, Error> {
    let mut chosen: Vec<&'static Operator> = if names.is_empty() {
        OPERATORS.iter().collect()
    } else {
        let normalized: Vec<&str> = names.iter().map(|name| operator_name(name.as_ref())).collect();
        let unknown: Vec<&str> = normalized.iter().copied().filter(|name| find(name).is_none()).collect();
        if !unknown.is_empty() {
            let unknown: Vec<String> = unknown.iter().map(|name| format!("{name}{}", suggestion(name))).collect();
            return Err(Error::UnknownOperators(unknown.join(", ")));
        }
        normalized.into_iter().filter_map(find).collect()
    };
    chosen.sort_by_key(|operator| script_name(operator.name));
    chosen.dedup_by_key(|operator| operator.name);
    Ok(chosen)
}

/// What came of one operator.
enum Step {
    /// It ran.
    Success,
    /// It has no table.
    NoTable,
    /// It failed; the run goes on or stops, as the options have it.
    Failed(String),
    /// It failed, and the run with it.
    Fatal(Error),
    /// The run was interrupted, and the operator not finished.
    Interrupted(i32),
}

/// Runs the operators one after the other. Returns what came of them, and what stopped the run early.
fn run_each(options: &RunAllOptions, mut run: impl FnMut(&'static Operator) -> Step) -> (RunStatus, Option<Error>) {
    let mut status = RunStatus::default();
    for operator in &options.operators {
        let (reason, stopped_by) = match run(operator) {
            Step::Success => {
                status.success.push(script_name(operator.name));
                continue;
            }
            Step::NoTable => {
                status.skipped.push(script_name(operator.name));
                continue;
            }
            Step::Interrupted(signal) => return (status, Some(Error::interrupted(signal))),
            Step::Failed(reason) if options.continue_on_error => (reason, None),
            Step::Failed(reason) => {
                let error = ReplayError::OperatorFailed { op: operator.name.to_owned(), reason: reason.clone() };
                (reason, Some(error.into()))
            }
            Step::Fatal(error) => (error.to_string(), Some(error)),
        };
        status.failed.push(FailedOperator { op: script_name(operator.name), reason });
        if stopped_by.is_some() {
            return (status, stopped_by);
        }
    }
    (status, None)
}

/// Runs the operators in this process. The status file is written in every case.
pub fn run(
    options: &RunAllOptions,
    settings: &RunSettings,
    starters: Starters<'_>,
    interrupt: &Interrupt,
    notify: &(dyn Fn(Event<'_>) + Sync),
) -> Result<RunAllOutcome, Error> {
    require_folder(&options.database)?;
    if settings.writes_files() {
        require_place(&options.status_file)?;
    }
    let mut session = Session::new(settings, starters, interrupt, notify)?;
    let mut has_executor = true;
    let (status, stopped_by) = run_each(options, |operator| {
        let files = match crate::table::find(&options.database, operator.name) {
            Ok(files) if files.is_empty() => return Step::NoTable,
            Ok(files) => files,
            Err(error) => return Step::Fatal(error.into()),
        };
        match session.replay_tables(operator, &files) {
            Ok(OperatorOutcome::Success) => Step::Success,
            Ok(OperatorOutcome::Failed(reason)) => Step::Failed(reason),
            Ok(OperatorOutcome::RunEnds(StartError::Interrupted(signal))) | Err(ReplayError::Interrupted(signal)) => {
                Step::Interrupted(signal)
            }
            Ok(OperatorOutcome::RunEnds(error)) => {
                has_executor = false;
                Step::Fatal(ReplayError::from(error).into())
            }
            Err(error) => Step::Fatal(error.into()),
        }
    });
    if settings.writes_files() {
        status.write(&options.status_file)?;
    }
    let report = if has_executor {
        Some(session.finish()?)
    } else {
        session.abandon();
        None
    };
    Ok(RunAllOutcome { status, report, stopped_by })
}

/// Whether the status file can be written, before anything runs.
fn require_place(status_file: &Path) -> Result<(), Error> {
    if status_file.is_dir() {
        return Err(Error::io(status_file, std::io::ErrorKind::IsADirectory.into()));
    }
    Ok(require_writable(status_file.parent().unwrap_or(Path::new("")))?)
}

fn require_folder(database: &Path) -> Result<(), Error> {
    if database.is_dir() { Ok(()) } else { Err(ReplayError::NoDatabase(database.to_owned()).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_listed_together() {
        let error = choose(&["Add", "Adds", "X_run.py"]).expect_err("unknown names");
        assert_eq!(error.to_string(), "unknown operator(s): Adds (did you mean 'Add'?), X");
        let chosen = choose(&["MatMulV2", "Add_run", "Add"]).expect("known names");
        assert_eq!(chosen.iter().map(|operator| operator.name).collect::<Vec<_>>(), ["Add", "MatMulV2"]);
    }
}
