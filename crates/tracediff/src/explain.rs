//! Why the times of two traces differ: an exact split of the difference, and how much of the traces it is based on.

mod coverage;
mod parts;

pub use coverage::{Coverage, Share, UnmatchedKernel};
pub use parts::{Difference, FamilyDifference, Parts};

use serde::Serialize;

use crate::elapsed::ElapsedReport;
use crate::groups::GroupRow;
use crate::pairing::Pairing;

/// Why the times of two traces differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// How much of each trace the comparison is based on.
    pub coverage: Coverage,
    /// What the difference consists of; nothing where elapsed times are not known.
    pub difference: Option<Difference>,
}

/// Explains a comparison by the groups of kernels that do the same work, and the parts of elapsed time.
pub(crate) fn explain(pairing: &Pairing<'_>, groups: &[GroupRow], elapsed: Option<&ElapsedReport>) -> Explanation {
    let difference = elapsed.map(|report| parts::difference(groups, report));
    Explanation { coverage: coverage::coverage(pairing), difference }
}
