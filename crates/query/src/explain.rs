//! What was tried on the way to an answer.

use crate::engine::Context;

/// Everything that was tried.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// Attempts in order.
    pub lines: Vec<String>,
}

impl Context<'_> {
    /// Notes what is tried, if anybody wants to know.
    pub(crate) fn note(&self, line: impl FnOnce() -> String) {
        if let Some(explanation) = self.explanation {
            explanation.borrow_mut().lines.push(line());
        }
    }

    pub(crate) fn explain_tables(&self) {}
}
