//! The interpolating reader: between rows, where no row answers.

mod among;
mod attempt;
mod attention;
mod axes;
mod composite;
mod corners;
mod corrected;
mod elementwise;
mod experts;
mod floor;
mod generic;
pub(crate) mod generic_sizes;
mod groups;
mod heads;
pub(crate) mod kept;
mod kind;
mod length_aware;
mod matmul;
mod near;
mod one_axis;
pub(crate) mod points;
mod predicted;
mod scale;
mod scatter;
mod simplex;
mod slice;
mod slices;
mod tables;

pub(crate) use among::Among;
pub(crate) use attention::asked_quant_mode;
pub(crate) use axes::RowPoint;
pub(crate) use composite::part_between;
pub(crate) use groups::learnt;
pub(crate) use length_aware::lengths_of_row;
pub(crate) use matmul::Product;
pub(crate) use scale::scale_modes;
pub(crate) use slice::At;
pub(crate) use tables::Learnt;

use crate::answer::{Answer, LookupError};
use crate::context::Context;
use crate::lookup::attention::is_by_shapes as attention_by_shapes;
use crate::lookup::experts::is_by_shapes as experts_by_shapes;
use crate::lookup::inputs::operands;
use crate::semantics::Between;
use perfdb_store::op_mapping::Entry;

/// Answers where the measured reader has none, or only a part of one.
pub(crate) fn lookup(context: &Context<'_>) -> Result<Answer, LookupError> {
    if context.rules.between == Between::OneAxis {
        return one_axis::lookup(context);
    }
    let Some(entry) = context.entry else { return Err(LookupError::new("wrapper_unmapped")) };
    if entry.zero_cost || entry.accepted_miss.as_deref().is_some_and(|why| !why.is_empty()) {
        return Err(LookupError::new("wrapper_not_applicable"));
    }
    if entry.composite {
        return composite::lookup(context, entry);
    }
    if entry.category.as_deref() == Some("communication") {
        return Err(LookupError::new("wrapper_communication_owned_by_base"));
    }
    match entry.query_mode.as_deref() {
        Some("moe_fused") => return experts::lookup(context, entry),
        Some("attention_special") => return attention::lookup(context, entry),
        Some("attention_lightning_indexer") => return Err(LookupError::new("runtime_attention_leaf_required")),
        Some("scatter_nd_update_mla") => return scatter::lookup(context, entry),
        Some("elementwise") => return elementwise::lookup(context, entry),
        _ => {}
    }
    match entry.compute_subcategory.as_deref() {
        Some("compute_scale") => return scale::lookup(context, entry),
        Some("quantized_matmul") => return matmul::quantised(context, entry),
        Some(_) => return Err(LookupError::new("compute_subcategory_unknown")),
        None => {}
    }
    match entry.kernel_type.as_deref() {
        None => Err(LookupError::new("compute_kernel_type_missing")),
        Some(kernel_type) if context.class(kernel_type).is_product() => matmul::lookup(context, entry),
        Some(_) => match by_shapes(context, entry)? {
            Some(answer) => answer,
            None => generic::lookup(context, entry),
        },
    }
}

/// The answer of tables whose rows are attention or experts by their shapes; `None` where no table is, or the call has another form.
fn by_shapes(context: &Context<'_>, entry: &Entry) -> Result<Option<Result<Answer, LookupError>>, LookupError> {
    let mut last = None;
    for name in context.names(entry) {
        let Some(table) = context.table(name)? else { continue };
        let found = if attention_by_shapes(context.rules, table) {
            heads::of_table(context, table, &operands(context, entry))
        } else if experts_by_shapes(context.rules, table) {
            experts::of_shapes(context, table, &operands(context, entry))
        } else {
            None
        };
        match found {
            Some(Ok(answer)) => return Ok(Some(Ok(answer))),
            Some(Err(miss)) => last = Some(Err(miss)),
            None => {}
        }
    }
    Ok(last)
}
