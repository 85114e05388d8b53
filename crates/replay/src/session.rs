//! One run: operators one after the other, their rows through the executors, reports at the end.

mod files;
mod lanes;
mod operator_run;
mod progress;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use serde::Serialize;

use crate::error::Error;
use crate::executor::{OutputInfo, StartError};
use crate::folder::require_writable;
use crate::journal::{Journal, MeasuredRows};
use crate::op_summary::{Entry, OpSummary};
use crate::operator::{Operator, SkipReason};
use crate::plan::PlannedRow;
use crate::refusal::{CaseError, Refusal};
use crate::removal::Removal;
use crate::results::{RowResult, RowRun};
use crate::row_selection::RowSelection;
use crate::settings::RunSettings;
use perfdb_files::interrupt::Interrupt;
use perfdb_files::lock::{LockOptions, Notice};

pub use files::RunFiles;
use files::content_beside;
pub use lanes::Starters;
pub(crate) use progress::OperatorOutcome;

/// A run over one or more operators.
pub struct Session<'a> {
    settings: &'a RunSettings,
    interrupt: &'a Interrupt,
    notify: &'a (dyn Fn(Event<'_>) + Sync),
    lanes: lanes::Lanes<'a>,
    journal: Option<Journal>,
    /// What other processes have measured, where this one measures nothing.
    measured: Option<MeasuredRows>,
    has_begun: bool,
    next_id: AtomicU64,
    results: Vec<RowResult>,
    dumps: Vec<DumpedCase>,
    entries: Vec<Entry>,
    removals: Vec<Removal>,
    counts: Counts,
}

/// Something that a user may want to see while a run goes on.
#[derive(Clone, Copy, Debug)]
pub enum Event<'e> {
    /// A row cannot become a case.
    Invalid(&'e PlannedRow, &'e Refusal),
    /// A row was passed over.
    Skipped(&'e PlannedRow, SkipReason),
    /// A row ran.
    Ran(&'e PlannedRow, &'e RowRun),
    /// A row's outputs are unlike the recorded ones.
    Unlike(&'e PlannedRow, &'e str),
    /// A row failed.
    Failed(&'e PlannedRow, &'e CaseError),
    /// A row left its table.
    Dropped(&'e PlannedRow),
    /// A table was rewritten.
    CleanedUp {
        table: &'e std::path::Path,
        /// Rows that left it.
        rows: usize,
        /// The file that keeps them.
        kept_in: &'e std::path::Path,
    },
    /// Something that does not change results.
    Warning(&'e str),
    /// A line of the worker.
    Worker(&'e str),
    /// This number of rows of an operator are done.
    Progress {
        /// Operator.
        op: &'e str,
        /// Rows done.
        done: usize,
        /// Rows to run.
        total: usize,
    },
}

/// Numbers of rows by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ran, or taken over from a journal.
    pub ran: usize,
    /// Passed over.
    pub skipped: usize,
    /// Cannot become a case.
    pub invalid: usize,
    /// Were sent and failed.
    pub failed: usize,
    /// Left their table.
    pub dropped: usize,
}

/// The outputs of a case that ran: an object of a dump.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DumpedCase {
    /// Operator.
    pub op: String,
    /// Number of the record.
    pub row: u64,
    /// Shapes, types and values.
    pub outputs: Vec<OutputInfo>,
}

/// What is replayed of an operator.
#[derive(Debug)]
pub enum Rows {
    /// The rows of these tables.
    Tables(Vec<PathBuf>),
    /// Cases that no table holds.
    Cases(Vec<PlannedRow>),
}

/// What a run over one operator has given.
#[derive(Debug)]
pub struct OperatorRun {
    /// The results, of an operator that failed as well.
    pub report: RunReport,
    /// Why the operator failed, if it did, or what interrupted it.
    pub failure: Option<Error>,
}

/// Replays one operator: a run of its own. An error means that there is nothing to report.
pub fn replay_operator(
    operator: &'static Operator,
    rows: Rows,
    settings: &RunSettings,
    starters: Starters<'_>,
    interrupt: &Interrupt,
    notify: &(dyn Fn(Event<'_>) + Sync),
) -> Result<OperatorRun, Error> {
    let mut session = Session::new(settings, starters, interrupt, notify)?;
    let outcome = match rows {
        Rows::Tables(files) => session.replay_tables(operator, &files),
        Rows::Cases(cases) => session.replay_cases(operator, cases),
    };
    if let Ok(OperatorOutcome::RunEnds(error)) = outcome {
        session.abandon();
        return Err(error.into());
    }
    let report = session.finish()?;
    let failure = match outcome {
        Err(error) => Some(error),
        Ok(OperatorOutcome::Failed(reason)) => Some(Error::OperatorFailed { op: operator.name.to_owned(), reason }),
        Ok(_) => None,
    };
    Ok(OperatorRun { report, failure })
}

/// What a run has given.
#[derive(Debug)]
pub struct RunReport {
    /// One per row, in plan order.
    pub results: Vec<RowResult>,
    /// One per case that ran, where asked for.
    pub dumps: Vec<DumpedCase>,
    /// Numbers of rows.
    pub counts: Counts,
    /// The op_summary file, if there was a sample.
    pub op_summary: Option<PathBuf>,
    /// What is to be written: op_summary, and the tables that rows leave.
    pub files: RunFiles,
}

impl<'a> Session<'a> {
    /// Prepares a run; nothing is started yet. The output folder must be writable; a journal is opened for writing.
    pub fn new(
        settings: &'a RunSettings,
        starters: Starters<'a>,
        interrupt: &'a Interrupt,
        notify: &'a (dyn Fn(Event<'_>) + Sync),
    ) -> Result<Session<'a>, Error> {
        settings.check()?;
        if settings.writes_files() && settings.backend.has_own_clock() {
            require_writable(&settings.output)?;
        }
        let journal = match &settings.journal {
            Some(path) if settings.writes_files() => Some(Journal::open(path)?),
            _ => None,
        };
        let measured = match &settings.rows {
            RowSelection::Journals(journals) => Some(MeasuredRows::open(journals)?),
            RowSelection::All | RowSelection::Shard(_) => None,
        };
        if let Some(machines) = measured.as_ref().and_then(MeasuredRows::different_machines) {
            notify(Event::Warning(&format!("the shards were not measured with the same: {machines}")));
        }
        Ok(Session {
            settings,
            interrupt,
            notify,
            lanes: lanes::Lanes::new(settings, starters),
            journal,
            measured,
            has_begun: false,
            next_id: AtomicU64::new(1),
            results: Vec::new(),
            dumps: Vec::new(),
            entries: Vec::new(),
            removals: Vec::new(),
            counts: Counts::default(),
        })
    }

    /// Ends the executors and stages what the run writes.
    pub fn finish(mut self) -> Result<RunReport, Error> {
        self.lanes.shut_down();
        let Session { settings, notify, results, dumps, mut counts, entries, removals, .. } = self;
        let warn = |text: &str| notify(Event::Warning(text));
        let notice = |notice: &Notice| warn(&notice.to_string());
        let lock = LockOptions { tool: settings.tool, timeout: settings.lock_timeout, notice: &notice };
        let is_taken = |profile: &Path| {
            settings.hand_over.as_ref().is_some_and(|document| content_beside(document, profile).exists())
        };
        let op_summary = if settings.writes_files() {
            OpSummary::new(&settings.output, &settings.run_id, &entries, &is_taken)?
        } else {
            None
        };
        let files = match &settings.hand_over {
            Some(document) => RunFiles::hand_over(document, removals, op_summary.as_ref(), &warn)?,
            None => {
                let mut files = RunFiles::stage(removals, &lock, &warn)?;
                if let Some(op_summary) = &op_summary {
                    files.add(op_summary.stage()?);
                }
                files
            }
        };
        counts.dropped += files.removed_rows();
        let op_summary = op_summary.map(|op_summary| op_summary.path());
        Ok(RunReport { results, dumps, counts, op_summary, files })
    }

    /// Ends the executors without writing anything.
    pub(crate) fn abandon(mut self) {
        self.lanes.shut_down();
    }
}

/// The end of a run because no executor can be started.
impl From<StartError> for Error {
    fn from(error: StartError) -> Error {
        match error {
            StartError::Interrupted(signal) => Error::Interrupted(signal),
            StartError::Environment(detail) => Error::Run(format!("environment: {detail}")),
            error @ StartError::Protocol { .. } => Error::Run(error.to_string()),
        }
    }
}
