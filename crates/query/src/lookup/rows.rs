//! The answer that a row gives.

use crate::answer::{Answer, CALIBRATED, OTHER_TYPE, OTHER_TYPE_CONFIDENCE, Source};
use crate::search::Found;
use crate::table::KernelRow;
use crate::table::columns::Column;
use smallvec::SmallVec;

/// How far an answer from a calibrated row is trusted.
const CALIBRATED_CONFIDENCE: f64 = 0.8;

/// Whether the duration of a row was scaled to others, and not measured.
#[inline]
fn is_calibrated(row: KernelRow<'_>) -> bool {
    row.cell(Column::DurationSource) == Some(CALIBRATED)
}

/// The answer that one row gives. A padded one is trusted where the row has what is asked for.
#[inline]
pub(crate) fn of_row(found: &Found<'_>, confidence: f64, rule: &'static str) -> Answer {
    let is_calibrated = is_calibrated(found.row);
    let share = if is_calibrated { CALIBRATED_CONFIDENCE } else { found.share };
    Answer {
        duration_us: found.duration_us,
        confidence: confidence * share * if found.is_of_other_type { OTHER_TYPE_CONFIDENCE } else { 1.0 },
        source: if found.share < 1.0 {
            Source::Padded
        } else if is_calibrated {
            Source::Interpolated
        } else {
            Source::Measured
        },
        kernels: SmallVec::from_buf([found.row.table().kernel_type.clone()]),
        rule: Some(if found.is_of_other_type {
            OTHER_TYPE
        } else if is_calibrated {
            CALIBRATED
        } else {
            rule
        }),
        rows: SmallVec::from_buf([found.row.reference()]),
        share: found.share,
        more: None,
    }
}
