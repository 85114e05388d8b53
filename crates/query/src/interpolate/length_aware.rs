//! Attention kernels whose rows tell the length of every request.

use super::attempt::of_group;
use super::axes::{ABSENT, Axes, Coordinates, Key};
use super::points::{Extra, IndexName, Placed, PointIndex};
use crate::answer::{Answer, LookupError};
use crate::context::{Context, Names};
use crate::lookup::fields::Fields;
use crate::semantics::Rules;
use crate::table::columns::{Column, integers};
use crate::table::{KernelRow, KernelRows};
use perfdb_pycompat::text::trim;
use perfdb_store::registry::KernelClass;

static AXES: Axes = Axes { names: &["q_tokens", "effective_kv_len"], sets: &[&[0], &[1], &[0, 1]], padded: None };

/// A part of a composite between rows.
pub(super) fn of_part(
    context: &Context<'_>,
    names: &Names<'_>,
    fields: &Fields,
) -> Result<Option<Answer>, LookupError> {
    for name in names {
        let Some(table) = context.table(name)? else { continue };
        let Some((key, at)) = target(context.class(name), fields) else { continue };
        let index = index(context.rules, table);
        for group in index.of(&key) {
            if let Ok(value) = of_group(context, index, group, &at, None) {
                return Ok(Some(value.answer(table)));
            }
        }
    }
    Ok(None)
}

/// The rows of a table as points.
pub(super) fn index<'t>(rules: &Rules, table: &'t KernelRows) -> &'t PointIndex {
    let name = IndexName::of(rules, "lengths", None);
    PointIndex::of_table(table, name, &AXES, |row| place(rules, table, row))
}

/// Everything that must agree, and the lengths.
struct Regime<'r> {
    dtype: &'r str,
    query: [i64; 3],
    sparse_mode: i64,
    /// Key heads, top-k, block size and heads: all above 0.
    sizes: [i64; 4],
    /// Layout, cache layout and cache mode.
    texts: [&'r str; 3],
    /// Of the sparse kernel: block size, pattern and count.
    sparse: Option<(i64, &'r str, i64)>,
    query_sums: Vec<i64>,
    kv_lengths: Vec<i64>,
}

/// New tokens and lengths of the requests of a call.
pub(crate) struct Lengths {
    pub(crate) query: Vec<i64>,
    pub(crate) kv: Vec<i64>,
    pub(crate) phase: &'static str,
}

impl Lengths {
    /// Of the sums of new tokens up to each request; or why they are none, as the simulator's reader says it.
    fn of(tokens: i64, sums: &[i64], kv: Vec<i64>) -> Result<Lengths, &'static str> {
        let mut query = Vec::with_capacity(sums.len());
        let mut before = 0;
        for &sum in sums {
            query.push(sum - before);
            before = sum;
        }
        if tokens <= 0 || before != tokens || query.iter().any(|length| *length < 0) {
            return Err("runtime_query_offsets_invalid");
        }
        let is_consistent = query.len() == kv.len()
            && kv.iter().all(|length| *length >= 0)
            && query.iter().zip(&kv).all(|(query, kv)| *query == 0 || *kv > 0);
        if !is_consistent {
            return Err("runtime_workload_unextractable");
        }
        let asked = || query.iter().zip(&kv).filter(|(query, _)| **query > 0);
        let phase = match () {
            () if asked().all(|(query, kv)| query == kv) => "prefill",
            () if asked().all(|(query, _)| *query == 1) => "decode",
            () => "mixed",
        };
        Ok(Lengths { query, kv, phase })
    }

    fn work(&self) -> i64 {
        self.query.iter().zip(&self.kv).map(|(query, kv)| query.saturating_mul(*kv)).sum()
    }
}

impl Regime<'_> {
    fn place(&self) -> Option<(Key, Coordinates)> {
        let [tokens, heads, size] = self.query;
        let is_positive = [tokens, heads, size].into_iter().chain(self.sizes).all(|number| number > 0);
        if !is_positive || self.sparse.is_some_and(|(block, _, count)| block <= 0 || count <= 0) {
            return None;
        }
        let lengths = Lengths::of(tokens, &self.query_sums, self.kv_lengths.clone()).ok()?;
        let (work, phase) = (lengths.work(), lengths.phase);
        let mut key = Key::default();
        key.text(self.dtype).text(phase).integer(size).integer(self.sparse_mode).shape(&self.sizes).texts(self.texts);
        if let Some((block, pattern, count)) = self.sparse {
            key.integer(block).text(pattern).integer(count);
        }
        Some((key, [tokens as f64, work as f64 / tokens as f64, ABSENT, ABSENT, ABSENT]))
    }
}

fn target(class: KernelClass, fields: &Fields) -> Option<(Key, Coordinates)> {
    let sparse = match class {
        KernelClass::SparseAttention => {
            Some((fields.sparse_block_size?, fields.sparse_pattern?, fields.sparse_valid_count?))
        }
        _ => None,
    };
    let regime = Regime {
        dtype: fields.dtype?,
        query: fields.query?,
        sparse_mode: fields.sparse_mode?,
        sizes: [fields.kv_heads?, fields.topk?, fields.block_size?, fields.num_heads?],
        texts: [fields.input_layout?, fields.cache_layout?, fields.kv_cache_mode?],
        sparse,
        query_sums: fields.query_lengths.clone()?,
        kv_lengths: fields.kv_lengths.clone()?,
    };
    regime.place()
}

/// New tokens and lengths of the requests of a row; or why it is no point, as the simulator's reader says it.
pub(crate) fn lengths_of_row(rules: &Rules, row: KernelRow<'_>) -> Result<Lengths, &'static str> {
    if row.table().has(Column::Completeness) && row.cell(Column::Completeness) != Some("complete") {
        return Err("runtime_metadata_incomplete");
    }
    let query = row.inputs().get(0).ok_or("input_signature_missing")?;
    let [tokens, heads, size] = *query else { return Err("query_shape_unextractable") };
    if tokens.min(heads).min(size) <= 0 {
        return Err("query_shape_unextractable");
    }
    let list = |column: Column| integers(trim(&row.text(column, rules.float_texts)?));
    let (Some(sums), Some(kv)) = (list(Column::QueryLengths), list(Column::KvLengths)) else {
        return Err("runtime_sequence_values_missing");
    };
    let lengths = Lengths::of(tokens, &sums, kv)?;
    let is_regime = place(rules, row.table(), row).is_some();
    if is_regime { Ok(lengths) } else { Err("runtime_regime_incomplete") }
}

fn place(rules: &Rules, table: &KernelRows, row: KernelRow<'_>) -> Option<Placed> {
    if table.has(Column::Completeness) && row.cell(Column::Completeness) != Some("complete") {
        return None;
    }
    let [tokens, heads, size] = *row.inputs().get(0)? else { return None };
    let list = |column: Column| integers(trim(&row.text(column, rules.float_texts)?));
    let text = |column: Column| row.cell(column).map(trim).filter(|text| !text.is_empty());
    let number = |column: Column| row.whole(column);
    let sparse = match table.class(rules) {
        KernelClass::SparseAttention => {
            Some((number(Column::SparseBlockSize)?, text(Column::SparsePattern)?, number(Column::SparseValidCount)?))
        }
        _ => None,
    };
    let regime = Regime {
        dtype: row.input_types().first()?,
        query: [tokens, heads, size],
        sparse_mode: number(Column::SparseMode)?,
        sizes: [number(Column::KvHeads)?, number(Column::TopK)?, number(Column::BlockSize)?, number(Column::NumHeads)?],
        texts: [text(Column::InputLayout)?, text(Column::CacheLayout)?, text(Column::KvCacheMode)?],
        sparse,
        query_sums: list(Column::QueryLengths)?,
        kv_lengths: list(Column::KvLengths)?,
    };
    let (key, at) = regime.place()?;
    Some(Placed { key, at, extra: Extra::default() })
}
