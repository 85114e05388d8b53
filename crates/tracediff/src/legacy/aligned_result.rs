//! Results of the views `Aligned` and `Full` under the rules of 0.1.33: its dictionaries key for key.

use serde::Serialize;

use super::result::{LegacyLayer, LegacyMetadata, LegacyOperation, LegacySides};
use crate::device::Platform;

/// Two traces aligned kernel by kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LegacyAlignment {
    /// What the traces are.
    pub metadata: AlignedMetadata,
    /// Layers in order.
    pub layer_alignments: Vec<AlignedLayer>,
    /// Fused operations.
    pub fusion_analysis: LegacyFusion,
    /// Kernels of one name on both sides.
    pub same_kernel_analysis: LegacySameKernels,
}

/// What the aligned traces are. `amd` and `nvidia` stand for the two sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the keys of the original")]
pub struct AlignedMetadata {
    pub amd_gpu: String,
    pub nvidia_gpu: String,
    pub amd_platform: Platform,
    pub nvidia_platform: Platform,
    pub model_layers: usize,
    pub forward_passes: usize,
    pub phase_breakdown: PhaseBreakdown,
    pub phase_filter: &'static str,
    #[serde(flatten)]
    pub sides: LegacySides,
}

/// Annotated steps of trace 1 per phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PhaseBreakdown {
    /// Prefill steps.
    pub prefill: usize,
    /// Decode steps.
    pub decode: usize,
}

/// A layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the keys of the original")]
pub struct AlignedLayer {
    pub layer: usize,
    pub amd_total_us: f64,
    pub nvidia_total_us: f64,
    pub ratio: Option<f64>,
    pub gap_us: f64,
    pub kernel_pairs: Vec<AlignedPair>,
}

/// Kernels of one operation at one position of a layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the keys of the original")]
pub struct AlignedPair {
    pub position: usize,
    pub operation: String,
    pub operation_detail: Option<&'static str>,
    pub amd_kernel: String,
    pub amd_avg_us: f64,
    pub amd_count: u64,
    pub amd_total_us: f64,
    pub nvidia_kernel: Option<String>,
    pub nvidia_avg_us: f64,
    pub nvidia_count: u64,
    pub nvidia_total_us: f64,
    pub ratio: Option<f64>,
    pub gap_us: f64,
    pub fusion_note: Option<&'static str>,
    pub is_same_kernel: bool,
}

/// Fused operations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LegacyFusion {
    /// Per operation.
    pub fusion_opportunities: Vec<LegacyFusionOpportunity>,
    /// The same as mappings.
    pub fusion_mappings: Vec<LegacyFusionMapping>,
    /// Counts.
    pub summary: LegacyFusionSummary,
}

/// An operation that one side alone has.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the keys of the original")]
pub struct LegacyFusionOpportunity {
    pub kernel_type: String,
    pub layer: u32,
    pub fused_by: &'static str,
    pub fused_kernel: String,
    pub unfused_kernels: Vec<String>,
    pub count: u64,
}

/// The same under other keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the keys of the original")]
pub struct LegacyFusionMapping {
    pub fused_platform: &'static str,
    pub fused_kernel_type: String,
    pub fused_kernel_name: String,
    pub unfused_platform: &'static str,
    pub unfused_sequence: Vec<String>,
    pub pattern_count: u64,
    pub layer: u32,
}

/// How many fused operations there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the keys of the original")]
pub struct LegacyFusionSummary {
    pub amd_fuses: usize,
    pub nvidia_fuses: usize,
    pub total_fusion_opportunities: usize,
}

/// Kernels of one name on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LegacySameKernels {
    /// Pairs in order of layers.
    pub kernels: Vec<LegacySameKernel>,
    /// Over all of them.
    pub summary: LegacySameKernelSummary,
}

/// A pair of one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the keys of the original")]
pub struct LegacySameKernel {
    pub layer: usize,
    pub kernel_name: String,
    pub operation: String,
    pub amd_avg_us: f64,
    pub nvidia_avg_us: f64,
    pub ratio: Option<f64>,
    pub gap_us: f64,
    pub amd_count: u64,
    pub nvidia_count: u64,
}

/// Over all pairs of one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the keys of the original")]
pub struct LegacySameKernelSummary {
    pub total_same_kernels: usize,
    pub avg_ratio: f64,
    pub kernels_where_amd_faster: usize,
    pub kernels_where_nvidia_faster: usize,
}

/// A warning without a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LegacyWarning {
    /// Fixed word.
    pub code: &'static str,
    /// `warning` or `info`.
    pub severity: &'static str,
}

/// Everything about two traces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LegacyFull {
    /// What the traces are.
    pub metadata: LegacyMetadata,
    /// Operations of both traces.
    pub operations: Vec<LegacyOperation>,
    /// Layers.
    pub layers: Vec<LegacyLayer>,
    /// Fused operations.
    pub fusion_opportunities: Vec<LegacyFusionOpportunity>,
    /// Fused operations as mappings.
    pub fusion_mappings: Vec<LegacyFusionMapping>,
    /// Each code once.
    pub warnings: Vec<LegacyWarning>,
    /// Architecture of the model.
    pub architecture: &'static str,
    /// Layers, kernel by kernel.
    pub layer_alignments: Vec<AlignedLayer>,
    /// Fused operations with their summary.
    pub fusion_analysis: LegacyFusion,
    /// Kernels of one name on both sides.
    pub same_kernel_analysis: LegacySameKernels,
}
