//! Looking up attention by tokens, heads, average length and the runtime fields of a row.

use super::inputs;
use super::rows::of_row;
use crate::answer::{Answer, LookupError};
use crate::context::{Context, Names};
use crate::dtype::one_spelling;
use crate::lookup::fields::{Fields, average};
use crate::operands::{Operand, Operands};
use crate::query::{Argument, Tensor};
use crate::reason::Reason;
use crate::search::{Fit, Found, Selection};
use crate::semantics::{Choice, ReaderKind, Rules};
use crate::shapes::{is_equal_or_rounded, is_next_tile};
use crate::table::columns::{Column, integers};
use crate::table::{KernelRow, KernelRows};
use perfdb_pycompat::text::trim;
use perfdb_store::op_mapping::Entry;
use perfdb_store::registry::KernelClass;
use smallvec::smallvec;

/// How far the average length of a row may be from the wanted one.
pub(crate) const LENGTH_TOLERANCE: i64 = 16;
/// What is added to the distance of rows whose runtime values are incomplete.
const LEGACY_PENALTY: f64 = 0.5;
const CAUSAL_SPARSE_MODE: i64 = 3;
/// Where the lengths of requests stand among the arguments, and where in those of latent attention.
const LENGTHS: usize = 6;
const LATENT_LENGTHS: usize = 4;

/// The call of an attention operator, taken apart.
pub(crate) struct AttentionCall<'q> {
    pub(crate) query: &'q Tensor,
    pub(crate) key: Option<&'q Tensor>,
    pub(crate) lengths: &'q Tensor,
    pub(crate) normalised: [i64; 3],
    pub(crate) average: i64,
    pub(crate) dtype: &'static str,
}

impl<'q> AttentionCall<'q> {
    pub(crate) fn of(context: &Context<'q>) -> Result<Self, &'static str> {
        let query = context.query;
        if query.arguments.len() < 7 {
            return Err("insufficient_args");
        }
        let q = query.tensor(0).ok_or("query_not_tensor")?;
        let dtype = context.rules.type_name(q.dtype).ok_or("dtype_unmapped")?;
        let key = query.tensor(1);
        let size = key.and_then(|key| key.shape.last()).copied().unwrap_or(0);
        let normalised = normalised(&q.shape, size).ok_or("q_shape_normalize_failed")?;
        match &query.arguments[LENGTHS] {
            Argument::Tensor(lengths) => {
                let average = average(context.rules, lengths.values.as_deref()).ok_or("invalid_seq_lens")?;
                Ok(AttentionCall { query: q, key, lengths, normalised, average, dtype })
            }
            _ => Err("missing_seq_lens"),
        }
    }

    /// Sparse mode and key heads as interpolation takes them.
    pub(crate) fn of_layout(&self) -> (i64, Option<i64>) {
        let is_four = self.query.shape.len() == 4;
        let heads = self.key.and_then(|key| match (is_four, key.shape.len()) {
            (true, rank) if rank >= 4 => key.shape.get(1),
            (_, rank) => key.shape.get(rank.checked_sub(2)?),
        });
        (if is_four { 0 } else { CAUSAL_SPARSE_MODE }, heads.copied())
    }
}

/// An attention kernel by what its call says.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    if entry.kernel_type.is_none() {
        return Err(LookupError::new("unmapped"));
    }
    let names = context.names(entry);
    let (by_shapes, names): (Names<'_>, Names<'_>) = names.into_iter().partition(|name| has_shapes(context, name));
    for name in &by_shapes {
        if let Some(operands) = as_shapes(context, name)
            && let Some(found) = inputs::find(context, &[name], &operands, None)?
        {
            return Ok(of_row(&found, 0.9, found.rule));
        }
    }
    if names.is_empty() && !by_shapes.is_empty() {
        return Err(LookupError::new("shape_mismatch"));
    }
    let fields = fields_of(context).map_err(LookupError::new)?;
    let found = find(context, &names, &fields)?;
    Ok(of_row(&found, 0.9, "attention"))
}

/// Whether the rows of a table are attention by their shapes.
pub(crate) fn is_by_shapes(rules: &Rules, table: &KernelRows) -> bool {
    let class = table.class(rules);
    rules.reader == ReaderKind::Own
        && (class.is_attention() || class == KernelClass::LatentAttention)
        && !table.has(Column::AvgSeqLen)
        && !table.has(Column::OldAvgSeqLen)
}

/// Whether there is such a table of this name.
pub(crate) fn has_shapes(context: &Context<'_>, name: &str) -> bool {
    matches!(context.table(name), Ok(Some(table)) if is_by_shapes(context.rules, table))
}

/// The call as the shapes of such a table: each request has as many tokens as the others, and all the mean length. `None` where requests
/// differ in tokens, or the table is of prompts and the call of single tokens, or the other way round.
pub(crate) fn as_shapes(context: &Context<'_>, name: &str) -> Option<Operands<'static>> {
    let query = context.query;
    let class = context.class(name);
    let is_latent = class == KernelClass::LatentAttention;
    let q = query.tensor(0)?;
    let lengths = query.tensor(if is_latent { LATENT_LENGTHS } else { LENGTHS })?.values.as_deref()?;
    let batch = i64::try_from(lengths.len()).ok().filter(|batch| *batch > 0)?;
    let length = average(context.rules, Some(lengths))?;
    let key = query.tensor(1)?;
    let dtypes = [q.dtype, key.dtype].map(|dtype| context.rules.type_name(dtype));
    let [tokens, heads, size] = normalised(&q.shape, if is_latent { 0 } else { *key.shape.last()? })?;
    let queries = tokens / batch;
    let fits = match class {
        KernelClass::DecodeAttention => queries == 1,
        KernelClass::PrefillAttention => queries > 1 || length == 1,
        _ => true,
    };
    if tokens % batch != 0 || !fits || length < queries {
        return None;
    }
    if is_latent {
        let shapes: [&[i64]; 2] = [&[batch, queries, heads], &[batch, length]];
        return Some(shapes.into_iter().zip(dtypes).map(|(shape, dtype)| Operand::made(shape, dtype)).collect());
    }
    let kv_heads = *key.shape.get(key.shape.len().checked_sub(2)?)?;
    let [of_query, of_key] = dtypes;
    let keys = [batch, length, kv_heads, size];
    Some(smallvec![
        Operand::made(&[batch, queries, heads, size], of_query),
        Operand::made(&keys, of_key),
        Operand::made(&keys, of_key),
    ])
}

/// What the rows of a call's kernel are compared with.
pub(crate) fn fields_of(context: &Context<'_>) -> Result<Fields, &'static str> {
    let call = AttentionCall::of(context)?;
    let last_but_one = |key: &Tensor| key.shape.len().checked_sub(2).map(|at| key.shape[at]);
    let (sparse_mode, kv_heads) = if context.rules.attention_one_view {
        call.of_layout()
    } else {
        (CAUSAL_SPARSE_MODE, call.key.and_then(last_but_one))
    };
    Ok(Fields {
        query: Some(call.normalised),
        dtype: Some(call.dtype),
        avg_seq_len: Some(call.average),
        sparse_mode: Some(sparse_mode),
        kv_heads,
        input_layout: match call.query.shape.len() {
            3 => Some("TND"),
            4 => Some("BNSD_NBSD"),
            _ => None,
        },
        ..Fields::default()
    })
}

/// The row whose length is nearest, of these tables.
pub(crate) fn find<'d>(context: &Context<'d>, names: &[&str], fields: &Fields) -> Result<Found<'d>, Reason> {
    let missing = |about: String| Reason::about("semantic_context_missing", about);
    let Some(query) = fields.query else { return Err(missing("target:q_shape_3d".to_owned())) };
    let Some(length) = fields.avg_seq_len else { return Err(missing("target:avg_seq_len".to_owned())) };
    let mut lacking: Vec<&str> =
        fields.required.iter().filter(|field| !field.is_in(fields)).map(|field| field.name()).collect();
    if !lacking.is_empty() {
        lacking.sort_unstable();
        return Err(missing(format!("target:{}", lacking.join(","))));
    }
    let Some(dtype) = fields.dtype else { return Err(Reason::new("shape_mismatch")) };
    let mut columns: Vec<&'static str> = Vec::new();
    let mut selection = Selection::new(context.rules, Choice::Nearest);
    let mut has_table = false;
    let mut has_usable = false;
    for (order, name) in names.iter().enumerate() {
        let table = match context.table(name) {
            Ok(Some(table)) => table,
            Ok(None) => continue,
            Err(miss) => return Err(miss.reason),
        };
        has_table = true;
        let noted = lacking_columns(table, fields);
        if !noted.is_empty() || !table.has_input_shapes() {
            columns.extend(noted);
            continue;
        }
        has_usable = true;
        let hidden = query[1].saturating_mul(query[2]);
        let range = (length - LENGTH_TOLERANCE, length + LENGTH_TOLERANCE);
        for row in table.attention_candidates(query[0], hidden, range.0, range.1) {
            let row_type = row.input_types().first().map(|name| trim(name));
            let row_type = row_type.map(|name| if context.rules.exact_types { one_spelling(name) } else { name });
            if row_type != Some(dtype) || !fits(context.rules, fields, query, row) {
                continue;
            }
            let gap = row.average_length().map_or(0, |own| (own - length).abs()) as f64;
            let mut distance = if context.rules.is_newest { gap + penalty(row) } else { gap };
            let mut share = 1.0;
            if context.rules.attention_tokens
                && let Some(own) = row_tokens(row, query)
            {
                if own != query[0] && !is_next_tile(query[0], own) {
                    continue;
                }
                // Exact tokens first, then the nearest; the length decides among those.
                distance += (own - query[0]).abs() as f64 * 1e6;
                share = own.min(query[0]) as f64 / own.max(query[0]).max(1) as f64;
            }
            selection.offer(Fit { share, ..Fit::at(distance, "attention") }, order, row);
        }
        if !context.rules.is_newest && selection.has_any() {
            break;
        }
    }
    // Reasons of a table that cannot be used stand for it alone where another one could.
    let is_passed_over = context.rules.reason_per_table && has_usable;
    if !columns.is_empty() && !is_passed_over {
        let is_none = selection.result().ok().flatten();
        if let Some(found) = is_none {
            return Ok(found);
        }
        columns.sort_unstable();
        columns.dedup();
        return Err(missing(format!("csv:{}", columns.join(","))));
    }
    match selection.result()? {
        Some(found) => Ok(found),
        None if !has_table => Err(Reason::new("csv_not_found")),
        None => Err(Reason::new("shape_mismatch")),
    }
}

/// The columns without which a table says nothing about the fields.
fn lacking_columns(table: &KernelRows, fields: &Fields) -> Vec<&'static str> {
    if !table.has(Column::AvgSeqLen) && !table.has(Column::OldAvgSeqLen) {
        return vec![Column::AvgSeqLen.name()];
    }
    let columns = fields.required.iter().filter_map(|field| field.column());
    columns.filter(|column| !table.has(*column)).map(Column::name).collect()
}

fn penalty(row: KernelRow<'_>) -> f64 {
    match row.cell(Column::Completeness) {
        Some(cell) if !trim(cell).is_empty() && !trim(cell).eq_ignore_ascii_case("legacy") => 0.0,
        _ => LEGACY_PENALTY,
    }
}

pub(crate) fn row_tokens(row: KernelRow<'_>, query: [i64; 3]) -> Option<i64> {
    row.inputs().get(0).and_then(|shape| normalised(&shape, query[2])).map(|[tokens, ..]| tokens)
}

/// What a row has that does not fit, beside its length and type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mismatch {
    Query,
    Heads,
    Tokens,
    Cell(Column),
}

/// Whether a row fits in everything but its length and type.
fn fits(rules: &Rules, fields: &Fields, query: [i64; 3], row: KernelRow<'_>) -> bool {
    mismatch(rules, fields, query, row).is_none()
}

/// The first thing in which a row does not fit, its length and type left out.
pub(crate) fn mismatch(rules: &Rules, fields: &Fields, query: [i64; 3], row: KernelRow<'_>) -> Option<Mismatch> {
    let Some([tokens, heads, size]) = row.inputs().get(0).and_then(|shape| normalised(&shape, query[2])) else {
        return Some(Mismatch::Query);
    };
    if (heads, size) != (query[1], query[2]) {
        return Some(Mismatch::Heads);
    }
    if !is_equal_or_rounded(tokens, query[0]) {
        return Some(Mismatch::Tokens);
    }
    let table = row.table();
    let cut = |column: Column, wanted: Option<i64>| match wanted {
        Some(wanted) if table.has(column) => row.cut(column) == Some(wanted),
        _ => true,
    };
    let layout = || match fields.input_layout {
        Some(wanted) if table.has(Column::InputLayout) => {
            row.cell(Column::InputLayout).map(trim).is_some_and(|cell| cell.is_empty() || cell == wanted)
        }
        _ => true,
    };
    let bad = |column: Column, fits: bool| (!fits).then_some(Mismatch::Cell(column));
    bad(Column::SparseMode, cut(Column::SparseMode, fields.sparse_mode))
        .or_else(|| bad(Column::KvHeads, cut(Column::KvHeads, fields.kv_heads)))
        .or_else(|| bad(Column::InputLayout, layout()))
        .or_else(|| if rules.runtime_fields { mismatch_of_sparse(rules, fields, row, cut) } else { None })
}

/// The same for the fields that only sparse attention has.
fn mismatch_of_sparse(
    rules: &Rules,
    fields: &Fields,
    row: KernelRow<'_>,
    cut: impl Fn(Column, Option<i64>) -> bool,
) -> Option<Mismatch> {
    let list = |column: Column, wanted: Option<&[i64]>| {
        let (Some(wanted), Some(cell)) = (wanted, row.text(column, rules.float_texts)) else { return true };
        let cell = trim(&cell);
        cell.is_empty() || integers(cell).is_none_or(|own| own == wanted)
    };
    let text = |column: Column, wanted: Option<&str>| {
        let (Some(wanted), Some(cell)) = (wanted, row.cell(column)) else { return true };
        trim(cell).is_empty() || trim(cell) == wanted
    };
    let one = |column: Column, wanted: Option<i64>| list(column, wanted.as_ref().map(std::slice::from_ref));
    let bad = |column: Column, fits: bool| (!fits).then_some(Mismatch::Cell(column));
    bad(Column::TopK, cut(Column::TopK, fields.topk))
        .or_else(|| bad(Column::BlockSize, cut(Column::BlockSize, fields.block_size)))
        .or_else(|| bad(Column::QueryLengths, list(Column::QueryLengths, fields.query_lengths.as_deref())))
        .or_else(|| bad(Column::KvLengths, list(Column::KvLengths, fields.kv_lengths.as_deref())))
        .or_else(|| bad(Column::ValidBlocks, list(Column::ValidBlocks, fields.valid_blocks.as_deref())))
        .or_else(|| bad(Column::NumHeads, one(Column::NumHeads, fields.num_heads)))
        .or_else(|| bad(Column::SparseBlockSize, one(Column::SparseBlockSize, fields.sparse_block_size)))
        .or_else(|| bad(Column::SparseValidCount, one(Column::SparseValidCount, fields.sparse_valid_count)))
        .or_else(|| bad(Column::CacheLayout, text(Column::CacheLayout, fields.cache_layout)))
        .or_else(|| bad(Column::KvCacheMode, text(Column::KvCacheMode, fields.kv_cache_mode)))
        .or_else(|| bad(Column::SparsePattern, text(Column::SparsePattern, fields.sparse_pattern)))
}

/// (T, N, D) as it is, (B, N, 1, D) as (B, N, D), (T, H) as (T, H/d, d).
pub(crate) fn normalised(shape: &[i64], size: i64) -> Option<[i64; 3]> {
    match *shape {
        [tokens, heads, size] => Some([tokens, heads, size]),
        [batch, heads, 1, size] => Some([batch, heads, size]),
        [tokens, hidden] if size > 0 && hidden % size == 0 => Some([tokens, hidden / size, size]),
        _ => None,
    }
}
