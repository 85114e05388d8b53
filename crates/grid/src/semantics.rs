//! Whose rules a run follows.

/// Whose rules decide which shapes a run makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Semantics {
    /// Those of the original tool of June 2026, faults included.
    #[default]
    Upstream,
    /// Those of the original tool of August 2026, faults included: models by hub id, dense attention for each tensor-parallel size.
    Newest,
    /// Those of June 2026 with known faults switched off.
    Corrected,
}

impl Semantics {
    /// Whether known faults of the original are switched off.
    pub(crate) fn is_corrected(self) -> bool {
        self == Self::Corrected
    }
}
