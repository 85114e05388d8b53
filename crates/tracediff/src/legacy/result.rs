//! Results under the rules of wafer-core: its result dictionary key for key.

use serde::Serialize;

use crate::device::{Device, Platform};
use crate::result::{KernelTotal, Status};
use crate::steps::PhaseFilter;
use crate::trace::Trace;

/// Two traces compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LegacyComparison {
    /// What the traces are.
    pub metadata: LegacyMetadata,
    /// Operations that both traces have, by |gap| descending.
    pub operations: Vec<LegacyOperation>,
    /// Layers, one-sided ones first.
    pub layers: Vec<LegacyLayer>,
}

/// What the compared traces are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LegacyMetadata {
    /// Path, label, or platform and GPU.
    pub trace1_name: String,
    /// Path, label, or platform and GPU.
    pub trace2_name: String,
    /// Both traces; layers are correlation ids that belong to one.
    #[serde(flatten)]
    pub sides: LegacySides,
}

/// What is reported of both traces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LegacySides {
    /// Vendor of the GPU.
    pub trace1_platform: Platform,
    /// Name of the GPU.
    pub trace1_gpu: String,
    /// The GPU.
    pub trace1_device: Device,
    /// Vendor of the GPU.
    pub trace2_platform: Platform,
    /// Name of the GPU.
    pub trace2_gpu: String,
    /// The GPU.
    pub trace2_device: Device,
    /// Compared kernels.
    pub trace1_kernels: u64,
    /// Compared kernels.
    pub trace2_kernels: u64,
    /// Sum of their durations, ms.
    pub trace1_total_ms: f64,
    /// Sum of their durations, ms.
    pub trace2_total_ms: f64,
    /// `all`, `prefill` or `decode`.
    pub phase: &'static str,
    /// Layers of trace 1.
    pub trace1_layers: u64,
    /// Layers of trace 2.
    pub trace2_layers: u64,
}

impl LegacySides {
    /// Each trace with its compared kernels, the sum of their durations in ms, and its layers.
    pub(crate) fn new(sides: [(&Trace, u64, f64, u64); 2], phase: PhaseFilter) -> LegacySides {
        let [
            (first, trace1_kernels, trace1_total_ms, trace1_layers),
            (second, trace2_kernels, trace2_total_ms, trace2_layers),
        ] = sides;
        LegacySides {
            trace1_platform: first.platform,
            trace1_gpu: first.device.name.clone(),
            trace1_device: first.device.clone(),
            trace2_platform: second.platform,
            trace2_gpu: second.device.name.clone(),
            trace2_device: second.device.clone(),
            trace1_kernels,
            trace2_kernels,
            trace1_total_ms,
            trace2_total_ms,
            phase: phase.name(),
            trace1_layers,
            trace2_layers,
        }
    }
}

/// An operation that both traces have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LegacyOperation {
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
    /// Of the totals (0.1.33; `None` is infinite) or of the averages (0.1.35).
    pub ratio: Option<f64>,
    /// Difference of the totals, ms.
    pub gap_ms: f64,
    /// Verdict on the gap.
    pub status: Status,
    /// Label of the operation's kernels in trace 1.
    pub trace1_kernel: String,
    /// Label of the operation's kernels in trace 2.
    pub trace2_kernel: String,
    /// Most frequent operator on the host of trace 1.
    pub trace1_cpu_op: Option<String>,
    /// Most frequent operator on the host of trace 2.
    pub trace2_cpu_op: Option<String>,
    /// Python stacks of trace 1.
    pub trace1_python_stacks: Vec<Vec<String>>,
    /// Python stacks of trace 2.
    pub trace2_python_stacks: Vec<Vec<String>>,
    /// Kernels of trace 1, by total descending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace1_kernels: Option<Vec<KernelTotal>>,
    /// Kernels of trace 2, by total descending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace2_kernels: Option<Vec<KernelTotal>>,
    /// Phases of the kernels of both sides.
    pub phases: Vec<&'static str>,
}

/// A layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LegacyLayer {
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
    /// Of the totals; 1 by nothing, 0 for layers of one side.
    pub ratio: f64,
    /// Difference of the totals, ms.
    pub gap_ms: f64,
    /// Verdict.
    pub status: Status,
    /// Whether both traces have the layer.
    pub in_both: bool,
}
