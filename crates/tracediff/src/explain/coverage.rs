//! How much of each trace a comparison is based on.

use serde::Serialize;

use crate::classify::OTHER;
use crate::context::OUTSIDE;
use crate::pairing::Pairing;
use crate::time::{Picoseconds, milliseconds};
use crate::totals::Sum;
use crate::trace::Trace;

/// How much of the kernel time of each trace is known, and compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coverage {
    /// In kernels with a class.
    pub classified: Share,
    /// In kernels whose host operator is known.
    pub host_operator: Share,
    /// In kernels with a Python stack.
    pub python_stack: Share,
    /// In kernels with a layer.
    pub layered: Share,
    /// In operations that both traces have.
    pub compared: Share,
    /// The kernels with most time that have no counterpart: of a class that one trace alone has, or of none.
    pub top_unmatched: Vec<UnmatchedKernel>,
}

/// Some kernel time of both traces.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// Time in trace 1, ms.
    pub trace1_ms: f64,
    /// Percentage of the time of trace 1; `None` if that is 0.
    pub trace1_percent: Option<f64>,
    /// Time in trace 2, ms.
    pub trace2_ms: f64,
    /// Percentage of the time of trace 2; `None` if that is 0.
    pub trace2_percent: Option<f64>,
}

/// A kernel without a counterpart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnmatchedKernel {
    /// 1 or 2.
    pub trace: u8,
    /// Name of the kernel.
    pub kernel: String,
    /// Its class.
    pub operation: String,
    /// Calls.
    pub count: u64,
    /// Total time, ms.
    pub total_ms: f64,
    /// Percentage of the time of its trace; `None` if that is 0.
    pub percent: Option<f64>,
}

/// How many kernels are named.
const NAMED: usize = 10;

pub(crate) fn coverage(pairing: &Pairing<'_>) -> Coverage {
    let times = [0, 1].map(|side| times(pairing, side));
    let totals = [0, 1].map(|side| pairing.totals[side].sum.time);
    let share = |of: fn(&Times) -> Picoseconds| Share {
        trace1_ms: milliseconds(of(&times[0])),
        trace1_percent: percent(of(&times[0]), totals[0]),
        trace2_ms: milliseconds(of(&times[1])),
        trace2_percent: percent(of(&times[1]), totals[1]),
    };
    Coverage {
        classified: share(|times| times.classified),
        host_operator: share(|times| times.host_operator),
        python_stack: share(|times| times.python_stack),
        layered: share(|times| times.layered),
        compared: share(|times| times.compared),
        top_unmatched: top_unmatched(pairing),
    }
}

#[derive(Default)]
struct Times {
    classified: Picoseconds,
    host_operator: Picoseconds,
    python_stack: Picoseconds,
    layered: Picoseconds,
    compared: Picoseconds,
}

fn times(pairing: &Pairing<'_>, side: usize) -> Times {
    let trace = pairing.traces[side];
    let mut times = Times { compared: pairing.compared(side), ..Times::default() };
    let classified: Vec<bool> =
        trace.groups.iter().map(|group| trace.operations[group.operation as usize] != OTHER).collect();
    for (kernel, context) in
        trace.kernels.iter().zip(&trace.contexts).filter(|(_, context)| pairing.filter.lets(context.phase))
    {
        let of = |counts: bool| if counts { kernel.duration } else { 0 };
        times.classified += of(classified[context.group as usize]);
        times.host_operator += of(context.has_host_operator);
        times.python_stack += of(context.stack != crate::frames::NO_STACK);
        times.layered += of(context.layer != OUTSIDE);
    }
    times
}

fn top_unmatched(pairing: &Pairing<'_>) -> Vec<UnmatchedKernel> {
    let singles = pairing.singles.iter().map(|single| (single.side, single.operation.as_str(), &single.totals.kernels));
    let others = pairing.pairs.iter().filter(|pair| pair.operation == OTHER);
    let others = others.flat_map(|pair| (0..2).map(|side| (side, OTHER, &pair.sides[side].kernels)));
    let mut kernels: Vec<(usize, &str, &str, Sum)> = singles
        .chain(others)
        .flat_map(|(side, operation, kernels)| {
            let trace: &Trace = pairing.traces[side];
            kernels.iter().map(move |(name, sum)| (side, trace.name(*name), operation, *sum))
        })
        .collect();
    kernels.sort_by(|a, b| b.3.time.cmp(&a.3.time).then(a.0.cmp(&b.0)).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    kernels
        .into_iter()
        .take(NAMED)
        .map(|(side, kernel, operation, sum)| UnmatchedKernel {
            trace: side as u8 + 1,
            kernel: kernel.to_owned(),
            operation: operation.to_owned(),
            count: sum.count,
            total_ms: milliseconds(sum.time),
            percent: percent(sum.time, pairing.totals[side].sum.time),
        })
        .collect()
}

fn percent(part: Picoseconds, whole: Picoseconds) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}
