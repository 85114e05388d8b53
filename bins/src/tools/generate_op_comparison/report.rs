//! What became of a scenario, in a form that another process can read.

use super::outputs::{ComputedM6, stage_m6};
use crate::comparison::WarningLine;
use crate::{Failure, error_line};
use bitcode::{Decode, Encode};
use perfdb_compare::operators::OpRow;
use perfdb_compare::scenario::{ForwardPasses, Scenario, ScenarioOutcome, ScenarioReport};
use perfdb_pycompat::value::Value;

/// What became of a scenario.
#[derive(Debug, Encode, Decode)]
pub(super) struct CaseReport {
    pub(super) warnings: Vec<WarningLine>,
    pub(super) mapping_used: bool,
    pub(super) outcome: CaseOutcome,
    /// The text of its M6 file, where that was missing and was computed.
    pub(super) m6: Option<String>,
}

/// How a scenario ended.
#[derive(Debug, Encode, Decode)]
pub(super) enum CaseOutcome {
    Compared(Vec<OpRow>),
    /// This file, as Python writes it, is not there.
    Skipped(String),
    /// With this error.
    Failed(String),
}

impl From<ScenarioReport> for CaseReport {
    fn from(report: ScenarioReport) -> CaseReport {
        let outcome = match report.outcome {
            ScenarioOutcome::Compared(rows) => CaseOutcome::Compared(rows),
            ScenarioOutcome::Skipped(path) => {
                CaseOutcome::Skipped(Value::Text(path.to_string_lossy().into_owned()).repr())
            }
            ScenarioOutcome::Failed(error) => CaseOutcome::Failed(error_line(&error)),
        };
        let warnings = report.warnings.iter().map(WarningLine::of).collect();
        CaseReport { warnings, mapping_used: report.mapping_used, outcome, m6: None }
    }
}

impl CaseReport {
    /// Stages the M6 file that was computed with the report. The scenario counts one pass from then on.
    pub(super) fn stage_m6(&self, scenario: &mut Scenario) -> Result<Option<ComputedM6>, Failure> {
        let (Some(text), ForwardPasses::M6File(path)) = (&self.m6, &scenario.forward_passes) else { return Ok(None) };
        let staged = stage_m6(scenario, path, text)?;
        scenario.forward_passes = ForwardPasses::Number(1.0);
        Ok(Some(staged))
    }
}
