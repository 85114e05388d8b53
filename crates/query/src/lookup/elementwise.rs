//! Looking up by the first output.

use super::inputs;
use super::rows::of_row;
use crate::answer::{Answer, LookupError};
use crate::context::Context;
use crate::query::{Tensor, elements};
use crate::search::{Fit, Selection};
use crate::semantics::Rules;
use crate::shapes::{covered, flattened, is_next_tile, is_padded, strip};
use crate::table::KernelRow;
use perfdb_store::op_mapping::Entry;

/// A row whose first output fits; durations of other types are scaled by their size where the rules say so.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    let first = context.query.results.first();
    let Some(output) = first.and_then(|first| first.as_tensor()).filter(|output| !output.shape.is_empty()) else {
        return inputs::lookup(context, entry);
    };
    let Some(kernel_type) = entry.kernel_type.as_deref() else { return Err(LookupError::new("unmapped")) };
    let mut names = context.names(entry);
    if !context.rules.asks_alternates {
        names = smallvec::smallvec![kernel_type];
    }
    find(context, &names, output, context.rules.scales_types)?
        .ok_or_else(|| LookupError::new("elementwise_output_shape_mismatch"))
}

/// The best row; of another type only if durations are to be scaled.
pub(crate) fn find(
    context: &Context<'_>,
    names: &[&str],
    output: &Tensor,
    scales: bool,
) -> Result<Option<Answer>, LookupError> {
    let tables = context.tables(names)?;
    let wanted = strip(&output.shape);
    let flat = flattened(&output.shape);
    let mut selection = Selection::new(context.rules, context.rules.choice_of_first);
    for (order, &table) in tables.iter().enumerate() {
        for form in [Some(wanted), flat.as_ref().map(|flat| &flat[..])].into_iter().flatten() {
            for row in table.output_candidates(form) {
                if selection.is_settled(order, row) {
                    break;
                }
                let Some(distance) = fit(wanted, flat, row) else { continue };
                let row_type = row.output_types().first().map(|name| &**name);
                let is_same_type = row_type.is_some_and(|name| context.rules.is_type(output.dtype, name));
                let accepted = if scales { scale(context.rules, row, output).is_some() } else { is_same_type };
                let types = !context.rules.pads_tokens_only || scales || has_input_types(context, row);
                let padding = distance == 0.0 || !context.rules.pads_tokens_only || pads_tokens(wanted, flat, row);
                if accepted && types && padding {
                    let is_ranked = context.rules.bracket_before_padding;
                    let fit = Fit::at(distance, "elementwise");
                    selection.offer(if is_ranked { ranked(fit, &output.shape, row) } else { fit }, order, row);
                }
            }
        }
    }
    Ok(selection.result()?.map(|found| {
        let scale = scale(context.rules, found.row, output).unwrap_or(1.0);
        let row_type = found.row.output_types().first();
        let is_same_type = match row_type {
            Some(name) => context.rules.is_type(output.dtype, name),
            None => context.rules.type_name(output.dtype).is_none(),
        };
        let mut answer = of_row(&found, if is_same_type { 1.0 } else { 0.9 }, "elementwise");
        if !is_same_type {
            answer.duration_us *= scale;
        }
        answer
    }))
}

/// How many elements the output has more than that of the row; `None` if the row does not fit.
fn fit(wanted: &[i64], flat: Option<[i64; 2]>, row: KernelRow<'_>) -> Option<f64> {
    let shape = row.outputs().get(0)?;
    let shape = &*shape;
    let of = |query: &[i64]| {
        if query == shape || query == strip(shape) {
            return Some(0.0);
        }
        let added = || (elements(query) as f64 - elements(shape) as f64).max(1.0);
        (is_padded(query, shape) || is_padded(query, strip(shape))).then(added)
    };
    of(wanted).or_else(|| flat.filter(|_| shape.len() == 2).and_then(|flat| of(&flat)))
}

/// Ranks a row that fits by the form of its output, and by how much of what is asked for it has.
fn ranked(fit: Fit, wanted: &[i64], row: KernelRow<'_>) -> Fit {
    let Some(shape) = row.outputs().get(0) else { return fit };
    let share = if fit.distance > 0.0 { covered(&shape, wanted) } else { 1.0 };
    Fit { changed: u8::from(*shape != *wanted), share, ..fit }
}

/// Whether only the first dimension is padded, at most to the next tile.
fn pads_tokens(wanted: &[i64], flat: Option<[i64; 2]>, row: KernelRow<'_>) -> bool {
    let Some(shape) = row.outputs().get(0) else { return false };
    let shape = strip(&shape);
    let is_near = |query: &[i64]| query.iter().zip(shape).all(|(query, own)| is_next_tile(*query, *own));
    let only = |query: &[i64]| query.len() == shape.len() && query.get(1..) == shape.get(1..) && is_near(query);
    only(wanted) || flat.is_some_and(|flat| only(&flat))
}

/// Whether the inputs of a row have the types of the call's.
fn has_input_types(context: &Context<'_>, row: KernelRow<'_>) -> bool {
    let mut types = row.input_types().iter();
    context.query.input_tensors().all(|tensor| match types.next() {
        Some(row_type) => context.rules.is_type(tensor.dtype, row_type),
        None => true,
    })
}

/// By what the duration of a row is multiplied for an output of this type; `None` if a size is not known.
pub(crate) fn scale(rules: &Rules, row: KernelRow<'_>, output: &Tensor) -> Option<f64> {
    let query_type = rules.type_name(output.dtype)?;
    let row_type = row.output_types().first()?;
    if rules.is_type(output.dtype, row_type) { Some(1.0) } else { Some(bytes(query_type)? / bytes(row_type)?) }
}

fn bytes(profiler_type: &str) -> Option<f64> {
    match profiler_type {
        "DT_BF16" | "DT_FLOAT16" | "INT16" => Some(2.0),
        "FLOAT" | "DT_FLOAT" | "INT32" | "DT_INT32" => Some(4.0),
        "INT8" | "DT_INT8" => Some(1.0),
        "INT64" | "DT_INT64" => Some(8.0),
        _ => None,
    }
}
