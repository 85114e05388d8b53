//! What became of a scenario, in a form that another process can read.

use crate::comparison::WarningLine;
use crate::error_line;
use bitcode::{Decode, Encode};
use perfdb_compare::attribution::Explanation;
use perfdb_compare::{Error, Outcome};

/// What became of a scenario.
#[derive(Debug, Encode, Decode)]
pub(super) struct CaseReport {
    pub(super) warnings: Vec<WarningLine>,
    /// What was found, or the error.
    pub(super) result: Result<Explanation, String>,
}

impl From<Result<Outcome<Explanation>, Error>> for CaseReport {
    fn from(result: Result<Outcome<Explanation>, Error>) -> CaseReport {
        match result {
            Ok(Outcome { result, warnings }) => {
                CaseReport { warnings: warnings.iter().map(WarningLine::of).collect(), result: Ok(result) }
            }
            Err(error) => CaseReport { warnings: Vec::new(), result: Err(error_line(&error)) },
        }
    }
}
