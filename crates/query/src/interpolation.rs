//! Between two rows of the first kernel type.

use crate::answer::{Attention, Hit, MissReason, Source, Tensor};
use crate::arguments::arguments;
use crate::attention::Wanted;
use crate::elementwise::scaled;
use crate::inputs::has_size;
use crate::question::{By, Question};
use crate::rows::{KernelRow, KernelRows};
use crate::shapes::{Tolerance, strip};

/// A known duration at a place on the axis.
struct Point {
    x: f64,
    duration_us: f64,
    line: u64,
}

/// Between rows of one table.
pub(crate) fn between_rows(table: &KernelRows, question: &Question<'_>) -> Result<Hit, MissReason> {
    match question.by {
        By::Inputs { ep_size } => by_inputs(table, question, ep_size),
        By::Output(output) => elementwise(table, output),
        By::Attention(wanted) => attention(table, wanted, question.square_root),
        By::Communication { .. } => Err(MissReason::ShapeMismatch),
    }
}

/// Between rows that agree in everything but the first dimension of the first input.
fn by_inputs(table: &KernelRows, question: &Question<'_>, ep_size: Option<i64>) -> Result<Hit, MissReason> {
    let arguments = arguments(question).ok_or(MissReason::ShapeMismatch)?;
    let count = question.input_count.unwrap_or(usize::MAX);
    let Some(target) = arguments.first().and_then(|first| strip(&first.shape).first()) else {
        return Err(MissReason::ShapeMismatch);
    };
    let fits =
        |row: &KernelRow<'_>| {
            let (inputs, types) = (row.matrices(), row.input_types());
            inputs.len().min(count) == arguments.len()
                && arguments.len() <= types.len()
                && has_size(table, *row, ep_size)
                && arguments.iter().zip(types).all(|(argument, row_type)| argument.dtype == row_type)
                && arguments.iter().zip(inputs).enumerate().all(|(at, (argument, shape))| {
                    input_fits(table.tolerance, at, strip(&argument.shape), strip(shape))
                })
        };
    let point = |row: KernelRow<'_>| {
        let x = row.matrices().iter().next().and_then(|shape| strip(shape).first())?;
        Some(Point { x: *x as f64, duration_us: row.duration_us(), line: row.line() })
    };
    between(table, table.iter().filter(fits).filter_map(point).collect(), *target as f64, 0.7)
}

fn input_fits(tolerance: Tolerance, at: usize, query: &[i64], row: &[i64]) -> bool {
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
fn elementwise(table: &KernelRows, output: &Tensor) -> Result<Hit, MissReason> {
    let wanted = strip(&output.shape);
    let Some(target) = wanted.first() else { return Err(MissReason::ElementwiseOutputShapeMismatch) };
    let mut any_scaled = false;
    let mut points = Vec::new();
    for row in table.iter() {
        let Some(shape) = row.outputs().iter().next().map(strip) else { continue };
        if shape.len() != wanted.len() || shape[1..] != wanted[1..] {
            continue;
        }
        if let Some((duration_us, is_scaled)) = scaled(row, output) {
            any_scaled |= is_scaled;
            points.push(Point { x: shape[0] as f64, duration_us, line: row.line() });
        }
    }
    let confidence = if any_scaled { 0.6 } else { 0.7 };
    between(table, points, *target as f64, confidence).map_err(|_| MissReason::ElementwiseOutputShapeMismatch)
}

/// Between attention rows of other lengths.
fn attention(table: &KernelRows, attention: &Attention, square_root: bool) -> Result<Hit, MissReason> {
    let wanted = Wanted::of(attention).ok_or(MissReason::ShapeMismatch)?;
    let axis = |length: f64| if square_root { length.sqrt() } else { length };
    let rows = table.iter().filter(|row| wanted.fits(*row, false));
    let point = |row: KernelRow<'_>| {
        let x = axis(row.runtime()?.avg_seq_len?);
        Some(Point { x, duration_us: row.duration_us(), line: row.line() })
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
