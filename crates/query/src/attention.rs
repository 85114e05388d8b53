//! Looking up attention.

use crate::answer::{Attention, Hit, MissReason, Source};
use crate::rows::{KernelRow, KernelRows};
use crate::shapes::is_padded;
use std::sync::Arc;

/// How far the average length of a row may be from the wanted one.
const LENGTH_TOLERANCE: f64 = 16.0;
const SPARSE_MODE: i64 = 3;

/// What an attention query comes down to.
#[derive(Debug)]
pub(crate) struct Wanted {
    tokens: i64,
    heads: i64,
    size: i64,
    dtype: &'static str,
    pub(crate) average_length: f64,
    kv_heads: Option<i64>,
    layout: Option<&'static str>,
}

impl Wanted {
    pub(crate) fn of(attention: &Attention) -> Option<Wanted> {
        let size = *attention.key.last()?;
        let [tokens, heads, size] = normalised(&attention.query.shape, size)?;
        let count = i64::try_from(attention.kv_lengths.len()).ok().filter(|count| *count > 0)?;
        let sum = attention.kv_lengths.iter().try_fold(0i64, |sum, length| sum.checked_add(*length))?;
        Some(Wanted {
            tokens,
            heads,
            size,
            dtype: attention.query.dtype.profiler_name()?,
            average_length: (sum / count) as f64,
            kv_heads: attention.key.len().checked_sub(2).map(|at| attention.key[at]),
            layout: match attention.query.shape.len() {
                3 => Some("TND"),
                4 => Some("BNSD_NBSD"),
                _ => None,
            },
        })
    }

    /// Whether a row fits in everything but its length and, unless asked for, its layout.
    pub(crate) fn fits(&self, row: KernelRow<'_>, with_layout: bool) -> bool {
        let Some(runtime) = row.runtime() else { return false };
        let Some([tokens, heads, size]) = row.inputs().iter().next().and_then(|shape| normalised(shape, self.size))
        else {
            return false;
        };
        let padded = |a: i64, b: i64| a == b || is_padded(&[a], &[b]) || is_padded(&[b], &[a]);
        let number = |cell: Option<Option<i64>>, wanted: Option<i64>| match (cell, wanted) {
            (None, _) => true,
            (Some(cell), wanted) => cell.is_some() && cell == wanted,
        };
        let layout = || match (runtime.layout.as_deref(), self.layout) {
            (None | Some(""), _) | (_, None) => true,
            (Some(layout), Some(wanted)) => layout == wanted,
        };
        row.input_types().first().is_some_and(|dtype| dtype == self.dtype)
            && (heads, size) == (self.heads, self.size)
            && padded(tokens, self.tokens)
            && number(runtime.sparse_mode, Some(SPARSE_MODE))
            && number(runtime.kv_heads, self.kv_heads)
            && (!with_layout || layout())
    }
}

/// (T, N, D) as it is, (B, N, 1, D) as (B, N, D), (T, H) as (T, H/d, d).
fn normalised(shape: &[i64], size: i64) -> Option<[i64; 3]> {
    match *shape {
        [tokens, heads, size] => Some([tokens, heads, size]),
        [batch, heads, 1, size] => Some([batch, heads, size]),
        [tokens, hidden] if size > 0 && hidden % size == 0 => Some([tokens, hidden / size, size]),
        _ => None,
    }
}

/// The row whose average length is nearest; the first of equal ones.
pub(crate) fn find(tables: &[Arc<KernelRows>], attention: &Attention) -> Result<Hit, MissReason> {
    let wanted = Wanted::of(attention).ok_or(MissReason::ShapeMismatch)?;
    for table in tables {
        let mut best: Option<(f64, KernelRow<'_>)> = None;
        let length = wanted.average_length;
        let (shortest, longest) = (length - LENGTH_TOLERANCE, length + LENGTH_TOLERANCE);
        let hidden = wanted.heads.saturating_mul(wanted.size);
        let rows = table.attention_candidates(wanted.tokens, hidden, shortest, longest);
        for row in rows.filter(|row| wanted.fits(*row, true)) {
            let Some(row_length) = row.runtime().and_then(|runtime| runtime.avg_seq_len) else { continue };
            let distance = (row_length - length).abs();
            // Of equally distant rows the first in the file.
            if best.is_none_or(|(nearest, found)| (distance, row.number()) < (nearest, found.number())) {
                best = Some((distance, row));
            }
        }
        if let Some((_, row)) = best {
            return Ok(Hit {
                duration_us: row.duration_us(),
                confidence: 0.9,
                source: Source::Measured,
                kernel_type: table.kernel_type.clone(),
                rule: "attention",
                lines: vec![row.line()],
            });
        }
    }
    Err(MissReason::ShapeMismatch)
}
