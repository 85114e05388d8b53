//! Looking up by inputs.

use crate::answer::{Hit, MissReason, Source};
use crate::arguments::{Argument, arguments};
use crate::question::Question;
use crate::rows::{KernelRow, KernelRows};
use crate::shapes::{combine, strip};
use std::sync::Arc;

/// Whether a row fits by padding only, the places of its table, of its duration column and of the row itself: the smallest is the best.
type Rank = (bool, usize, usize, usize);

/// The best row of some tables: exact rewrites before padded ones, then the earlier table, then the better duration column, then file order.
pub(crate) fn find(
    tables: &[Arc<KernelRows>],
    question: &Question<'_>,
    ep_size: Option<i64>,
) -> Result<Hit, MissReason> {
    let given = arguments(question).ok_or(MissReason::ShapeMismatch)?;
    let mut best = None;
    for (order, table) in tables.iter().enumerate() {
        let rearranged = table.tolerance.arrangement.rearranged(&given);
        if rearranged.as_ref().is_none_or(|new| new.len() != given.len()) {
            improve(&mut best, order, table, &given, question.input_count, ep_size);
        }
        if let Some(rearranged) = &rearranged {
            improve(&mut best, order, table, rearranged, question.input_count, ep_size);
        }
    }
    best.map(|found| found.hit()).ok_or(MissReason::ShapeMismatch)
}

/// A row that fits.
struct Found<'t> {
    rank: Rank,
    table: &'t KernelRows,
    row: KernelRow<'t>,
    rule: &'static str,
}

/// Looks for a better row in a table.
fn improve<'t>(
    best: &mut Option<Found<'t>>,
    order: usize,
    table: &'t KernelRows,
    arguments: &[Argument<'_>],
    count: Option<usize>,
    ep_size: Option<i64>,
) {
    let Some((index, keys)) = table.candidates(arguments, count) else { return };
    for key in keys {
        for number in index.rows(key) {
            if best.as_ref().is_some_and(|best| best.rank < (false, order, 0, number)) {
                // Nothing that follows is better.
                break;
            }
            let row = table.row(number);
            let Some(rule) = rule(table, arguments, row, count).filter(|_| has_size(table, row, ep_size)) else {
                continue;
            };
            let rank = (rule.ends_with("padding"), order, row.column(), number);
            if best.as_ref().is_none_or(|best| rank < best.rank) {
                *best = Some(Found { rank, table, row, rule });
            }
        }
    }
}

impl Found<'_> {
    fn hit(&self) -> Hit {
        Hit {
            duration_us: self.row.duration_us(),
            confidence: 1.0,
            source: Source::Measured,
            kernel_type: self.table.kernel_type.clone(),
            rule: self.rule,
            lines: vec![self.row.line()],
        }
    }
}

/// Whether a row was measured with the expert-parallel size, if one is asked for and the table tells.
pub(crate) fn has_size(table: &KernelRows, row: KernelRow<'_>, ep_size: Option<i64>) -> bool {
    ep_size.is_none() || !table.content.has_ep_size || row.ep_size() == ep_size
}

/// The rule by which a row fits, if it does.
pub(crate) fn rule(
    table: &KernelRows,
    arguments: &[Argument<'_>],
    row: KernelRow<'_>,
    count: Option<usize>,
) -> Option<&'static str> {
    let (inputs, types) = (row.matrices(), row.input_types());
    if arguments.len() != inputs.len().min(count.unwrap_or(usize::MAX)) || arguments.len() > types.len() {
        return None;
    }
    let mut so_far = "identity";
    for (at, ((argument, shape), row_type)) in arguments.iter().zip(inputs).zip(types).enumerate() {
        so_far = combine(so_far, table.tolerance.rule(at, &argument.shape, shape)?);
        if !table.tolerance.type_fits(argument.dtype, row_type) {
            return None;
        }
    }
    Some(so_far)
}

/// The row with as many inputs, whose types agree and that has the most dimensions in common: what a user will look at first.
pub(crate) fn nearest(tables: &[Arc<KernelRows>], question: &Question<'_>) -> Option<(String, u64)> {
    let arguments = arguments(question)?;
    let mut best: Option<(usize, &KernelRows, KernelRow<'_>)> = None;
    for table in tables {
        for row in table.iter() {
            let inputs = row.inputs();
            if inputs.len().min(question.input_count.unwrap_or(usize::MAX)) != arguments.len() {
                continue;
            }
            let common = arguments.iter().zip(inputs).map(|(argument, shape)| equal_dimensions(&argument.shape, shape));
            let common = common.sum();
            if best.is_some_and(|(most, ..)| common <= most) {
                continue;
            }
            let mut types = arguments.iter().zip(row.input_types());
            if types.all(|(argument, row_type)| table.tolerance.type_fits(argument.dtype, row_type)) {
                best = Some((common, table, row));
            }
        }
    }
    best.map(|(_, table, row)| (table.kernel_type.clone(), row.line()))
}

fn equal_dimensions(query: &[i64], row: &[i64]) -> usize {
    strip(query).iter().zip(strip(row)).filter(|(a, b)| a == b).count()
}
