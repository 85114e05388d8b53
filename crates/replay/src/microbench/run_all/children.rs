//! A child for each operator, and what the children hand over to the process that started them.

use std::path::PathBuf;
use std::process::Command;

use super::{RunAllOptions, RunAllOutcome, Step, require_folder, require_place, run_each};
use crate::microbench::error::Error;
use crate::microbench::process_group::{exit_number, run_to_end};
use crate::operator::Operator;
use crate::session::RunFiles;
use perfdb_files::folders::{self, PrivateFolder};
use perfdb_files::interrupt::Interrupt;
use perfdb_files::lock::LockOptions;

/// Runs the operators in a child each. `command` gives the child's command for an operator.
pub fn run_in_children(
    options: &RunAllOptions,
    command: &dyn Fn(&Operator) -> Command,
    interrupt: &Interrupt,
) -> Result<RunAllOutcome, Error> {
    require_folder(&options.database)?;
    require_place(&options.status_file)?;
    let (status, stopped_by) = run_each(options, |operator| {
        if let Some(signal) = interrupt.signal() {
            return Step::Interrupted(signal);
        }
        match crate::table::find(&options.database, operator.name) {
            Ok(files) if files.is_empty() => return Step::NoTable,
            Ok(_) => {}
            Err(error) => return Step::Fatal(error.into()),
        }
        let mut child = command(operator);
        let ended = run_to_end(&mut child, interrupt).map_err(|source| Error::io(child.get_program(), source));
        match (interrupt.signal(), ended.map(exit_number)) {
            (Some(signal), _) => Step::Interrupted(signal),
            (None, Ok(0)) => Step::Success,
            (None, Ok(code)) => Step::Failed(format!("subprocess exit code {code}")),
            (None, Err(error)) => Step::Fatal(error),
        }
    });
    status.write(&options.status_file)?;
    Ok(RunAllOutcome { status, report: None, stopped_by })
}

/// A folder in which the children of a run leave what they have measured. They write nowhere else: what is in it is committed together, with
/// everything else that the run writes. It goes when this is dropped.
#[derive(Debug)]
pub struct HandedOver {
    folder: PrivateFolder,
}

/// What a child leaves in a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The files that it would write.
    Files,
    /// One result per row, a JSON array.
    Results,
    /// The outputs of the cases, a JSON array.
    Dumps,
}

impl HandedOver {
    /// Makes the folder.
    pub fn new() -> Result<HandedOver, Error> {
        let folder = folders::private("perfdb-run-").map_err(|source| Error::io(std::env::temp_dir(), source))?;
        Ok(HandedOver { folder })
    }

    /// The file for a part of what the child of an operator leaves.
    pub fn file(&self, operator: &Operator, part: Part) -> PathBuf {
        let part = match part {
            Part::Files => "files",
            Part::Results => "results",
            Part::Dumps => "dumps",
        };
        self.folder.path().join(format!("{}.{part}.json", operator.name))
    }

    /// The arrays that the children have left, joined in running order. Not every child comes to writing one.
    pub fn joined(&self, operators: &[&'static Operator], part: Part) -> Result<Vec<serde_json::Value>, Error> {
        let mut joined = Vec::new();
        for operator in operators {
            let path = self.file(operator, part);
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let values: Vec<serde_json::Value> =
                serde_json::from_str(&text).map_err(|error| Error::io(&path, error.into()))?;
            joined.extend(values);
        }
        Ok(joined)
    }

    /// Stages the files that the children would have written.
    pub fn files(
        &self,
        operators: &[&'static Operator],
        lock: &LockOptions<'_>,
        warn: &dyn Fn(&str),
    ) -> Result<RunFiles, Error> {
        let documents = operators.iter().map(|operator| self.file(operator, Part::Files));
        Ok(RunFiles::handed_over(documents, lock, warn)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::choose;
    use super::*;
    use crate::microbench::status::RunStatus;

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
