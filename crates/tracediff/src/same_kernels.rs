//! Kernels that both traces run under the same name.

use serde::Serialize;

use crate::compare::average_ratio;
use crate::steps::PhaseFilter;
use crate::time::{average_microseconds, microseconds};
use crate::totals::Sum;
use crate::trace::Trace;

/// Kernels of both traces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SameKernelAnalysis {
    /// By |difference of totals| descending, then name.
    pub kernels: Vec<SameKernel>,
    /// Over all of them.
    pub summary: SameKernelSummary,
}

/// A kernel of both traces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SameKernel {
    /// Name of the kernel.
    pub kernel_name: String,
    /// Operation of its first call in trace 1.
    pub operation: String,
    /// Calls in trace 1.
    pub trace1_count: u64,
    /// Calls in trace 2.
    pub trace2_count: u64,
    /// Total time in trace 1, µs.
    pub trace1_total_us: f64,
    /// Total time in trace 2, µs.
    pub trace2_total_us: f64,
    /// Average duration in trace 1, µs.
    pub trace1_avg_us: f64,
    /// Average duration in trace 2, µs.
    pub trace2_avg_us: f64,
    /// Average of trace 2 by average of trace 1; `None` is infinite.
    pub trace2_over_trace1: Option<f64>,
    /// Average of trace 2 less average of trace 1, µs.
    pub difference_us: f64,
    /// Average of trace 1 by that of trace 2, for readers of earlier versions of the format.
    pub ratio: Option<f64>,
    /// Average of trace 1 less that of trace 2, µs, for readers of earlier versions of the format.
    pub gap_us: f64,
}

/// Over all kernels of both traces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SameKernelSummary {
    /// How many there are.
    pub total_same_kernels: usize,
    /// Geometric mean of the finite ratios above 0.
    pub geomean_trace2_over_trace1: Option<f64>,
    /// Its inverse, for readers of earlier versions of the format.
    pub geomean_ratio: Option<f64>,
    /// Ratios above 1.
    pub trace1_faster: usize,
    /// Ratios below 1.
    pub trace2_faster: usize,
}

/// Finds the kernels of both traces.
pub(crate) fn same_kernels(first: &Trace, second: &Trace, phase: PhaseFilter) -> SameKernelAnalysis {
    let (sums1, sums2) = (by_name(first, phase), by_name(second, phase));
    let mut kernels = Vec::new();
    for (name, (sum1, operation)) in (0..).zip(&sums1) {
        if sum1.count == 0 {
            continue;
        }
        let text = first.name(name);
        let Some(other) = second.names.find(text) else { continue };
        let (sum2, _) = sums2[other as usize];
        if sum2.count == 0 {
            continue;
        }
        let averages = [*sum1, sum2].map(|sum| average_microseconds(sum.time, sum.count));
        let row = SameKernel {
            kernel_name: text.to_owned(),
            operation: first.operations[*operation as usize].clone(),
            trace1_count: sum1.count,
            trace2_count: sum2.count,
            trace1_total_us: microseconds(sum1.time),
            trace2_total_us: microseconds(sum2.time),
            trace1_avg_us: averages[0],
            trace2_avg_us: averages[1],
            trace2_over_trace1: average_ratio(sum2, *sum1),
            difference_us: averages[1] - averages[0],
            ratio: average_ratio(*sum1, sum2),
            gap_us: averages[0] - averages[1],
        };
        kernels.push(((sum1.time - sum2.time).abs(), row));
    }
    kernels.sort_by(|(a, first), (b, second)| b.cmp(a).then_with(|| first.kernel_name.cmp(&second.kernel_name)));
    let kernels: Vec<SameKernel> = kernels.into_iter().map(|(_, row)| row).collect();
    let summary = summary(&kernels);
    SameKernelAnalysis { kernels, summary }
}

fn summary(kernels: &[SameKernel]) -> SameKernelSummary {
    let logarithms: Vec<f64> = kernels
        .iter()
        .filter_map(|kernel| kernel.trace2_over_trace1)
        .filter(|ratio| *ratio > 0.0)
        .map(f64::ln)
        .collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    // An infinite ratio is above 1.
    let ratio = |kernel: &SameKernel| kernel.trace2_over_trace1.unwrap_or(f64::INFINITY);
    SameKernelSummary {
        total_same_kernels: kernels.len(),
        geomean_trace2_over_trace1: (!logarithms.is_empty()).then(|| mean.exp()),
        geomean_ratio: (!logarithms.is_empty()).then(|| (-mean).exp()),
        trace1_faster: kernels.iter().filter(|kernel| ratio(kernel) > 1.0).count(),
        trace2_faster: kernels.iter().filter(|kernel| ratio(kernel) < 1.0).count(),
    }
}

/// Per interned name: sum, and operation of the first kernel.
fn by_name(trace: &Trace, phase: PhaseFilter) -> Vec<(Sum, u32)> {
    let mut sums = vec![(Sum::default(), 0); trace.names.len()];
    for (at, (kernel, context)) in trace.kernels.iter().zip(&trace.contexts).enumerate() {
        if phase.lets(context.phase) {
            let (sum, operation) = &mut sums[kernel.name as usize];
            if sum.count == 0 {
                *operation = trace.operation(at);
            }
            sum.add(kernel.duration);
        }
    }
    sums
}
