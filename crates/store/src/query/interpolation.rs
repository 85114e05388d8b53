//! Between two rows of the first kernel type.

use super::answer::{Attention, Hit, MissReason, Query, Source, Tensor};
use super::attention::Wanted;
use super::elementwise::scaled;
use super::rows::{KernelRow, KernelRows};
use super::shapes::{Tolerance, strip};

/// A known duration at a place on the axis.
struct Point {
    x: f64,
    duration_us: f64,
    line: u64,
}

/// Between rows that agree in everything but the first dimension of the first input.
pub(super) fn by_inputs(table: &KernelRows, query: &Query, ep_size: Option<i64>) -> Result<Hit, MissReason> {
    let count = query.input_count.unwrap_or(usize::MAX);
    let inputs: Vec<&Tensor> = query.inputs.iter().filter(|tensor| !tensor.shape.is_empty()).take(count).collect();
    let Some(target) = inputs.first().and_then(|first| strip(&first.shape).first()) else {
        return Err(MissReason::ShapeMismatch);
    };
    let tolerance = Tolerance::of(&table.kernel_type);
    let fits = |row: &&KernelRow| {
        row.inputs.len().min(count) == inputs.len()
            && (ep_size.is_none() || !table.has_ep_size || row.ep_size == ep_size)
            && inputs.iter().enumerate().all(|(at, tensor)| input_fits(tolerance, at, tensor, row))
    };
    let point = |row: &KernelRow| {
        let x = row.input(0).and_then(|shape| strip(&shape).first().copied())?;
        Some(Point { x: x as f64, duration_us: row.duration_us?, line: row.line })
    };
    let points = table.rows.iter().filter(fits).filter_map(point).collect();
    between(table, points, *target as f64, 0.7)
}

fn input_fits(tolerance: Tolerance, at: usize, tensor: &Tensor, row: &KernelRow) -> bool {
    let (Some(shape), Some(row_type)) = (row.input(at), row.input_types.get(at)) else { return false };
    if tensor.dtype.profiler_name() != Some(row_type) {
        return false;
    }
    let (query, row) = (strip(&tensor.shape), strip(&shape));
    if at == 0 {
        return query.len() == row.len() && query[1..] == row[1..];
    }
    let reversed = || tolerance.is_matmul && query.len() == 2 && query.iter().rev().eq(row.iter());
    let flat = || {
        tolerance.flattens
            && matches!((query, row), ([b, m, d], [rows, columns]) if b.saturating_mul(*m) == *rows && d == columns)
    };
    query == row || reversed() || flat()
}

/// Between rows whose first outputs agree in everything but the first dimension.
pub(super) fn elementwise(table: &KernelRows, output: &Tensor) -> Result<Hit, MissReason> {
    let wanted = strip(&output.shape);
    let Some(target) = wanted.first() else { return Err(MissReason::ElementwiseOutputShapeMismatch) };
    let mut any_scaled = false;
    let mut points = Vec::new();
    for row in &table.rows {
        let Some(shape) = row.outputs.first().map(|shape| strip(shape)) else { continue };
        if shape.len() != wanted.len() || shape[1..] != wanted[1..] {
            continue;
        }
        if let Some((duration_us, is_scaled)) = scaled(row, output) {
            any_scaled |= is_scaled;
            points.push(Point { x: shape[0] as f64, duration_us, line: row.line });
        }
    }
    let confidence = if any_scaled { 0.6 } else { 0.7 };
    between(table, points, *target as f64, confidence).map_err(|_| MissReason::ElementwiseOutputShapeMismatch)
}

/// Between attention rows of other lengths.
pub(super) fn attention(table: &KernelRows, attention: &Attention, square_root: bool) -> Result<Hit, MissReason> {
    let wanted = Wanted::of(attention).ok_or(MissReason::ShapeMismatch)?;
    let axis = |length: f64| if square_root { length.sqrt() } else { length };
    let rows = table.rows.iter().filter(|row| wanted.fits(row, false));
    let point = |row: &KernelRow| {
        let x = axis(row.runtime.avg_seq_len?);
        Some(Point { x, duration_us: row.duration_us?, line: row.line })
    };
    between(table, rows.filter_map(point).collect(), axis(wanted.average_length), if square_root { 0.6 } else { 0.7 })
}

/// On the line between the nearest points on both sides.
fn between(table: &KernelRows, mut points: Vec<Point>, target: f64, confidence: f64) -> Result<Hit, MissReason> {
    if points.len() < 2 {
        return Err(MissReason::ShapeMismatch);
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    // Of equal places the first in file order, also below, where the nearest is the last one.
    let below = points
        .iter()
        .rev()
        .find(|point| point.x <= target)
        .and_then(|nearest| points.iter().find(|point| point.x == nearest.x));
    let above = points.iter().find(|point| point.x >= target);
    let (Some(below), Some(above)) = (below, above) else { return Err(MissReason::ShapeMismatch) };
    let slope = || (target - below.x) / (above.x - below.x) * (above.duration_us - below.duration_us);
    let duration_us = if below.x == above.x { below.duration_us } else { (below.duration_us + slope()).max(0.0) };
    Ok(Hit {
        duration_us,
        confidence,
        source: Source::Interpolated,
        kernel_type: table.kernel_type.clone(),
        rule: "interpolated",
        lines: vec![below.line, above.line],
    })
}
