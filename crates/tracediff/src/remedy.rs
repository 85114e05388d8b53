//! What a caller can do about a finding or an error.

use crate::error::Error;

/// What helps. Programs name the option by which they offer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// [`LoadOptions::clip_overlaps`](crate::LoadOptions::clip_overlaps) ends kernels where the next one begins.
    ClipOverlaps,
    /// With `WRONG_UNIT` in [`LoadOptions::accept`](crate::LoadOptions::accept) the trace is loaded nevertheless.
    AcceptWrongUnit,
    /// [`perfdb_doctor::repair()`] fixes the text of the file.
    Repair,
}

/// Something to keep in mind about a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caution {
    /// One sentence, without the path.
    pub text: String,
    /// What can be done about it.
    pub remedy: Option<Remedy>,
}

impl From<String> for Caution {
    fn from(text: String) -> Caution {
        Caution { text, remedy: None }
    }
}

impl Error {
    /// What can be done about it.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Mendable(_) => Some(Remedy::Repair),
            Error::WrongUnit { .. } => Some(Remedy::AcceptWrongUnit),
            _ => None,
        }
    }
}
