//! Writing rows into a cache, over the number of rows.

use super::attempt::of_group;
use super::axes::{ABSENT, Axes, Coordinates, Key};
use super::points::{Extra, IndexName, Placed, PointIndex};
use crate::answer::{Answer, LookupError};
use crate::context::Context;
use crate::operands::{Operand, Operands};
use crate::query::elements;
use crate::semantics::Rules;
use crate::table::pool::Dimensions;
use crate::table::{KernelRow, KernelRows};
use perfdb_store::op_mapping::Entry;
use smallvec::SmallVec;

const FAILED: &str = "scatter_nd_update_interpolation_failed";
static AXES: Axes = Axes { names: &["tokens"], sets: &[&[0]], padded: None };

/// A call: update, cache, index. A row: cache, index, update.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    let query = context.query;
    let (Some(update), Some(cache), Some(index)) = (query.tensor(0), query.tensor(1), query.tensor(2)) else {
        return Err(LookupError::new(FAILED));
    };
    let operands: Operands<'_> =
        [cache, index, update].map(|tensor| Operand::of(tensor, context.rules.exact_types)).into_iter().collect();
    of_tables(context, &context.names(entry), &operands)?.map_err(LookupError::new)
}

/// The first table that answers, for operands in the order of a row.
pub(super) fn of_tables(
    context: &Context<'_>,
    names: &[&str],
    operands: &Operands<'_>,
) -> Result<Result<Answer, &'static str>, LookupError> {
    let mut reason = FAILED;
    let [cache, index, update, ..] = operands.as_slice() else { return Ok(Err(FAILED)) };
    let (Some(a), Some(b), Some(c)) = (cache.dtype, index.dtype, update.dtype) else { return Ok(Err(FAILED)) };
    let any_pool = context.rules.parts_as_they_are;
    let Some((key, at)) = place(any_pool, &cache.shape, &update.shape, [a, b, c], ["ND"; 3]) else {
        return Ok(Err(FAILED));
    };
    for name in names {
        reason = FAILED;
        let Some(table) = context.table(name)? else { continue };
        let index = index_of(context.rules, table);
        for group in index.of(&key) {
            match of_group(context, index, group, &at, table.policy.max_dimensions) {
                Ok(value) => return Ok(Ok(value.answer(table))),
                Err(status) => reason = status.unwrap_or(reason),
            }
        }
    }
    Ok(Err(reason))
}

/// The rows of a table as points.
pub(super) fn index_of<'t>(rules: &Rules, table: &'t KernelRows) -> &'t PointIndex {
    let name = IndexName::of(rules, "scatter", None);
    PointIndex::of_table(table, name, &AXES, |row| of_row(rules.parts_as_they_are, row))
}

fn of_row(any_pool: bool, row: KernelRow<'_>) -> Option<Placed> {
    let shapes: SmallVec<[Dimensions; 4]> = row.matrices().iter().collect();
    let [cache, _, update, ..] = shapes.as_slice() else { return None };
    let three = |texts: &[Box<str>]| -> Option<[String; 3]> {
        Some([texts.first()?.to_string(), texts.get(1)?.to_string(), texts.get(2)?.to_string()])
    };
    let (types, formats) = (three(row.input_types())?, three(row.input_formats())?);
    let (key, at) =
        place(any_pool, cache, update, std::array::from_fn(|at| &*types[at]), std::array::from_fn(|at| &*formats[at]))?;
    Some(Placed { key, at, extra: Extra::default() })
}

fn place(
    any_pool: bool,
    cache: &[i64],
    update: &[i64],
    types: [&str; 3],
    formats: [&str; 3],
) -> Option<(Key, Coordinates)> {
    let mut key = Key::default();
    // How many blocks the cache has makes no difference.
    let cache = if any_pool { cache.last().map_or(&[][..], std::slice::from_ref) } else { cache };
    key.texts(types).texts(formats).shape(cache);
    let tokens = match update {
        [outer @ .., last] if outer.len() > 1 => {
            key.shape(&[*last]);
            elements(outer)
        }
        [first, rest @ ..] => {
            key.shape(rest);
            *first
        }
        [] => return None,
    };
    Some((key, [tokens as f64, ABSENT, ABSENT, ABSENT, ABSENT]))
}
