//! Elapsed time, and the parts it splits into.
//!
//! Every instant between the first and the last event of a device belongs to exactly one of [five parts](PartsMs), so the
//! parts of a window add up to its length, and the windows to the whole, in integer picoseconds.

pub(crate) mod compared;
pub(crate) mod counted;
pub(crate) mod events;
pub(crate) mod headline;
mod next_steps;
mod per_call;
mod result;
pub(crate) mod timeline;
mod waterfall;

use serde::Serialize;

use crate::run_variation::RunVariation;
use crate::steps::{Basis, PhaseFilter};
use crate::trace::Trace;
use crate::trust;

pub(crate) use compared::{Compared, compared, divisors, of_one, of_windows};
pub(crate) use counted::Counted;
pub(crate) use headline::Headline;
pub use next_steps::NextStep;
pub use per_call::PerCall;
pub use result::{ColdStart, CopyTotal, DeviceElapsed, LargeGap, PartsMs, PhasePasses, TraceElapsed, WindowElapsed};
pub use waterfall::{WaterfallKind, WaterfallRow};

/// Elapsed times of two traces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Elapsed {
    /// Of trace 1.
    pub trace1: TraceElapsed,
    /// Of trace 2.
    pub trace2: TraceElapsed,
    /// Time per pass (or step, or whole) of trace 2 by that of trace 1; nothing where that is 0.
    pub ratio: Option<f64>,
    /// Time per pass of trace 2 by that of trace 1, the middle one of each, where both have three passes of one kind or more.
    pub median_ratio: Option<f64>,
    /// Time per run of a layer of trace 2 by that of trace 1, where a pass runs other numbers of layers for certain.
    pub ratio_per_layer: Option<f64>,
    /// What is compared.
    pub basis: Basis,
    /// What is compared instead of the elapsed times, where both traces are cuts of runs with more work in one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_call: Option<PerCall>,
}

/// Elapsed times of two traces, and what makes them differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ElapsedReport {
    /// Elapsed times and their parts.
    pub elapsed: Elapsed,
    /// From trace 1 to trace 2, by size of the difference, then name; adds up to the difference of the times per pass.
    pub waterfall: Vec<WaterfallRow>,
    /// Why the traces are of different workloads, and say nothing about each other's speed; nothing where they may be of one.
    pub different_workloads: Option<String>,
    /// All of it in one sentence.
    pub verdict: String,
    /// Difference per pass below which a row is not worth a look, unless its noise is larger: 1 % of the smaller time per pass, without
    /// gaps that are more than half of one.
    pub threshold_ms: f64,
    /// Difference per pass that passes and runs make by chance; nothing where neither are known to vary.
    pub noise_ms: Option<f64>,
    /// What to look at next, by the time that is to be had.
    pub next_steps: Vec<NextStep>,
}

/// Compares elapsed times; nothing under rules that have no timeline.
pub(crate) fn elapsed(first: &Trace, second: &Trace, phase: PhaseFilter, runs: RunVariation) -> Option<ElapsedReport> {
    let traces = [first, second];
    let compared = compared(first, second, phase)?;
    let basis = compared[0].basis;
    let [trace1, trace2] = [0, 1].map(|side| compared[side].result(traces[side]));
    let ratio = (trace1.per_pass_ms > 0.0).then(|| trace2.per_pass_ms / trace1.per_pass_ms);
    let ratio_per_layer = match (trace1.layer_runs_per_pass, trace2.layer_runs_per_pass) {
        (Some(first), Some(second)) if first != second => ratio.map(|ratio| ratio * first as f64 / second as f64),
        _ => None,
    };
    // The same from either side, and not of the time in which the GPU stood still for most of a pass.
    let threshold_ms = waterfall::THRESHOLD * trace1.per_pass_without_gaps().min(trace2.per_pass_without_gaps());
    let names_trusted = !traces.iter().filter_map(|trace| trace.report.as_ref()).any(trust::names_not_trusted);
    let headline = Headline::new(&compared, runs);
    let (waterfall, verdict) = waterfall::waterfall(&compared, &headline, threshold_ms, names_trusted);
    let next_steps = next_steps::next_steps(&waterfall, traces, [&trace1, &trace2], &compared, phase);
    let per_call = PerCall::new(traces, &compared, phase);
    let verdict = match &per_call {
        Some(found) => found.verdict(),
        None => verdict + &without_cold_start([&trace1, &trace2]),
    };
    let median_ratio = headline.medians.and_then(|[first, second]| (first > 0.0).then(|| second / first));
    let elapsed = Elapsed { trace1, trace2, ratio, median_ratio, ratio_per_layer, basis, per_call };
    let noise_ms = headline.noise_ms(elapsed.trace1.per_pass_ms.min(elapsed.trace2.per_pass_ms));
    let different_workloads = None;
    Some(ElapsedReport { elapsed, waterfall, different_workloads, verdict, threshold_ms, noise_ms, next_steps })
}

impl ElapsedReport {
    /// Takes note that the traces are of different workloads: that comes first, and nothing follows from their times.
    pub(crate) fn differ_in_workload(&mut self, why: String) {
        self.verdict = format!("different workloads, not comparable: {why}; {}", self.verdict);
        self.next_steps.clear();
        self.elapsed.ratio_per_layer = None;
        self.different_workloads = Some(why);
    }
}

/// What the comparison is without the calls that set something up, where there are such: they happen once.
fn without_cold_start(traces: [&TraceElapsed; 2]) -> String {
    let stall = |trace: &TraceElapsed| trace.cold_start.as_ref().map_or(0.0, |cold| cold.stall_ms);
    let per_pass = traces.map(|trace| {
        let stall = stall(trace).min(trace.parts_ms.host_late_ms);
        trace.per_pass_ms - stall / (trace.passes as usize * trace.devices.len().max(1)) as f64
    });
    let told: Vec<String> = (1..)
        .zip(traces)
        .filter(|(_, trace)| stall(trace) > 0.0)
        .map(|(number, trace)| format!("{:.3} ms of trace {number}", stall(trace)))
        .collect();
    if told.is_empty() || per_pass[0] <= 0.0 {
        return String::new();
    }
    let percent = 100.0 * (per_pass[1] / per_pass[0] - 1.0);
    format!("; without the cold start ({}): {percent:+.1} %", told.join(", "))
}
