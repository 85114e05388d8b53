//! Candidates: the shapes that a rule proposes for one row.

use std::sync::Arc;

use crate::slots::Slots;

/// What a rule proposes for one row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// The shapes of the inputs.
    pub inputs: Slots,
    /// The shapes of the outputs.
    pub outputs: Slots,
    /// The cells that the candidate sets itself, in the order of its rule's columns.
    pub cells: Arc<[String]>,
}
