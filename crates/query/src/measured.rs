//! The measured reader: answers from one row, or a sum of rows.

pub(crate) mod attention;
pub(crate) mod collective;
pub(crate) mod composite;
pub(crate) mod elementwise;
pub(crate) mod experts;
pub(crate) mod inputs;
mod opaque;
pub(crate) mod parts;
mod projection;

pub(crate) use projection::projected;

use crate::answer::{Answer, Miss, Source};
use crate::context::Context;
use crate::search::Found;
use crate::table::KernelRow;
use crate::table::columns::Column;
use perfdb_store::op_mapping::Entry;
use smallvec::SmallVec;

/// Answers from rows as they are.
pub(crate) fn lookup(context: &Context<'_>) -> Result<Answer, Miss> {
    let Some(entry) = context.entry else { return Err(Miss::new("unmapped")) };
    if entry.composite {
        return composite::lookup(context, entry);
    }
    if entry.category.as_deref() == Some("communication") {
        return collective::lookup(context, entry);
    }
    match entry.query_mode.as_deref() {
        Some("attention_special") => return attention::lookup(context, entry),
        Some("elementwise") => return elementwise::lookup(context, entry),
        Some("moe_fused") => return experts::lookup(context, entry),
        Some("mtp_projection") if context.rules.is_newest => return projection::multi_token(context, entry),
        _ => {}
    }
    match free(context, entry) {
        Some(answer) => Ok(answer),
        None => inputs::lookup(context, entry),
    }
}

/// The answer of an operator that costs nothing.
fn free(context: &Context<'_>, entry: &Entry) -> Option<Answer> {
    if entry.zero_cost {
        let kernel_type = entry.kernel_type.as_deref().unwrap_or_default();
        return Some(Answer::free(context.state.name(kernel_type), "zero_cost"));
    }
    let is_accepted = entry.accepted_miss.as_deref().is_some_and(|why| !why.is_empty());
    is_accepted.then(|| Answer::free("accepted_miss".into(), "accepted_miss"))
}

/// The rule of answers from rows of another data type.
pub(crate) const OTHER_TYPE: &str = "other_type";
/// How far an answer from rows of another data type is trusted.
pub(crate) const OTHER_TYPE_CONFIDENCE: f64 = 0.5;

/// The rule of answers from rows that calibrate-database scaled, as their [`Column::DurationSource`] says.
pub(crate) use perfdb_store::columns::CALIBRATED;
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
        source: match found.share < 1.0 {
            true => Source::Padded,
            false if is_calibrated => Source::Interpolated,
            false => Source::Measured,
        },
        kernels: SmallVec::from_buf([found.row.table().kernel_type.clone()]),
        rule: Some(match found.is_of_other_type {
            true => OTHER_TYPE,
            false if is_calibrated => CALIBRATED,
            false => rule,
        }),
        rows: SmallVec::from_buf([found.row.reference()]),
        share: found.share,
        more: None,
    }
}
