//! Why there is no answer: the simulator's codes, and what they mean.

use std::fmt;

/// Why there is no answer: a code, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    code: &'static str,
    about: Option<Box<str>>,
}

impl Reason {
    pub(crate) const fn new(code: &'static str) -> Self {
        Reason { code, about: None }
    }

    pub(crate) fn about(code: &'static str, about: impl Into<Box<str>>) -> Self {
        Reason { code, about: Some(about.into()) }
    }

    /// The code: `shape_mismatch`, `csv_not_found`, …
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Whether a table cannot be read or used, so that nothing is known about its rows.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.code == "unreadable"
    }

    /// The code in words.
    pub fn meaning(&self) -> &'static str {
        match self.code {
            "unmapped" | "wrapper_unmapped" => "the operator mapping has no entry for it",
            "csv_not_found" | "compute_csv_not_found" | "elementwise_csv_not_found" => {
                "the database has no table for its kernel"
            }
            "malformed_query" => "its row is not a query",
            "csv_format_raw" => "the collective's table has no message sizes",
            "unreadable" => "a table cannot be used",
            "shape_mismatch" | "semantic_key_mismatch" => "no row has these shapes and types",
            "input_count_mismatch" => "no row has as many inputs",
            "elementwise_output_shape_mismatch" => "no row has a result of this shape and type",
            "elementwise_output_unavailable" => "its rows are found by its result, and no result is given",
            "ambiguous_semantic_match" => "several rows fit and contradict each other",
            "semantic_context_missing" => "a field that decides which rows fit is missing",
            "ep_size_not_configured" => "the expert-parallel size is not given",
            "comm_sub_kernel_miss" => "its collective has no answer",
            "sub_kernel_miss" | "attention_sub_kernel_miss" | "composite_sub_kernel_failed" => {
                "a kernel that it consists of has no answer"
            }
            "decompose_failed" => "its arguments do not tell those of the kernels that it consists of",
            "outside_axis_boundary" | "outside_convex_hull" => "no row fits, and none lie on both sides of it",
            "insufficient_filtered_candidates" | "regime_key_unmatched" => {
                "no row fits, and fewer than two agree in everything else"
            }
            "interpolation_dim_disabled" => "no row fits, and its entry allows no interpolation",
            "compute_multidim_interpolation_failed"
            | "compute_scale_interpolation_failed"
            | "elementwise_interpolation_failed"
            | "moe_fused_interpolation_failed"
            | "scatter_nd_update_interpolation_failed"
            | "wrapper_interpolation_failed"
            | "latency_guard_rejected"
            | "grid_structure_rejected"
            | "degenerate_point_cloud" => "no matching row, and the nearest rows do not bracket this shape",
            "wrapper_communication_owned_by_base" => "the collective's tables do not answer",
            "attention_index_unavailable" => "no attention table can be used",
            // The readers of the simulator have no code for it where they look for rows.
            "" | "compute_kernel_type_missing" | "kernel_type_missing" | "no_sub_kernels" => {
                "its entry names no kernel"
            }
            "compute_subcategory_unknown" | "runtime_attention_leaf_required" | "wrapper_not_applicable" => {
                "no row fits, and its entry's kind is not interpolated"
            }
            "invalid_moe_embedded_communication"
            | "invalid_runtime_comm_variant"
            | "invalid_tp_linear_projection_rule"
            | "runtime_comm_variant_source_missing" => "its entry in the operator mapping is not consistent",
            "moe_embedded_communication_context_mismatch" | "structural_mismatch" | "tp_projection_invalid" => {
                "its entry does not hold for this call"
            }
            "dtype_unmapped" => "no table has rows of its data type",
            "attention_target_unavailable"
            | "compute_target_unavailable"
            | "insufficient_args"
            | "invalid_args"
            | "invalid_seq_lens"
            | "missing_seq_lens"
            | "missing_target_axis"
            | "moe_fused_target_unextractable"
            | "q_shape_normalize_failed"
            | "query_not_tensor" => "its arguments do not tell the sizes to look for",
            _ => "the rules for it do not answer",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code)?;
        match &self.about {
            Some(about) => write!(formatter, ":{about}"),
            None => Ok(()),
        }
    }
}
