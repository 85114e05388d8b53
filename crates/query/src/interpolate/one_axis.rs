//! Interpolation as the reader of 2025 does it: one axis, rows of the first table.

use crate::answer::{Answer, LookupError, Source};
use crate::context::{Context, Names};
use crate::dtype::profiler_name;
use crate::lookup::attention::AttentionCall;
use crate::lookup::{composite, experts, inputs};
use crate::operands::Operand;
use crate::query::Tensor;
use crate::semantics::Rules;
use crate::shapes::{Tolerance, is_equal_or_rounded, strip};
use crate::table::columns::Column;
use crate::table::{KernelRow, KernelRows};
use perfdb_store::op_mapping::Entry;
use smallvec::{SmallVec, smallvec};

/// What is said wherever nothing lies between rows; the reason of exact search is reported.
const NOTHING: &str = "shape_mismatch";

/// A known duration at a place on the axis.
struct Point<'t> {
    x: f64,
    duration_us: f64,
    row: KernelRow<'t>,
}

/// Between two rows of the first table.
pub(super) fn lookup(context: &Context<'_>) -> Result<Answer, LookupError> {
    let nothing = || LookupError::new(NOTHING);
    let entry = context.entry.ok_or_else(nothing)?;
    let is_free = entry.zero_cost || entry.accepted_miss.is_some();
    if is_free || entry.category.as_deref() == Some("communication") {
        return Err(nothing());
    }
    if entry.composite {
        return fixed(context, entry);
    }
    let table = entry.kernel_type.as_deref().map_or(Ok(None), |name| context.table(name))?.ok_or_else(nothing)?;
    let output = context.query.results.first().and_then(|result| result.as_tensor());
    match entry.query_mode.as_deref() {
        Some("attention_special") => attention(context, table),
        Some("elementwise") if output.is_some() => elementwise(context.rules, table, output.ok_or_else(nothing)?),
        Some("moe_fused") => {
            let ep = context.query.ep_size.ok_or_else(nothing)?;
            by_inputs(context, entry, table, Some(ep))
        }
        _ => by_inputs(context, entry, table, None),
    }
}

/// Between rows that agree in everything but the first dimension of the first input.
fn by_inputs(context: &Context<'_>, entry: &Entry, table: &KernelRows, ep: Option<i64>) -> Result<Answer, LookupError> {
    let operands = inputs::operands(context, entry);
    let limit = inputs::input_count(entry).unwrap_or(usize::MAX);
    let target = operands.first().and_then(|first| strip(&first.shape).first().copied());
    let target = target.ok_or_else(|| LookupError::new(NOTHING))?;
    let tolerance = table.tolerance(context.rules);
    let rows = table.iter().filter(|row| row.is_of_ep_size(ep) && fits(tolerance, &operands, *row, limit));
    let rank = operands.first().map_or(0, |first| strip(&first.shape).len());
    let point = |row: KernelRow<'_>| row.matrices().get(0).and_then(|shape| like(rank, &shape).first().copied());
    let points = rows.filter_map(|row| Some(Point { x: point(row)? as f64, duration_us: row.duration_us(), row }));
    between(table, points.collect(), target as f64, 0.7)
}

fn fits(tolerance: &Tolerance, operands: &[Operand<'_>], row: KernelRow<'_>, limit: usize) -> bool {
    let (inputs, types) = (row.matrices(), row.input_types());
    inputs.len().min(limit) == operands.len()
        && operands.len() <= types.len()
        && operands.iter().zip(types).all(|(operand, own)| operand.dtype == Some(&**own))
        && operands.iter().zip(inputs).enumerate().all(|(at, (operand, shape))| {
            let query = strip(&operand.shape);
            input_fits(tolerance, at, query, if at == 0 { like(query.len(), &shape) } else { strip(&shape) })
        })
}

/// A shape without a leading dimension of 1, unless with it it has the wanted rank: the one row of a matrix is no batch.
fn like(rank: usize, shape: &[i64]) -> &[i64] {
    if shape.len() == rank { shape } else { strip(shape) }
}

fn input_fits(tolerance: &Tolerance, at: usize, query: &[i64], row: &[i64]) -> bool {
    if at == 0 {
        return query.len() == row.len() && query.get(1..) == row.get(1..);
    }
    let reversed = || tolerance.is_matmul && query.len() == 2 && query.iter().rev().eq(row.iter());
    let flat = || {
        tolerance.flattens
            && matches!((query, row), ([b, m, d], [rows, columns]) if b.saturating_mul(*m) == *rows && d == columns)
    };
    query == row || reversed() || flat()
}

/// Between rows whose first outputs agree in everything but the first dimension.
fn elementwise(rules: &Rules, table: &KernelRows, output: &Tensor) -> Result<Answer, LookupError> {
    let wanted = strip(&output.shape);
    let Some(target) = wanted.first() else { return Err(LookupError::new(NOTHING)) };
    let mut any_scaled = false;
    let mut points = Vec::new();
    for row in table.iter() {
        let Some(shape) = row.outputs().get(0) else { continue };
        let shape = like(wanted.len(), &shape);
        if shape.len() != wanted.len() || shape[1..] != wanted[1..] {
            continue;
        }
        if let Some(scale) = crate::lookup::elementwise::scale(rules, row, output) {
            any_scaled |= row.output_types().first().map(|name| &**name) != profiler_name(output.dtype);
            points.push(Point { x: shape[0] as f64, duration_us: row.duration_us() * scale, row });
        }
    }
    between(table, points, *target as f64, if any_scaled { 0.6 } else { 0.7 })
}

/// Between attention rows of other lengths, for any layout.
fn attention(context: &Context<'_>, table: &KernelRows) -> Result<Answer, LookupError> {
    let call = AttentionCall::of(context).map_err(LookupError::new)?;
    let [tokens, heads, size] = call.normalised;
    let kv_heads = call.key.and_then(|key| key.shape.len().checked_sub(2).map(|at| key.shape[at]));
    let is_square_root = table.policy.over_square_root;
    let axis = |length: i64| if is_square_root { (length as f64).sqrt() } else { length as f64 };
    let is = |row: KernelRow<'_>, column: Column, wanted: Option<i64>| match wanted {
        Some(wanted) if table.has(column) => row.cut(column) == Some(wanted),
        _ => true,
    };
    let fits = |row: &KernelRow<'_>| {
        let normal = row.inputs().get(0).and_then(|shape| crate::lookup::attention::normalised(&shape, size));
        normal.is_some_and(|[own, own_heads, own_size]| {
            (own_heads, own_size) == (heads, size) && is_equal_or_rounded(own, tokens)
        }) && row.input_types().first().map(|name| &**name) == Some(call.dtype)
            && is(*row, Column::SparseMode, Some(3))
            && is(*row, Column::KvHeads, kv_heads)
    };
    let rows = table.iter().filter(fits);
    let points =
        rows.filter_map(|row| Some(Point { x: axis(row.average_length()?), duration_us: row.duration_us(), row }));
    between(table, points.collect(), axis(call.average), if is_square_root { 0.6 } else { 0.7 })
}

/// On the line between the nearest points on both sides; of equal places the first in file order.
fn between(
    table: &KernelRows,
    mut points: Vec<Point<'_>>,
    target: f64,
    confidence: f64,
) -> Result<Answer, LookupError> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    if points.len() < 2 {
        return Err(LookupError::new(NOTHING));
    }
    let nearest = points.iter().rev().find(|point| point.x <= target).map(|point| point.x);
    let below = nearest.and_then(|nearest| points.iter().find(|point| point.x == nearest));
    let above = points.iter().find(|point| point.x >= target);
    let (Some(below), Some(above)) = (below, above) else { return Err(LookupError::new(NOTHING)) };
    let slope = || (target - below.x) / (above.x - below.x) * (above.duration_us - below.duration_us);
    let duration_us = if below.x == above.x { below.duration_us } else { (below.duration_us + slope()).max(0.0) };
    Ok(Answer {
        duration_us,
        confidence,
        source: Source::Interpolated,
        kernels: smallvec![table.kernel_type.clone()],
        rule: Some("interpolated"),
        rows: [below, above].into_iter().map(|point| point.row.reference()).collect::<SmallVec<_>>(),
        share: 1.0,
        more: None,
    })
}

/// A fixed list of kernels whose compute kernel lies between rows.
fn fixed(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    let (collectives, computes): (Names<'_>, Names<'_>) =
        entry.sub_kernels.iter().map(String::as_str).partition(|name| context.is_collective(name));
    for name in computes {
        let Some(table) = context.table(name)? else { continue };
        if let Ok(compute) = by_inputs(context, entry, table, None) {
            let shapes = experts::shapes_of(&inputs::operands(context, entry));
            let mut answer = composite::add_collectives(context, entry, collectives, compute, shapes)?;
            (answer.source, answer.confidence) = (Source::Interpolated, 0.5);
            return Ok(answer);
        }
    }
    Err(LookupError::new(NOTHING))
}
