//! The comparison under the default rules: operation by operation, layer by layer.

use crate::elapsed::ElapsedReport;
use crate::occupancy::occupancy;
use crate::pairing::{Pair, Pairing, Single};
use crate::result::{Comparison, KernelTotal, LayerRow, Metadata, OperationRow, Status, UnmatchedOperation};
use crate::run_variation::RunVariation;
use crate::steps::PhaseFilter;
use crate::time::{MICROSECOND, Picoseconds, average_microseconds, microseconds, milliseconds};
use crate::totals::{OperationTotals, Sum, phase_names};
use crate::trace::Trace;
use crate::{Error, elapsed, unknown, warnings};

/// Gap beyond which an operation is slower or faster under the rules of old releases.
pub(crate) const LEGACY_THRESHOLD_MS: f64 = 5.0;

/// What is compared, and how much is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareOptions {
    /// Kernels that are compared.
    pub phase: PhaseFilter,
    /// Python stacks per operation and trace; 0: all (under the rules of 0.1.33: none).
    pub max_stacks: usize,
    /// Gap of the totals in ms beyond which an operation is slower or faster; otherwise 1 % of the elapsed time of trace 1
    /// decides, per pass (under the rules of old releases: 5 ms).
    pub threshold_ms: Option<f64>,
    /// Names of the traces in the result; their paths otherwise.
    pub labels: [Option<String>; 2],
    /// Whether operations list their kernels.
    pub kernels: bool,
}

impl Default for CompareOptions {
    fn default() -> Self {
        CompareOptions {
            phase: PhaseFilter::All,
            max_stacks: 3,
            threshold_ms: None,
            labels: [None, None],
            kernels: true,
        }
    }
}

/// Compares two traces under the default rules.
///
/// # Errors
/// [`Error::NoPhase`] when one of them has no kernel of the wanted phase.
pub fn compare(first: &Trace, second: &Trace, options: &CompareOptions) -> Result<Comparison, Error> {
    first.require_phase(options.phase)?;
    second.require_phase(options.phase)?;
    let pairing = Pairing::new([first, second], options.phase, options.max_stacks);
    Ok(from_pairing(&pairing, options, &Scale::new(first, second, options)))
}

/// What times are measured by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// By what sums of each trace are divided to get the time per pass and device.
    pub(crate) divisors: [f64; 2],
    /// Difference per pass beyond which an operation is slower or faster.
    threshold_ms: f64,
}

impl Scale {
    fn new(first: &Trace, second: &Trace, options: &CompareOptions) -> Scale {
        let elapsed = elapsed::elapsed(first, second, options.phase, RunVariation::default());
        Scale::of(first, second, options, elapsed.as_ref())
    }

    pub(crate) fn of(
        first: &Trace,
        second: &Trace,
        options: &CompareOptions,
        elapsed: Option<&ElapsedReport>,
    ) -> Scale {
        let threshold_ms = elapsed.map_or(LEGACY_THRESHOLD_MS, |elapsed| elapsed.threshold_ms);
        Scale { divisors: elapsed::divisors(first, second, options.phase), threshold_ms }
    }

    fn per_pass(&self, side: usize, time: Picoseconds) -> f64 {
        milliseconds(time) / self.divisors[side]
    }
}

pub(crate) fn from_pairing(pairing: &Pairing<'_>, options: &CompareOptions, scale: &Scale) -> Comparison {
    Comparison {
        metadata: metadata(pairing, options),
        operations: pairing.pairs.iter().map(|pair| operation_row(pair, pairing.traces, options, scale)).collect(),
        layers: layers(pairing),
        unmatched_operations: pairing.singles.iter().map(|single| unmatched(single, pairing.traces, scale)).collect(),
        warnings: warnings::of(pairing),
        unknown_kernels: unknown::unknown_kernels(pairing),
    }
}

pub(crate) fn metadata(pairing: &Pairing<'_>, options: &CompareOptions) -> Metadata {
    let [first, second] = pairing.traces;
    let name = |side: usize| match &options.labels[side] {
        Some(label) => label.clone(),
        None => pairing.traces[side].path.to_string_lossy().into_owned(),
    };
    // What the file holds, the lead included: other figures leave it out.
    let has_lead = pairing.filter.name() == "all";
    let total = |side: usize| {
        let (sum, lead) = (pairing.totals[side].sum, pairing.traces[side].lead);
        if has_lead { Sum { count: sum.count + lead.kernels, time: sum.time + lead.time } } else { sum }
    };
    let busy = |trace: &Trace| {
        let lead = if has_lead { trace.lead.busy } else { 0 };
        milliseconds(occupancy(trace, pairing.filter).busy + lead)
    };
    Metadata {
        trace1_name: name(0),
        trace1_platform: first.platform,
        trace1_gpu: first.device.name.clone(),
        trace1_gpu_inferred: first.gpu_inferred(),
        trace1_device: first.device.clone(),
        trace1_kernels: total(0).count,
        trace1_total_ms: milliseconds(total(0).time),
        trace1_layers: first.layers,
        trace1_busy_ms: busy(first),
        trace1_passes: first.passes,
        trace1_compared_ms: milliseconds(pairing.compared(0)),
        trace2_name: name(1),
        trace2_platform: second.platform,
        trace2_gpu: second.device.name.clone(),
        trace2_gpu_inferred: second.gpu_inferred(),
        trace2_device: second.device.clone(),
        trace2_kernels: total(1).count,
        trace2_total_ms: milliseconds(total(1).time),
        trace2_layers: second.layers,
        trace2_busy_ms: busy(second),
        trace2_passes: second.passes,
        trace2_compared_ms: milliseconds(pairing.compared(1)),
        phase: pairing.filter.name(),
    }
}

fn operation_row(pair: &Pair, traces: [&Trace; 2], options: &CompareOptions, scale: &Scale) -> OperationRow {
    let [first, second] = &pair.sides;
    let (sum1, sum2) = (first.sum, second.sum);
    let gap = milliseconds(pair.gap());
    let per_pass = [0, 1].map(|side| scale.per_pass(side, pair.sides[side].in_passes.time));
    let [in_passes1, in_passes2] = [first.in_passes, second.in_passes];
    let (difference, limit) = match options.threshold_ms {
        Some(limit) => (-gap, limit),
        None => (per_pass[1] - per_pass[0], scale.threshold_ms),
    };
    let status = if difference > limit {
        Status::Slower
    } else if difference < -limit {
        Status::Faster
    } else {
        Status::Similar
    };
    let stacks = |side: usize| -> Vec<Vec<String>> {
        let trace = traces[side];
        pair.sides[side].stacks.iter().map(|(_, stack)| trace.stacks.texts(*stack, &trace.names)).collect()
    };
    let kernels = |side: usize| options.kernels.then(|| kernel_totals(&pair.sides[side], traces[side]));
    let mut phases = first.phases;
    for (all, one) in phases.iter_mut().zip(second.phases) {
        *all |= one;
    }
    OperationRow {
        operation: pair.operation.clone(),
        trace1_count: sum1.count,
        trace2_count: sum2.count,
        trace1_avg_us: average_microseconds(sum1.time, sum1.count),
        trace2_avg_us: average_microseconds(sum2.time, sum2.count),
        trace1_total_ms: milliseconds(sum1.time),
        trace2_total_ms: milliseconds(sum2.time),
        trace2_over_trace1: ratio(sum2.time, sum1.time),
        avg_trace2_over_trace1: average_ratio(sum2, sum1),
        difference_ms: milliseconds(sum2.time - sum1.time),
        status,
        ratio: ratio(sum1.time, sum2.time),
        avg_ratio: average_ratio(sum1, sum2),
        gap_ms: gap,
        trace1_kernel: first.longest_kernel(traces[0]).to_owned(),
        trace2_kernel: second.longest_kernel(traces[1]).to_owned(),
        trace1_cpu_op: first.most_frequent_operator(traces[0]),
        trace2_cpu_op: second.most_frequent_operator(traces[1]),
        trace1_python_stacks: stacks(0),
        trace2_python_stacks: stacks(1),
        trace1_kernels: kernels(0),
        trace2_kernels: kernels(1),
        phases: phase_names(phases),
        trace1_per_pass_ms: per_pass[0],
        trace2_per_pass_ms: per_pass[1],
        trace1_pass_calls: in_passes1.count,
        trace2_pass_calls: in_passes2.count,
        trace1_us_per_call: average_microseconds(in_passes1.time, in_passes1.count),
        trace2_us_per_call: average_microseconds(in_passes2.time, in_passes2.count),
    }
}

/// Kernels by total descending, then name.
fn kernel_totals(totals: &OperationTotals, trace: &Trace) -> Vec<KernelTotal> {
    let mut kernels: Vec<(&str, Sum)> = totals.kernels.iter().map(|(name, sum)| (trace.name(*name), *sum)).collect();
    kernels.sort_by(|(a, first), (b, second)| second.time.cmp(&first.time).then_with(|| a.cmp(b)));
    kernels
        .into_iter()
        .map(|(name, sum)| KernelTotal {
            name: name.to_owned(),
            total_us: microseconds(sum.time),
            count: sum.count,
            avg_us: average_microseconds(sum.time, sum.count),
        })
        .collect()
}

fn unmatched(single: &Single, traces: [&Trace; 2], scale: &Scale) -> UnmatchedOperation {
    let trace = traces[single.side];
    let sum = single.totals.sum;
    UnmatchedOperation {
        operation: single.operation.clone(),
        trace: single.side as u8 + 1,
        count: sum.count,
        total_ms: milliseconds(sum.time),
        avg_us: average_microseconds(sum.time, sum.count),
        kernel: single.totals.longest_kernel(trace).to_owned(),
        cpu_op: single.totals.most_frequent_operator(trace),
        phases: phase_names(single.totals.phases),
        per_pass_ms: scale.per_pass(single.side, single.totals.in_passes.time),
    }
}

/// `first / second`; of nothing by nothing 1, of something by nothing infinite.
pub(crate) fn ratio(first: Picoseconds, second: Picoseconds) -> Option<f64> {
    match (first, second) {
        (0, 0) => Some(1.0),
        (_, 0) => None,
        _ => Some(first as f64 / second as f64),
    }
}

/// [`ratio`] of the averages; `None` too when one side has no kernels.
pub(crate) fn average_ratio(first: Sum, second: Sum) -> Option<f64> {
    if first.count == 0 || second.count == 0 {
        return None;
    }
    match (first.time, second.time) {
        (0, 0) => Some(1.0),
        (_, 0) => None,
        _ => Some((first.time as f64 * second.count as f64) / (second.time as f64 * first.count as f64)),
    }
}

/// Layers differ when they do so by more than this and by a fifth.
const LAYER_THRESHOLD: Picoseconds = 100 * MICROSECOND;

fn layers(pairing: &Pairing<'_>) -> Vec<LayerRow> {
    let [first, second] = [0, 1].map(|side| pairing.totals[side].layers.as_slice());
    let mut rows: Vec<(Picoseconds, LayerRow)> = (0..first.len().max(second.len()))
        .filter_map(|layer| {
            let sum = |side: &[Sum]| side.get(layer).copied().unwrap_or_default();
            let (first, second) = (sum(first), sum(second));
            (first.count + second.count > 0)
                .then(|| ((first.time - second.time).abs(), layer_row(layer as u32, first, second)))
        })
        .collect();
    rows.sort_by(|(a, first), (b, second)| {
        second.in_both.cmp(&first.in_both).then(b.cmp(a)).then(first.layer.cmp(&second.layer))
    });
    rows.into_iter().map(|(_, row)| row).collect()
}

fn layer_row(layer: u32, first: Sum, second: Sum) -> LayerRow {
    let difference = second.time - first.time;
    let (status, ratio) = if second.count == 0 {
        (Status::Trace1Only, Some(0.0))
    } else if first.count == 0 {
        (Status::Trace2Only, None)
    } else {
        let status = if difference > LAYER_THRESHOLD && 5 * second.time > 6 * first.time {
            Status::Slower
        } else if -difference > LAYER_THRESHOLD && 6 * second.time < 5 * first.time {
            Status::Faster
        } else {
            Status::Similar
        };
        (status, ratio(second.time, first.time))
    };
    LayerRow {
        layer,
        trace1_kernels: first.count,
        trace2_kernels: second.count,
        trace1_total_ms: milliseconds(first.time),
        trace2_total_ms: milliseconds(second.time),
        trace2_over_trace1: ratio,
        difference_ms: milliseconds(difference),
        status,
        in_both: first.count > 0 && second.count > 0,
    }
}
