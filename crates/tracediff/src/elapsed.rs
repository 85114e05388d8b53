//! Elapsed time, and the parts it splits into.
//!
//! Every instant between the first and the last event of a device belongs to exactly one of [five parts](PartsMs), so the
//! parts of a window add up to its length, and the windows to the whole, in integer picoseconds.

mod compared;
pub(crate) mod counted;
pub(crate) mod events;
mod headline;
mod next_steps;
mod per_call;
pub(crate) mod timeline;
mod waterfall;

use perfdb_doctor::Code;
use serde::Serialize;

use crate::confidence::RunVariation;
use crate::context::passes::Boundaries;
use crate::context::repetition::FoundPasses;
use crate::steps::{Basis, PhaseFilter};
use crate::time::milliseconds;
use crate::trace::Trace;
use crate::trust;
use timeline::TimeParts;

pub(crate) use compared::Compared;
pub(crate) use counted::Counted;
pub(crate) use headline::Headline;
pub use next_steps::NextStep;
pub use per_call::PerCall;
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
    /// Time per layer of the model of trace 2 by that of trace 1, where the numbers of layers differ.
    pub ratio_per_layer: Option<f64>,
    /// What is compared.
    pub basis: Basis,
    /// What is compared instead of the elapsed times, where both traces are cuts of runs with more work in one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_call: Option<PerCall>,
}

/// Elapsed time of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceElapsed {
    /// From the first to the last event on the GPU, of the windows that are compared; the mean over devices.
    pub elapsed_ms: f64,
    /// Passes that are compared; 1 where the whole is.
    pub passes: u64,
    /// Elapsed time per pass.
    pub per_pass_ms: f64,
    /// Layers of the model, if any were found.
    pub layers_per_pass: Option<u64>,
    /// Passes that lack kernels and are in none of these numbers, where a whole one remains.
    pub left_out_passes: u64,
    /// Codes of findings after which times between events cannot be trusted.
    pub not_trusted: Vec<&'static str>,
    /// The parts of `elapsed_ms`.
    pub parts_ms: PartsMs,
    /// The middle one of the times of the passes, where there are three or more; the mean over devices.
    pub median_pass_ms: Option<f64>,
    /// What separates the passes.
    pub boundaries: Boundaries,
    /// How passes were found that nobody annotated.
    pub found_passes: Option<FoundPasses>,
    /// Passes by phase, where passes of several phases are compared.
    pub phases: Vec<PhasePasses>,
    /// Time before the first pass; no part of `elapsed_ms`.
    pub lead_ms: f64,
    /// Kernels before the first pass; in no sum and no count.
    pub lead_kernels: u64,
    /// Their summed durations.
    pub lead_kernel_ms: f64,
    /// Time without anything on the GPU in front of an event whose launch is not known; within `device_idle_ms`.
    pub unknown_launch_ms: f64,
    /// Part of `host_late_ms` that lies between passes: nobody had asked for the next one yet, or its preparation took that long.
    pub between_passes_ms: f64,
    /// One call that set up what it launched while the device stood still.
    pub cold_start: Option<ColdStart>,
    /// Copies and sets.
    pub copies: Vec<CopyTotal>,
    /// Each device.
    pub devices: Vec<DeviceElapsed>,
    /// Gaps that are more than half of a pass, although what ends them had been launched before half of them was over.
    pub large_gaps: Vec<LargeGap>,
    /// Each pass on each device.
    pub windows: Vec<WindowElapsed>,
}

/// A call that set up what it launched while the device stood still: a module that is loaded, a library that prepares itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColdStart {
    /// The call.
    pub call: String,
    /// The kernel that it launched.
    pub kernel: String,
    /// The operator around it; empty where it is not known.
    pub operator: String,
    /// How long the device stood still.
    pub stall_ms: f64,
}

impl ColdStart {
    fn of(trace: &Trace) -> Option<ColdStart> {
        let finding = trace.report.as_ref()?.finding(Code::ColdStart)?;
        let evidence = finding.evidence.as_map();
        let text = |key: &str| evidence.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let stall_ms = evidence.get("stall_us").and_then(|value| value.as_f64())? / 1000.0;
        Some(ColdStart { call: text("call"), kernel: text("kernel"), operator: text("operator"), stall_ms })
    }
}

/// The passes of one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhasePasses {
    /// `prefill`, `decode` or `mixed`.
    pub phase: &'static str,
    /// How many there are.
    pub passes: u64,
    /// The middle one of their times; the mean over devices.
    pub median_pass_ms: f64,
}

/// A gap that is more than half of a pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LargeGap {
    /// Number of the pass; nothing for the time before the first.
    pub pass: Option<u32>,
    /// Id of the device as it stands in the trace.
    pub device: String,
    /// Length.
    pub gap_ms: f64,
    /// What ends it; empty for a copy.
    pub kernel: String,
    /// How long before its start that had been launched.
    pub launched_before_ms: f64,
}

/// What a GPU did in some time, in ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PartsMs {
    /// A kernel ran that does not communicate.
    pub compute_ms: f64,
    /// Only kernels ran that communicate.
    pub exposed_communication_ms: f64,
    /// No kernel ran, but a copy or a set.
    pub exposed_copies_ms: f64,
    /// Nothing ran, because the call that launched what came next had not ended.
    pub host_late_ms: f64,
    /// Nothing ran, though the next kernel or copy had been launched, or nobody knows when.
    pub device_idle_ms: f64,
}

impl TraceElapsed {
    /// Time per pass without the gaps that are more than half of one.
    fn per_pass_without_gaps(&self) -> f64 {
        let gaps: f64 = self.large_gaps.iter().map(|gap| gap.gap_ms).sum();
        let passes = (self.passes as usize * self.devices.len().max(1)) as f64;
        (self.per_pass_ms - gaps / passes).max(0.0)
    }
}

impl PartsMs {
    pub(crate) fn of(parts: &TimeParts, divisor: f64) -> PartsMs {
        let ms = |time| milliseconds(time) / divisor;
        PartsMs {
            compute_ms: ms(parts.compute),
            exposed_communication_ms: ms(parts.exposed_communication),
            exposed_copies_ms: ms(parts.exposed_copies),
            host_late_ms: ms(parts.host_late),
            device_idle_ms: ms(parts.device_idle),
        }
    }
}

/// Copies of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CopyTotal {
    /// `HtoD`, `DtoH`, `DtoD`, `PtoP`, `set` or `other`.
    pub kind: &'static str,
    /// How many.
    pub count: u64,
    /// Bytes, where the trace has them.
    pub bytes: u64,
    /// Sum of the durations.
    pub total_ms: f64,
    /// Time in which no kernel ran.
    pub exposed_ms: f64,
    /// Bytes (10⁹) per second of `total_ms`; nothing where bytes or times are missing.
    pub gb_per_s: Option<f64>,
}

/// Elapsed time on a device, of the windows that are compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceElapsed {
    /// Id as it stands in the trace.
    pub device: String,
    /// Elapsed time.
    pub elapsed_ms: f64,
    /// Its parts.
    pub parts_ms: PartsMs,
}

/// A pass on a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WindowElapsed {
    /// Number of the pass; nothing for the time before the first.
    pub pass: Option<u32>,
    /// Id of the device as it stands in the trace.
    pub device: String,
    /// Phase, if one was annotated.
    pub phase: Option<&'static str>,
    /// Start, from the first event of the trace.
    pub start_ms: f64,
    /// Length.
    pub elapsed_ms: f64,
    /// What the time went into.
    pub parts_ms: PartsMs,
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
    let ratio_per_layer = match (trace1.layers_per_pass, trace2.layers_per_pass) {
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

/// The windows of both traces that are compared; nothing under rules that have no timeline.
pub(crate) fn compared<'a>(first: &'a Trace, second: &'a Trace, phase: PhaseFilter) -> Option<[Compared<'a>; 2]> {
    let timelines = [first.timeline.as_ref()?, second.timeline.as_ref()?];
    let basis = timelines[0].basis.min(timelines[1].basis);
    Some(timelines.map(|timeline| Compared::new(timeline, basis, phase)))
}

/// Elapsed time of one trace.
pub(crate) fn of_one(trace: &Trace) -> Option<TraceElapsed> {
    let timeline = trace.timeline.as_ref()?;
    Some(Compared::new(timeline, timeline.basis, PhaseFilter::All).result(trace))
}

/// The windows of one trace.
pub(crate) fn of_windows(trace: &Trace, phase: PhaseFilter) -> Option<Compared<'_>> {
    let timeline = trace.timeline.as_ref()?;
    Some(Compared::new(timeline, timeline.basis, phase))
}

/// By what sums over the [`Counted`] kernels of a trace are divided to get the time per pass and device.
pub(crate) fn divisors(first: &Trace, second: &Trace, phase: PhaseFilter) -> [f64; 2] {
    let Some(compared) = compared(first, second, phase) else { return [1.0; 2] };
    compared.map(|compared| compared.per_pass())
}
