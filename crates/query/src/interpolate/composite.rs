//! Composites of which some parts lie between rows.

use super::{attention, generic, length_aware, matmul, scatter};
use crate::answer::{Answer, LookupError, More, Part, Source};
use crate::context::{Context, Names};
use crate::decompose::{self, Decomposed, Kind, PartQuery};
use crate::interval::interval_us;
use crate::lookup::{composite, experts, inputs, parts};
use crate::operands::{Operand, Operands};
use perfdb_store::op_mapping::Entry;
use smallvec::SmallVec;
use std::sync::Arc;

const CONFIDENCE: f64 = 0.5;

/// The sum of the parts, each exact or between rows.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    let list = match decompose::decomposed(context, entry) {
        Decomposed::Parts(list) if !list.is_empty() => list,
        Decomposed::NotKnown if context.rules.parts_as_they_are => return fixed(context, entry),
        _ => return Err(LookupError::new("wrapper_interpolation_failed")),
    };
    let mut more = More::default();
    let mut rows = SmallVec::new();
    let mut total = 0.0;
    for query in &list {
        match part(context, query)? {
            Some(part) => {
                total += part.duration_us;
                rows.extend(part.rows.iter().cloned());
                more.parts.push(part);
            }
            None if context.rules.keeps_partial => more.missed.push(context.state.name(query.kernel_type())),
            None => return Err(LookupError::new("composite_sub_kernel_failed")),
        }
    }
    let kernels: SmallVec<[Arc<str>; 1]> = more.parts.iter().map(|part| part.kernel_type.clone()).collect();
    if !more.missed.is_empty() {
        if more.parts.is_empty() || entry.require_all_sub_kernels == Some(true) {
            return Err(LookupError::new("composite_sub_kernel_failed"));
        }
        let confidence = CONFIDENCE * more.parts.len() as f64 / list.len() as f64;
        return Ok(Answer {
            duration_us: total,
            confidence,
            source: Source::Partial,
            kernels: SmallVec::new(),
            rule: None,
            rows,
            share: 1.0,
            more: Some(Box::new(more)),
        });
    }
    let is_exact = more.parts.iter().all(|part| part.source == Source::Measured);
    more.method = Some("decomposed_interpolation");
    Ok(Answer {
        duration_us: total,
        confidence: CONFIDENCE,
        source: if is_exact { Source::Measured } else { Source::Interpolated },
        kernels,
        rule: Some(if is_exact { "composite_measured" } else { "interpolated_composite" }),
        rows,
        share: 1.0,
        more: Some(Box::new(more)),
    })
}

/// One part: by a row, else between rows.
fn part(context: &Context<'_>, query: &PartQuery<'_>) -> Result<Option<Part>, LookupError> {
    match parts::answer(context, query) {
        Ok(mut found) => {
            found.rule = match query.kind {
                Kind::Attention(_) => "exact_attention_match",
                Kind::Compute(_) => "exact_compute_match",
                _ => found.rule,
            };
            return Ok(Some(found));
        }
        Err(reason) if reason.is_unreadable() => return Err(reason.into()),
        Err(_) => {}
    }
    let answer = part_between(context, query)?;
    Ok(answer.map(|answer| Part {
        kernel_type: answer.kernels[0].clone(),
        duration_us: answer.duration_us,
        source: answer.source,
        rule: answer.method().unwrap_or_default(),
        interval_us: interval_us(context, &answer),
        class: answer.class(),
        input_shapes: parts::input_shapes(&query.kind),
        rows: answer.rows,
    }))
}

/// One part between rows.
pub(crate) fn part_between(context: &Context<'_>, query: &PartQuery<'_>) -> Result<Option<Answer>, LookupError> {
    let names: Names<'_> = query.kernel_types.iter().map(|name| &**name).collect();
    context.note(|| format!("part {}: between rows", names.join(",")));
    Ok(match &query.kind {
        Kind::Attention(fields) if context.class(query.kernel_type()).has_request_lengths() => {
            length_aware::of_part(context, &names, fields)?
        }
        Kind::Attention(fields) => attention::of_part(context, &names, fields)?.ok(),
        Kind::Compute(part) => {
            let first = part.dtypes.first().copied().flatten();
            let operands: Operands<'_> = part
                .shapes
                .iter()
                .zip(&part.dtypes)
                .map(|(shape, own)| Operand::made(shape, if context.rules.parts_as_they_are { *own } else { first }))
                .take(part.count)
                .collect();
            if context.class(query.kernel_type()).is_product() {
                matmul::of_tables(context, &names, &operands, Some(part.count))?
            } else {
                generic::of_tables(context, &names, &operands, Some(part.count), None)?.ok()
            }
        }
        Kind::Scatter(part) => {
            let shapes: [&[i64]; 3] = [&part.cache, &[part.tokens, 1], &[part.tokens, part.feature]];
            let types = [part.dtype, "INT32", part.dtype];
            let operands: Operands<'_> =
                shapes.iter().zip(types).map(|(shape, dtype)| Operand::made(shape, Some(dtype))).collect();
            scatter::of_tables(context, &names, &operands)?.ok()
        }
        Kind::Opaque(_) | Kind::Cache(_) => None,
    })
}

/// A fixed list of kernels whose compute kernel lies between rows.
fn fixed(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    let failed = || LookupError::new("composite_sub_kernel_failed");
    let (collectives, computes): (Names<'_>, Names<'_>) =
        entry.sub_kernels.iter().map(String::as_str).partition(|name| context.is_collective(name));
    let operands = inputs::operands(context, entry);
    let count = inputs::input_count(entry);
    let compute = match matmul::of_tables(context, &computes, &operands, count)? {
        Some(answer) => answer,
        None => generic::of_tables(context, &computes, &operands, count, None)?.map_err(|_| failed())?,
    };
    let interpolation = compute.more.as_ref().and_then(|more| more.interpolation.clone());
    let shapes = experts::shapes_of(&operands);
    let mut answer = composite::add_collectives(context, entry, collectives, compute, shapes)?;
    if let Some(more) = &mut answer.more {
        more.interpolation = interpolation;
    }
    (answer.source, answer.confidence) = (Source::Interpolated, CONFIDENCE);
    answer.rule = Some("interpolated_composite");
    Ok(answer)
}
