//! Two cuts of runs: their lengths are those of the cuts, so the time per call of what takes longest is compared.

use std::collections::BTreeMap;

use serde::Serialize;

use super::compared::Compared;
use super::counted::Counted;
use crate::context::passes::Boundaries;
use crate::names::NameId;
use crate::steps::{Basis, PhaseFilter};
use crate::time::milliseconds;
use crate::totals::Sum;
use crate::trace::Trace;

/// Numbers of calls that differ by more are not those of one piece of work.
const SAME_WORK: f64 = 1.05;
/// Part of an operation's time in kernels of names that both traces have, from which on its calls are the same thing.
const SAME_KERNELS: f64 = 0.5;

/// Elapsed time per call of an operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PerCall {
    /// The operation that takes longest of those that both traces have.
    pub operation: String,
    /// Its calls in trace 1.
    pub trace1_calls: u64,
    /// Its calls in trace 2.
    pub trace2_calls: u64,
    /// Elapsed time of trace 1, summed over devices, by its calls.
    pub trace1_ms: f64,
    /// The same of trace 2.
    pub trace2_ms: f64,
    /// Trace 2 by trace 1.
    pub ratio: f64,
}

impl PerCall {
    /// Nothing where steps are known, or both traces call it about equally often.
    pub(super) fn new(traces: [&Trace; 2], compared: &[Compared<'_>; 2], phase: PhaseFilter) -> Option<PerCall> {
        // Passes that only one of them shows do not make the lengths of the cuts those of equal work.
        let is_cut = |side: usize| matches!(traces[side].boundaries, Boundaries::Whole | Boundaries::Repetition);
        if compared[0].basis != Basis::Whole || !is_cut(0) || !is_cut(1) {
            return None;
        }
        let counted = Counted::of(traces, phase);
        let operations = [0, 1].map(|side| operations(traces[side], &counted[side]));
        let time =
            |name: &str| operations.iter().map(|of| of.get(name).map_or(0, |found| found.sum.time)).sum::<i128>();
        let both = operations[0].keys().filter(|name| operations[1].contains_key(*name));
        let name = *both.max_by_key(|name| (time(name), std::cmp::Reverse(**name)))?;
        let found = [0, 1].map(|side| &operations[side][name]);
        let same = [0, 1].map(|side| found[side].shared_with(traces[side], found[1 - side], traces[1 - side]));
        let calls = found.map(|found| found.sum.count);
        let ratio = calls[1] as f64 / calls[0] as f64;
        if same.iter().any(|part| *part < SAME_KERNELS) || (1.0 / SAME_WORK..=SAME_WORK).contains(&ratio) {
            return None;
        }
        let ms = [0, 1].map(|side| milliseconds(compared[side].parts.total()) / calls[side] as f64);
        (ms.iter().all(|ms| *ms > 0.0)).then(|| PerCall {
            operation: name.to_owned(),
            trace1_calls: calls[0],
            trace2_calls: calls[1],
            trace1_ms: ms[0],
            trace2_ms: ms[1],
            ratio: ms[1] / ms[0],
        })
    }

    /// In one sentence.
    pub(super) fn verdict(&self) -> String {
        let percent = 100.0 * (self.ratio - 1.0);
        let more = if percent < 0.0 { "less" } else { "more" };
        format!(
            "trace 2 takes {:.1} % {more} time per call of {}; both traces are cuts of runs, with {} and {} calls of it: sums are not \
             those of equal work",
            percent.abs(),
            self.operation,
            self.trace1_calls,
            self.trace2_calls
        )
    }
}

#[derive(Default)]
struct Calls {
    sum: Sum,
    by_name: BTreeMap<NameId, Sum>,
}

impl Calls {
    /// The part of the time in kernels of a name that the other trace has too.
    fn shared_with(&self, trace: &Trace, other: &Calls, of: &Trace) -> f64 {
        let names: std::collections::BTreeSet<&str> = other.by_name.keys().map(|name| of.name(*name)).collect();
        let shared = self.by_name.iter().filter(|(name, _)| names.contains(trace.name(**name)));
        let shared: i128 = shared.map(|(_, sum)| sum.time).sum();
        if self.sum.time > 0 { shared as f64 / self.sum.time as f64 } else { 0.0 }
    }
}

/// Calls of each operation that computes.
fn operations<'a>(trace: &'a Trace, counted: &Counted) -> BTreeMap<&'a str, Calls> {
    let communicates = trace.communicating();
    let mut found: BTreeMap<&str, Calls> = BTreeMap::new();
    for (at, (kernel, context)) in trace.kernels.iter().zip(&trace.contexts).enumerate() {
        let operation = trace.operation(at) as usize;
        if counted.lets(kernel, context) && !communicates[operation] {
            let calls = found.entry(&trace.operations[operation]).or_default();
            calls.sum.add(kernel.duration);
            calls.by_name.entry(kernel.name).or_default().add(kernel.duration);
        }
    }
    found
}
