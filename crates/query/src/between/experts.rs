//! Fused experts over tokens.

use super::attempt::of_group;
use super::points::{ABSENT, Axes, Extra, IndexName, Key, Placed, PointIndex};
use crate::answer::{Answer, Miss};
use crate::engine::Context;
use crate::measured::experts::{Projection, with_embedded};
use crate::query::elements;
use crate::semantics::Rules;
use crate::table::columns::Column;
use crate::table::pool::Dimensions;
use crate::table::{KernelRow, KernelRows};
use perfdb_store::op_mapping::Entry;
use smallvec::SmallVec;
use std::sync::Arc;

const FAILED: &str = "moe_fused_interpolation_failed";
const INPUTS: usize = 7;
static AXES: Axes = Axes { names: &["tokens"], sets: &[&[0]], padded: None };

/// The experts of one device.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, Miss> {
    let Some(name) = entry.kernel_type.as_deref() else { return Err(Miss::new("wrapper_interpolation_failed")) };
    let Some(ep) = context.query.ep_size else { return Err(Miss::new("ep_size_not_configured")) };
    let Some(table) = context.table(name)? else { return Err(Miss::new("csv_not_found")) };
    let Some(projection) = Projection::of(context.query) else {
        return Err(Miss::new("moe_fused_target_unextractable"));
    };
    let operands = projection.operands();
    let types: Option<SmallVec<[&str; INPUTS]>> = operands.iter().map(|operand| operand.dtype).collect();
    let Some(types) = types else { return Err(Miss::new(FAILED)) };
    let topk = projection.indices.last().copied().unwrap_or(1);
    let weights = [&projection.weights[0][..], &projection.weights[1][..]];
    let key = key(&types, "ND", weights, projection.x[1], topk, ep);
    let at = [projection.x[0] as f64, ABSENT, ABSENT, ABSENT, ABSENT];
    let index = index(context.rules, table);
    let mut reason = FAILED;
    for group in index.of(&key) {
        match of_group(context, group, &at, table.policy.max_dimensions) {
            Ok(value) if context.rules.experts_keep_parts => {
                return with_embedded(context, entry, value.answer(table));
            }
            Ok(value) => return Ok(value.answer(table)),
            Err(status) => reason = status.unwrap_or(reason),
        }
    }
    Err(Miss::new(reason))
}

/// The rows of a table as points.
pub(super) fn index(rules: &Rules, table: &KernelRows) -> Arc<PointIndex> {
    let name = IndexName { kind: "experts", count: None, is_corrected: rules.envelope_everywhere };
    table.points.get_or_make(name, || PointIndex::new(table, &AXES, false, name.is_corrected, place))
}

fn key(types: &[&str], format: &str, weights: [&[i64]; 2], hidden: i64, topk: i64, ep: i64) -> Key {
    let mut key = Key::default();
    key.texts(types.iter().copied()).text(format).shape(weights[0]).shape(weights[1]);
    key.integer(hidden).integer(topk).integer(ep);
    key
}

fn place(row: KernelRow<'_>) -> Option<Placed> {
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
    let key = key(&types, &formats[0], [&shapes[1], &shapes[2]], *hidden, *topk, ep);
    Some(Placed { key, at: [tokens as f64, ABSENT, ABSENT, ABSENT, ABSENT], extra: Extra::default() })
}
