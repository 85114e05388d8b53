//! Why the times of two traces differ: an exact split of the difference, and how much of the traces it rests on.

mod coverage;
mod parts;

pub use coverage::{Coverage, Share, UnmatchedKernel};
pub use parts::{Difference, OperationDifference, Parts};

use serde::Serialize;

use crate::pairing::Pairing;

/// Why the times of two traces differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// How much of each trace the comparison rests on.
    pub coverage: Coverage,
    /// What the difference consists of.
    pub difference: Difference,
}

/// Explains a comparison.
pub(crate) fn explain(pairing: &Pairing<'_>) -> Explanation {
    Explanation { coverage: coverage::coverage(pairing), difference: parts::difference(pairing) }
}
