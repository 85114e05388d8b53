//! Kernels that code has to name: parts of the simulator's composite operators, by what they are there, those whose rows have columns of their own,
//! and collectives, whose tables are written.

/// A product.
pub const MATMUL: &str = "MatMulV2";
/// A product for each head.
pub const BATCH_MATMUL: &str = "BatchMatMulV2";
/// The same in plain format.
pub const BATCH_MATMUL_ND: &str = "BatchMatMulNd";
/// A product of eight-bit integers.
pub const QUANTISED_MATMUL: &str = "QuantBatchMatmulV3";
/// A product for each head, whose result is transposed.
pub const TRANSPOSED_BATCH_MATMUL: &str = "TransposeBatchMatMul";
/// The norm of latent vectors.
pub const RMS_NORM: &str = "RmsNorm";
/// The norm of index keys.
pub const LAYER_NORM: &str = "LayerNormV3";
/// Another data type.
pub const CAST: &str = "Cast";
/// Norm, rotary embedding and cache of latent keys.
pub const CACHE_WRITE: &str = "KvRmsNormRopeCache";
/// Writes index keys into their cache.
pub const SCATTER: &str = "ScatterNdUpdate";
/// The same on other cores.
pub const SCATTER_AI_CORE: &str = "ScatterNdUpdateAiCore";
/// Chooses tokens.
pub const INDEXER: &str = "LightningIndexer";
/// Attention to chosen tokens.
pub const SPARSE_ATTENTION: &str = "SparseFlashAttention";
/// Attention, whose rows carry runtime values.
pub const ATTENTION: &str = "FusedInferAttentionScore";
/// The gate of a gated activation times its value.
pub const SWIGLU: &str = "SwiGlu";
/// Quantises activations in blocks.
pub const QUANTISE_BLOCKS: &str = "DynamicBlockQuant";
/// Quantises activations.
pub const QUANTISE: &str = "AscendQuantV2";
/// The fused experts, whose rows carry an expert-parallel size.
pub const DISPATCH_FFN_COMBINE: &str = "DispatchFFNCombine";
/// How the types of collectives begin.
pub(crate) const COLLECTIVE_PREFIX: &str = "hcom_";
/// Every rank ends with the sum.
pub const ALL_REDUCE: &str = "hcom_allReduce_";
/// Every rank ends with all pieces.
pub const ALL_GATHER: &str = "hcom_allGather_";
/// Every rank ends with its piece of the sum.
pub const REDUCE_SCATTER: &str = "hcom_reduceScatter_";
/// Every rank sends a piece to every rank: the variant of the list form of the call.
pub const ALL_TO_ALL: &str = "hcom_alltoallv_";

/// Whether the ranks of a collective have parts of one message: some libraries count the part, others the whole.
pub fn is_shared(kernel_type: &str) -> bool {
    [ALL_GATHER, REDUCE_SCATTER].iter().any(|shared| kernel_type.starts_with(shared.trim_end_matches('_')))
}
