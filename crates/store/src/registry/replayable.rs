//! The kernels that can be replayed.

use super::parts::{ATTENTION, DISPATCH_FFN_COMBINE};

/// Those of the custom package, which needs two variables of the environment.
pub const OF_CUSTOM_PACKAGE: [&str; 5] = [
    "AddRmsNormBias",
    DISPATCH_FFN_COMBINE,
    "KvRmsNormRopeCache",
    "RINGMLAPrefillBF16Kernel",
    "split_qkv_rmsnorm_rope_kernel",
];

/// The operators that can be replayed, by code point.
pub const REPLAYABLE: [&str; 36] = [
    "Add",
    "AddRmsNormBias",
    "ArgMaxV2",
    "AscendQuantV2",
    "BatchMatMulV2",
    DISPATCH_FFN_COMBINE,
    "DynamicQuant",
    ATTENTION,
    "GatherV2",
    "GroupedMatmul",
    "GroupedMatmulSwigluQuant",
    "Index",
    "InterleaveRope",
    "KvRmsNormRopeCache",
    "LightningIndexer",
    "MaskedFill",
    "MatMulCommon",
    "MatMulV2",
    "MatMulV3",
    "MoeTokenPermute",
    "MoeTokenUnpermute",
    "PadV3",
    "QuantBatchMatmulV3",
    "RINGMLAPrefillBF16Kernel",
    "ReshapeAndCacheNdKernel",
    "RmsNorm",
    "ScatterNdUpdate",
    "Slice",
    "SoftmaxV2",
    "Sort",
    "SparseFlashAttention",
    "SwiGlu",
    "TensorMove",
    "Transpose",
    "TransposeBatchMatMul",
    "split_qkv_rmsnorm_rope_kernel",
];
