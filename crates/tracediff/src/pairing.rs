//! Which operations of two traces are compared with each other.

use std::collections::BTreeMap;

use crate::elapsed::counted::Counted;
use crate::steps::PhaseFilter;
use crate::time::Picoseconds;
use crate::totals::{OperationTotals, Totals, totals};
use crate::trace::Trace;

/// An operation of both traces.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) operation: String,
    pub(crate) sides: [OperationTotals; 2],
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
        let counted = Counted::of(traces, filter);
        let mut totals = [0, 1].map(|side| totals(traces[side], filter, &counted[side], limit));
        let mut sides: BTreeMap<&str, [Option<OperationTotals>; 2]> = BTreeMap::new();
        for (side, (trace, totals)) in traces.iter().zip(&mut totals).enumerate() {
            for (operation, totals) in trace.operations.iter().zip(std::mem::take(&mut totals.operations)) {
                if totals.sum.count > 0 {
                    sides.entry(operation).or_default()[side] = Some(totals);
                }
            }
        }
        let mut pairs = Vec::new();
        let mut singles = Vec::new();
        for (operation, found) in sides {
            match found {
                [Some(first), Some(second)] => {
                    pairs.push(Pair { operation: operation.to_owned(), sides: [first, second] });
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
