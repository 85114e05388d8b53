//! What an attention kernel is asked with.

use crate::semantics::Rules;
use crate::table::columns::Column;

/// What an attention kernel is asked with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    /// Tokens, heads, head size.
    pub(crate) query: Option<[i64; 3]>,
    pub(crate) dtype: Option<&'static str>,
    pub(crate) avg_seq_len: Option<i64>,
    pub(crate) sparse_mode: Option<i64>,
    pub(crate) kv_heads: Option<i64>,
    pub(crate) input_layout: Option<&'static str>,
    pub(crate) topk: Option<i64>,
    pub(crate) block_size: Option<i64>,
    pub(crate) query_lengths: Option<Vec<i64>>,
    pub(crate) kv_lengths: Option<Vec<i64>>,
    pub(crate) valid_blocks: Option<Vec<i64>>,
    pub(crate) num_heads: Option<i64>,
    pub(crate) cache_layout: Option<&'static str>,
    pub(crate) kv_cache_mode: Option<&'static str>,
    pub(crate) sparse_block_size: Option<i64>,
    pub(crate) sparse_pattern: Option<&'static str>,
    pub(crate) sparse_valid_count: Option<i64>,
    pub(crate) batch_size: Option<i64>,
    /// Names of fields without which there is no answer.
    pub(crate) required: Vec<Required>,
}

/// A field that may be required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Required {
    KvLengths,
    QueryLengths,
    ValidBlocks,
    BlockSize,
    CacheLayout,
    InputLayout,
    KvCacheMode,
    NumHeads,
    NumKvHeads,
    SparseBlockSize,
    SparsePattern,
    SparseValidCount,
    SparseMode,
    TopK,
}

impl Required {
    pub(super) fn name(self) -> &'static str {
        match self {
            Required::KvLengths => "actual_seq_lengths_kv_values",
            Required::QueryLengths => "actual_seq_lengths_values",
            Required::ValidBlocks => "block_table_valid_blocks",
            Required::BlockSize => "block_size",
            Required::CacheLayout => "cache_layout",
            Required::InputLayout => "input_layout",
            Required::KvCacheMode => "kv_cache_mode",
            Required::NumHeads => "num_heads",
            Required::NumKvHeads => "num_kv_heads",
            Required::SparseBlockSize => "sparse_block_size",
            Required::SparsePattern => "sparse_indices_pattern",
            Required::SparseValidCount => "sparse_indices_valid_count",
            Required::SparseMode => "sparse_mode",
            Required::TopK => "topk",
        }
    }

    /// The column without which a table is useless.
    pub(super) fn column(self) -> Option<Column> {
        match self {
            Required::SparseMode => Some(Column::SparseMode),
            Required::NumKvHeads => Some(Column::KvHeads),
            Required::InputLayout => Some(Column::InputLayout),
            Required::TopK => Some(Column::TopK),
            Required::BlockSize => Some(Column::BlockSize),
            _ => None,
        }
    }

    pub(super) fn is_in(self, fields: &Fields) -> bool {
        match self {
            Required::KvLengths => fields.kv_lengths.is_some(),
            Required::QueryLengths => fields.query_lengths.is_some(),
            Required::ValidBlocks => fields.valid_blocks.is_some(),
            Required::BlockSize => fields.block_size.is_some(),
            Required::CacheLayout => fields.cache_layout.is_some(),
            Required::InputLayout => fields.input_layout.is_some(),
            Required::KvCacheMode => fields.kv_cache_mode.is_some(),
            Required::NumHeads => fields.num_heads.is_some(),
            Required::NumKvHeads => fields.kv_heads.is_some(),
            Required::SparseBlockSize => fields.sparse_block_size.is_some(),
            Required::SparsePattern => fields.sparse_pattern.is_some(),
            Required::SparseValidCount => fields.sparse_valid_count.is_some(),
            Required::SparseMode => fields.sparse_mode.is_some(),
            Required::TopK => fields.topk.is_some(),
        }
    }
}

/// The mean of some lengths, cut to an integer; `None` without any.
pub(crate) fn average(rules: &Rules, lengths: Option<&[i64]>) -> Option<i64> {
    let lengths = lengths?;
    let count = i64::try_from(lengths.len()).ok().filter(|count| *count > 0)?;
    if rules.single_precision_mean {
        let sum = pairwise_sum(lengths);
        return Some((sum / count as f32) as i64);
    }
    let sum = lengths.iter().try_fold(0i64, |sum, length| sum.checked_add(*length))?;
    Some(sum / count)
}

/// A sum in single precision. Below 2²⁴ every order of summing gives the same.
fn pairwise_sum(lengths: &[i64]) -> f32 {
    match lengths {
        [] => 0.0,
        [one] => *one as f32,
        several => {
            let (left, right) = several.split_at(several.len() / 2);
            pairwise_sum(left) + pairwise_sum(right)
        }
    }
}
