//! The indexer of sparse attention.

use super::sparse::{SparseCall, required_rank_vectors};
use super::{Kind, PartQuery, Phase, ScatterPart, phase, requests};
use crate::context::Context;
use crate::lookup::fields::average;
use crate::query::{Argument, Tensor, elements};
use perfdb_store::dtype::DType;
use perfdb_store::op_mapping::Entry;
use perfdb_store::registry::parts;
use smallvec::{SmallVec, smallvec};

/// Where query lengths stand among the positional arguments.
const QUERY_LENGTHS: usize = 16;

/// The kernels of a call; `None` if it cannot be taken apart.
pub(super) fn parts<'q>(context: &Context<'q>, entry: &'q Entry) -> Option<Vec<PartQuery<'q>>> {
    let query = context.query;
    if query.arguments.len() < 16 {
        return None;
    }
    let tensor = |at: usize| query.tensor(at);
    let integer = |at: usize| query.arguments[at].as_integer();
    let (x, qa, cache, _, lengths) = (tensor(0)?, tensor(1)?, tensor(4)?, tensor(6)?, tensor(7)?);
    let (wq, wk, wp, norm) = (tensor(8)?, tensor(9)?, tensor(10)?, tensor(11)?);
    let (heads, size, topk) = (integer(12)?, integer(13)?, integer(15)?);
    let is_matrix = |tensor: &Tensor| matches!(tensor.shape.len(), 2 | 3);
    if !is_matrix(x) || !is_matrix(qa) {
        return None;
    }
    let dtype = context.rules.type_name(x.dtype)?;
    let (width, low_width) = (*x.shape.last()?, *qa.shape.last()?);
    let all_tokens = elements(&x.shape).checked_div(width)?;
    let average = average(context.rules, lengths.values.as_deref());
    let is_prefill = match (phase(context, Some(requests(lengths)))?, average) {
        (Some(phase), _) => phase == Phase::Prefill,
        (None, Some(average)) => average != 0 && all_tokens >= average,
        (None, None) => false,
    };
    let split = query.tp_size.filter(|tp| is_prefill && query.sequence_parallel && *tp > 1);
    let tokens = split.map_or(all_tokens, |tp| (all_tokens + tp - 1).div_euclid(tp));
    let vectors = match split {
        Some(_) => {
            let query_lengths = query_lengths(context).and_then(|tensor| tensor.values.as_deref());
            Some(required_rank_vectors(lengths.values.as_deref(), all_tokens, tokens, query_lengths)?)
        }
        None => None,
    };
    let call = SparseCall {
        tokens,
        heads,
        size,
        dtype,
        requests: requests(lengths),
        lengths: lengths.values.as_deref(),
        average,
        topk: Some(topk),
        block: cache.shape.len().checked_sub(2).filter(|at| *at >= 1).map(|at| cache.shape[at]),
        has_indices: false,
    };
    let row: &[i64] = &[tokens, width];
    let low_row: &[i64] = &[tokens, low_width];
    let head: &[i64] = &[tokens, size];
    let wk_rows = *wk.shape.first()?;
    let mut parts = vec![
        PartQuery::compute(parts::MATMUL, dtype, &[row, &wk.shape], 2),
        PartQuery::compute(parts::LAYER_NORM, "FLOAT", &[&[tokens, wk_rows], &norm.shape, &norm.shape], 3),
        PartQuery::compute(parts::CAST, dtype, &[head], 1),
        PartQuery::compute(parts::CAST, dtype, &[head], 1),
        PartQuery::compute(parts::MATMUL, dtype, &[row, &wp.shape], 2),
    ];
    match wq.dtype {
        DType::Int8 => {
            parts.push(PartQuery::quantise(dtype, &[low_row], 1));
            parts.push(PartQuery::compute(parts::QUANTISED_MATMUL, "INT8", &[low_row, &wq.shape], 2));
        }
        _ => parts.push(PartQuery::compute(parts::MATMUL, dtype, &[low_row, &wq.shape], 2)),
    }
    let scatter = ScatterPart { tokens: all_tokens, feature: size, dtype, cache: SmallVec::from_slice(&cache.shape) };
    parts.push(PartQuery {
        kernel_types: smallvec![parts::SCATTER.into(), parts::SCATTER_AI_CORE.into()],
        kind: Kind::Scatter(scatter),
    });
    let mut attention = PartQuery {
        kernel_types: smallvec![entry.primary_kernel_type.as_deref().unwrap_or(parts::INDEXER).into()],
        kind: Kind::Attention(Box::new(call.fields(vectors))),
    };
    for name in &entry.alternate_kernel_types {
        attention = attention.or(name.as_str());
    }
    parts.push(attention);
    Some(parts)
}

/// The query lengths: a keyword, or by their position where the rules look there.
fn query_lengths<'q>(context: &Context<'q>) -> Option<&'q Tensor> {
    let keyword = context.query.keyword_value("query_lens").and_then(Argument::as_tensor);
    keyword.or_else(|| context.query.tensor(QUERY_LENGTHS).filter(|_| context.rules.positional_lengths))
}
