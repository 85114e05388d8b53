//! Choosing one of the rows that fit.

use crate::dtype::{is_same_name, one_spelling};
use crate::operands::{Operand, Operands};
use crate::query::elements;
use crate::reason::Reason;
use crate::semantics::{Choice, Padded, Rules};
use crate::shapes::{Tolerance, combine, covered, is_padding_rule};
use crate::table::index::{ShapeMatch, key};
use crate::table::{KernelRow, KernelRows, Keys};
use smallvec::smallvec;
use std::iter::once;

/// A row that fits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'t> {
    pub(crate) row: KernelRow<'t>,
    pub(crate) rule: &'static str,
    pub(crate) duration_us: f64,
    /// How much of what is asked for the row has: less than 1 if it is padded.
    pub(crate) share: f64,
    /// Whether an input has another data type.
    pub(crate) is_of_other_type: bool,
    rank: Rank,
}

impl Found<'_> {
    /// Whether the row fits without padding, in the very types.
    pub(crate) fn is_exact(&self) -> bool {
        self.rank.0 == 0.0
    }
}

/// Distance, place of the table, inputs in another form, priority of the duration column: the smallest is the best, of equal ones the first met.
type Rank = (f64, usize, u8, u8);

/// The best row so far.
#[derive(Debug)]
pub(crate) struct Selection<'t> {
    choice: Choice,
    is_newest: bool,
    best: Option<Found<'t>>,
    /// Whether rows as good as the best one say something else.
    is_ambiguous: bool,
}

impl<'t> Selection<'t> {
    pub(crate) fn new(rules: &Rules, choice: Choice) -> Self {
        Selection { choice, is_newest: rules.is_newest, best: None, is_ambiguous: false }
    }

    /// Takes a row that fits into account.
    #[inline]
    pub(crate) fn offer(&mut self, fit: Fit, order: usize, row: KernelRow<'t>) {
        let rank = match self.choice {
            Choice::First => (0.0, order, 0, 0),
            Choice::Nearest if self.is_newest => (fit.distance, order, fit.changed, row.priority()),
            Choice::Nearest => (fit.distance, order, 0, 0),
        };
        let duration_us = if self.is_newest { row.search_duration_us() } else { row.duration_us() };
        let Fit { rule, share, is_of_other_type, .. } = fit;
        let found = Found { row, rule, duration_us, share, is_of_other_type, rank };
        match &mut self.best {
            Some(best) if rank > best.rank => {}
            Some(best) if rank == best.rank => {
                // Rows of one table may come in several forms, each in file order.
                self.is_ambiguous |= !is_same_duration(best.duration_us, duration_us);
                if row.number() < best.row.number() {
                    *best = found;
                }
            }
            _ => {
                self.is_ambiguous = false;
                self.best = Some(found);
            }
        }
    }

    /// Whether no row from this one on, in this table, can change the outcome.
    #[inline]
    pub(crate) fn is_settled(&self, order: usize, row: KernelRow<'t>) -> bool {
        self.best.as_ref().is_some_and(|best| {
            let (distance, best_order, changed, priority) = best.rank;
            let is_unique = !best.row.table().policy.requires_unique || self.choice == Choice::First;
            distance == 0.0
                && is_unique
                && (best_order < order
                    || (best_order == order && changed == 0 && priority == 0 && best.row.number() <= row.number()))
        })
    }

    /// Whether any row was found.
    pub(crate) fn has_any(&self) -> bool {
        self.best.is_some()
    }

    /// Whether a row was found that fits without padding.
    pub(crate) fn is_exact(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.rank.0 == 0.0)
    }

    /// The best row; `Ok(None)` if none fits.
    pub(crate) fn result(self) -> Result<Option<Found<'t>>, Reason> {
        match self.best {
            Some(best)
                if self.is_ambiguous
                    && self.choice == Choice::Nearest
                    && self.is_newest
                    && best.row.table().policy.requires_unique =>
            {
                Err(Reason::about("ambiguous_semantic_match", &*best.row.table().kernel_type))
            }
            best => Ok(best),
        }
    }
}

/// Equal in twelve decimals.
fn is_same_duration(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() < 1e-11 && (a * 1e12).round() == (b * 1e12).round()
}

/// Looks for rows with these operands, `count` of each being compared.
pub(crate) fn by_inputs<'t>(
    rules: &Rules,
    tables: &[&'t KernelRows],
    operands: &Operands<'_>,
    count: Option<usize>,
    accepts: impl Fn(KernelRow<'t>) -> bool,
    selection: &mut Selection<'t>,
) {
    let likenesses: &[ShapeMatch] = match rules.padded {
        Padded::ByLastRule => &[ShapeMatch::Padded],
        Padded::ByAnyInput => &[ShapeMatch::Same, ShapeMatch::Padded],
        Padded::Never => &[ShapeMatch::Same],
    };
    for &matching in likenesses {
        for (order, &table) in tables.iter().enumerate() {
            let tolerance = table.tolerance(rules);
            let rearranged = tolerance.arrangement.rearranged(operands);
            if rearranged.as_ref().is_none_or(|new| tolerance.arrangement.keeps_given() && new.len() != operands.len())
            {
                of_table(rules, matching, order, table, operands, count, &accepts, selection);
            }
            if let Some(rearranged) = &rearranged {
                of_table(rules, matching, order, table, rearranged, count, &accepts, selection);
            }
        }
        // Whatever fits without padding has been seen.
        if selection.is_exact() || (selection.best.is_some() && selection.choice == Choice::First) {
            return;
        }
    }
}

/// Looks for rows with the very inputs, as kernels that take them in another order than their operator have them.
pub(crate) fn as_given<'t>(
    rules: &Rules,
    tables: &[&'t KernelRows],
    operands: &Operands<'_>,
    count: Option<usize>,
    selection: &mut Selection<'t>,
) {
    for (order, &table) in tables.iter().enumerate() {
        if !table.tolerance(rules).arrangement.keeps_given() {
            of_table(rules, ShapeMatch::Same, order, table, operands, count, &|_| true, selection);
        }
    }
}

#[allow(clippy::too_many_arguments)]
#[inline]
fn of_table<'t>(
    rules: &Rules,
    matching: ShapeMatch,
    order: usize,
    table: &'t KernelRows,
    operands: &[Operand<'_>],
    count: Option<usize>,
    accepts: &impl Fn(KernelRow<'t>) -> bool,
    selection: &mut Selection<'t>,
) {
    let tolerance = table.tolerance(rules);
    // Rows with more inputs count, too, if the operands are as many as are compared.
    let compared = count.filter(|count| *count == operands.len());
    // Where nothing fits as it is, many rows may share a key of padded shapes.
    if matching == ShapeMatch::Padded && rules.padded == Padded::ByAnyInput && !table.may_fit_types(rules, operands) {
        return;
    }
    let Some(index) = table.input_index(matching, compared) else { return };
    let mut of_key = |key: u64| {
        for number in index.rows(key) {
            let row = table.row(number);
            if selection.is_settled(order, row) {
                break;
            }
            let Some(fit) = fit(rules, tolerance, operands, row, count) else { continue };
            if accepts(row) {
                selection.offer(fit, order, row);
            }
        }
    };
    match operands.first().filter(|_| table.is_found_by_first()) {
        None => of_key(key(matching, operands.iter().map(|operand| &*operand.shape))),
        Some(first) => keys_of_flattened(tolerance, matching, &first.shape).into_iter().for_each(of_key),
    }
}

/// The keys of rows of a flattening kernel whose first input could fit.
fn keys_of_flattened(tolerance: &Tolerance, matching: ShapeMatch, first: &[i64]) -> Keys {
    let mut keys: Keys = smallvec![key(matching, once(first))];
    for matrix in tolerance.matrices(first) {
        let other = key(matching, once(&matrix[..]));
        if !keys.contains(&other) {
            keys.push(other);
        }
    }
    keys
}

/// How a row fits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fit {
    pub(crate) rule: &'static str,
    pub(crate) distance: f64,
    /// How many inputs have another form or type than those of the row, where that counts.
    pub(crate) changed: u8,
    /// How much of what is asked for the row has.
    pub(crate) share: f64,
    /// Whether an input has another data type, where types are exact.
    pub(crate) is_of_other_type: bool,
}

/// A row of another data type comes behind all that fit as they are, and before those that are padded.
const OTHER_TYPE_DISTANCE: f64 = 0.5;

impl Fit {
    /// Of a row whose distance is of another kind.
    pub(crate) fn at(distance: f64, rule: &'static str) -> Self {
        Fit { rule, distance, changed: 0, share: 1.0, is_of_other_type: false }
    }
}

/// How the type of a call goes with that of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypeFit {
    AsItIs,
    /// In another spelling, or taken for the same by rules that do not tell types apart.
    Alike,
    Other,
}

#[inline]
pub(crate) fn type_fit(rules: &Rules, tolerance: &Tolerance, dtype: &str, row_type: &str) -> Option<TypeFit> {
    if is_same_name(dtype, row_type) {
        return Some(TypeFit::AsItIs);
    }
    if rules.exact_types && one_spelling(dtype) == one_spelling(row_type) {
        return Some(TypeFit::Alike);
    }
    let fit = if rules.exact_types { TypeFit::Other } else { TypeFit::Alike };
    tolerance.type_fits(dtype, row_type).then_some(fit)
}

/// How a row fits some operands, if it does.
#[inline]
pub(crate) fn fit(
    rules: &Rules,
    tolerance: &Tolerance,
    operands: &[Operand<'_>],
    row: KernelRow<'_>,
    count: Option<usize>,
) -> Option<Fit> {
    let (inputs, types) = (row.matrices(), row.input_types());
    let limit = count.unwrap_or(usize::MAX);
    if operands.len() != inputs.len().min(limit) || operands.len() > types.len() {
        return None;
    }
    let mut so_far = "identity";
    let (mut added, mut changed, mut share) = (0.0, 0u8, 1.0f64);
    let mut is_of_other_type = false;
    let mut tokens = None;
    let mut shapes = inputs.iter();
    for (at, (operand, row_type)) in operands.iter().zip(types).enumerate() {
        let is_same = shapes.next_is(&operand.shape);
        let dtype = operand.dtype?;
        match type_fit(rules, tolerance, dtype, row_type)? {
            TypeFit::AsItIs => {}
            other => {
                is_of_other_type |= other == TypeFit::Other;
                changed = changed.saturating_add(1);
            }
        }
        if is_same {
            continue;
        }
        changed = changed.saturating_add(1);
        let shape = shapes.next()?;
        let rule = tolerance.rule(at, &operand.shape, &shape)?;
        if is_padding_rule(rule) && rules.padded != Padded::ByLastRule {
            if rules.padded == Padded::Never {
                return None;
            }
            if rules.pads_tokens_only {
                let padded = tolerance.padded_tokens(at, &operand.shape, &shape)?;
                // Other inputs have the tokens of the first one, or what is padded is something else.
                match tokens {
                    None if at == 0 => tokens = Some(padded),
                    own if own != Some(padded) => return None,
                    _ => {}
                }
            }
            added += (elements(&operand.shape) as f64 - elements(&shape) as f64).max(1.0);
            share = share.min(covered(&shape, &operand.shape));
        }
        so_far = combine(so_far, rule);
    }
    Some(match rules.padded {
        Padded::ByLastRule => Fit::at(f64::from(u8::from(is_padding_rule(so_far))), so_far),
        Padded::ByAnyInput | Padded::Never => {
            let distance = added + if is_of_other_type { OTHER_TYPE_DISTANCE } else { 0.0 };
            Fit { rule: so_far, distance, changed, share, is_of_other_type }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_the_same_in_twelve_decimals() {
        assert!(is_same_duration(12.5, 12.5) && is_same_duration(0.1 + 0.2, 0.3));
        assert!(is_same_duration(1.000_000_000_000_2, 1.000_000_000_000_4));
        for (a, b) in [(1.0, 1.000_000_000_002), (1.0, 1.1), (3.0, 7.0), (0.2, 0.4)] {
            assert!(!is_same_duration(a, b), "{a} {b}");
        }
    }
}
