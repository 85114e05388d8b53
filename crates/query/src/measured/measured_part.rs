//! A part of a decomposition that was answered.

use crate::answer::{Part, RowRef};
use smallvec::SmallVec;

/// A part that was answered.
#[derive(Debug, Clone)]
pub(crate) struct MeasuredPart {
    pub(crate) part: Part,
    pub(crate) rows: SmallVec<[RowRef; 1]>,
}
