//! Families of operators, and the formulas of each.
//!
//! | family | operations | bytes |
//! | --- | --- | --- |
//! | product (m, k)·(k, n), b of them | b·2·m·n·k | b·(m·k + k·n + m·n) elements |
//! | the same with something to add | and b·m·n | and b·n elements |
//! | scaled product of 8 bits | 2·m·n·k, and m·n with three shapes | m·k + k·n, and 2·m·n |
//! | grouped product, m rows over g weights | 2·m·n·k | m·k + g·k·n + m·n elements |
//! | convolution | 2·\|out\|·Π w\[1…\] (transposed: 2·\|in\|·Π w\[1…\]), with bias and \|out\| | in, weight, out, with bias and its channels |
//! | attention | 2·b·h·q·k·(d + dv), half of it under a causal mask where q = k | query, key, value, result |
//! | attention over packed sequences | 2·h·(d + dv)·Σ(q·k), less Σq²/2 of prompts; the lengths are those that the server annotates | query, key, value, result, keys and values of the cache |
//! | two tensors, element by element | \|out\| | both in, out |
//! | one tensor, element by element | n | in, out |
//! | copy | 0 | in, out |
//! | reduction | n in | in, out |
//! | softmax | 3·n | in, out |
//! | RMS norm, r rows of h | r·(2·h + 2) + n, with weight 2·n | in, out, weight |
//! | layer norm | 5·n + 6·r | in, out, 2·h of weight and bias, 2·r of statistics |
//! | fused experts, T tokens to k of E experts | 2·T·k·n·k of each product | in, out, the experts that can be touched |
//! | writing to a cache of keys and values | 0 | keys and values, in and out |
//! | generated kernel | not known | each tensor, where the kernel goes through all of it |
//! | collective of n ranks | 0 | by ring: 2·(n − 1)/n of an all-reduce, (n − 1)/n of the larger side of others |

mod attention;
mod collectives;
mod convolution;
mod experts;
mod generated;
mod norms;
mod packed;
mod pointwise;
mod products;
mod reductions;

use crate::workload::call::{Call, CallWork};

pub(crate) use collectives::collective;
pub use packed::{AttentionBatch, Keys, PackedAttention, PackedCall};

/// What an operator does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// A product of two matrices.
    Product(Product),
    /// A convolution.
    Convolution,
    /// Attention.
    Attention(AttentionCall),
    /// Attention over sequences that stand one behind the other, whose lengths are known from elsewhere.
    PackedAttention(PackedCall),
    /// Keys and values into the cache.
    CacheWrite,
    /// A kernel that TorchInductor generated.
    Generated,
    /// Two tensors element by element.
    Binary {
        /// Whether the result is true or false.
        compares: bool,
    },
    /// One tensor element by element.
    Unary,
    /// A copy, with or without another type.
    Copy,
    /// A reduction over some dimensions.
    Reduction(Reduced),
    /// The exponential of each element over their sum.
    Softmax,
    /// A norm over the last dimensions.
    Norm(Norm),
    /// The experts of a layer in one call.
    Experts,
}

/// Where the operands of a product stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Product {
    /// (m, k), (k, n)
    Plain,
    /// What is added, (m, k), (k, n)
    Added,
    /// (…, k), (n, k), and what is added, if anything
    Linear,
    /// (m, k), (k, n) of 8 bits with scales
    Scaled,
    /// (b, m, k), (b, k, n)
    Batched,
    /// What is added, (b, m, k), (b, k, n)
    BatchedAdded,
    /// (m, k), (g, k, n), and where the rows of each weight end
    Grouped,
}

/// How an operator of attention is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttentionCall {
    /// Whether heads come before tokens in the shapes.
    pub heads_first: bool,
    /// Position of the argument that says whether there is a causal mask.
    pub causal_at: usize,
}

/// What the result of a reduction is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduced {
    /// The same type.
    Same,
    /// The same type, 64 bits for integers.
    Sum,
    /// Positions of 64 bits.
    Position,
    /// True or false.
    Truth,
}

/// Which norm, and where its input and its weight stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Norm {
    /// RMS norm of PyTorch: input, normalised shape, weight.
    Rms,
    /// RMS norm of serving frameworks: result, input, weight; or input, weight.
    RmsIntoResult,
    /// RMS norm after an addition, in place: input, residual, weight.
    AddedRms,
    /// Layer norm: input, normalised shape, weight, bias.
    Layer,
}

const BINARY: [&str; 14] = [
    "add",
    "sub",
    "rsub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "remainder",
    "fmod",
    "atan2",
    "bitwise_and",
    "bitwise_or",
    "sigmoid_backward",
    "threshold_backward",
];
const COMPARISONS: [&str; 9] = ["eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"];
const UNARY: [&str; 29] = [
    "abs",
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "cos",
    "erf",
    "exp",
    "floor",
    "gelu",
    "hardtanh",
    "leaky_relu",
    "log",
    "log2",
    "neg",
    "pow",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "tanh",
    "log1p",
];

impl Family {
    /// The family of an operator, by its name without namespace and without the `_` of operators that work in place.
    pub fn of(base_name: &str) -> Option<Family> {
        let sdpa = |heads_first, causal_at| Some(Family::Attention(AttentionCall { heads_first, causal_at }));
        let packed = |query_at, keys, mask_at| Some(Family::PackedAttention(PackedCall { query_at, keys, mask_at }));
        match base_name {
            "mm" | "matmul" => Some(Family::Product(Product::Plain)),
            "addmm" => Some(Family::Product(Product::Added)),
            "linear" => Some(Family::Product(Product::Linear)),
            "_scaled_mm" | "cublas_scaled_mm" => Some(Family::Product(Product::Scaled)),
            "bmm" => Some(Family::Product(Product::Batched)),
            "baddbmm" => Some(Family::Product(Product::BatchedAdded)),
            "_grouped_mm" => Some(Family::Product(Product::Grouped)),
            "convolution" => Some(Family::Convolution),
            "scaled_dot_product_attention" => sdpa(true, 5),
            "_scaled_dot_product_flash_attention" => sdpa(true, 4),
            "_scaled_dot_product_efficient_attention" | "_scaled_dot_product_cudnn_attention" => sdpa(true, 6),
            "_flash_attention_forward" => sdpa(false, 8),
            "_flash_attn_forward" | "FlashAttnFunc" => sdpa(false, 5),
            "unified_attention" | "unified_attention_with_output" => packed(0, Keys::New, None),
            "mha_batch_prefill" => packed(0, Keys::Cache, Some([12, 13])),
            "paged_attention_ragged" => packed(2, Keys::Cache, None),
            "fmha_v3_varlen_fwd" | "mha_varlen_fwd" => packed(0, Keys::Packed, Some([12, 13])),
            "_flash_attn_varlen_forward" => packed(0, Keys::Packed, Some([9, 10])),
            "reshape_and_cache" | "reshape_and_cache_flash" => Some(Family::CacheWrite),
            "copy" | "clone" => Some(Family::Copy),
            "sum" | "prod" | "nansum" => Some(Family::Reduction(Reduced::Sum)),
            "mean" | "amax" | "amin" => Some(Family::Reduction(Reduced::Same)),
            "argmax" | "argmin" => Some(Family::Reduction(Reduced::Position)),
            "any" | "all" => Some(Family::Reduction(Reduced::Truth)),
            "softmax" | "_softmax" | "log_softmax" | "_log_softmax" => Some(Family::Softmax),
            "_fused_rms_norm" => Some(Family::Norm(Norm::Rms)),
            "rms_norm" => Some(Family::Norm(Norm::RmsIntoResult)),
            "fused_add_rms_norm" => Some(Family::Norm(Norm::AddedRms)),
            "layer_norm" | "native_layer_norm" => Some(Family::Norm(Norm::Layer)),
            "rocm_aiter_fused_moe" | "fused_experts" | "inplace_fused_experts" | "outplace_fused_experts" => {
                Some(Family::Experts)
            }
            _ if generated::is_generated(base_name) => Some(Family::Generated),
            _ if UNARY.contains(&base_name) => Some(Family::Unary),
            _ if BINARY.contains(&base_name) => Some(Family::Binary { compares: false }),
            _ if COMPARISONS.contains(&base_name) => Some(Family::Binary { compares: true }),
            _ => None,
        }
    }

    pub(crate) fn work(self, call: &Call) -> Option<CallWork> {
        match self {
            Family::Product(product) => products::work(product, call),
            Family::Convolution => convolution::work(call),
            Family::Attention(how) => attention::work(how, call),
            // The arguments alone do not tell.
            Family::PackedAttention(_) => None,
            Family::CacheWrite => packed::cache_write(call),
            Family::Generated => generated::work(call),
            Family::Binary { compares } => pointwise::binary(call, compares),
            Family::Unary => pointwise::unary(call),
            Family::Copy => pointwise::copy(call),
            Family::Reduction(reduced) => reductions::reduction(reduced, call),
            Family::Softmax => reductions::softmax(call),
            Family::Norm(norm) => norms::work(norm, call),
            Family::Experts => experts::work(call),
        }
    }
}
