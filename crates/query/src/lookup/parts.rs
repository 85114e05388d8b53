//! The sum of the parts of a decomposition.

use super::{attention, inputs, opaque};
use crate::answer::{Answer, LookupError, More, Part, Source};
use crate::context::{Context, Names};
use crate::decompose::{CachePart, Kind, PartQuery, ScatterPart};
use crate::interval::{padded_interval_us, row_interval_us};
use crate::operands::{Dims, Operand, Operands};
use crate::query::Shape;
use crate::reason::Reason;
use crate::search::{Fit, Found, Selection};
use crate::table::KernelRow;
use crate::table::pool::Dimensions;
use perfdb_store::op_mapping::Entry;
use smallvec::SmallVec;
use std::sync::Arc;

/// The sum of all parts, or of those that were found.
pub(crate) fn sum(context: &Context<'_>, entry: &Entry, list: &[PartQuery<'_>]) -> Result<Answer, LookupError> {
    let mut more = More::default();
    let mut rows = SmallVec::new();
    let mut total = 0.0;
    let (mut is_interpolated, mut is_padded) = (false, false);
    for query in list {
        match answer(context, query) {
            Ok(found) => {
                total += found.duration_us;
                is_interpolated |= found.source == Source::Interpolated;
                is_padded |= found.source == Source::Padded;
                rows.extend(found.rows.iter().cloned());
                more.parts.push(found);
            }
            Err(reason) if matches!(query.kind, Kind::Attention(_)) && context.rules.is_newest => {
                let reason = match reason.code() {
                    "" => "semantic_key_mismatch".to_owned(),
                    _ => reason.to_string(),
                };
                let about = format!("{}:{reason}", query.kernel_type());
                return Err(Reason::about("attention_sub_kernel_miss", about).into());
            }
            Err(_) => more.missed.push(context.state.name(query.kernel_type())),
        }
    }
    let kernels: SmallVec<[Arc<str>; 1]> = more.parts.iter().map(|part| part.kernel_type.clone()).collect();
    let (hits, missed) = (more.parts.len(), more.missed.len());
    if missed > 0 && (hits == 0 || entry.require_all_sub_kernels == Some(true)) {
        return Err(Reason::about("sub_kernel_miss", more.missed.join(",")).into());
    }
    let (confidence, source, kernels) = match (missed, is_interpolated) {
        (0, false) => (0.8, if is_padded { Source::Padded } else { Source::Measured }, kernels),
        (0, true) => (0.75, Source::Interpolated, kernels),
        _ => (hits as f64 / (hits + missed) as f64, Source::Partial, SmallVec::new()),
    };
    Ok(Answer {
        duration_us: total,
        confidence,
        source,
        kernels,
        rule: None,
        rows,
        share: 1.0,
        more: Some(Box::new(more)),
    })
}

/// One part, by a row that fits.
pub(crate) fn answer(context: &Context<'_>, query: &PartQuery<'_>) -> Result<Part, Reason> {
    let names: Names<'_> = query.kernel_types.iter().map(|name| &**name).collect();
    let found = match &query.kind {
        Kind::Compute(compute) => {
            let operands: Operands<'_> = compute
                .shapes
                .iter()
                .zip(&compute.dtypes)
                .map(|(shape, dtype)| Operand { shape: Dims::Borrowed(shape), dtype: *dtype })
                .collect();
            let count = Some(compute.count);
            let cut: Operands<'_> = operands.into_iter().take(compute.count).collect();
            inputs::find(context, &names, &cut, count).map_err(|miss| miss.reason)?
        }
        Kind::Attention(fields) => Some(attention::find(context, &names, fields)?),
        Kind::Opaque(part) => return opaque::answer(context, names[0], part),
        Kind::Cache(part) => find_row(context, &names, "cache_pool_dim0_agnostic", |row| fits_cache(part, row))?,
        Kind::Scatter(part) => {
            find_row(context, &names, "scatter_cache_pool_dim0_agnostic", |row| fits_scatter(part, row))?
        }
    };
    let found = found.ok_or(Reason::new("shape_mismatch"))?;
    Ok(measured(context, &found, input_shapes(&query.kind)))
}

/// The shapes that a part is looked up with.
pub(crate) fn input_shapes(kind: &Kind) -> Vec<Shape> {
    match kind {
        Kind::Compute(part) => part.shapes.iter().map(|shape| shape.to_vec()).collect(),
        Kind::Attention(_) => Vec::new(),
        Kind::Opaque(part) => vec![vec![part.num_tokens, part.hidden_size]],
        Kind::Cache(part) => cache_inputs(part).iter().map(|shape| shape.to_vec()).collect(),
        Kind::Scatter(ScatterPart { tokens, feature, .. }) => {
            vec![vec![*tokens, *feature], vec![*tokens, 1], vec![*tokens, *feature]]
        }
    }
}

fn measured(context: &Context<'_>, found: &Found<'_>, input_shapes: Vec<Shape>) -> Part {
    let table = found.row.table();
    let source = if found.share < 1.0 { Source::Padded } else { Source::Measured };
    let measured_us = row_interval_us(context, found.row, found.duration_us);
    let interval_us = padded_interval_us(context, found.share, found.duration_us, measured_us);
    Part {
        kernel_type: table.kernel_type.clone(),
        duration_us: found.duration_us,
        source,
        rule: found.rule,
        interval_us,
        class: source.class(),
        input_shapes,
        rows: smallvec::smallvec![found.row.reference()],
    }
}

fn find_row<'d>(
    context: &Context<'d>,
    names: &[&str],
    rule: &'static str,
    fits: impl Fn(KernelRow<'d>) -> bool,
) -> Result<Option<Found<'d>>, Reason> {
    let tables = context.tables(names).map_err(|miss| miss.reason)?;
    if tables.is_empty() {
        return Err(Reason::new("csv_not_found"));
    }
    let mut selection = Selection::new(context.rules, context.rules.choice);
    for (order, table) in tables.into_iter().enumerate() {
        for row in table.iter().filter(|row| fits(*row)) {
            selection.offer(Fit::at(0.0, rule), order, row);
        }
    }
    selection.result()
}

/// The inputs of a kernel that writes into a cache, but for the cache.
fn cache_inputs(part: &CachePart) -> [SmallVec<[i64; 4]>; 5] {
    let CachePart { tokens, kv, rank, rope, .. } = *part;
    let of = |shape: &[i64]| SmallVec::from_slice(shape);
    [of(&[tokens, 1, 1, kv]), of(&[rank]), of(&[tokens, 1, 1, rope]), of(&[tokens, 1, 1, rope]), of(&[tokens])]
}

/// Whether a row writes this many tokens into a cache of this form, for any number of blocks.
fn fits_cache(part: &CachePart, row: KernelRow<'_>) -> bool {
    let CachePart { tokens, kv, rank, rope, block, dtype } = *part;
    if [tokens, kv, rank, rope, block].iter().any(|number| *number <= 0) {
        return false;
    }
    let (inputs, types, formats) = (row.inputs(), row.input_types(), row.input_formats());
    if inputs.len() < 7 || types.len() < 7 || formats.len() < 7 {
        return false;
    }
    let shapes: SmallVec<[Dimensions; 8]> = inputs.iter().collect();
    let head = cache_inputs(part);
    let wanted = [dtype, dtype, dtype, dtype, "INT64", dtype, dtype];
    shapes[..5].iter().zip(&head).all(|(own, wanted)| **own == **wanted)
        && matches!(*shapes[5], [_, own, 1, last] if (own, last) == (block, rope))
        && matches!(*shapes[6], [_, own, 1, last] if (own, last) == (block, rank))
        && types.iter().zip(wanted).all(|(own, wanted)| **own == *wanted)
        && formats[..7].iter().all(|format| &**format == "ND")
}

/// Whether a row writes this many tokens of this size, into any cache.
fn fits_scatter(part: &ScatterPart, row: KernelRow<'_>) -> bool {
    let ScatterPart { tokens, feature, dtype, .. } = *part;
    let (inputs, outputs) = (row.inputs(), row.outputs());
    let shapes: SmallVec<[Dimensions; 4]> = inputs.iter().collect();
    let [pool, index, update] = shapes.as_slice() else { return false };
    let is = |texts: &[Box<str>], wanted: &[&str]| texts.iter().map(|text| &**text).eq(wanted.iter().copied());
    matches!(**pool, [_, last] if last == feature)
        && *index == [tokens, 1][..]
        && *update == [tokens, feature][..]
        && is(row.input_types(), &[dtype, "INT32", dtype])
        && is(row.input_formats(), &["ND", "ND", "ND"])
        && outputs.len() == 1
        && outputs.get(0).as_ref() == Some(pool)
        && is(row.output_types(), &[dtype])
        && is(row.output_formats(), &["ND"])
}
