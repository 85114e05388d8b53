//! Looking up by inputs.

use super::projected;
use super::rows::of_row;
use crate::answer::{Answer, LookupError};
use crate::context::{Context, Names};
use crate::dtype::{exact_name, one_spelling};
use crate::operands::{Operand, Operands};
use crate::query::{Argument, Tensor};
use crate::search::{Found, Selection, as_given, by_inputs};
use crate::semantics::ReaderKind;
use crate::shapes::Arrangement;
use crate::table::columns::Column;
use crate::table::pool::Dimensions;
use crate::table::{KernelRow, KernelRows};
use perfdb_pycompat::yaml::{Key, Node};
use perfdb_store::op_mapping::Entry;

/// One kernel, found by its inputs.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    if entry.kernel_type.is_none() {
        return Err(LookupError::new(if context.rules.reason_per_table { "kernel_type_missing" } else { "" }));
    }
    // Filled in place: returning them would copy them.
    let mut operands = Operands::new();
    push_operands(context, entry, &mut operands);
    let names = (!has_one_name(context, entry)).then(|| names(context, entry, &operands));
    if context.rules.is_newest
        && (entry.tp_linear_projection.is_some() || !entry.other.is_empty())
        && let Some(projection) = projected(context, entry, &operands)?
    {
        operands = projection;
    }
    let count = input_count(entry);
    let found = match names {
        Some(names) => find(context, &names, &operands, count)?,
        None => {
            let Some(table) = context.own_table(entry)? else { return Err(LookupError::new("csv_not_found")) };
            find_in(context, &[table], &operands, count)?
        }
    };
    match found {
        Some(found) => Ok(of_row(&found, 1.0, found.rule)),
        None => Err(LookupError::new("shape_mismatch")),
    }
}

/// Whether padded rows may have the inputs.
pub(crate) fn may_pad(context: &Context<'_>, entry: &Entry) -> bool {
    let table = if has_one_name(context, entry) { context.own_table(entry) } else { Ok(None) };
    let (Ok(Some(table)), Some(first)) = (table, context.query.input_tensors().next()) else { return true };
    let tolerance = table.tolerance(context.rules);
    tolerance.arrangement != Arrangement::AsGiven || tolerance.may_be_padded(&first.shape)
}

/// Whether only the table of the kernel type is asked.
#[inline]
fn has_one_name(context: &Context<'_>, entry: &Entry) -> bool {
    let has_more = entry.degenerate_bmm_kernel_type.is_some() || entry.kernel_types_by_input_rank.is_some();
    entry.alternate_kernel_types.is_empty() && !(context.rules.is_newest && has_more)
}

/// The input tensors that count.
#[inline]
pub(crate) fn operands<'q>(context: &Context<'q>, entry: &Entry) -> Operands<'q> {
    let mut operands = Operands::new();
    push_operands(context, entry, &mut operands);
    operands
}

/// Adds them.
#[inline]
pub(crate) fn push_operands<'q>(context: &Context<'q>, entry: &Entry, operands: &mut Operands<'q>) {
    let count = input_count(entry).unwrap_or(usize::MAX);
    for argument in &context.query.arguments {
        match argument {
            Argument::Tensor(tensor) if !tensor.shape.is_empty() && operands.len() < count => {
                operands.push(Operand::of(tensor, context.rules.exact_types));
            }
            Argument::List(items) => {
                let tensors = items.iter().filter_map(Argument::as_tensor).filter(|tensor| !tensor.shape.is_empty());
                let operand = |tensor| Operand::of(tensor, context.rules.exact_types);
                operands.extend(tensors.take(count - operands.len()).map(operand));
            }
            _ => {}
        }
    }
}

pub(crate) fn input_count(entry: &Entry) -> Option<usize> {
    entry.tc_input_count.and_then(|count| usize::try_from(count).ok())
}

/// The tables in the order in which they are asked.
fn names<'e>(context: &Context<'_>, entry: &'e Entry, operands: &Operands<'_>) -> Names<'e> {
    let mut names = context.names(entry);
    if !context.rules.is_newest {
        return names;
    }
    if let (Some(degenerate), [first, second, ..]) = (&entry.degenerate_bmm_kernel_type, operands.as_slice())
        && matches!(*first.shape, [1, 32, 1])
        && matches!(*second.shape, [1, 1, x] if x > 0)
        && !names.contains(&degenerate.as_str())
    {
        names.push(degenerate);
    }
    if let (Some(ranks), Some(first)) = (&entry.kernel_types_by_input_rank, operands.first()) {
        let rank = first.shape.len().to_string();
        let is_rank = |key: &Key| match key {
            Key::Text(text) => *text == rank,
            Key::Other(_, text) => *text == rank,
        };
        let list = ranks.iter().find(|(key, _)| is_rank(key)).and_then(|(_, node)| node.as_list());
        if let Some(before) = list.and_then(|list| list.iter().map(Node::as_text).collect::<Option<Vec<_>>>()) {
            let mut all: Names<'e> = Names::new();
            for name in before.into_iter().chain(names) {
                if !all.contains(&name) {
                    all.push(name);
                }
            }
            return all;
        }
    }
    names
}

/// The best row with these operands; a miss if none of the tables exists or several rows are equally good.
pub(crate) fn find<'d>(
    context: &Context<'d>,
    names: &[&str],
    operands: &Operands<'_>,
    count: Option<usize>,
) -> Result<Option<Found<'d>>, LookupError> {
    let tables = context.tables(names)?;
    if tables.is_empty() {
        return Err(LookupError::new("csv_not_found"));
    }
    find_in(context, &tables, operands, count)
}

/// The best row of these tables. Rows of the call's number of expert-parallel ranks come before all others.
#[inline]
fn find_in<'d>(
    context: &Context<'d>,
    tables: &[&'d KernelRows],
    operands: &Operands<'_>,
    count: Option<usize>,
) -> Result<Option<Found<'d>>, LookupError> {
    if let Some(ep) = context.query.ep_size
        && context.rules.exact_types
        && tables.iter().any(|table| table.has(Column::EpSize))
    {
        let mut selection = Selection::new(context.rules, context.rules.choice);
        by_inputs(context.rules, tables, operands, count, |row| row.ep_size() == Some(ep), &mut selection);
        if selection.is_exact() {
            return Ok(selection.result()?);
        }
    }
    if context.rules.reader == ReaderKind::Own && context.query.is_of_kernel() {
        let mut selection = Selection::new(context.rules, context.rules.choice);
        as_given(context.rules, tables, operands, count, &mut selection);
        if selection.is_exact() {
            return Ok(selection.result()?);
        }
    }
    let mut selection = Selection::new(context.rules, context.rules.choice);
    by_inputs(context.rules, tables, operands, count, |_| true, &mut selection);
    let found = selection.result()?;
    if let Some(first) = found.filter(|found| context.rules.exact_types && found.is_exact())
        && let Some(results) = context.query.results.values()
        && !has_results(first.row, results)
    {
        // Of rows with the same inputs, such as casts to several types, one may have the results as well.
        let mut selection = Selection::new(context.rules, context.rules.choice);
        by_inputs(context.rules, tables, operands, count, |row| has_results(row, results), &mut selection);
        if selection.is_exact() {
            return Ok(selection.result()?);
        }
    }
    Ok(found)
}

/// Whether a row has these results, in shape and type.
fn has_results(row: KernelRow<'_>, results: &[Argument]) -> bool {
    let (shapes, types) = (row.outputs(), row.output_types());
    let is_same = |((shape, name), result): ((Dimensions, &str), &Argument)| {
        let name_of = |tensor: &Tensor| exact_name(tensor.dtype).map(one_spelling);
        let is_it = |tensor: &Tensor| shape == *tensor.shape && name_of(tensor) == Some(one_spelling(name));
        result.as_tensor().is_some_and(is_it)
    };
    let names = types.iter().map(AsRef::as_ref);
    shapes.len() == results.len() && types.len() >= results.len() && shapes.iter().zip(names).zip(results).all(is_same)
}

/// Why no row has these inputs, as the first table tells: by the number of inputs of its first row.
pub(crate) fn diagnosis(
    context: &Context<'_>,
    name: &str,
    operands: &Operands<'_>,
    count: Option<usize>,
) -> &'static str {
    let Ok(Some(table)) = context.table(name) else { return "csv_not_found" };
    let Some(row) = table.iter().next() else { return "csv_not_found" };
    let limit = count.unwrap_or(usize::MAX);
    let (asked, given) = (operands.len().min(limit), row.inputs().len().min(limit));
    let asked = match (table.tolerance(context.rules).arrangement, asked, given) {
        (crate::shapes::Arrangement::SwiGlu, 2, 1) => 1,
        (crate::shapes::Arrangement::KeyValueCache, 4, 5) => 5,
        _ => asked,
    };
    if asked == given { "shape_mismatch" } else { "input_count_mismatch" }
}
