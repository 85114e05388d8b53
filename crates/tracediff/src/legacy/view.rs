//! A trace that was loaded under the old rules.

use super::columns::LegacyColumns;
use crate::trace::Trace;

/// A trace with its legacy columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LegacyTrace<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) columns: &'a LegacyColumns,
}

impl<'a> LegacyTrace<'a> {
    /// The traces of a pair, if both were loaded under the old rules.
    pub(crate) fn pair(first: &'a Trace, second: &'a Trace) -> Option<[LegacyTrace<'a>; 2]> {
        let view = |trace: &'a Trace| Some(LegacyTrace { trace, columns: trace.legacy.as_ref()? });
        Some([view(first)?, view(second)?])
    }
}
