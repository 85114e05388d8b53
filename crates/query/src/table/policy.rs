//! What the mapping says about the rows of one kernel type.

use perfdb_pycompat::yaml::Node;
use perfdb_store::op_mapping::OpMapping;

/// Overrides of one kernel type.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct KernelPolicy {
    /// A profiled duration this many times the busiest core is replaced by that of the core.
    pub(crate) max_duration_to_core_ratio: Option<f64>,
    pub(crate) prefers_profiled: bool,
    pub(crate) requires_unique: bool,
    pub(crate) max_dimensions: Option<i64>,
    /// Interpolate over the number of output elements.
    pub(crate) over_output: bool,
    /// Interpolate attention over the square root of the length.
    pub(crate) over_square_root: bool,
    pub(crate) quant_mode: Option<String>,
}

impl KernelPolicy {
    pub(crate) fn of(mapping: &OpMapping, kernel_type: &str) -> Self {
        let latency = mapping.latency_policy.as_ref().and_then(|policy| policy.kernel_overrides.get(kernel_type));
        let selection =
            mapping.query_selection_policy.as_ref().and_then(|policy| policy.kernel_overrides.get(kernel_type));
        let between = mapping.interpolation_policy.as_ref().and_then(|policy| policy.kernel_overrides.get(kernel_type));
        let ratio = latency
            .and_then(|policy| policy.profiling_core_envelope_fallback.as_ref())
            .and_then(|fallback| fallback.max_duration_to_core_ratio);
        let axis = |node: Option<&Node>| matches!(node.and_then(Node::as_text), Some("sqrt" | "sqrt_seq"));
        KernelPolicy {
            max_duration_to_core_ratio: ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0),
            prefers_profiled: latency.is_some_and(|policy| policy.prefer_profiling_rows == Some(true)),
            requires_unique: selection.is_some_and(|policy| policy.require_semantic_unique == Some(true)),
            max_dimensions: between.and_then(|policy| policy.max_interpolation_dim),
            over_output: between.is_some_and(|policy| {
                policy.generic_compute.as_ref().and_then(|generic| generic.axis.as_deref()) == Some("output_numel")
            }),
            over_square_root: between.is_some_and(|policy| match &policy.axis_transform {
                Some(transform) => matches!(transform.as_str(), "sqrt" | "sqrt_seq"),
                None if policy.other.get("axis_transform").is_some() => axis(policy.other.get("axis_transform")),
                None => matches!(policy.shape_transform.as_deref(), Some("sqrt" | "sqrt_seq")),
            }),
            quant_mode: between.and_then(|policy| policy.other.get("quant_mode")?.as_text().map(str::to_owned)),
        }
    }
}
