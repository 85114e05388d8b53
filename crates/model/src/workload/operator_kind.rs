//! Kinds of operators, by name.

/// What an operator does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperatorKind {
    /// A product of two matrices.
    Product(Product),
    Convolution,
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

/// How an operator of attention over packed sequences is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PackedCall {
    /// Position of the queries; keys and values follow.
    pub query_at: usize,
    /// What the keys and values are.
    pub keys: Keys,
    /// Positions of the argument that says whether there is a causal mask, and of the first of the two sides of a window; nothing
    /// where no argument says so.
    pub mask_at: Option<[usize; 2]>,
}

/// What the keys and values in the arguments are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Keys {
    /// Those of the new tokens; others are in a cache that is no argument.
    New,
    /// All of them, packed.
    Packed,
    /// The cache that holds them.
    Cache,
}

/// How the kernels begin that TorchInductor generates.
const GENERATED: [&str; 3] = ["triton_poi_fused", "triton_red_fused", "triton_per_fused"];
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

impl OperatorKind {
    /// The kind of an operator, by its name without namespace and without the `_` of operators that work in place.
    pub fn of(base_name: &str) -> Option<OperatorKind> {
        let sdpa = |heads_first, causal_at| Some(OperatorKind::Attention(AttentionCall { heads_first, causal_at }));
        let packed =
            |query_at, keys, mask_at| Some(OperatorKind::PackedAttention(PackedCall { query_at, keys, mask_at }));
        match base_name {
            "mm" | "matmul" => Some(OperatorKind::Product(Product::Plain)),
            "addmm" => Some(OperatorKind::Product(Product::Added)),
            "linear" => Some(OperatorKind::Product(Product::Linear)),
            "_scaled_mm" | "cublas_scaled_mm" => Some(OperatorKind::Product(Product::Scaled)),
            "bmm" => Some(OperatorKind::Product(Product::Batched)),
            "baddbmm" => Some(OperatorKind::Product(Product::BatchedAdded)),
            "_grouped_mm" => Some(OperatorKind::Product(Product::Grouped)),
            "convolution" => Some(OperatorKind::Convolution),
            "scaled_dot_product_attention" => sdpa(true, 5),
            "_scaled_dot_product_flash_attention" => sdpa(true, 4),
            "_scaled_dot_product_efficient_attention" | "_scaled_dot_product_cudnn_attention" => sdpa(true, 6),
            "_flash_attention_forward" => sdpa(false, 8),
            "_efficient_attention_forward" => sdpa(false, 9),
            "_cudnn_attention_forward" => sdpa(true, 10),
            "_flash_attn_forward" | "FlashAttnFunc" => sdpa(false, 5),
            "unified_attention" | "unified_attention_with_output" => packed(0, Keys::New, None),
            "mha_batch_prefill" => packed(0, Keys::Cache, Some([12, 13])),
            "paged_attention_ragged" => packed(2, Keys::Cache, None),
            "fmha_v3_varlen_fwd" | "mha_varlen_fwd" => packed(0, Keys::Packed, Some([12, 13])),
            "_flash_attn_varlen_forward" => packed(0, Keys::Packed, Some([9, 10])),
            "reshape_and_cache" | "reshape_and_cache_flash" => Some(OperatorKind::CacheWrite),
            "copy" | "clone" => Some(OperatorKind::Copy),
            "sum" | "prod" | "nansum" => Some(OperatorKind::Reduction(Reduced::Sum)),
            "mean" | "amax" | "amin" => Some(OperatorKind::Reduction(Reduced::Same)),
            "argmax" | "argmin" => Some(OperatorKind::Reduction(Reduced::Position)),
            "any" | "all" => Some(OperatorKind::Reduction(Reduced::Truth)),
            "softmax" | "_softmax" | "log_softmax" | "_log_softmax" => Some(OperatorKind::Softmax),
            "_fused_rms_norm" => Some(OperatorKind::Norm(Norm::Rms)),
            "rms_norm" => Some(OperatorKind::Norm(Norm::RmsIntoResult)),
            "fused_add_rms_norm" => Some(OperatorKind::Norm(Norm::AddedRms)),
            "layer_norm" | "native_layer_norm" => Some(OperatorKind::Norm(Norm::Layer)),
            "rocm_aiter_fused_moe" | "fused_experts" | "inplace_fused_experts" | "outplace_fused_experts" => {
                Some(OperatorKind::Experts)
            }
            _ if GENERATED.iter().any(|start| base_name.starts_with(start)) => Some(OperatorKind::Generated),
            _ if UNARY.contains(&base_name) => Some(OperatorKind::Unary),
            _ if BINARY.contains(&base_name) => Some(OperatorKind::Binary { compares: false }),
            _ if COMPARISONS.contains(&base_name) => Some(OperatorKind::Binary { compares: true }),
            _ => None,
        }
    }
}
