//! What is known of one operator's rows while they run, and how the operator ends.

use std::collections::BTreeMap;

use super::lanes::Answer;
use super::{DumpedCase, Event};
use crate::backend::Backend;
use crate::case::Case;
use crate::executor::supervisor::CaseFailure;
use crate::executor::{Measured, StartError};
use crate::op_summary::Entry;
use crate::operator::Operator;
use crate::plan::PlannedRow;
use crate::refusal::{CaseError, ErrorKind};
use crate::results::{Differences, RowOutcome, RowRun};
use crate::settings::RunSettings;

/// How an operator ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OperatorOutcome {
    /// Well, also where single rows failed.
    Success,
    /// It failed; the reason as in a status file.
    Failed(String),
    /// No executor can be started: the run ends.
    RunEnds(StartError),
}

/// Everything that is known of one operator's rows while they run.
pub(super) struct Progress {
    /// Whether rows are of another shard, per group.
    pub(super) elsewhere: Vec<Vec<bool>>,
    /// Outcome per group and row; `None` until it is known.
    pub(super) outcomes: Vec<Vec<Option<RowOutcome>>>,
    pub(super) entries: Vec<Vec<Option<Entry>>>,
    pub(super) dumps: Vec<DumpedCase>,
    pub(super) sent: usize,
    pub(super) ran: usize,
    pub(super) ran_now: Vec<usize>,
    pub(super) kinds: BTreeMap<&'static str, usize>,
    pub(super) environment: Option<String>,
    pub(super) unsupported: bool,
    pub(super) start_error: Option<StartError>,
}

impl Progress {
    pub(super) fn new(rows_per_group: impl Iterator<Item = usize> + Clone) -> Progress {
        Progress {
            elsewhere: rows_per_group.clone().map(|rows| vec![false; rows]).collect(),
            outcomes: rows_per_group.clone().map(|rows| vec![None; rows]).collect(),
            entries: rows_per_group.clone().map(|rows| vec![None; rows]).collect(),
            dumps: Vec::new(),
            sent: 0,
            ran: 0,
            ran_now: rows_per_group.map(|_| 0).collect(),
            kinds: BTreeMap::new(),
            environment: None,
            unsupported: false,
            start_error: None,
        }
    }

    /// `is_part` says that other rows of the operator may run elsewhere.
    pub(super) fn outcome(&self, operator: &Operator, backend: Backend, is_part: bool) -> OperatorOutcome {
        if let Some(error) = &self.start_error {
            return OperatorOutcome::RunEnds(error.clone());
        }
        if let Some(detail) = &self.environment {
            return OperatorOutcome::Failed(format!("environment: {detail}"));
        }
        if self.unsupported {
            return OperatorOutcome::Failed(unsupported(operator, backend));
        }
        if self.sent > 0 && self.ran == 0 && !is_part {
            let kinds: Vec<String> = self.kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            return OperatorOutcome::Failed(format!("no row ran: {}", kinds.join(", ")));
        }
        OperatorOutcome::Success
    }

    /// The error of rows that were not sent because the operator had ended.
    pub(super) fn not_sent(&self, operator: &Operator, backend: Backend) -> Option<CaseError> {
        if let Some(detail) = &self.environment {
            return Some(CaseError::new(ErrorKind::Environment, detail.clone()));
        }
        self.unsupported.then(|| CaseError::new(ErrorKind::Unsupported, unsupported(operator, backend)))
    }
}

/// Judges answers.
pub(super) struct Recorder<'r> {
    pub(super) settings: &'r RunSettings,
    pub(super) notify: &'r (dyn Fn(Event<'_>) + Sync),
}

impl Recorder<'_> {
    /// What an answer means for its row; `None` where the row counts as not sent.
    pub(super) fn judge(
        &self,
        row: &PlannedRow,
        case: &Case,
        answer: Answer,
        progress: &mut Progress,
    ) -> Option<(RowOutcome, Option<(Measured, u32)>)> {
        let error = match answer {
            Err(CaseFailure::Start(error)) => {
                progress.start_error.get_or_insert(error);
                return None;
            }
            Err(CaseFailure::UnsupportedOperator) => {
                progress.unsupported = true;
                return None;
            }
            Err(CaseFailure::Case(error)) => error,
            Ok((mut measured, device)) => {
                let differences = Differences::between(&measured.outputs, &case.outputs);
                match differences.error(case.check) {
                    Some(error) => error,
                    None => {
                        if !differences.is_empty() {
                            (self.notify)(Event::Unlike(row, &differences.text()));
                        }
                        let run = RowRun::new(case, &measured, differences.is_empty());
                        (self.notify)(Event::Ran(row, &run));
                        if self.settings.dump_outputs {
                            let outputs = std::mem::take(&mut measured.outputs);
                            progress.dumps.push(DumpedCase { op: case.op.to_string(), row: case.row, outputs });
                        }
                        progress.sent += 1;
                        progress.ran += 1;
                        return Some((RowOutcome::Ok(run), Some((measured, device))));
                    }
                }
            }
        };
        (self.notify)(Event::Failed(row, &error));
        progress.sent += 1;
        *progress.kinds.entry(error.kind.name()).or_default() += 1;
        if error.kind == ErrorKind::Environment {
            progress.environment.get_or_insert_with(|| error.detail.clone());
        }
        Some((RowOutcome::Failed(error), None))
    }
}

pub(super) fn unsupported(operator: &Operator, backend: Backend) -> String {
    format!("unsupported: backend {backend} cannot run {}", operator.name)
}
