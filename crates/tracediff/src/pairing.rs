//! Which operations of two traces are compared with each other.

use std::collections::BTreeMap;

use crate::classify::{NORM, NORM_WITH_GEMM};
use crate::steps::PhaseFilter;
use crate::time::Picoseconds;
use crate::totals::{OperationTotals, Totals, totals};
use crate::trace::Trace;

/// An operation of both traces.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) operation: String,
    pub(crate) sides: [OperationTotals; 2],
    /// Whether one side has the fused form and the other the plain one.
    pub(crate) fused: bool,
}

impl Pair {
    /// Total of trace 1 less total of trace 2.
    pub(crate) fn gap(&self) -> Picoseconds {
        self.sides[0].sum.time - self.sides[1].sum.time
    }
}

/// An operation of one trace.
#[derive(Debug)]
pub(crate) struct Single {
    pub(crate) operation: String,
    /// 0 or 1.
    pub(crate) side: usize,
    pub(crate) totals: OperationTotals,
}

/// The operations of two traces, each kernel in exactly one entry.
#[derive(Debug)]
pub(crate) struct Pairing<'a> {
    pub(crate) traces: [&'a Trace; 2],
    pub(crate) filter: PhaseFilter,
    /// By |gap| descending, then name.
    pub(crate) pairs: Vec<Pair>,
    /// By total descending, then trace, then name.
    pub(crate) singles: Vec<Single>,
    /// Sums of both traces; `operations` is empty.
    pub(crate) totals: [Totals; 2],
}

impl<'a> Pairing<'a> {
    /// Pairs the operations of two traces. `max_stacks` of 0 is no limit.
    pub(crate) fn new(traces: [&'a Trace; 2], filter: PhaseFilter, max_stacks: usize) -> Pairing<'a> {
        let limit = (max_stacks > 0).then_some(max_stacks);
        let mut totals = traces.map(|trace| totals(trace, filter, limit));
        let mut sides: BTreeMap<&str, [Option<OperationTotals>; 2]> = BTreeMap::new();
        for (side, (trace, totals)) in traces.iter().zip(&mut totals).enumerate() {
            for (operation, totals) in trace.operations.iter().zip(std::mem::take(&mut totals.operations)) {
                if totals.sum.count > 0 {
                    sides.entry(operation).or_default()[side] = Some(totals);
                }
            }
        }
        let norm = pair_norms(&mut sides, limit);
        let mut pairs: Vec<Pair> = norm.into_iter().collect();
        let mut singles = Vec::new();
        for (operation, found) in sides {
            match found {
                [Some(first), Some(second)] => {
                    pairs.push(Pair { operation: operation.to_owned(), sides: [first, second], fused: false });
                }
                found => singles.extend(found.into_iter().enumerate().filter_map(|(side, totals)| {
                    Some(Single { operation: operation.to_owned(), side, totals: totals? })
                })),
            }
        }
        pairs.sort_by(|a, b| b.gap().abs().cmp(&a.gap().abs()).then_with(|| a.operation.cmp(&b.operation)));
        singles.sort_by(|a, b| {
            let by_time = b.totals.sum.time.cmp(&a.totals.sum.time);
            by_time.then(a.side.cmp(&b.side)).then_with(|| a.operation.cmp(&b.operation))
        });
        Pairing { traces, filter, pairs, singles, totals }
    }

    /// Time of a trace in compared operations.
    pub(crate) fn compared(&self, side: usize) -> Picoseconds {
        self.pairs.iter().map(|pair| pair.sides[side].sum.time).sum()
    }
}

/// A norm fused with what follows, on one side only, is compared with the plain norm of the other side; the plain norms of
/// the fused side go with it.
fn pair_norms(sides: &mut BTreeMap<&str, [Option<OperationTotals>; 2]>, limit: Option<usize>) -> Option<Pair> {
    let fused = match sides.get(NORM_WITH_GEMM)? {
        [Some(_), None] => 0,
        [None, Some(_)] => 1,
        _ => return None,
    };
    let other = 1 - fused;
    sides.get(NORM)?[other].as_ref()?;
    let mut plain = sides.remove(NORM)?;
    let with_gemm = sides.remove(NORM_WITH_GEMM)?[fused].take()?;
    let whole = match plain[fused].take() {
        Some(plain) => with_gemm.with(&plain, limit),
        None => with_gemm,
    };
    let other_side = plain[other].take()?;
    let sides = if fused == 0 { [whole, other_side] } else { [other_side, whole] };
    Some(Pair { operation: NORM_WITH_GEMM.to_owned(), sides, fused: true })
}
