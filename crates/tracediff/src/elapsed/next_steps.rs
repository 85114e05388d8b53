//! What to look at next: for each row that matters, the trace that loses time there, and where.

use std::collections::BTreeMap;

use serde::Serialize;

use super::compared::Compared;
use super::counted::Counted;
use super::result::TraceElapsed;
use super::waterfall::{COMMUNICATION, COPIES, HOST_LATE, IDLE, WaterfallKind, WaterfallRow};
use crate::classify::COLLECTIVES;
use crate::family::Family;
use crate::late_host::{LateHost, shortened};
use crate::names::NameId;
use crate::steps::PhaseFilter;
use crate::time::{average_microseconds, milliseconds};
use crate::totals::Sum;
use crate::trace::Trace;

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NextStep {
    /// The trace that takes longer: 1 or 2.
    pub trace: u8,
    /// Row of the waterfall.
    pub row: String,
    /// How much longer, per pass.
    pub excess_ms: f64,
    /// What to do.
    pub advice: String,
}

/// Kernels of a family in one trace.
#[derive(Debug, Clone, Default)]
struct FamilyKernels {
    sum: Sum,
    by_name: BTreeMap<NameId, Sum>,
}

pub(super) fn next_steps(
    rows: &[WaterfallRow],
    traces: [&Trace; 2],
    times: [&TraceElapsed; 2],
    compared: &[Compared<'_>; 2],
    phase: PhaseFilter,
) -> Vec<NextStep> {
    if !rows.iter().any(|row| row.matters) {
        return Vec::new();
    }
    let counted = Counted::of(traces, phase);
    let kernels = [0, 1].map(|side| kernels(traces[side], &counted[side]));
    let step = |row: &WaterfallRow| {
        let slower = usize::from(row.difference_ms > 0.0);
        NextStep {
            trace: slower as u8 + 1,
            row: row.row.clone(),
            excess_ms: row.difference_ms.abs(),
            advice: advice(row, slower, traces, times, compared, &kernels),
        }
    };
    rows.iter().filter(|row| row.matters).map(step).collect()
}

/// Kernels by family; those that communicate stand under the name of their part.
fn kernels(trace: &Trace, counted: &Counted) -> BTreeMap<String, FamilyKernels> {
    let mut groups = vec![Sum::default(); trace.groups.len()];
    for (kernel, context) in trace.kernels.iter().zip(&trace.contexts) {
        if counted.lets(kernel, context) {
            groups[context.group as usize].add(kernel.duration);
        }
    }
    let mut families: BTreeMap<String, FamilyKernels> = BTreeMap::new();
    for (group, sum) in trace.groups.iter().zip(groups).filter(|(_, sum)| sum.count > 0) {
        let operation = trace.operations[group.operation as usize].as_str();
        let name = if COLLECTIVES.contains(&operation) { COMMUNICATION } else { Family::of(operation).label() };
        let family = families.entry(name.to_owned()).or_default();
        family.sum.merge(sum);
        family.by_name.entry(group.name).or_default().merge(sum);
    }
    families
}

fn advice(
    row: &WaterfallRow,
    slower: usize,
    traces: [&Trace; 2],
    times: [&TraceElapsed; 2],
    compared: &[Compared<'_>; 2],
    kernels: &[BTreeMap<String, FamilyKernels>; 2],
) -> String {
    let longest = |side: usize| {
        let family = kernels[side].get(row.row.as_str())?;
        let by_time = |(a, first): &(&NameId, &Sum), (b, second): &(&NameId, &Sum)| {
            first.time.cmp(&second.time).then_with(|| traces[side].name(**b).cmp(traces[side].name(**a)))
        };
        let (name, sum) = family.by_name.iter().max_by(by_time)?;
        let mean = average_microseconds(sum.time, sum.count);
        Some(format!("{} ({} x {mean:.2} us)", shortened(traces[side].name(*name)), sum.count))
    };
    let per_pass = |side: usize| {
        let count: u64 = kernels[side].values().map(|family| family.sum.count).sum();
        count as f64 / compared[side].per_pass()
    };
    match (row.kind, row.row.as_str()) {
        (WaterfallKind::Part, HOST_LATE) => {
            if let Some(advice) = both_cold(row, times, compared[slower].per_pass(), slower) {
                return advice;
            }
            let after = compared[slower].late_after(traces[slower]);
            let after = after.map(|(name, time)| (name, milliseconds(time)));
            let trace = LateTrace { times: times[slower], replays_graphs: replays(traces[slower]), after };
            late_host(row, &trace, compared[slower].per_pass(), [0, 1].map(per_pass), slower)
        }
        (WaterfallKind::Part, IDLE) => {
            "the GPU stands still with work launched: look for synchronisations, waits between streams, and other \
             processes on the GPU"
                .to_owned()
        }
        (WaterfallKind::Part, COPIES) => {
            let copies = compared[slower].copies();
            let most = copies.iter().max_by(|a, b| a.exposed_ms.total_cmp(&b.exposed_ms));
            let most = most.map_or_else(String::new, |copies| {
                let speed = copies.gb_per_s.map_or_else(String::new, |speed| format!(" at {speed:.1} GB/s"));
                format!(" ({} {}, {:.3} ms exposed in all{speed})", copies.count, copies.kind, copies.exposed_ms)
            });
            format!(
                "copies run with no kernel beside them{most}: keep data on the GPU, or copy from pinned memory beside kernels"
            )
        }
        (WaterfallKind::Part, COMMUNICATION) => {
            let longest = longest(slower).map_or_else(String::new, |kernel| format!("; most time is in {kernel}"));
            format!(
                "collectives run with no computation beside them: overlap them, or look for ranks that come late{longest}"
            )
        }
        (WaterfallKind::Part, _) => "compare the kernels of both traces".to_owned(),
        (WaterfallKind::Family, _) => match (longest(slower), longest(1 - slower)) {
            (Some(here), Some(there)) => format!("most time is in {here}; the other trace has {there}"),
            (Some(here), None) => format!("only this trace runs such kernels, most of all {here}"),
            (None, _) => "compare the kernels of both traces".to_owned(),
        },
    }
}

/// Whether graphs launched most of the kernels of a trace.
fn replays(trace: &Trace) -> bool {
    2 * trace.replayed.iter().filter(|replayed| **replayed).count() > trace.kernels.len()
}

/// Where both traces begin cold, so that the one cold start says little about the difference.
fn both_cold(row: &WaterfallRow, times: [&TraceElapsed; 2], windows: f64, slower: usize) -> Option<String> {
    let stalls_ms = [times[0].cold_start.as_ref()?.stall_ms, times[1].cold_start.as_ref()?.stall_ms];
    let (here, there) = (stalls_ms[slower], stalls_ms[1 - slower]);
    let explains = 2.0 * (here - there) >= row.difference_ms.abs() * windows;
    let is_most = 2.0 * here >= times[slower].parts_ms.host_late_ms;
    let [first, second] = stalls_ms;
    (is_most && !explains).then(|| {
        format!(
            "record after a warm-up: both traces begin with calls that set up what comes first, for {first:.3} and {second:.3} ms"
        )
    })
}

/// What is known of the trace whose host is late.
struct LateTrace<'a> {
    times: &'a TraceElapsed,
    replays_graphs: bool,
    /// The kernel after which it is late longest, and how long in all.
    after: Option<(&'a str, f64)>,
}

/// What makes the host late: calls that set something up, the time between passes, or launches one by one.
fn late_host(row: &WaterfallRow, trace: &LateTrace<'_>, windows: f64, kernels: [f64; 2], slower: usize) -> String {
    let times = trace.times;
    let late = LateHost {
        late_ms: row.difference_ms.abs(),
        cold_start: times.cold_start.as_ref().map(|cold| (cold, cold.stall_ms / windows)),
        between_ms: times.between_passes_ms / times.passes.max(1) as f64,
        between: "passes",
        replays_graphs: trace.replays_graphs,
        after: trace.after.map(|(name, after_ms)| (name, after_ms / windows)),
    };
    if let Some(cause) = late.cause() {
        return cause;
    }
    format!(
        "the GPU waits for the host: replay graphs, launch fewer kernels ({:.0} per pass here, {:.0} in the other \
         trace), or take work off the thread that launches",
        kernels[slower],
        kernels[1 - slower]
    )
}
