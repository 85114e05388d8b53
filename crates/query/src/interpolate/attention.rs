//! Attention over lengths, batches, heads and head sizes.

use super::attempt::{Naming, UNMATCHED, Value, of_points};
use super::axes::{ABSENT, Axes, Key};
use super::heads;
use super::points::{Extra, Group, IndexName, Placed, PointIndex};
use crate::answer::{Answer, LookupError};
use crate::context::{Context, Names};
use crate::lookup::attention::{AttentionCall, as_shapes, has_shapes, normalised};
use crate::lookup::fields::Fields;
use crate::query::Argument;
use crate::semantics::Rules;
use crate::table::columns::Column;
use crate::table::{KernelRow, KernelRows};
use perfdb_pycompat::text::trim;
use perfdb_pycompat::yaml::Node;
use perfdb_store::op_mapping::Entry;

const TOKENS: u8 = 0;
const BATCH: usize = 2;

/// Tokens only filter; those of other axes are varied, one by one, then two, then three.
static AXES: Axes = Axes {
    names: &["q_tokens", "seq", "batch", "heads", "head_dim"],
    sets: &[
        &[1],
        &[2],
        &[3],
        &[4],
        &[1, 2],
        &[1, 3],
        &[1, 4],
        &[2, 3],
        &[2, 4],
        &[3, 4],
        &[1, 2, 3],
        &[1, 2, 4],
        &[1, 3, 4],
        &[2, 3, 4],
    ],
    padded: Some(TOKENS),
};

/// Tokens are an axis; in place of the batch stands how many tokens a request has, which must be equal.
static CORRECTED_AXES: Axes = Axes {
    names: &["q_tokens", "seq", "tokens_per_request", "heads", "head_dim"],
    sets: &[&[1], &[0], &[3], &[0, 1], &[1, 3], &[0, 3], &[0, 1, 3]],
    padded: None,
};

/// What a table is asked for.
pub(super) struct Target {
    dtype: &'static str,
    sparse_mode: i64,
    kv_heads: i64,
    layout: Option<&'static str>,
    quant_mode: Option<String>,
    query: [i64; 3],
    length: i64,
    batch: Option<i64>,
    /// What the batch is where points have one and the target says nothing; parts know nothing.
    fallback_batch: Option<i64>,
}

/// An attention call between rows.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    if entry.kernel_type.is_none() {
        return Err(LookupError::new("wrapper_interpolation_failed"));
    }
    let names = context.names(entry);
    let mut last = None;
    for name in names.iter().filter(|name| has_shapes(context, name)) {
        let (Some(operands), Some(table)) = (as_shapes(context, name), context.table(name)?) else { continue };
        match heads::of_table(context, table, &operands) {
            Some(Err(miss)) => last = Some(miss),
            Some(answer) => return answer,
            None => {}
        }
    }
    if let Some(miss) = last {
        return Err(miss);
    }
    let Ok(call) = AttentionCall::of(context) else { return Err(LookupError::new("attention_target_unavailable")) };
    let (sparse_mode, kv_heads) = call.of_layout();
    let rank = call.query.shape.len();
    let count = call.lengths.values.as_ref().map(|lengths| lengths.len() as i64);
    let target = Target {
        dtype: call.dtype,
        sparse_mode,
        kv_heads: kv_heads.unwrap_or(-1),
        layout: Some(if rank == 4 { "BNSD_NBSD" } else { "TND" }),
        quant_mode: asked_quant_mode(context, entry),
        query: call.normalised,
        length: call.average,
        batch: None,
        fallback_batch: if rank == 4 { call.query.shape.first().copied() } else { count },
    };
    of_tables(context, &names, &target)?.map_err(LookupError::new)
}

/// How a call is quantised, where the operator or the call says it.
pub(crate) fn asked_quant_mode(context: &Context<'_>, entry: &Entry) -> Option<String> {
    let of_entry = if entry.other.is_empty() { None } else { entry.other.get("quant_mode").and_then(Node::as_text) };
    match (of_entry, context.query.keyword_value("quant_mode")) {
        (Some(own), _) => Some(own.to_owned()),
        (None, Some(Argument::Text(text))) => Some(text.clone()),
        (None, _) => None,
    }
}

/// A part of a composite between rows.
pub(super) fn of_part(
    context: &Context<'_>,
    names: &Names<'_>,
    fields: &Fields,
) -> Result<Result<Answer, &'static str>, LookupError> {
    let (Some(query), Some(length), Some(dtype)) = (fields.query, fields.avg_seq_len, fields.dtype) else {
        return Ok(Err("attention_target_unavailable"));
    };
    let layout = fields.input_layout.or(match fields.sparse_mode {
        Some(0) => Some("BNSD_NBSD"),
        Some(3) => Some("TND"),
        _ => None,
    });
    let target = Target {
        dtype,
        sparse_mode: fields.sparse_mode.unwrap_or(-1),
        kv_heads: fields.kv_heads.unwrap_or(-1),
        layout,
        quant_mode: None,
        query,
        length,
        batch: fields.batch_size,
        fallback_batch: None,
    };
    of_tables(context, names, &target)
}

fn of_tables(
    context: &Context<'_>,
    names: &Names<'_>,
    target: &Target,
) -> Result<Result<Answer, &'static str>, LookupError> {
    let is_corrected = context.rules.attention_tokens;
    let mut reason = "attention_index_unavailable";
    for name in names {
        let Some(table) = context.table(name)? else { continue };
        if !table.has(Column::AvgSeqLen) && !table.has(Column::OldAvgSeqLen) {
            continue;
        }
        reason = UNMATCHED;
        let index = index(context.rules, table);
        let quant_mode = table.policy.quant_mode.as_deref().or(target.quant_mode.as_deref());
        let quant_mode = quant_mode.filter(|_| table.has(Column::QuantMode));
        let key = key(target.dtype, Some(target.sparse_mode), Some(target.kv_heads), target.layout, quant_mode);
        for group in index.of(&key) {
            match of_group(context, table, index, group, target, is_corrected) {
                Ok(value) => return Ok(Ok(value.answer(table))),
                Err(status) => reason = status,
            }
        }
    }
    Ok(Err(reason))
}

/// The rows of a table as points.
pub(super) fn index<'t>(rules: &Rules, table: &'t KernelRows) -> &'t PointIndex {
    let is_corrected = rules.attention_tokens;
    let axes = if is_corrected { &CORRECTED_AXES } else { &AXES };
    let name = IndexName { kind: "attention", count: None, is_corrected };
    table.points.get_or_make(name, || PointIndex::new(table, axes, true, name, |row| place(table, row, is_corrected)))
}

fn of_group(
    context: &Context<'_>,
    table: &KernelRows,
    index: &PointIndex,
    group: &Group,
    target: &Target,
    is_corrected: bool,
) -> Result<Value, &'static str> {
    let points = &group.preferred;
    let is_square_root = table.policy.over_square_root && !is_corrected;
    let length = target.length as f64;
    let seq = if is_square_root { length.sqrt() } else { length };
    let [tokens, heads, size] = target.query.map(|size| size as f64);
    let naming = if is_square_root { Naming::SquareRoot } else { Naming::Plain };
    let mut batch = target.batch;
    let batches = points.on_axis(BATCH);
    let has_batch = !batches.values.is_empty();
    if batch.is_none() && has_batch {
        batch = target.fallback_batch;
    }
    if is_corrected {
        let per_request = |batch: i64| if batch > 0 { tokens / batch as f64 } else { ABSENT };
        let share = batch.filter(|_| has_batch).map_or(ABSENT, per_request);
        let known = of_points(context, index, points, &[tokens, seq, share, heads, size], None, naming);
        return if has_batch && known.is_err() && share.is_nan() { Err("batch_axis_unconstrained") } else { known };
    }
    if batch.is_none() && has_batch {
        // A part of a composite: points without a batch, else the one batch that all have.
        if batches.has_absent {
            let only = points.without(BATCH);
            return of_points(context, index, only, &[tokens, seq, ABSENT, heads, size], None, naming);
        }
        let [one] = batches.values[..] else { return Err("batch_axis_unconstrained") };
        batch = Some(one as i64);
    }
    let batch = batch.map_or(ABSENT, |batch| batch as f64);
    of_points(context, index, points, &[tokens, seq, batch, heads, size], None, naming)
}

fn key(
    dtype: &str,
    sparse_mode: Option<i64>,
    kv_heads: Option<i64>,
    layout: Option<&str>,
    quant_mode: Option<&str>,
) -> Key {
    let mut key = Key::default();
    key.text(dtype);
    for number in [sparse_mode, kv_heads] {
        key.texts(number.map(|number| number.to_string()).iter().map(String::as_str));
    }
    key.texts(layout).texts(quant_mode);
    key
}

fn place(table: &KernelRows, row: KernelRow<'_>, is_corrected: bool) -> Option<Placed> {
    let length_column = if table.has(Column::AvgSeqLen) { Column::AvgSeqLen } else { Column::OldAvgSeqLen };
    let length = row.whole(length_column).filter(|length| *length >= 0)? as f64;
    let (first, second) = (row.inputs().get(0)?, row.inputs().get(1));
    let size = second.and_then(|shape| shape.last().copied()).or_else(|| first.last().copied())?;
    let [tokens, heads, size] = normalised(&first, size)?.map(|size| size as f64);
    let batch = if table.has(Column::BatchSize) {
        row.whole(Column::BatchSize)
    } else {
        match *first {
            [batch, _, 1, _] => Some(batch),
            _ => None,
        }
    };
    let batch = match (batch, is_corrected) {
        (None, _) => ABSENT,
        (Some(batch), false) => batch as f64,
        (Some(batch), true) if batch > 0 => tokens / batch as f64,
        (Some(_), true) => ABSENT,
    };
    let number = |column: Column| {
        table.has(column).then(|| match row.cell(column) {
            None => Some(-1),
            Some(_) => row.cut(column),
        })
    };
    // A text where a number should be: no point.
    let (sparse_mode, kv_heads) = (number(Column::SparseMode), number(Column::KvHeads));
    if sparse_mode == Some(None) || kv_heads == Some(None) {
        return None;
    }
    let key = key(
        row.input_types().first()?,
        sparse_mode.flatten(),
        kv_heads.flatten(),
        row.cell(Column::InputLayout).map(trim),
        row.cell(Column::QuantMode).map(trim),
    );
    let seq = if table.policy.over_square_root && !is_corrected { length.sqrt() } else { length };
    Some(Placed { key, at: [tokens, seq, batch, heads, size], extra: Extra::default() })
}
