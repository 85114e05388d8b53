//! What reports show of a comparison of operations.

use crate::confidence::Confidence;
use crate::document::Document;
use crate::elapsed::ElapsedReport;
use crate::groups::{GroupRow, Strip};
use crate::result::Comparison;
use crate::rooflines::Rooflines;
use crate::trust::Trust;

/// What [`Document::Plain`] and [`Document::Full`] have in common.
#[derive(Debug, Clone, Copy)]
pub struct Overview<'a> {
    /// How far the traces can be trusted.
    pub trust: Option<&'a Trust>,
    /// Operations and layers.
    pub comparison: &'a Comparison,
    /// the confidence of differences, if asked for.
    pub confidence: Option<&'a Confidence>,
    /// Elapsed times.
    pub elapsed: Option<&'a ElapsedReport>,
    /// Groups of kernels that do the same.
    pub groups: &'a [GroupRow],
    /// One typical layer of each side.
    pub strips: &'a [Strip],
    /// What operators must do, and whether hardware or kernels make the difference.
    pub roofline: Option<&'a Rooflines>,
}

impl Document {
    /// What a comparison of operations found; nothing of documents that have none (alignments, launch counts, old rules).
    pub fn overview(&self) -> Option<Overview<'_>> {
        match self {
            Document::Plain(plain) => Some(Overview {
                trust: plain.trust.as_ref(),
                comparison: &plain.comparison,
                confidence: plain.confidence.as_ref(),
                elapsed: plain.elapsed.as_ref(),
                groups: &plain.groups,
                strips: &plain.strips,
                roofline: plain.roofline.as_ref(),
            }),
            Document::Full(full) => Some(Overview {
                trust: full.trust.as_ref(),
                comparison: &full.comparison,
                confidence: full.confidence.as_ref(),
                elapsed: full.elapsed.as_ref(),
                groups: &full.groups,
                strips: &full.strips,
                roofline: full.roofline.as_ref(),
            }),
            Document::Aligned(_)
            | Document::LaunchCounts(_)
            | Document::Legacy(_)
            | Document::LegacyAligned(_)
            | Document::LegacyFull(_) => None,
        }
    }
}
