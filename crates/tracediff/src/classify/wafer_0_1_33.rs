//! Classes of wafer-core 0.1.33: first a registry of glob patterns per vendor, then a list of conditions.

use std::borrow::Cow;

use super::condition::{Row, Subject, Test, class, first_match};
use super::operation::{OTHER, Operation};
use super::{glob, wafer_0_1_33_rows, words};
use crate::device::Platform;

/// One category of the registry: patterns per vendor, patterns for both, and the rows that name the operation.
struct Category {
    amd: &'static [&'static str],
    nvidia: &'static [&'static str],
    both: &'static [&'static str],
    operation: &'static [Row],
}

/// Attention patterns that mean decode.
const DECODE: [&str; 6] =
    ["*unified_attention_3d*", "kernel_unified_attention_3d*", "attention_3d*", "fmhaSm100f*", "*ForGen*", "*forgen*"];

const REGISTRY: &[Category] = &[
    Category {
        amd: &[
            "*ck_fmha_*",
            "*flash_attn_ck*",
            "*unified_attention_2d*",
            "*unified_attention_3d*",
            "kernel_unified_attention_2d*",
            "kernel_unified_attention_3d*",
            "attention_2d*",
            "attention_3d*",
            "triton_*flash*",
            "triton_*attention*",
        ],
        nvidia: &[
            "fmhaSm100a*",
            "fmhaSm100f*",
            "fmhaSm90*",
            "flash::flash_fwd_kernel*",
            "flash_fwd_*",
            "fmha_v2_*flash_attention_forward*",
            "fmha_v2_*",
            "fmhaSm89*",
            "fmhaSm80*",
            "fmha_*",
            "*Context*",
            "*context*",
            "*ForGen*",
            "*forgen*",
        ],
        both: &[],
        operation: &[class("Attention (Prefill)", Test::Always)],
    },
    Category {
        amd: &[
            "Cijk_*",
            "Custom_Cijk_*",
            "wvSplitK*",
            "hipblaslt*",
            "hipblas*",
            "*fp8*",
            "*gfx950*",
            "*ISA942*",
            "*ISA950*",
        ],
        nvidia: &["nvjet_*", "void cublasLt*", "cutlass*gemm*", "cutlass_*", "cublas*", "*fp8*gemm*", "*e4m3*"],
        both: &[],
        operation: &[class("Dense GEMM", Test::Always)],
    },
    Category {
        amd: &[],
        nvidia: &[],
        both: &[
            "triton_*rocm_unquantized_gemm*rsqrt*",
            "triton_*rsqrt*rocm_unquantized_gemm*",
            "triton_*rsqrt*gemm*",
            "triton_*gemm*rsqrt*",
            "triton_*rsqrt*",
            "*rmsnorm*",
        ],
        operation: &[
            class("Embedding+RMSNorm+GEMM", Test::All(&["gemm", "embedding"])),
            class("RMSNorm+GEMM", Test::Any(&["gemm"])),
            class("RMSNorm", Test::Always),
        ],
    },
    Category {
        amd: &[],
        nvidia: &[],
        both: &[
            "_matmul_ogs_*",
            "bmm_*dynbatch*",
            "*routing*",
            "*topk*",
            "fused_moe_kernel*",
            "*vllm::moe::*",
            "*moe_align_block_size*",
            "*count_and_sort_expert*",
            "*topkGatingSoftmax*",
        ],
        operation: &[
            class("MoE GEMM+SwiGLU", Test::Any(&["swiglu"])),
            class("MoE Routing", Test::Any(&["routing", "topk", "align_block", "count_and_sort", "gating"])),
            class("MoE Finalize", Test::Any(&["finalize", "scatter"])),
            class("MoE GEMM", Test::Always),
        ],
    },
    Category {
        amd: &[],
        nvidia: &[],
        both: &["*reshape_and_cache*", "*concat_and_cache*", "*cache_mla*"],
        operation: &[class("KV Cache", Test::Always)],
    },
    Category {
        amd: &[],
        nvidia: &[],
        both: &[
            "triton_*rocm_unquantized_gemm*silu*",
            "triton_*silu*rocm_unquantized_gemm*",
            "triton_*gemm*silu*",
            "triton_*silu*gemm*",
            "*act_and_mul_kernel*",
            "triton_*silu*",
            "*silu_kernel*",
            "*gelu*",
        ],
        operation: &[
            class("SwiGLU+GEMM", Test::Both(&[Test::Any(&["silu", "swiglu"]), Test::Any(&["gemm"])])),
            class("SwiGLU", Test::Any(&["silu", "swiglu"])),
            class("Triton Fused", Test::Always),
        ],
    },
    Category { amd: &[], nvidia: &[], both: &["*SoftMax*"], operation: &[class("SoftMax", Test::Always)] },
    Category {
        amd: &["*rocprim::*reduce*", "*rocprim::*scan*", "reduce_segments*"],
        nvidia: &["*cub::*Reduce*", "*cub::*Scan*", "*splitKreduce*"],
        both: &[],
        operation: &[class("Reduce", Test::Always)],
    },
    Category {
        amd: &["*rocprim::*sort*", "*rocprim::*merge*"],
        nvidia: &["*RadixSort*", "*DeviceSort*"],
        both: &[],
        operation: &[class("Sorting", Test::Always)],
    },
    Category {
        amd: &[],
        nvidia: &[],
        both: &["*memcpy*", "*direct_copy*", "*copy_page_indices*", "*rocclr_copyBuffer*", "*rocprim::*transform*"],
        operation: &[class("Copy/Memory", Test::Always)],
    },
    Category {
        amd: &[],
        nvidia: &[],
        both: &["*scatter_gather*", "*index_elementwise*", "*fill_reverse_indices*"],
        operation: &[class("Indexing", Test::Always)],
    },
    Category {
        amd: &[],
        nvidia: &[],
        both: &["triton_poi_fused_mul*silu*", "triton_poi_fused*", "triton_red_fused*", "triton_per_fused*"],
        operation: &[class("Triton Fused", Test::Always)],
    },
    Category {
        amd: &[],
        nvidia: &[],
        both: &["at::native::*elementwise*", "at::native::*vectorized*", "*distribution_elementwise*"],
        operation: &[class("Elementwise", Test::Always)],
    },
];

/// Class and label of a kernel.
pub(crate) fn classify(subject: &Subject<'_>) -> Operation {
    by_registry(subject)
        .or_else(|| first_match(wafer_0_1_33_rows::ROWS, subject))
        .or_else(|| words::fused_unknown(subject))
        .unwrap_or_else(|| Operation { name: Cow::Borrowed(OTHER), label: Cow::Owned(subject.start()) })
}

fn by_registry(subject: &Subject<'_>) -> Option<Operation> {
    REGISTRY.iter().find_map(|category| {
        let vendor = match subject.platform {
            Platform::Amd => category.amd,
            Platform::Ascend | Platform::Nvidia | Platform::Other => category.nvidia,
        };
        let pattern = vendor
            .iter()
            .chain(category.both)
            .find(|pattern| glob::matches(&pattern.to_lowercase(), &subject.lower))?;
        let operation = if DECODE.contains(pattern) {
            Operation::plain("Attention (Decode)")
        } else {
            first_match(category.operation, subject)?
        };
        Some(Operation { label: Cow::Borrowed(pattern), ..operation })
    })
}
