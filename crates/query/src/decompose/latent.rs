//! Latent attention: absorbed weights and attention over the latent cache, or expanded keys and attention.

use super::sparse::{SparseCall, rank_vectors};
use super::{Kind, Options, PartQuery, Phase, phase, requests};
use crate::context::Context;
use crate::lookup::fields::{Fields, average};
use crate::query::Tensor;
use perfdb_store::op_mapping::Entry;
use perfdb_store::registry::parts;
use smallvec::smallvec;

/// The kernels of a call; `None` if it cannot be taken apart.
pub(super) fn parts<'q>(
    context: &Context<'q>,
    entry: &'q Entry,
    is_sparse: bool,
    is_quantised: bool,
) -> Option<Vec<PartQuery<'q>>> {
    let call = LatentCall::of(context, entry, is_sparse)?;
    let is_absorbed = call.is_decode_shaped || (is_sparse && call.up.is_some() && call.down.is_some());
    if is_absorbed { call.absorbed(context, is_quantised) } else { call.expanded(context) }
}

/// A call, taken apart.
struct LatentCall<'q> {
    q: &'q Tensor,
    tokens: i64,
    heads: i64,
    dtype: &'static str,
    cache: &'q Tensor,
    lengths: &'q Tensor,
    average: i64,
    query_lengths: Option<&'q [i64]>,
    is_decode_shaped: bool,
    is_prefill: bool,
    is_sparse: bool,
    /// From the heads to the latent space, and back.
    up: Option<&'q Tensor>,
    down: Option<&'q Tensor>,
    expansion: Option<&'q Tensor>,
    options: Options<'q>,
}

impl<'q> LatentCall<'q> {
    fn of(context: &Context<'q>, entry: &'q Entry, is_sparse: bool) -> Option<Self> {
        let query = context.query;
        if query.arguments.len() < 10 {
            return None;
        }
        let q = query.tensor(0)?;
        let &[tokens, heads, _] = q.shape.as_slice() else { return None };
        let lengths = query.tensor(4)?;
        let known = average(context.rules, lengths.values.as_deref());
        let average = known.unwrap_or(0);
        let told = phase(context, Some(requests(lengths)))?;
        let is_prefill = match told {
            Some(phase) => phase == Phase::Prefill,
            None => average != 0 && tokens >= average,
        };
        let query_lengths = query.tensor(5).and_then(|tensor| tensor.values.as_deref());
        let is_decode_shaped = query_lengths.is_none_or(|lengths| lengths.iter().max().is_none_or(|most| *most <= 1));
        if is_sparse && is_prefill && is_decode_shaped {
            return None;
        }
        Some(LatentCall {
            q,
            tokens,
            heads,
            dtype: context.rules.type_name(q.dtype)?,
            cache: query.tensor(1)?,
            lengths,
            average,
            query_lengths,
            is_decode_shaped,
            is_prefill,
            is_sparse,
            up: query.tensor(6),
            down: query.tensor(7),
            expansion: query.tensor(8),
            options: Options::of(entry),
        })
    }

    fn heads_are_global(&self) -> bool {
        self.options.map("dsa_cp_layout").is_some_and(|layout| layout.flag("attention_heads_already_global"))
    }

    /// The tensor-parallel size, if the tokens are split over it.
    fn split(&self, context: &Context<'_>) -> Option<i64> {
        context.query.tp_size.filter(|tp| context.query.sequence_parallel && *tp > 1)
    }

    /// Tokens and heads of the first of this many ranks.
    fn share(&self, tp: i64) -> (i64, i64) {
        let heads = if self.heads_are_global() { self.heads } else { self.heads * tp };
        ((self.tokens + tp - 1).div_euclid(tp), heads)
    }

    /// Attention over the selected keys.
    fn sparse_fields(&self, context: &Context<'q>, tokens: i64, heads: i64, size: i64, is_split: bool) -> Fields {
        let query = context.query;
        let lengths = self.lengths.values.as_deref();
        let limit = query.arguments.get(10).and_then(|argument| argument.as_integer());
        let call = SparseCall {
            tokens,
            heads,
            size,
            dtype: self.dtype,
            requests: requests(self.lengths),
            lengths,
            average: Some(self.average),
            topk: limit.or_else(|| query.tensor(11)?.shape.last().copied()),
            block: self.cache.shape.len().checked_sub(2).map(|at| self.cache.shape[at]),
            has_indices: true,
        };
        let vectors = is_split.then(|| rank_vectors(lengths, self.tokens, tokens, self.query_lengths)).flatten();
        call.fields(vectors)
    }

    fn attention(&self, fields: Fields) -> PartQuery<'q> {
        let name = if self.is_sparse { parts::SPARSE_ATTENTION } else { parts::ATTENTION };
        PartQuery { kernel_types: smallvec![name.into()], kind: Kind::Attention(Box::new(fields)) }
    }

    fn dense_fields(&self, query: [i64; 3], sparse_mode: i64, kv_heads: i64) -> Fields {
        Fields {
            query: Some(query),
            dtype: Some(self.dtype),
            avg_seq_len: Some(self.average),
            sparse_mode: Some(sparse_mode),
            kv_heads: Some(kv_heads),
            ..Fields::default()
        }
    }

    fn absorbed(&self, context: &Context<'q>, is_quantised: bool) -> Option<Vec<PartQuery<'q>>> {
        let (up, down) = (self.up?, self.down?);
        let (&[_, inner, rank], &[_, _, outer]) = (up.shape.as_slice(), down.shape.as_slice()) else { return None };
        let split = self.split(context).filter(|_| self.is_sparse && self.is_prefill);
        let (tokens, heads) = split.map_or((self.tokens, self.heads), |tp| self.share(tp));
        let shapes: [&[i64]; 2] = [&[heads, tokens, inner], &[heads, inner, rank]];
        let first = match (is_quantised, context.rules.parts_as_they_are) {
            (true, true) => PartQuery::compute(parts::QUANTISED_MATMUL, "INT8", &shapes, 2),
            (true, false) => PartQuery::compute(parts::QUANTISED_MATMUL, self.dtype, &shapes, 2),
            (false, _) => PartQuery::compute(parts::BATCH_MATMUL, self.dtype, &shapes, 2).or(parts::BATCH_MATMUL_ND),
        };
        let fields = if self.is_sparse {
            self.sparse_fields(context, tokens, heads, rank, split.is_some())
        } else {
            self.dense_fields([requests(self.lengths) as i64, heads, rank], 0, 1)
        };
        let mut parts = vec![
            first,
            self.attention(fields),
            PartQuery::compute(
                parts::TRANSPOSED_BATCH_MATMUL,
                self.dtype,
                &[&[heads, tokens, rank], &[heads, rank, outer]],
                2,
            ),
        ];
        if self.is_sparse && self.is_prefill {
            parts.extend(self.tail(context, tokens, outer)?);
        }
        Some(parts)
    }

    /// The transposition behind attention, where the mapping names one; `None` if it cannot be told.
    fn tail(&self, context: &Context<'q>, tokens: i64, outer: i64) -> Option<Option<PartQuery<'q>>> {
        let query = context.query;
        let tail = self.options.map("prefill_tail_transpose").filter(|tail| !tail.is_empty());
        let Some(tail) = tail.filter(|tail| !tail.flag("requires_sequence_parallel") || query.sequence_parallel) else {
            return Some(None);
        };
        let tp = query.tp_size.filter(|tp| *tp > 1)?;
        let name = tail.text("kernel_type")?;
        let mut width = self.heads * outer;
        let partition = self.options.map("dsa_cp_layout").and_then(|layout| layout.text("tail_width_partition"));
        if self.heads_are_global() && partition == Some("tp") {
            if width % tp != 0 {
                return None;
            }
            width /= tp;
        }
        let mut part = PartQuery::compute(name, self.dtype, &[&[tokens, tp, width], &[3]], 2);
        if let Kind::Compute(compute) = &mut part.kind {
            compute.dtypes[1] = Some("INT64");
        }
        Some(Some(part))
    }

    fn expanded(&self, context: &Context<'q>) -> Option<Vec<PartQuery<'q>>> {
        let expansion = self.expansion?;
        let rank = *expansion.shape.first()?;
        let fields = if self.is_sparse {
            let split = self.split(context);
            let (tokens, heads) = split.map_or((self.tokens, self.heads), |tp| self.share(tp));
            self.sparse_fields(context, tokens, heads, rank, split.is_some())
        } else {
            let size = self.q.shape.last()? - (self.cache.shape.last()? - rank);
            self.dense_fields([self.tokens, self.heads, size], 3, self.heads)
        };
        let product = PartQuery::compute(parts::MATMUL, self.dtype, &[&[self.tokens, rank], &expansion.shape], 2);
        Some(vec![product, self.attention(fields)])
    }
}
