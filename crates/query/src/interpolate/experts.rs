//! Fused experts over tokens.

use super::attempt::{of_group, of_groups};
use super::axes::{ABSENT, Axes, Coordinates, Key};
use super::points::{Extra, Group, IndexName, Placed, PointIndex};
use crate::answer::{Answer, LookupError};
use crate::context::Context;
use crate::dtype::one_spelling;
use crate::lookup::experts::{ByShapes, Projection, Scales, is_by_shapes, shapes_of, with_embedded};
use crate::operands::Operand;
use crate::query::elements;
use crate::semantics::Rules;
use crate::table::columns::Column;
use crate::table::pool::Dimensions;
use crate::table::{KernelRow, KernelRows};
use perfdb_store::op_mapping::Entry;
use smallvec::SmallVec;

const FAILED: &str = "moe_fused_interpolation_failed";
const INPUTS: usize = 7;
static AXES: Axes = Axes { names: &["tokens"], sets: &[&[0]], padded: None };
/// Of experts by three shapes.
static BY_SHAPES: Axes = Axes {
    names: &["tokens", "hidden", "intermediate", "experts"],
    sets: &[&[0], &[1], &[2], &[3], &[0, 1], &[0, 2], &[0, 3], &[0, 1, 2]],
    padded: None,
};
/// For predictions: the experts are those of one rank.
static SIZES: Axes = Axes {
    names: &["tokens", "hidden", "intermediate", "experts", "top_k"],
    sets: &[&[0], &[0, 1, 2, 3, 4]],
    padded: None,
};

/// The experts of one device.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    let Some(name) = entry.kernel_type.as_deref() else { return Err(LookupError::new("wrapper_interpolation_failed")) };
    let Some(ep) = context.query.ep_size else { return Err(LookupError::new("ep_size_not_configured")) };
    let Some(table) = context.table(name)? else { return Err(LookupError::new("csv_not_found")) };
    let Some(projection) = Projection::of(context.rules, context.query) else {
        return Err(LookupError::new("moe_fused_target_unextractable"));
    };
    if is_by_shapes(context.rules, table) {
        let unextractable = || LookupError::new("moe_fused_target_unextractable");
        let operands = projection.shapes().ok_or_else(unextractable)?;
        let answer = of_shapes(context, table, &operands).ok_or_else(unextractable)??;
        return with_embedded(context, entry, answer, shapes_of(&operands));
    }
    let operands = projection.operands([Scales::Vector; 2]);
    let types: Option<SmallVec<[&str; INPUTS]>> = operands.iter().map(|operand| operand.dtype).collect();
    let Some(types) = types else { return Err(LookupError::new(FAILED)) };
    let topk = projection.indices.last().copied().unwrap_or(1);
    let weights = [&projection.weights[0][..], &projection.weights[1][..]];
    let [tokens, hidden] = projection.x;
    let call = Call { tokens, hidden, topk, ep, weights };
    let (key, at) = call.place(context.rules, &types, "ND");
    let index = index(context.rules, table);
    let mut reason = FAILED;
    for group in index.of(&key) {
        match of_group(context, index, group, &at, table.policy.max_dimensions) {
            Ok(value) if context.rules.experts_keep_parts => {
                return with_embedded(context, entry, value.answer(table), shapes_of(&operands));
            }
            Ok(value) => return Ok(value.answer(table)),
            Err(status) => reason = status.unwrap_or(reason),
        }
    }
    Err(LookupError::new(reason))
}

impl ByShapes {
    fn place<'s>(&self, rules: &Rules, types: impl IntoIterator<Item = &'s str>) -> (Key, Coordinates) {
        let ByShapes { tokens, hidden, experts, intermediate, topk } = *self;
        let mut key = Key::default();
        key.texts(types);
        if rules.predicts() {
            return (key, [tokens, hidden, intermediate, experts, topk].map(|size| size as f64));
        }
        key.integer(topk);
        let [tokens, hidden, intermediate, experts] = [tokens, hidden, intermediate, experts].map(|size| size as f64);
        (key, [tokens, hidden, intermediate, experts, ABSENT])
    }
}

/// Between the rows of a table; `None` where the call is not of its form. Rows of the call's expert-parallel size come first.
pub(super) fn of_shapes(
    context: &Context<'_>,
    table: &KernelRows,
    operands: &[Operand<'_>],
) -> Option<Result<Answer, LookupError>> {
    let call = ByShapes::of(operands.iter().map(|operand| &*operand.shape))?;
    let types: Option<SmallVec<[&str; 4]>> = operands.iter().map(|operand| operand.dtype).collect();
    let (key, at) = call.place(context.rules, types?.iter().map(|name| one_spelling(name)));
    let index = index(context.rules, table);
    let wanted = context.query.ep_size;
    let mut groups: SmallVec<[&Group; 4]> = index.of(&key).collect();
    groups.sort_by_key(|group| wanted.is_some() && group.extra.expert_parallel != wanted);
    Some(of_groups(context, table, index, groups, &at).map_err(LookupError::new))
}

fn placed_by_shapes(rules: &Rules, row: KernelRow<'_>) -> Option<Placed> {
    let types = row.input_types().iter().map(|name| one_spelling(name));
    let (key, at) = ByShapes::of(row.inputs().iter())?.place(rules, types);
    Some(Placed { key, at, extra: Extra { expert_parallel: row.ep_size(), ..Extra::default() } })
}

/// The rows of a table as points.
pub(super) fn index<'t>(rules: &Rules, table: &'t KernelRows) -> &'t PointIndex {
    if is_by_shapes(rules, table) {
        let (kind, axes) =
            if rules.predicts() { ("experts_predicted", &SIZES) } else { ("experts_by_shapes", &BY_SHAPES) };
        let name = IndexName::of(rules, kind, None);
        let place = |row: KernelRow<'_>| placed_by_shapes(rules, row);
        return PointIndex::of_table(table, name, axes, place);
    }
    let (kind, axes) = if rules.predicts() { ("experts_sizes", &SIZES) } else { ("experts", &AXES) };
    let name = IndexName::of(rules, kind, None);
    PointIndex::of_table(table, name, axes, |row| place(rules, row))
}

/// The experts of one rank.
struct Call<'s> {
    tokens: i64,
    hidden: i64,
    topk: i64,
    ep: i64,
    weights: [&'s [i64]; 2],
}

impl Call<'_> {
    fn place(&self, rules: &Rules, types: &[&str], format: &str) -> (Key, Coordinates) {
        let Call { tokens, hidden, topk, ep, weights } = *self;
        let mut key = Key::default();
        key.texts(types.iter().copied()).text(format);
        if rules.predicts()
            && let ([experts, ..], &[_, a, b]) = (weights[0], weights[1])
            && (a == hidden || b == hidden)
        {
            let intermediate = if b == hidden { a } else { b };
            key.integer(ep);
            return (key, [tokens, hidden, intermediate, *experts, topk].map(|size| size as f64));
        }
        key.shape(weights[0]).shape(weights[1]).integer(hidden).integer(topk).integer(ep);
        (key, [tokens as f64, ABSENT, ABSENT, ABSENT, ABSENT])
    }
}

fn place(rules: &Rules, row: KernelRow<'_>) -> Option<Placed> {
    let ep = row.whole(Column::EpSize).filter(|ep| *ep > 0)?;
    let shapes: SmallVec<[Dimensions; 8]> = row.inputs().iter().collect();
    let (types, formats) = (row.input_types(), row.input_formats());
    if shapes.len() != INPUTS || types.len() != INPUTS || formats.len() != INPUTS {
        return None;
    }
    let x = row.matrices().get(0)?;
    let ([x_outer @ .., hidden], [indices_outer @ .., topk]) = (&*x, &*shapes[3]) else { return None };
    let tokens = elements(x_outer);
    let is_usable = !x_outer.is_empty()
        && shapes[1].len() >= 3
        && shapes[2].len() >= 3
        && &*types[3] == "INT32"
        && !indices_outer.is_empty()
        && elements(indices_outer) == tokens
        && *topk > 0;
    if !is_usable {
        return None;
    }
    let types: SmallVec<[&str; INPUTS]> = types.iter().map(|name| &**name).collect();
    let call = Call { tokens, hidden: *hidden, topk: *topk, ep, weights: [&shapes[1], &shapes[2]] };
    let (key, at) = call.place(rules, &types, &formats[0]);
    Some(Placed { key, at, extra: Extra::default() })
}
