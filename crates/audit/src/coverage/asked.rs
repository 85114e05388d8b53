//! Questions with what was found out about them.

use crate::coverage::answer_source::{AnswerSource, Finding};
use crate::coverage::workload::Question;

/// A question and what was found out about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub question: Question,
    /// What was found out.
    pub finding: Finding,
}

impl Asked {
    /// The duration of one call: that of the answer, else of the prediction, else of the simulation. A partial answer takes at least as long as the
    /// simulation says.
    pub fn duration_us(&self) -> Option<f64> {
        let simulated = self.question.simulated_us;
        match (self.finding.duration_us, self.finding.source) {
            (Some(part), AnswerSource::Partial) => Some(simulated.map_or(part, |whole| whole.max(part))),
            (Some(known), _) => Some(known),
            (None, _) => simulated,
        }
    }
}
