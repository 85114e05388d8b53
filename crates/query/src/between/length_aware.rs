//! Attention kernels whose rows tell the length of every request.

use super::attempt::of_group;
use super::axes::{ABSENT, Axes, Coordinates, Key};
use super::points::{Extra, IndexName, Placed, PointIndex};
use crate::answer::{Answer, Miss};
use crate::context::{Context, Names};
use crate::measured::fields::Fields;
use crate::semantics::Rules;
use crate::table::columns::{Column, integers};
use crate::table::{KernelRow, KernelRows};
use perfdb_pycompat::text::trim;
use perfdb_store::registry::KernelClass;
use std::sync::Arc;

static AXES: Axes = Axes { names: &["q_tokens", "effective_kv_len"], sets: &[&[0], &[1], &[0, 1]], padded: None };

/// A part of a composite between rows.
pub(super) fn of_part(context: &Context<'_>, names: &Names<'_>, fields: &Fields) -> Result<Option<Answer>, Miss> {
    for name in names {
        let Some(table) = context.table(name)? else { continue };
        let Some((key, at)) = target(context.class(name), fields) else { continue };
        let index = index(context.rules, table);
        for group in index.of(&key) {
            if let Ok(value) = of_group(context, &index, group, &at, None) {
                return Ok(Some(value.answer(table)));
            }
        }
    }
    Ok(None)
}

/// The rows of a table as points.
pub(super) fn index(rules: &Rules, table: &KernelRows) -> Arc<PointIndex> {
    let name = IndexName { kind: "lengths", count: None, is_corrected: rules.envelope_everywhere };
    table
        .points
        .get_or_make(name, || PointIndex::new(table, &AXES, false, name.is_corrected, |row| place(rules, table, row)))
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

impl Regime<'_> {
    fn place(&self) -> Option<(Key, Coordinates)> {
        let [tokens, heads, size] = self.query;
        let is_positive = [tokens, heads, size].into_iter().chain(self.sizes).all(|number| number > 0);
        let mut query = Vec::with_capacity(self.query_sums.len());
        let mut before = 0;
        for &sum in &self.query_sums {
            query.push(sum - before);
            before = sum;
        }
        let is_consistent = before == tokens
            && query.len() == self.kv_lengths.len()
            && query.iter().all(|length| *length >= 0)
            && self.kv_lengths.iter().all(|length| *length >= 0)
            && query.iter().zip(&self.kv_lengths).all(|(query, kv)| *query == 0 || *kv > 0);
        if !is_positive || !is_consistent || self.sparse.is_some_and(|(block, _, count)| block <= 0 || count <= 0) {
            return None;
        }
        let work: i64 = query.iter().zip(&self.kv_lengths).map(|(query, kv)| query.saturating_mul(*kv)).sum();
        let asked = || query.iter().zip(&self.kv_lengths).filter(|(query, _)| **query > 0);
        let phase = match () {
            () if asked().all(|(query, kv)| query == kv) => "prefill",
            () if asked().all(|(query, _)| *query == 1) => "decode",
            () => "mixed",
        };
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
