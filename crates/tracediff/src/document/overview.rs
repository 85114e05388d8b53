//! What reports show of a comparison of operations.

use super::{Details, Document};
use crate::result::Comparison;
use crate::trust::Trust;

/// What [`Document::Plain`] and [`Document::Full`] have in common.
#[derive(Debug, Clone, Copy)]
pub struct Overview<'a> {
    /// How far the traces can be trusted.
    pub trust: Option<&'a Trust>,
    /// Operations and layers.
    pub comparison: &'a Comparison,
    /// Why the times differ.
    pub details: &'a Details,
}

impl Document {
    /// What a comparison of operations found; nothing of documents that have none (alignments, launch counts, old rules).
    pub fn overview(&self) -> Option<Overview<'_>> {
        let (trust, comparison, details) = match self {
            Document::Plain(plain) => (&plain.trust, &plain.comparison, &plain.details),
            Document::Full(full) => (&full.trust, &full.comparison, &full.details),
            Document::Aligned(_)
            | Document::LaunchCounts(_)
            | Document::Legacy(_)
            | Document::LegacyAligned(_)
            | Document::LegacyFull(_) => return None,
        };
        Some(Overview { trust: trust.as_ref(), comparison, details })
    }
}
