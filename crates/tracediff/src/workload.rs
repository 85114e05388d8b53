//! Whether two traces are of one workload: then their times can be compared, else they say nothing about each other.

use std::collections::BTreeMap;

use crate::elapsed::{Counted, compared};
use crate::steps::{Basis, Phase, PhaseFilter};
use crate::time::Picoseconds;
use crate::trace::Trace;

/// Part of the compute time whose operators have shapes, from which on these say whether the work is the same.
pub(crate) const KNOWN: f64 = 0.3;
/// Two traces of one workload share more than that of the time of the operators that both have.
pub(crate) const LEAST_SHARED: f64 = 0.35;
/// Work that one trace does more of, from which on it is another batch.
const MORE_WORK: f64 = 1.5;

/// Fewest calls of operators of both traces from which shapes tell workloads apart, and the part of them with equal shapes below
/// which these are others.
const FEWEST_CALLS: u64 = 50;
const MOST_EQUAL: f64 = 0.05;
/// Passes of one model run numbers of layers that differ by less: a first or last one may not be found, drafts may run beside.
const OTHER_LAYERS: f64 = 1.1;

/// The time of the operators of a trace, by name and shapes.
#[derive(Debug, Default)]
struct Shapes<'a> {
    by_shape: BTreeMap<(&'a str, &'a str), Picoseconds>,
    computing: Picoseconds,
}

impl<'a> Shapes<'a> {
    fn of(trace: &'a Trace, counted: &Counted) -> Shapes<'a> {
        let communicates = trace.communicating();
        let mut found = Shapes::default();
        for (at, (kernel, context)) in trace.kernels.iter().zip(&trace.contexts).enumerate() {
            if !counted.lets(kernel, context) || communicates[trace.operation(at) as usize] {
                continue;
            }
            found.computing += kernel.duration;
            if let Some(call) = trace.calls.of(at) {
                let shape = &trace.calls.shapes[trace.calls.shape_of[call as usize] as usize];
                *found.by_shape.entry((&shape.operator, &shape.shapes)).or_default() += kernel.duration;
            }
        }
        found
    }

    /// Time of the operators that another trace has too, and of those that it has with equal shapes.
    fn shared(&self, other: &Shapes<'_>) -> (Picoseconds, Picoseconds) {
        let (mut named, mut equal) = (0, 0);
        for ((operator, shapes), time) in &self.by_shape {
            if other.by_shape.range((*operator, "")..).next().is_some_and(|((name, _), _)| name == operator) {
                named += time;
            }
            if other.by_shape.contains_key(&(*operator, *shapes)) {
                equal += time;
            }
        }
        (named, equal)
    }
}

/// Why two traces are of different workloads; nothing where they may be of one.
pub(crate) fn difference(
    traces: [&Trace; 2],
    counted: &[Counted; 2],
    phase: PhaseFilter,
    work_ratio: Option<f64>,
) -> Option<String> {
    if let Some([first, second]) = phases(traces, phase) {
        return Some(format!("trace 1 has {first} passes, trace 2 has {second} passes"));
    }
    if let Some([first, second]) = layers(traces, phase) {
        return Some(format!("a pass of trace 1 runs {first} layers, a pass of trace 2 {second}"));
    }
    let shapes = [0, 1].map(|side| Shapes::of(traces[side], &counted[side]));
    let shared = [shapes[0].shared(&shapes[1]), shapes[1].shared(&shapes[0])];
    let part = |time: Picoseconds, of: Picoseconds| if of > 0 { time as f64 / of as f64 } else { 0.0 };
    let is_known = |side: usize| part(shared[side].0, shapes[side].computing) >= KNOWN;
    let equal = [0, 1].map(|side| part(shared[side].1, shared[side].0));
    let more = work_ratio.filter(|ratio| !(1.0 / MORE_WORK..=MORE_WORK).contains(ratio));
    let more = more.map(|ratio| {
        if ratio > 1.0 {
            format!("trace 2 does {ratio:.1} times the work of trace 1")
        } else {
            format!("trace 1 does {:.1} times the work of trace 2", 1.0 / ratio)
        }
    });
    if is_known(0) && is_known(1) && equal.iter().all(|equal| *equal < LEAST_SHARED) {
        let text = format!(
            "operators of both meet with equal shapes for {:.0} % of their time in trace 1 and {:.0} % in trace 2 \
             (another model, batch or length)",
            100.0 * equal[0],
            100.0 * equal[1]
        );
        return Some(more.map_or(text.clone(), |more| format!("{more}; {text}")));
    }
    more.or_else(|| no_equal_calls(traces))
}

/// Whether operators that both traces call are called with other shapes throughout, whichever time they take: of old profilers and
/// operators without a formula nothing else is known.
fn no_equal_calls(traces: [&Trace; 2]) -> Option<String> {
    let calls = traces.map(|trace| {
        let mut calls: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for shape in &trace.calls.shape_of {
            let shape = &trace.calls.shapes[*shape as usize];
            *calls.entry((&shape.operator, &shape.shapes)).or_default() += 1;
        }
        for ((operator, shapes), count) in &trace.calls.without_work {
            *calls.entry((operator, shapes)).or_default() += count;
        }
        calls.retain(|(_, shapes), _| !shapes.is_empty());
        calls
    });
    let of = |side: usize| -> (u64, u64) {
        let other = &calls[1 - side];
        let in_both =
            |operator: &str| other.range((operator, "")..).next().is_some_and(|((name, _), _)| *name == operator);
        let named = calls[side].iter().filter(|((operator, _), _)| in_both(operator));
        let equal = named.clone().filter(|(key, _)| other.contains_key(*key));
        (named.map(|(_, count)| count).sum(), equal.map(|(_, count)| count).sum())
    };
    let is_other = |(named, equal): (u64, u64)| named >= FEWEST_CALLS && (equal as f64) < MOST_EQUAL * named as f64;
    (is_other(of(0)) && is_other(of(1)))
        .then(|| "operators of both are called with other shapes (another model, batch or length)".to_owned())
}

/// The layers that a pass of each trace runs, where these are of two models.
fn layers(traces: [&Trace; 2], phase: PhaseFilter) -> Option<[u64; 2]> {
    compared(traces[0], traces[1], phase).filter(|compared| compared[0].basis != Basis::Whole)?;
    let [first, second] = [traces[0].layer_count?.runs, traces[1].layer_count?.runs];
    let ratio = first.max(second) as f64 / first.min(second).max(1) as f64;
    (ratio > OTHER_LAYERS).then_some([first, second])
}

/// The phases of both traces, where they have none in common.
fn phases(traces: [&Trace; 2], phase: PhaseFilter) -> Option<[String; 2]> {
    let compared = compared(traces[0], traces[1], phase)?;
    let of = |side: usize| -> Vec<Phase> {
        let mut phases: Vec<Phase> = compared[side].windows.iter().filter_map(|window| window.phase).collect();
        phases.sort_unstable();
        phases.dedup();
        phases
    };
    let [first, second] = [of(0), of(1)];
    let apart = !first.is_empty() && !second.is_empty() && first.iter().all(|phase| !second.contains(phase));
    let names = |phases: &[Phase]| phases.iter().map(|phase| phase.name()).collect::<Vec<_>>().join(" and ");
    apart.then(|| [names(&first), names(&second)])
}
