//! The options by which the tools offer what helps against a finding or an error.

use crate::error_line;
use perfdb_tracediff::{Caution, Error, Remedy};

/// The error as one line, with the option that helps.
pub(super) fn line_of_error(error: &Error) -> String {
    error_line(error) + advice(error.remedy())
}

/// The finding as one line, with the option that helps.
pub(super) fn line_of_caution(caution: &Caution) -> String {
    format!("{}{}", caution.text, advice(caution.remedy))
}

fn advice(remedy: Option<Remedy>) -> &'static str {
    match remedy {
        None => "",
        Some(Remedy::ClipOverlaps) => "; --clip-overlaps cuts them where the next one begins",
        Some(Remedy::AcceptWrongUnit) => "; --accept WRONG_UNIT compares nevertheless",
        Some(Remedy::Repair) => "; check-trace --repair fixes it",
    }
}
