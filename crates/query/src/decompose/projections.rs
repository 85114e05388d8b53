//! The projections in front of latent attention: the visible kernels, or one opaque kernel.

use super::{CachePart, Kind, OpaquePart, Options, PartQuery};
use crate::context::Context;
use crate::query::Tensor;
use perfdb_store::dtype::DType;
use perfdb_store::op_mapping::Entry;
use perfdb_store::registry::parts;
use smallvec::smallvec;

/// The kernel that normalises keys and writes them into the cache.
const CACHE: &str = parts::CACHE_WRITE;

/// The kernels of a call; `None` if it cannot be taken apart.
pub(super) fn parts<'q>(context: &Context<'q>, entry: &'q Entry, is_quantised: bool) -> Option<Vec<PartQuery<'q>>> {
    let query = context.query;
    if query.arguments.len() < if is_quantised { 20 } else { 14 } {
        return None;
    }
    let [x, a, b, k] = [0, 3, 5, 6].map(|at| query.tensor(at));
    let call = Projections { x: x?, a: a?, b: b?, k: k?, dtype: context.rules.type_name(x?.dtype)?, is_quantised };
    let options = Options::of(entry);
    let is_opaque =
        options.map("visible_kernel_regime").is_some_and(|regime| regime.flag("requires_sequence_parallel"))
            && !query.sequence_parallel;
    if is_opaque { call.opaque(context, options).map(|part| vec![part]) } else { call.visible(context, options) }
}

struct Projections<'q> {
    x: &'q Tensor,
    a: &'q Tensor,
    b: &'q Tensor,
    k: &'q Tensor,
    dtype: &'static str,
    is_quantised: bool,
}

impl<'q> Projections<'q> {
    fn tokens_and_width(&self) -> Option<(i64, i64)> {
        match *self.x.shape {
            [tokens, width] => Some((tokens, width)),
            _ => None,
        }
    }

    fn opaque(&self, context: &Context<'q>, options: Options<'q>) -> Option<PartQuery<'q>> {
        let query = context.query;
        let kernel = options.map("opaque_kernel").filter(|_| self.is_quantised)?;
        let integer = |at: usize| query.arguments.get(at)?.as_integer().filter(|number| *number > 0);
        let is_int8 = [self.a, self.b, self.k].iter().all(|tensor| tensor.dtype == DType::Int8);
        let mode = kernel.text("query_mode").unwrap_or("mlapo_preprocess");
        if !is_int8 || mode != "mlapo_preprocess" {
            return None;
        }
        let (num_tokens, hidden_size) = self.tokens_and_width()?;
        let text = |key: &str, default: &str| kernel.text(key).unwrap_or(default).to_owned();
        let part = OpaquePart {
            dtype: self.dtype,
            num_tokens,
            hidden_size,
            local_num_heads: integer(8)?,
            q_lora_rank: integer(13)?,
            kv_lora_rank: integer(12)?,
            qk_nope_head_dim: integer(10)?,
            qk_rope_head_dim: integer(11)?,
            block_size: kernel.integer("block_size").unwrap_or(128),
            cache_mode: text("cache_mode", "krope_ctkv"),
            quant_mode: text("quant_mode", "per_tensor_quant_asymm"),
            weight_format: text("weight_format", "FRACTAL_NZ"),
            enable_inner_out: kernel.flag_or("enable_inner_out", true),
            weight_quantized: kernel.flag_or("weight_quantized", true),
        };
        let name = kernel.text("kernel_type").unwrap_or("mla_preprocess_0_mix_aic");
        Some(PartQuery { kernel_types: smallvec![name.into()], kind: Kind::Opaque(Box::new(part)) })
    }

    fn visible(&self, context: &Context<'q>, options: Options<'q>) -> Option<Vec<PartQuery<'q>>> {
        let query = context.query;
        let (tokens, width) = self.tokens_and_width()?;
        let tp = query.tp_size.filter(|tp| *tp > 1);
        let rank = *self.a.shape.first()?;
        let kv = *self.k.shape.first()?;
        let tokens = if query.sequence_parallel && options.text("projection_token_partition") == Some("tp") {
            tokens / tp.filter(|tp| tokens % tp == 0)?
        } else {
            tokens
        };
        let integer = |at: usize| query.arguments.get(at)?.as_integer();
        let b_shape: Vec<i64> = match (self.is_quantised, integer(8), integer(9)) {
            (true, Some(heads), Some(size)) => {
                let is_whole = query.sequence_parallel && options.flag("reconstruct_q_heads_by_tp");
                vec![heads * if is_whole { tp? } else { 1 } * size, rank]
            }
            _ => self.b.shape.clone(),
        };
        let (norm_q, norm_k) = (query.tensor(4)?, query.tensor(7)?);
        let product = |columns: i64, weight: &[i64]| {
            if self.is_quantised {
                PartQuery::compute(parts::QUANTISED_MATMUL, "INT8", &[&[tokens, columns], weight], 2)
            } else {
                PartQuery::compute(parts::MATMUL, self.dtype, &[&[tokens, columns], weight], 2)
            }
        };
        let quantise = |columns: i64| {
            let part = PartQuery::quantise(self.dtype, &[&[tokens, columns], &[columns], &[columns]], 3);
            Some(part).filter(|_| self.is_quantised)
        };
        if !context.rules.is_newest {
            // The reader of 2025 counts the products and the cache only.
            let cache = PartQuery::compute(CACHE, self.dtype, &[&[tokens, 1, 1, kv]], 1);
            return Some(vec![product(width, &[rank + kv, width]), product(rank, &self.b.shape), cache]);
        }
        let mut parts = Vec::new();
        parts.extend(quantise(width));
        parts.push(product(width, &[rank + kv, width]));
        parts.push(PartQuery::compute(parts::RMS_NORM, self.dtype, &[&[tokens, rank], &norm_q.shape], 2));
        parts.extend(quantise(rank));
        parts.push(product(rank, &b_shape));
        parts.push(self.cache(options, tokens, kv, *norm_k.shape.first()?)?);
        Some(parts)
    }

    fn cache(&self, options: Options<'q>, tokens: i64, kv: i64, rank: i64) -> Option<PartQuery<'q>> {
        let cache = options.map("kv_cache_query");
        match cache.and_then(|cache| cache.get("mode")) {
            None => Some(PartQuery::compute(CACHE, self.dtype, &[&[tokens, 1, 1, kv]], 1)),
            Some(mode) if mode.as_text() == Some("pool_dim0_agnostic") => {
                let rope = kv - rank;
                let block =
                    cache.and_then(|cache| cache.integer("block_size")).filter(|block| *block > 0 && rope > 0)?;
                let part = CachePart { tokens, kv, rank, rope, block, dtype: self.dtype };
                Some(PartQuery { kernel_types: smallvec![CACHE.into()], kind: Kind::Cache(part) })
            }
            Some(_) => None,
        }
    }
}
