//! Operations that one trace runs as one kernel and the other in pieces.

use indexmap::IndexMap;
use serde::Serialize;

use crate::elapsed::counted::Counted;
use crate::steps::PhaseFilter;
use crate::time::milliseconds;
use crate::totals::{Totals, totals};
use crate::trace::Trace;

/// Fused operations of two traces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FusionAnalysis {
    /// By total time descending, then trace, then name.
    pub fusion_opportunities: Vec<FusionOpportunity>,
    /// Counts.
    pub summary: FusionSummary,
}

/// A fused operation of one trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FusionOpportunity {
    /// Operation.
    pub operation: String,
    /// 1 or 2.
    pub fused_by: u8,
    /// Kernel with most time.
    pub fused_kernel: String,
    /// What the operation consists of.
    pub components: Vec<String>,
    /// Calls.
    pub count: u64,
    /// Total time, ms.
    pub total_ms: f64,
    /// Kernels of each component in the other trace.
    pub other_counts: IndexMap<String, u64>,
}

/// How many fused operations there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FusionSummary {
    /// Fused by trace 1 alone.
    pub trace1_fuses: usize,
    /// Fused by trace 2 alone.
    pub trace2_fuses: usize,
    /// Both.
    pub total_fusion_opportunities: usize,
}

/// Finds the operations with `+` in their name that one trace alone has.
pub(crate) fn fusion_of(first: &Trace, second: &Trace, phase: PhaseFilter) -> FusionAnalysis {
    let traces = [first, second];
    let counted = Counted::of(traces, phase);
    let sums = [0, 1].map(|side| totals(traces[side], phase, &counted[side], Some(0)));
    let mut found = Vec::new();
    for (side, trace) in traces.iter().enumerate() {
        let other = 1 - side;
        for (operation, totals) in trace.operations.iter().zip(&sums[side].operations) {
            if totals.sum.count == 0 || !operation.contains('+') || count(traces[other], &sums[other], operation) > 0 {
                continue;
            }
            let components: Vec<String> = operation.split('+').map(|part| part.trim().to_owned()).collect();
            let other_counts =
                components.iter().map(|part| (part.clone(), count(traces[other], &sums[other], part))).collect();
            let opportunity = FusionOpportunity {
                operation: operation.clone(),
                fused_by: side as u8 + 1,
                fused_kernel: totals.longest_kernel(trace).to_owned(),
                components,
                count: totals.sum.count,
                total_ms: milliseconds(totals.sum.time),
                other_counts,
            };
            found.push((totals.sum.time, opportunity));
        }
    }
    found.sort_by(|(a, first), (b, second)| {
        b.cmp(a).then(first.fused_by.cmp(&second.fused_by)).then_with(|| first.operation.cmp(&second.operation))
    });
    let fusion_opportunities: Vec<FusionOpportunity> = found.into_iter().map(|(_, found)| found).collect();
    let fuses = |side| fusion_opportunities.iter().filter(|found| found.fused_by == side).count();
    let summary = FusionSummary {
        trace1_fuses: fuses(1),
        trace2_fuses: fuses(2),
        total_fusion_opportunities: fusion_opportunities.len(),
    };
    FusionAnalysis { fusion_opportunities, summary }
}

fn count(trace: &Trace, totals: &Totals, operation: &str) -> u64 {
    let at = trace.operations.iter().position(|known| known == operation);
    at.map_or(0, |at| totals.operations[at].sum.count)
}
