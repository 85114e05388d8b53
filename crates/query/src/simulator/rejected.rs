//! Rows that are not points, as the simulator's reader counts them.

use super::form::Form;
use crate::context::Context;
use crate::facts::Fact;
use crate::interpolate::lengths_of_row;
use crate::query::elements;
use crate::semantics::Rules;
use crate::table::columns::Column;
use crate::table::pool::Dimensions;
use crate::table::{KernelRow, KernelRows};

/// Why rows of the table are not points, with their number, where the reader reports it.
pub(super) fn rejected(context: &Context<'_>, form: Form, table: &KernelRows) -> Option<Fact> {
    let reason: fn(&Rules, KernelRow<'_>) -> Option<&'static str> = match form {
        Form::Experts => |_, row| experts_rejected(row),
        Form::Scatter => |_, row| scatter_rejected(row),
        Form::Lengths => |rules, row| lengths_of_row(rules, row).err(),
        _ => return None,
    };
    let without = table.without_duration().iter().map(|&(line, is_zero)| {
        let reason = if is_zero { "latency_zero" } else { "latency_invalid" };
        (u64::from(line), reason)
    });
    let mut all: Vec<(u64, &'static str)> =
        table.rows().filter_map(|row| Some((row.line(), reason(context.rules, row)?))).chain(without).collect();
    all.sort_by_key(|(line, _)| *line);
    let mut counts: Vec<(&'static str, i64)> = Vec::new();
    for (_, reason) in all {
        match counts.iter_mut().find(|(own, _)| *own == reason) {
            Some((_, count)) => *count += 1,
            None => counts.push((reason, 1)),
        }
    }
    Some(Fact::Map(counts.into_iter().map(|(reason, count)| (reason, Fact::Integer(count))).collect()))
}

fn experts_rejected(row: KernelRow<'_>) -> Option<&'static str> {
    let shapes: Vec<Dimensions> = row.inputs().iter().collect();
    let (types, formats) = (row.input_types(), row.input_formats());
    if shapes.is_empty() {
        return Some("input_shapes_missing");
    }
    if shapes.len() != 7 || types.len() != 7 || formats.len() != 7 {
        return Some("moe_physical_signature_incomplete");
    }
    if shapes[1].len() < 3 || shapes[2].len() < 3 {
        return Some("moe_weight_shapes_unextractable");
    }
    let x = row.matrices().get(0)?;
    let [outer @ .., _] = &*x else { return Some("token_axis_unextractable") };
    if outer.is_empty() {
        return Some("token_axis_unextractable");
    }
    match row.whole(Column::EpSize) {
        None => return Some("ep_size_missing"),
        Some(ranks) if ranks <= 0 => return Some("ep_size_invalid"),
        Some(_) => {}
    }
    let is_route = match &*shapes[3] {
        [chosen @ .., top] => {
            !chosen.is_empty()
                && *top > 0
                && elements(chosen) == elements(outer)
                && types[3].eq_ignore_ascii_case("INT32")
        }
        [] => false,
    };
    (!is_route).then_some("topk_unextractable")
}

fn scatter_rejected(row: KernelRow<'_>) -> Option<&'static str> {
    let shape_is_empty = |at: usize| row.inputs().get(at).is_none_or(|shape| shape.is_empty());
    match () {
        () if row.inputs().len() < 3 => Some("input_shapes_missing"),
        () if row.input_types().len() < 3 => Some("input_dtypes_missing"),
        () if row.input_formats().len() < 3 => Some("input_formats_missing"),
        () if shape_is_empty(0) || shape_is_empty(2) => Some("scatter_shape_unextractable"),
        () => None,
    }
}
