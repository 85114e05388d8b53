//! Results under the default rules. Every type serialises to the keys that the JSON output has, in their order.

use serde::Serialize;

use crate::confidence::Confidence;
use crate::device::{Device, Platform};

/// Two traces compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What the traces are.
    pub metadata: Metadata,
    /// Operations that both traces have, by |gap| descending, then name.
    pub operations: Vec<OperationRow>,
    /// Layers, those on both sides first, then by |gap| descending, then number.
    pub layers: Vec<LayerRow>,
    /// Operations that one trace alone has, by total time descending, then trace, then name.
    pub unmatched_operations: Vec<UnmatchedOperation>,
    /// What to keep in mind when reading the numbers.
    pub warnings: Vec<Warning>,
    /// Kernels that no rule knows, by trace, then time descending, then name.
    pub unknown_kernels: Vec<UnknownKernel>,
}

impl Comparison {
    /// An operation that takes longer in all, and whose calls are faster, is neither.
    pub(crate) fn agree_with(&mut self, confidence: &Confidence) {
        for (row, found) in self.operations.iter_mut().zip(&confidence.operations) {
            let contradicts =
                matches!((row.status, found.verdict.verdict), (Status::Slower, "faster") | (Status::Faster, "slower"));
            if contradicts && row.operation == found.operation {
                row.status = Status::Mixed;
            }
        }
    }
}

/// A kernel that no rule knows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnknownKernel {
    /// 1 or 2.
    pub trace: u8,
    /// Name of the kernel.
    pub name: String,
    /// Calls.
    pub count: u64,
    /// Total time, ms.
    pub total_ms: f64,
    /// Share of the kernel time of its trace; `None` if that is 0.
    pub share: Option<f64>,
}

/// What the compared traces are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metadata {
    /// Path as given, or label.
    pub trace1_name: String,
    /// Vendor of the GPU.
    pub trace1_platform: Platform,
    /// Name of the GPU.
    pub trace1_gpu: String,
    /// The same; where the trace has no name, the model that its properties identify.
    pub trace1_gpu_inferred: String,
    /// The GPU.
    pub trace1_device: Device,
    /// Compared kernels (of the wanted phase).
    pub trace1_kernels: u64,
    /// Sum of their durations in ms.
    pub trace1_total_ms: f64,
    /// Distinct layers of the whole trace.
    pub trace1_layers: u64,
    /// Time in which at least one kernel ran, per device, summed, in ms.
    pub trace1_busy_ms: f64,
    /// Forward passes with at least one kernel.
    pub trace1_passes: u64,
    /// Time in operations that both traces have, in ms.
    pub trace1_compared_ms: f64,
    /// Path as given, or label.
    pub trace2_name: String,
    /// Vendor of the GPU.
    pub trace2_platform: Platform,
    /// Name of the GPU.
    pub trace2_gpu: String,
    /// The same; where the trace has no name, the model that its properties identify.
    pub trace2_gpu_inferred: String,
    /// The GPU.
    pub trace2_device: Device,
    /// Compared kernels (of the wanted phase).
    pub trace2_kernels: u64,
    /// Sum of their durations in ms.
    pub trace2_total_ms: f64,
    /// Distinct layers of the whole trace.
    pub trace2_layers: u64,
    /// Time in which at least one kernel ran, per device, summed, in ms.
    pub trace2_busy_ms: f64,
    /// Forward passes with at least one kernel.
    pub trace2_passes: u64,
    /// Time in operations that both traces have, in ms.
    pub trace2_compared_ms: f64,
    /// `all`, or the phase that was compared.
    pub phase: &'static str,
}

/// Trace 2 against trace 1; under the rules of old releases trace 1 against trace 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It spends more time than the other, beyond the threshold.
    Slower,
    /// It spends less time than the other, beyond the threshold.
    Faster,
    /// Within the threshold.
    Similar,
    /// It spends more time and its calls are faster, or less and they are slower.
    Mixed,
    /// Only trace 1 has it.
    #[serde(rename = "trace1_only")]
    Trace1Only,
    /// Only trace 2 has it.
    #[serde(rename = "trace2_only")]
    Trace2Only,
}

impl Status {
    /// As results show it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Slower => "slower",
            Status::Faster => "faster",
            Status::Similar => "similar",
            Status::Mixed => "mixed",
            Status::Trace1Only => "trace1_only",
            Status::Trace2Only => "trace2_only",
        }
    }
}

/// Kernels of one name within an operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelTotal {
    /// Name of the kernel.
    pub name: String,
    /// Sum of the durations in µs.
    pub total_us: f64,
    /// Calls.
    pub count: u64,
    /// Average duration in µs.
    pub avg_us: f64,
}

/// An operation that both traces have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperationRow {
    /// Operation.
    pub operation: String,
    /// Calls in trace 1.
    pub trace1_count: u64,
    /// Calls in trace 2.
    pub trace2_count: u64,
    /// Average duration in trace 1, µs.
    pub trace1_avg_us: f64,
    /// Average duration in trace 2, µs.
    pub trace2_avg_us: f64,
    /// Total time in trace 1, ms.
    pub trace1_total_ms: f64,
    /// Total time in trace 2, ms.
    pub trace2_total_ms: f64,
    /// Total of trace 2 by total of trace 1; `None` is infinite.
    pub trace2_over_trace1: Option<f64>,
    /// Average of trace 2 by average of trace 1; `None` is infinite.
    pub avg_trace2_over_trace1: Option<f64>,
    /// Total of trace 2 less total of trace 1, ms.
    pub difference_ms: f64,
    /// Trace 2 against trace 1, by the threshold alone.
    pub status: Status,
    /// Total of trace 1 by total of trace 2, for readers of earlier versions of the format; `None` is infinite.
    pub ratio: Option<f64>,
    /// Average of trace 1 by average of trace 2, for readers of earlier versions of the format; `None` is infinite.
    pub avg_ratio: Option<f64>,
    /// Total of trace 1 less total of trace 2, ms, for readers of earlier versions of the format.
    pub gap_ms: f64,
    /// Kernel with most time in trace 1.
    pub trace1_kernel: String,
    /// Kernel with most time in trace 2.
    pub trace2_kernel: String,
    /// Most frequent operator on the host of trace 1.
    pub trace1_cpu_op: Option<String>,
    /// Most frequent operator on the host of trace 2.
    pub trace2_cpu_op: Option<String>,
    /// Python stacks of trace 1, outermost frame first.
    pub trace1_python_stacks: Vec<Vec<String>>,
    /// Python stacks of trace 2, outermost frame first.
    pub trace2_python_stacks: Vec<Vec<String>>,
    /// Kernels of trace 1, by total descending, then name; `None` when they are not wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace1_kernels: Option<Vec<KernelTotal>>,
    /// Kernels of trace 2, by total descending, then name; `None` when they are not wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace2_kernels: Option<Vec<KernelTotal>>,
    /// Phases of the kernels of both sides, or `all`.
    pub phases: Vec<&'static str>,
    /// Time in trace 1 per pass and device, ms.
    pub trace1_per_pass_ms: f64,
    /// Time in trace 2 per pass and device, ms.
    pub trace2_per_pass_ms: f64,
    /// Calls in the passes of trace 1 that are compared.
    pub trace1_pass_calls: u64,
    /// Calls in the passes of trace 2 that are compared.
    pub trace2_pass_calls: u64,
    /// Average of these in trace 1 without what they wait for the kernel before them, µs.
    pub trace1_us_per_call: f64,
    /// The same in trace 2, µs.
    pub trace2_us_per_call: f64,
}

/// An operation that one trace alone has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnmatchedOperation {
    /// Operation.
    pub operation: String,
    /// 1 or 2.
    pub trace: u8,
    /// Calls.
    pub count: u64,
    /// Total time, ms.
    pub total_ms: f64,
    /// Average duration, µs.
    pub avg_us: f64,
    /// Kernel with most time.
    pub kernel: String,
    /// Most frequent operator on the host.
    pub cpu_op: Option<String>,
    /// Phases of the kernels, or `all`.
    pub phases: Vec<&'static str>,
    /// Time per pass and device, ms.
    pub per_pass_ms: f64,
}

/// A layer of the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerRow {
    /// Number from 0.
    pub layer: u32,
    /// Kernels in trace 1.
    pub trace1_kernels: u64,
    /// Kernels in trace 2.
    pub trace2_kernels: u64,
    /// Total time in trace 1, ms.
    pub trace1_total_ms: f64,
    /// Total time in trace 2, ms.
    pub trace2_total_ms: f64,
    /// Total of trace 2 by total of trace 1; `None` is infinite.
    pub trace2_over_trace1: Option<f64>,
    /// Total of trace 2 less total of trace 1, ms.
    pub difference_ms: f64,
    /// Trace 2 against trace 1.
    pub status: Status,
    /// Whether both traces have the layer.
    pub in_both: bool,
}

/// Something to keep in mind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warning {
    /// Fixed word.
    pub code: &'static str,
    /// `warning` or `info`.
    pub severity: &'static str,
    /// 1, 2, or `None` for both together.
    pub trace: Option<u8>,
    /// For people.
    pub message: String,
}
