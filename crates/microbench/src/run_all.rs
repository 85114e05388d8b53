//! All operators, or some, one after the other, with a status file.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child::{exit_number, run_to_end};
use crate::status::{FailedOperator, RunStatus, script_name};
use perfdb_files::interrupt::Interrupt;
use perfdb_replay::error::Error;
use perfdb_replay::executor::StartError;
use perfdb_replay::folder::require_writable;
use perfdb_replay::operator::Operator;
use perfdb_replay::operators::{OPERATORS, find, suggestion};
use perfdb_replay::session::{Event, OperatorOutcome, RunReport, Session, Starters};
use perfdb_replay::settings::RunSettings;
use perfdb_store::kernel::operator_name;

/// How a run over several operators is made.
#[derive(Clone, Debug)]
pub struct RunAllOptions {
    /// Database folder.
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
    /// What the status file says.
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
            return Err(Error::Run(format!("unknown operator(s): {}", unknown.join(", "))));
        }
        normalized.into_iter().filter_map(find).collect()
    };
    chosen.sort_by_key(|operator| script_name(operator.name));
    chosen.dedup_by_key(|operator| operator.name);
    Ok(chosen)
}

/// Runs the operators in this process. The status file is written whatever happens on the way.
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
    let mut status = RunStatus::default();
    let mut stopped_by = None;
    let mut is_ended = false;
    for operator in &options.operators {
        let outcome = match perfdb_replay::table::find(&options.database, operator.name) {
            Ok(files) if files.is_empty() => {
                status.skipped.push(script_name(operator.name));
                continue;
            }
            Ok(files) => session.replay_tables(operator, &files),
            Err(error) => Err(error),
        };
        let reason = match outcome {
            Ok(OperatorOutcome::Success) => {
                status.success.push(script_name(operator.name));
                continue;
            }
            Ok(OperatorOutcome::Failed(reason)) => {
                if !options.continue_on_error {
                    stopped_by = Some(Error::OperatorFailed { op: operator.name.to_owned(), reason: reason.clone() });
                }
                reason
            }
            Ok(OperatorOutcome::RunEnds(StartError::Interrupted(signal))) => {
                stopped_by = Some(Error::Interrupted(signal));
                break;
            }
            Ok(OperatorOutcome::RunEnds(error)) => {
                let error = Error::from(error);
                let reason = error.to_string();
                stopped_by = Some(error);
                is_ended = true;
                reason
            }
            Err(error @ Error::Interrupted(_)) => {
                stopped_by = Some(error);
                break;
            }
            Err(error) => {
                let reason = error.to_string();
                stopped_by = Some(error);
                reason
            }
        };
        status.failed.push(FailedOperator { op: script_name(operator.name), reason });
        if stopped_by.is_some() {
            break;
        }
    }
    if settings.writes_files() {
        status.write(&options.status_file)?;
    }
    let report = if is_ended {
        session.abandon();
        None
    } else {
        Some(session.finish()?)
    };
    Ok(RunAllOutcome { status, report, stopped_by })
}

/// Runs the operators in a child each. `command` gives the child's command for an operator.
pub fn run_in_children(
    options: &RunAllOptions,
    command: &dyn Fn(&Operator) -> Command,
    interrupt: &Interrupt,
) -> Result<RunAllOutcome, Error> {
    require_folder(&options.database)?;
    require_place(&options.status_file)?;
    let mut status = RunStatus::default();
    let mut stopped_by = None;
    // The exit status of an operator's child; none where it has no table.
    let run_child = |operator: &Operator| -> Result<Option<i32>, Error> {
        if perfdb_replay::table::find(&options.database, operator.name)?.is_empty() {
            return Ok(None);
        }
        let mut child = command(operator);
        let ended = run_to_end(&mut child, interrupt).map_err(|source| Error::io(child.get_program(), source))?;
        Ok(Some(exit_number(ended)))
    };
    for operator in &options.operators {
        let ended = run_child(operator);
        if let Some(signal) = interrupt.signal() {
            stopped_by = Some(Error::Interrupted(signal));
            break;
        }
        let reason = match ended {
            Ok(None) => {
                status.skipped.push(script_name(operator.name));
                continue;
            }
            Ok(Some(0)) => {
                status.success.push(script_name(operator.name));
                continue;
            }
            Ok(Some(code)) => {
                let reason = format!("subprocess exit code {code}");
                if !options.continue_on_error {
                    stopped_by = Some(Error::OperatorFailed { op: operator.name.to_owned(), reason: reason.clone() });
                }
                reason
            }
            Err(error) => {
                let reason = error.to_string();
                stopped_by = Some(error);
                reason
            }
        };
        status.failed.push(FailedOperator { op: script_name(operator.name), reason });
        if stopped_by.is_some() {
            break;
        }
    }
    status.write(&options.status_file)?;
    Ok(RunAllOutcome { status, report: None, stopped_by })
}

/// Whether the status file can be written, before anything runs.
fn require_place(status_file: &Path) -> Result<(), Error> {
    if status_file.is_dir() {
        return Err(Error::io(status_file, std::io::ErrorKind::IsADirectory.into()));
    }
    require_writable(status_file.parent().unwrap_or(Path::new("")))
}

fn require_folder(database: &Path) -> Result<(), Error> {
    if database.is_dir() { Ok(()) } else { Err(Error::NoDatabase(database.to_owned())) }
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

    #[test]
    fn the_status_is_written_although_no_child_can_be_started() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("Sort.csv"), "")?;
        let options = RunAllOptions {
            database: folder.path().to_owned(),
            operators: choose(&["Add", "Sort"])?,
            continue_on_error: true,
            status_file: folder.path().join("status.json"),
        };
        let command = |_: &Operator| Command::new("/nowhere/op-replay");
        let outcome = run_in_children(&options, &command, &Interrupt::default())?;
        assert!(outcome.stopped_by.is_some_and(|error| error.to_string().starts_with("/nowhere/op-replay")));
        let status: RunStatus = serde_json::from_slice(&std::fs::read(&options.status_file)?)?;
        assert_eq!((status.skipped, status.failed[0].op.as_str()), (vec!["Add_run.py".to_owned()], "Sort_run.py"));
        let bad_place = RunAllOptions { status_file: folder.path().to_owned(), ..options };
        assert!(run_in_children(&bad_place, &command, &Interrupt::default()).is_err());
        Ok(())
    }
}
