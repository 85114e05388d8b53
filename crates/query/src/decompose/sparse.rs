//! The fields of sparse attention kernels, and what the first rank sees of them.

use crate::lookup::fields::{Fields, Required};

/// Lengths as the first rank sees them: running sums of its query lengths, and the keys that its last query sees.
#[derive(Debug, Clone)]
pub(super) struct RankVectors {
    pub(super) query: Vec<i64>,
    pub(super) kv: Vec<i64>,
}

/// What sparse fields are made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct SparseCall<'q> {
    pub(super) tokens: i64,
    pub(super) heads: i64,
    pub(super) size: i64,
    pub(super) dtype: &'static str,
    /// The number of requests.
    pub(super) requests: usize,
    pub(super) lengths: Option<&'q [i64]>,
    pub(super) average: Option<i64>,
    pub(super) topk: Option<i64>,
    pub(super) block: Option<i64>,
    /// Whether indices are passed along.
    pub(super) has_indices: bool,
}

impl SparseCall<'_> {
    /// The fields, with vectors where only a share of the tokens is computed.
    pub(super) fn fields(self, vectors: Option<RankVectors>) -> Fields {
        let (query_lengths, kv_lengths, average) = match vectors {
            Some(vectors) => {
                let count = vectors.kv.len() as i64;
                let average = (count > 0).then(|| vectors.kv.iter().sum::<i64>().div_euclid(count.max(1)));
                (Some(vectors.query), Some(vectors.kv), average)
            }
            None => (split_evenly(self.tokens, self.requests), self.lengths.map(<[i64]>::to_vec), self.average),
        };
        let blocks = |block: i64| {
            let lengths = kv_lengths.as_ref().filter(|_| block > 0)?;
            Some(lengths.iter().map(|length| (length + block - 1).div_euclid(block)).collect())
        };
        let longest = kv_lengths.as_ref().and_then(|lengths| lengths.iter().max().copied());
        let valid_count = self.has_indices.then(|| Some(self.topk?.min(longest?))).flatten();
        let mut required = vec![
            Required::SparseMode,
            Required::NumKvHeads,
            Required::NumHeads,
            Required::InputLayout,
            Required::CacheLayout,
            Required::KvCacheMode,
            Required::TopK,
            Required::BlockSize,
            Required::QueryLengths,
            Required::KvLengths,
            Required::ValidBlocks,
        ];
        if self.has_indices {
            required.extend([Required::SparseBlockSize, Required::SparsePattern]);
        }
        if valid_count.is_some() {
            required.push(Required::SparseValidCount);
        }
        Fields {
            query: Some([self.tokens, self.heads, self.size]),
            dtype: Some(self.dtype),
            avg_seq_len: average,
            sparse_mode: Some(3),
            kv_heads: Some(1),
            input_layout: Some("TND"),
            topk: self.topk,
            block_size: self.block,
            valid_blocks: self.block.and_then(blocks),
            query_lengths,
            kv_lengths,
            num_heads: Some(self.heads),
            cache_layout: Some("PA_BSND"),
            kv_cache_mode: Some("paged"),
            sparse_block_size: self.has_indices.then_some(1),
            sparse_pattern: self.has_indices.then_some("uniform"),
            sparse_valid_count: valid_count,
            batch_size: Some(self.requests as i64),
            required,
        }
    }
}

/// Running sums of tokens split evenly over requests, the first ones getting one more; `None` if there are fewer tokens than requests.
fn split_evenly(tokens: i64, requests: usize) -> Option<Vec<i64>> {
    let count = i64::try_from(requests).ok().filter(|count| *count > 0 && tokens >= *count)?;
    Some(running(&even_lengths(tokens, count)))
}

fn even_lengths(tokens: i64, count: i64) -> Vec<i64> {
    (0..count).map(|at| tokens / count + i64::from(at < tokens % count)).collect()
}

fn running(lengths: &[i64]) -> Vec<i64> {
    let mut sum = 0;
    lengths
        .iter()
        .map(|length| {
            sum += length;
            sum
        })
        .collect()
}

/// What the first of several ranks sees: the first `share` of all `tokens`. `Err` if the lengths of several requests are not known but required.
pub(super) fn rank_vectors(
    lengths: Option<&[i64]>,
    tokens: i64,
    share: i64,
    query_lengths: Option<&[i64]>,
) -> Option<RankVectors> {
    vectors(lengths?, tokens, share, query_lengths, false)
}

/// As [`rank_vectors`], but several requests need query lengths.
pub(super) fn required_rank_vectors(
    lengths: Option<&[i64]>,
    tokens: i64,
    share: i64,
    query_lengths: Option<&[i64]>,
) -> Option<RankVectors> {
    vectors(lengths?, tokens, share, query_lengths, true)
}

fn vectors(
    lengths: &[i64],
    tokens: i64,
    share: i64,
    query_lengths: Option<&[i64]>,
    is_required: bool,
) -> Option<RankVectors> {
    if lengths.is_empty() {
        return None;
    }
    let counts = |query: &&[i64]| {
        query.len() == lengths.len() && query.iter().all(|length| *length >= 0) && query.iter().sum::<i64>() == tokens
    };
    let query: Vec<i64> = match query_lengths.filter(counts) {
        Some(query) => query.to_vec(),
        None if is_required && lengths.len() > 1 => return None,
        None if lengths.iter().sum::<i64>() == tokens => lengths.to_vec(),
        None => even_lengths(tokens, lengths.len() as i64),
    };
    let (mut start, mut sum) = (0, 0);
    let mut found = RankVectors { query: Vec::new(), kv: Vec::new() };
    for (own, length) in query.iter().zip(lengths) {
        let end = start + own;
        let cut = end.min(share);
        let count = (cut - start).max(0);
        sum += count;
        found.query.push(sum);
        found.kv.push(if count > 0 { length - (end - cut) } else { 0 });
        start = end;
    }
    (sum == share).then_some(found)
}
