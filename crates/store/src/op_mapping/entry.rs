//! The entry of one operator.

use super::fields::Fields;
use perfdb_pycompat::yaml::{Map, Node};

/// What an operator is to the simulator, in the order in which the properties of an entry are tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Several kernels.
    Composite,
    /// A collective, looked up by message bytes and devices.
    Communication,
    /// A kernel with its own way of matching rows.
    QueryMode,
    /// No kernel runs.
    ZeroCost,
    /// Known to be absent from the database; counts as time 0.
    AcceptedMiss,
    /// One kernel, matched by shape.
    Compute,
}

/// One entry of `operator_mappings`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry {
    /// Value of the CSV column `Type`, and the name of the kernel's CSV.
    pub kernel_type: Option<String>,
    /// Kernel types tried in this order after `kernel_type`.
    pub alternate_kernel_types: Vec<String>,
    /// One operator, several kernels.
    pub composite: bool,
    /// The parts of a composite operator; collectives start with `hcom_`.
    pub sub_kernels: Vec<String>,
    /// The parts are worked out in code from the operator's shapes.
    pub decomposer: bool,
    /// No kernel runs; the operator takes no time.
    pub zero_cost: bool,
    /// Why the kernel is missing from the database.
    pub accepted_miss: Option<String>,
    /// `communication` or `compute` (the default).
    pub category: Option<String>,
    /// `attention_special`, `elementwise`, `moe_fused`, `mtp_projection`.
    pub query_mode: Option<String>,
    /// Match only this many inputs.
    pub tc_input_count: Option<i64>,
    /// Evidence, starting with a level such as `[HIGH]`.
    pub notes: Option<String>,
    /// A finer kind of compute operator.
    pub compute_subcategory: Option<String>,
    /// Formats of the inputs, one per slot.
    pub expected_input_formats: Vec<String>,
    /// Kernel for a batched product that is a plain one.
    pub degenerate_bmm_kernel_type: Option<String>,
    /// Kernel of the multi-token-prediction projection.
    pub mtp_projection_kernel_type: Option<String>,
    /// Rule for projections split by tensor parallelism.
    pub tp_linear_projection: Option<TpLinearProjection>,
    /// Look the operator up with its full shape.
    pub project_full_shape: Option<Node>,
    /// Compute that the kernel contains.
    pub embedded_compute: Option<Node>,
    /// Communication that the kernel contains.
    pub embedded_communication: Option<Node>,
    /// Arguments of the decomposer.
    pub decomposer_options: Option<Node>,
    /// A composite operator counts as found only with all its parts.
    pub require_all_sub_kernels: Option<bool>,
    /// The part that names a composite operator.
    pub primary_kernel_type: Option<String>,
    /// Kernel type by rank of the input.
    pub kernel_types_by_input_rank: Option<Map>,
    /// Variants of a collective that are chosen at run time.
    pub runtime_comm_variants: Option<Node>,
    /// Everything else.
    pub other: Map,
    key_count: usize,
}

/// How a linear layer split by tensor parallelism is looked up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TpLinearProjection {
    /// The axis that is split.
    pub shard_axis: Option<Node>,
    /// The sizes before the split.
    pub logical_global_dims: Option<Node>,
    /// What to do when the rule does not apply.
    pub otherwise: Option<Node>,
    /// Everything else.
    pub other: Map,
}

impl Entry {
    /// Reads the map of one entry.
    pub fn from_map(map: Map) -> Entry {
        let key_count = map.len();
        let mut fields = Fields::new(map);
        Entry {
            kernel_type: fields.text("kernel_type"),
            alternate_kernel_types: fields.texts("alternate_kernel_types"),
            composite: fields.flag("composite"),
            sub_kernels: fields.texts("sub_kernels"),
            decomposer: fields.flag("decomposer"),
            zero_cost: fields.flag("zero_cost"),
            accepted_miss: fields.text("accepted_miss"),
            category: fields.text("category"),
            query_mode: fields.text("query_mode"),
            tc_input_count: fields.integer("tc_input_count"),
            notes: fields.text("notes"),
            compute_subcategory: fields.text("compute_subcategory"),
            expected_input_formats: fields.texts("expected_input_formats"),
            degenerate_bmm_kernel_type: fields.text("degenerate_bmm_kernel_type"),
            mtp_projection_kernel_type: fields.text("mtp_projection_kernel_type"),
            tp_linear_projection: fields.map("tp_linear_projection").map(TpLinearProjection::from_map),
            project_full_shape: fields.node("project_full_shape"),
            embedded_compute: fields.node("embedded_compute"),
            embedded_communication: fields.node("embedded_communication"),
            decomposer_options: fields.node("decomposer_options"),
            require_all_sub_kernels: fields.boolean("require_all_sub_kernels"),
            primary_kernel_type: fields.text("primary_kernel_type"),
            kernel_types_by_input_rank: fields.map("kernel_types_by_input_rank"),
            runtime_comm_variants: fields.node("runtime_comm_variants"),
            other: fields.rest(),
            key_count,
        }
    }

    /// Whether nothing at all stands in the entry.
    pub fn is_empty(&self) -> bool {
        self.key_count == 0
    }

    /// What the operator is. Real entries have properties of several classes; the first in the order of [`Class`] counts.
    pub fn class(&self) -> Class {
        if self.composite {
            Class::Composite
        } else if self.category.as_deref() == Some("communication") {
            Class::Communication
        } else if self.query_mode.is_some() {
            Class::QueryMode
        } else if self.zero_cost {
            Class::ZeroCost
        } else if self.accepted_miss.is_some() {
            Class::AcceptedMiss
        } else {
            Class::Compute
        }
    }
}

impl TpLinearProjection {
    fn from_map(map: Map) -> TpLinearProjection {
        let mut fields = Fields::new(map);
        TpLinearProjection {
            shard_axis: fields.node("shard_axis"),
            logical_global_dims: fields.node("logical_global_dims"),
            otherwise: fields.node("otherwise"),
            other: fields.rest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_pycompat::yaml;

    fn entry(text: &str) -> Entry {
        Entry::from_map(yaml::parse(text).unwrap().into_map().unwrap())
    }

    #[test]
    fn the_first_class_counts() {
        for (text, class) in [
            ("composite: true\nzero_cost: true", Class::Composite),
            ("category: communication\nquery_mode: x", Class::Communication),
            ("query_mode: elementwise\nkernel_type: Add", Class::QueryMode),
            ("zero_cost: yes\nkernel_type: Slice", Class::ZeroCost),
            ("accepted_miss: why\nkernel_type: Index", Class::AcceptedMiss),
            ("kernel_type: MatMulV2\nzero_cost: off", Class::Compute),
        ] {
            assert_eq!(entry(text).class(), class, "{text}");
        }
    }

    #[test]
    fn truth_is_what_counts_for_flags() {
        assert!(entry("zero_cost: \"false\"").zero_cost);
        assert!(entry("zero_cost: 2").zero_cost);
        assert!(!entry("zero_cost: 0").zero_cost);
        assert!(!entry("zero_cost:").zero_cost);
    }
}
