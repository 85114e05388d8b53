//! What a collection prints while it goes on.

use crate::communication::{Display, message, plan_warning, report_outcome};
use crate::{Failure, print, print_error, warn};
use perfdb_comm::collection::Step;
use perfdb_report::collection as text;
use std::sync::Mutex;
use std::time::SystemTime;

/// Prints the steps of a collection. A stdout that takes nothing does not end the measuring.
#[derive(Default)]
pub(super) struct Printer {
    display: Display,
    /// The error of the first line that could not be printed.
    unprinted: Mutex<Option<Failure>>,
}

impl Printer {
    /// Prints one step.
    pub(super) fn print(&self, step: Step<'_>) {
        match step {
            Step::Begin { number, total, session } => {
                self.line(&text::begin(number, total, session, SystemTime::now()));
            }
            Step::Warning(warning) => warn(&plan_warning(&warning)),
            Step::Event(event) => self.display.show(event),
            Step::End { outcome, elapsed } => {
                match outcome {
                    Ok(outcome) => report_outcome(outcome),
                    Err(error) => print_error(&message(error)),
                }
                self.line(&text::end(outcome, elapsed));
            }
        }
    }

    /// Fails if a line could not be printed.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.unprinted.into_inner().unwrap_or_default().map_or(Ok(()), Err)
    }

    fn line(&self, text: &str) {
        if let (Err(error), Ok(mut first)) = (print(text), self.unprinted.lock()) {
            first.get_or_insert(error);
        }
    }
}
