//! Kernels of both traces, pass by pass and layer by layer, for whoever shows them on a clock.

use std::collections::{BTreeMap, BTreeSet};

use perfdb_trace::timeline::{Agreement, Call, Side, Window};

use super::Groups;
use crate::context::OUTSIDE;
use crate::error::Error;
use crate::family::Family;
use crate::steps::PhaseFilter;
use crate::time::Picoseconds;
use crate::trace::Trace;

/// Where a kernel stands: its pass, and its layer counted from 1, 0 for what is before the layers of a pass, the largest number for what
/// is behind them.
type Place = (u32, u32);

/// Where what is behind the layers of a pass stands.
const BEHIND: u32 = u32::MAX;

/// Hands over a window for each pass and layer of a phase that either trace has. A kernel outside of every layer stands before the
/// layers of its pass when it begins before all of them. Groups that the traces are compared in are the work that calls share.
///
/// # Errors
/// [`Error::NoPhase`] when a trace has no kernel of the wanted phase, [`Error`] when the rules know no groups, and what `visit` says.
pub fn windows<E: From<Error>>(
    first: &Trace,
    second: &Trace,
    phase: PhaseFilter,
    mut visit: impl FnMut(&Window<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let traces = [first, second];
    for trace in traces {
        trace.require_phase(phase)?;
    }
    let Some(groups) = Groups::new(traces) else { return Ok(()) };
    let totals = [0, 1].map(|side| Totals::new(traces[side], &groups.of_kernels[side], phase));
    let mut placed: BTreeMap<Place, [Vec<u32>; 2]> = BTreeMap::new();
    for (side, trace) in traces.into_iter().enumerate() {
        for (place, kernel) in places(trace, phase) {
            placed.entry(place).or_default()[side].push(kernel);
        }
    }
    let starts = [0, 1].map(|side| starts_behind(traces[side], &placed, side, &totals[side]));
    for (number, (place, kernels)) in placed.iter().enumerate() {
        let side = |at: usize| {
            let call = |&kernel: &u32| call(traces[at], &groups, at, kernel, &totals);
            Side { calls: kernels[at].iter().map(call).collect(), until_ps: starts[at][number] }
        };
        visit(&Window { name: &name(*place), sides: vec![side(0), side(1)] })?;
    }
    Ok(())
}

/// What each group takes in one pass.
#[derive(Debug, Default)]
struct Totals {
    /// Time in picoseconds and kernels of each group in all passes.
    groups: BTreeMap<u32, (i128, i128)>,
    passes: i128,
    /// Start of the first kernel.
    origin: Picoseconds,
}

impl Totals {
    fn new(trace: &Trace, groups: &[u32], phase: PhaseFilter) -> Totals {
        let mut totals = Totals::default();
        let mut passes = BTreeSet::new();
        for ((kernel, context), &group) in trace.kernels.iter().zip(&trace.contexts).zip(groups) {
            if phase.lets(context.phase) {
                let (time, kernels) = totals.groups.entry(group).or_default();
                *time += kernel.duration;
                *kernels += 1;
                passes.insert(context.pass);
            }
        }
        totals.passes = passes.len().max(1) as i128;
        totals.origin = trace.kernels.iter().map(|kernel| kernel.start).min().unwrap_or(0);
        totals
    }

    /// Time of a group in one pass.
    fn per_pass(&self, group: u32) -> i128 {
        self.groups.get(&group).map_or(0, |(time, _)| time / self.passes)
    }

    /// Time from the first kernel on; a trace of more than a hundred days ends there.
    fn clock(&self, time: Picoseconds) -> i64 {
        i64::try_from(time - self.origin).unwrap_or(i64::MAX)
    }
}

/// The kernels of a phase with their places, in the order of their starts.
fn places(trace: &Trace, phase: PhaseFilter) -> Vec<(Place, u32)> {
    let mut kernels: Vec<u32> =
        (0..trace.kernels.len() as u32).filter(|&at| phase.lets(trace.contexts[at as usize].phase)).collect();
    kernels.sort_by_key(|&at| trace.kernels.at(at as usize).start);
    let mut first_layers: BTreeMap<u32, Picoseconds> = BTreeMap::new();
    for &at in &kernels {
        let context = &trace.contexts[at as usize];
        if context.layer != OUTSIDE {
            first_layers.entry(context.pass).or_insert(trace.kernels.at(at as usize).start);
        }
    }
    let place = |at: u32| {
        let context = &trace.contexts[at as usize];
        let is_before =
            first_layers.get(&context.pass).is_none_or(|&first| trace.kernels.at(at as usize).start < first);
        let layer = match context.layer {
            OUTSIDE if is_before => 0,
            OUTSIDE => BEHIND,
            layer => layer.saturating_add(1),
        };
        ((context.pass, layer), at)
    };
    kernels.into_iter().map(place).collect()
}

/// Where the next window with kernels of this side begins, for each window; the smallest time for the last one and for those that begin later
/// than what follows them, as windows of streams that overlap do.
fn starts_behind(trace: &Trace, placed: &BTreeMap<Place, [Vec<u32>; 2]>, side: usize, totals: &Totals) -> Vec<i64> {
    let mut next = i64::MIN;
    let mut starts: Vec<i64> = Vec::with_capacity(placed.len());
    for kernels in placed.values().rev() {
        starts.push(next);
        if let Some(&first) = kernels[side].first() {
            next = totals.clock(trace.kernels.at(first as usize).start);
        }
    }
    starts.reverse();
    starts
}

fn call<'a>(trace: &'a Trace, groups: &Groups, side: usize, kernel: u32, totals: &[Totals; 2]) -> Call<'a> {
    let (row, context) = (trace.kernels.at(kernel as usize), &trace.contexts[kernel as usize]);
    let group = groups.of_kernels[side][kernel as usize];
    let class = trace.operations[trace.groups[context.group as usize].operation as usize].as_str();
    let [one, other] = [0, 1].map(|side| totals[side].per_pass(group));
    let agreement = Agreement::of(one, other);
    let kernels = totals[side].groups.get(&group).map_or(1, |(_, kernels)| *kernels);
    let lost = (one - other) * totals[side].passes / kernels;
    Call {
        name: trace.name(row.name),
        shape: "",
        family: Family::of(class).code(),
        cause: cause(agreement, one > other),
        lost_ps: i64::try_from(lost).ok(),
        start_ps: totals[side].clock(row.start),
        duration_ps: i64::try_from(row.duration).unwrap_or(i64::MAX),
        work: group,
        agreement,
    }
}

/// Why the sums of a group differ.
fn cause(agreement: Agreement, first_is_slower: bool) -> &'static str {
    match agreement {
        Agreement::Unknown | Agreement::Close => "",
        Agreement::Alone => "only in one trace",
        Agreement::Off if first_is_slower => "trace 1 is slower",
        Agreement::Off => "trace 2 is slower",
    }
}

fn name((pass, layer): Place) -> String {
    let layer = match layer {
        0 => "before the layers".to_owned(),
        BEHIND => "behind the layers".to_owned(),
        layer => format!("layer {}", layer - 1),
    };
    if pass == OUTSIDE { format!("outside of passes, {layer}") } else { format!("pass {pass}, {layer}") }
}
