//! The kernel types that are known by name, by code point.

use super::{Case, KernelClass, KernelType, Upstream};

/// The products of two matrices that measure the same calls.
const PRODUCTS: [&str; 3] = ["MatMulV2", "MatMulV3", "MatMulCommon"];
const NOTHING: Upstream = Upstream::NOTHING;
const PRODUCT: Upstream = Upstream::PRODUCT;
const FLATTENS: Upstream = Upstream::FLATTENS;
const RELAXED: Upstream = Upstream::RELAXED;

const fn row(name: &'static str, class: KernelClass, upstream: Upstream) -> KernelType {
    KernelType { name, class, layout: None, upstream, case: Case::AllInputs, interchangeable: &[] }
}

/// One whose rows are of one case by other columns than all inputs.
const fn of_case(name: &'static str, class: KernelClass, upstream: Upstream, case: Case) -> KernelType {
    KernelType { case, ..row(name, class, upstream) }
}

const fn product(name: &'static str, upstream: Upstream) -> KernelType {
    KernelType { interchangeable: &PRODUCTS, ..of_case(name, KernelClass::MatMul, upstream, Case::Product) }
}

/// Kernels whose profiles write the number of a variant behind the name.
const VARIANTS: [(&str, &str); 2] =
    [("split_qkv_rmsnorm_rope_kernel_0", "split_qkv_rmsnorm_rope_kernel"), ("muls_add_kernel_1", "muls_add_kernel")];

/// A kernel type without the number of its variant.
pub(crate) fn without_variant(name: &str) -> &str {
    VARIANTS.iter().find(|(variant, _)| *variant == name).map_or(name, |(_, plain)| plain)
}

#[rustfmt::skip]
pub(super) const TABLE: &[KernelType] = &[
    row("Add", KernelClass::Elementwise, NOTHING),
    row("AddRmsNorm", KernelClass::Norm, FLATTENS),
    row("AddRmsNormBias", KernelClass::Norm, FLATTENS),
    row("ApplyRotaryPosEmb", KernelClass::Rope, RELAXED),
    row("AscendQuantV2", KernelClass::Quantize, FLATTENS.and(Upstream::MERGES)),
    row("BatchMatMulNd", KernelClass::BatchMatMul, NOTHING),
    row("BatchMatMulV2", KernelClass::BatchMatMul, PRODUCT),
    of_case("DispatchFFNCombine", KernelClass::Experts, FLATTENS, Case::ExpertParallel),
    row("DynamicQuant", KernelClass::Quantize, FLATTENS.and(Upstream::MERGES)),
    row("FusedInferAttentionScore", KernelClass::Attention, NOTHING),
    row("GatherV2", KernelClass::Copy, NOTHING),
    row("GroupedMatmul", KernelClass::GroupedMatMul, Upstream::PRODUCT_SINCE_2026),
    row("GroupedMatmulSwigluQuant", KernelClass::GroupedMatMul, Upstream::PRODUCT_SINCE_2026),
    of_case("Index", KernelClass::Index, NOTHING, Case::Index),
    row("LightningIndexer", KernelClass::Indexer, NOTHING),
    row("LightningIndexerVllm", KernelClass::Indexer, NOTHING),
    row("MaskedFill", KernelClass::Elementwise, NOTHING),
    row("MatMul", KernelClass::MatMul, PRODUCT),
    product("MatMulCommon", PRODUCT),
    product("MatMulV2", PRODUCT.and(RELAXED)),
    product("MatMulV3", PRODUCT),
    row("MoeGatingTopK", KernelClass::Generic, Upstream::RELAXED_SINCE_2026),
    row("PadV3", KernelClass::Copy, RELAXED),
    row("PadV3AiCore", KernelClass::Copy, RELAXED),
    row("QuantBatchMatmulV3", KernelClass::BatchMatMul, PRODUCT),
    row("RINGMLAPrefillBF16Kernel", KernelClass::LatentAttention, NOTHING),
    row("ReshapeAndCacheNdKernel", KernelClass::CacheWrite, NOTHING),
    row("RmsNorm", KernelClass::Norm, FLATTENS),
    row("ScatterNdUpdate", KernelClass::Copy, NOTHING),
    of_case("Slice", KernelClass::Copy, NOTHING, Case::FirstInput),
    of_case("SliceAiCore", KernelClass::Copy, NOTHING, Case::FirstInput),
    row("SparseFlashAttention", KernelClass::SparseAttention, NOTHING),
    row("SwiGlu", KernelClass::GatedActivation, NOTHING),
    row("TensorMove", KernelClass::Copy, NOTHING),
    of_case("Transpose", KernelClass::Copy, NOTHING, Case::FirstInput),
    of_case("TransposeAiCore", KernelClass::Copy, NOTHING, Case::FirstInput),
    row("TransposeBatchMatMul", KernelClass::BatchMatMul, PRODUCT),
    row("_triton_rope", KernelClass::Rope, RELAXED),
    row("reshape_and_cache_200000000", KernelClass::CacheWrite, NOTHING),
    row("split_qkv_rmsnorm_rope_kernel", KernelClass::Rope, RELAXED),
];
