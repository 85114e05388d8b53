//! The kernel types that are known by name, by code point.

use super::{KernelClass, KernelType};

/// The products of two matrices that measure the same calls.
const PRODUCTS: [&str; 3] = ["MatMulV2", "MatMulV3", "MatMulCommon"];

const fn row(name: &'static str, class: KernelClass) -> KernelType {
    KernelType { name, class, layout: None, interchangeable: &[] }
}

const fn product(name: &'static str) -> KernelType {
    KernelType { name, class: KernelClass::MatMul, layout: None, interchangeable: &PRODUCTS }
}

pub(super) const TABLE: &[KernelType] = &[
    row("Add", KernelClass::Elementwise),
    row("AddRmsNormBias", KernelClass::Norm),
    row("AscendQuantV2", KernelClass::Elementwise),
    row("BatchMatMulV2", KernelClass::MatMul),
    row("DispatchFFNCombine", KernelClass::Experts),
    row("DynamicQuant", KernelClass::Elementwise),
    row("FusedInferAttentionScore", KernelClass::Attention),
    row("GatherV2", KernelClass::Copy),
    row("GroupedMatmul", KernelClass::GroupedMatMul),
    row("GroupedMatmulSwigluQuant", KernelClass::GroupedMatMul),
    row("Index", KernelClass::Copy),
    row("MaskedFill", KernelClass::Elementwise),
    product("MatMulCommon"),
    product("MatMulV2"),
    product("MatMulV3"),
    row("PadV3", KernelClass::Copy),
    row("QuantBatchMatmulV3", KernelClass::MatMul),
    row("RINGMLAPrefillBF16Kernel", KernelClass::LatentAttention),
    row("ReshapeAndCacheNdKernel", KernelClass::Copy),
    row("RmsNorm", KernelClass::Norm),
    row("ScatterNdUpdate", KernelClass::Copy),
    row("Slice", KernelClass::Copy),
    row("SwiGlu", KernelClass::Elementwise),
    row("TensorMove", KernelClass::Copy),
    row("Transpose", KernelClass::Copy),
    row("TransposeBatchMatMul", KernelClass::MatMul),
];
