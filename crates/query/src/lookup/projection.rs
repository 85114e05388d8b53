//! Projections of which the table has another shape than the call: tensor-parallel shards, and those of multi-token prediction.

use super::inputs;
use super::rows::of_row;
use crate::answer::{Answer, LookupError};
use crate::context::Context;
use crate::operands::{Operand, Operands};
use crate::reason::Reason;
use perfdb_pycompat::yaml::Node;
use perfdb_store::op_mapping::{Entry, TpLinearProjection};

/// The shard that one device computes of a linear layer, if the entry has a rule for it that applies.
pub(crate) fn projected<'q>(
    context: &Context<'_>,
    entry: &Entry,
    operands: &Operands<'q>,
) -> Result<Option<Operands<'q>>, LookupError> {
    let invalid = || LookupError::new("invalid_tp_linear_projection_rule");
    let rule = match &entry.tp_linear_projection {
        Some(rule) => rule,
        None if !entry.other.is_empty() && entry.other.get("tp_linear_projection").is_some() => return Err(invalid()),
        None => return Ok(None),
    };
    let Some((axis, sizes)) = rule_of(rule) else { return Err(invalid()) };
    let [a, weight, rest @ ..] = operands.as_slice() else { return Err(invalid()) };
    let (&[rows, columns], &[inner, outer]) = (&*a.shape, &*weight.shape) else { return Err(invalid()) };
    let size = if axis == "input" { columns } else { outer };
    if !sizes.contains(&size) || context.query.tp_size == Some(1) {
        return Ok(None);
    }
    let Some(tp) = context.query.tp_size.filter(|tp| *tp > 1 && columns == inner && size % tp == 0) else {
        let tp = context.query.tp_size.map_or("None".to_owned(), |tp| tp.to_string());
        let about = format!("logical_dim={size};shard_axis={axis};tp_size={tp}");
        return Err(Reason::about("tp_projection_invalid", about).into());
    };
    let (a_shape, weight_shape) = match axis {
        "input" => ([rows, columns / tp], [inner / tp, outer]),
        _ => ([rows, columns], [inner, outer / tp]),
    };
    let mut new: Operands<'q> = Operands::new();
    new.push(Operand::made(&a_shape, a.dtype));
    new.push(Operand::made(&weight_shape, weight.dtype));
    new.extend(rest.iter().cloned());
    Ok(Some(new))
}

/// The axis and the sizes of a rule; `None` if it is not one.
fn rule_of(rule: &TpLinearProjection) -> Option<(&'static str, Vec<i64>)> {
    let axis = match rule.shard_axis.as_ref()?.as_text()? {
        "input" => "input",
        "output" => "output",
        _ => return None,
    };
    let size = |node: &Node| match node {
        Node::Integer(size) => i64::try_from(*size).ok().filter(|size| *size > 0),
        _ => None,
    };
    let sizes: Vec<i64> = rule.logical_global_dims.as_ref()?.as_list()?.iter().map(size).collect::<Option<_>>()?;
    let is_local = rule.otherwise.as_ref().is_none_or(|otherwise| otherwise.as_text() == Some("physical_local"));
    (is_local && !sizes.is_empty()).then_some((axis, sizes))
}

/// The projection of multi-token prediction; in every other case by inputs.
pub(crate) fn multi_token(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    match special(context, entry)? {
        Some(answer) => Ok(answer),
        None => inputs::lookup(context, entry),
    }
}

fn special(context: &Context<'_>, entry: &Entry) -> Result<Option<Answer>, LookupError> {
    let kernel_type = entry.mtp_projection_kernel_type.as_deref().filter(|name| !name.is_empty());
    let mut tensors = context.query.input_tensors();
    let (Some(kernel_type), Some(a), Some(weight), Some(result)) =
        (kernel_type, tensors.next(), tensors.next(), context.query.results.first_tensor())
    else {
        return Ok(None);
    };
    let (&[rows, columns], &[w0, w1], &[result_rows, hidden]) = (&*a.shape, &*weight.shape, &*result.shape) else {
        return Ok(None);
    };
    let is_pair = (w0, w1) == (2 * hidden, hidden) || (w0, w1) == (hidden, 2 * hidden);
    if rows != result_rows || columns != 2 * hidden || !is_pair {
        return Ok(None);
    }
    let dtype = context.rules.type_name(result.dtype);
    let operands: Operands<'_> =
        [&a.shape, &weight.shape].into_iter().map(|shape| Operand::made(shape, dtype)).collect();
    let found = match inputs::find(context, &[kernel_type], &operands, Some(2)) {
        Ok(found) => found,
        Err(miss) if miss.is_unreadable() => return Err(miss),
        Err(_) => None,
    };
    Ok(found.map(|found| of_row(&found, 1.0, found.rule)))
}
