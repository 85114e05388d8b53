//! All groups of a table that are predicted from: what a question would be asked of.

use super::tables::{self, Learnt};
use super::{attention, elementwise, experts, generic, heads, length_aware, matmul, scatter};
use crate::lookup::attention::is_by_shapes as attention_by_shapes;
use crate::lookup::experts::is_by_shapes as experts_by_shapes;
use crate::lookup::inputs::input_count;
use crate::semantics::Rules;
use crate::table::KernelRows;
use crate::table::columns::Column;
use perfdb_store::op_mapping::{Entry, OpMapping};

/// The groups of a table, as the operators of the mapping ask it; those of a kernel without an operator as its name has it.
pub(crate) fn learnt(rules: &Rules, mapping: &OpMapping, table: &KernelRows) -> Vec<Learnt> {
    let entry = entry_of(mapping, table.kernel_type());
    let class = table.class(rules);
    let count = entry.and_then(input_count);
    let mode = entry.and_then(|entry| entry.query_mode.as_deref());
    let is_quantised = entry.is_some_and(|entry| entry.compute_subcategory.as_deref() == Some("quantized_matmul"));
    let index = if attention_by_shapes(rules, table) {
        heads::index(rules, table)
    } else if experts_by_shapes(rules, table) {
        experts::index(rules, table)
    } else if class.has_request_lengths() {
        length_aware::index(rules, table)
    } else if mode == Some("attention_special") || table.has(Column::AvgSeqLen) || table.has(Column::OldAvgSeqLen) {
        attention::index(rules, table)
    } else if mode == Some("moe_fused") {
        experts::index(rules, table)
    } else if mode == Some("scatter_nd_update_mla") {
        scatter::index_of(rules, table)
    } else if mode == Some("elementwise") {
        elementwise::index(rules, table)
    } else if class.is_product() {
        matmul::index(rules, table, count, is_quantised)
    } else {
        generic::index(rules, table, count, table.policy.over_output)
    };
    tables::learnt(index)
}

/// The first operator whose own kernel it is, else the first that has it among others.
fn entry_of<'m>(mapping: &'m OpMapping, kernel_type: &str) -> Option<&'m Entry> {
    let entries = || mapping.operator_mappings.iter().flatten().map(|(_, entry)| entry);
    let own = entries().find(|entry| entry.kernel_type.as_deref() == Some(kernel_type));
    own.or_else(|| entries().find(|entry| entry.alternate_kernel_types.iter().any(|name| name == kernel_type)))
}
