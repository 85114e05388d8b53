//! Looking up by the first output.

use crate::answer::{Hit, MissReason, Source, Tensor};
use crate::rows::{KernelRow, KernelRows};
use crate::shapes::{flattened, is_padded, strip};
use std::sync::Arc;

/// The first row whose first output fits, one with a better duration column before; durations of other types are scaled by their size.
pub(crate) fn find(tables: &[Arc<KernelRows>], output: &Tensor) -> Result<Hit, MissReason> {
    let wanted = strip(&output.shape);
    let flat = flattened(&output.shape);
    for table in tables {
        let mut best: Option<((usize, usize), KernelRow<'_>, f64, bool)> = None;
        for form in [Some(wanted), flat.as_ref().map(|flat| &flat[..])].into_iter().flatten() {
            for row in table.output_candidates(form) {
                if best.is_some_and(|(found, ..)| found < (0, row.number())) {
                    // Nothing that follows is better.
                    break;
                }
                let rank = (row.column(), row.number());
                if !fits(wanted, flat, row) || best.is_some_and(|(found, ..)| found <= rank) {
                    continue;
                }
                if let Some((duration_us, is_scaled)) = scaled(row, output) {
                    best = Some((rank, row, duration_us, is_scaled));
                }
            }
        }
        if let Some((_, row, duration_us, is_scaled)) = best {
            return Ok(Hit {
                duration_us,
                confidence: if is_scaled { 0.9 } else { 1.0 },
                source: Source::Measured,
                kernel_type: table.kernel_type.clone(),
                rule: "elementwise",
                lines: vec![row.line()],
            });
        }
    }
    Err(MissReason::ElementwiseOutputShapeMismatch)
}

pub(crate) fn fits(wanted: &[i64], flat: Option<[i64; 2]>, row: KernelRow<'_>) -> bool {
    let Some(shape) = row.outputs().get(0) else { return false };
    let is = |query: &[i64]| query == shape || query == strip(shape) || is_padded(query, shape);
    is(wanted) || flat.is_some_and(|flat| shape.len() == 2 && is(&flat))
}

/// The duration of a row for an output of this type, and whether it was scaled. `None` if a size is not known.
pub(crate) fn scaled(row: KernelRow<'_>, output: &Tensor) -> Option<(f64, bool)> {
    let duration_us = row.duration_us();
    let query_type = output.dtype.profiler_name()?;
    let row_type = row.output_types().first()?;
    if query_type == row_type {
        return Some((duration_us, false));
    }
    Some((duration_us * bytes(query_type)? / bytes(row_type)?, true))
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
