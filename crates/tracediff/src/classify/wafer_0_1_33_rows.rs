//! The conditions of wafer-core 0.1.33 behind its registry.

use super::condition::{Label, Row, Test, group, labelled};
use crate::device::Platform::{Amd, Nvidia};
use Label::{Start, Text};
use Test::{Always, Any, Both, Either, ExactAny, ExactStarts, Vendor};

const FLASH: &str = "FlashAttention (QKV+Softmax+Attn)";

pub(crate) const UNIFIED: Row = group(
    Vendor(Amd),
    &[
        labelled("Attention (Prefill)", Text("kernel_unified_attention_2d"), Any(&["2d"])),
        labelled("Attention (Decode)", Text("kernel_unified_attention_3d"), Any(&["3d"])),
        labelled("Attention (Prefill)", Start, Always),
    ],
);

const ATTENTION: &[Row] = &[
    UNIFIED,
    group(
        Any(&["fmhasm100"]),
        &[
            labelled(FLASH, Text("fmhaSm100a*_Context (QKV+Softmax+Attn)"), Any(&["fmhasm100a", "context"])),
            labelled(FLASH, Text("fmhaSm100f*_ForGen (QKV+Softmax+Attn)"), Any(&["fmhasm100f", "forgen"])),
            labelled(FLASH, Text("fmhaSm100* (QKV+Softmax+Attn)"), Always),
        ],
    ),
    labelled("Attention (Prefill)", Start, Always),
];

/// Norms that Triton code of the compiler's own became, up to its other kernels: the same in both old releases.
pub(crate) const NORM: Row = group(
    Both(&[Any(&["triton"]), Either(&[Any(&["rsqrt"]), Test::All(&["mean", "mul", "pow"])])]),
    &[
        labelled("RMSNorm+GEMM", Text("triton_*_rmsnorm_gemm"), Any(&["gemm", "addmm"])),
        labelled("RMSNorm", Text("triton_*_rsqrt"), Always),
    ],
);
pub(crate) const TENSILE: Row =
    labelled("Dense GEMM", Text("Cijk_* (Tensile)"), ExactStarts(&["Cijk_", "Custom_Cijk_"]));
pub(crate) const MATMUL_OGS: Row = group(
    Any(&["_matmul_ogs_"]),
    &[
        labelled("MoE GEMM+SwiGLU", Text("_matmul_ogs_*_swiglu"), Any(&["swiglu"])),
        labelled("MoE GEMM", Text("_matmul_ogs_*"), Always),
    ],
);
pub(crate) const CUBLASLT: Row =
    labelled("Dense GEMM", Text("nvjet_* (cuBLASLt)"), Either(&[ExactStarts(&["nvjet_"]), Any(&["cublaslt"])]));
pub(crate) const WVSPLITK: Row = labelled("Dense GEMM", Text("wvSplitK_* (hipBLASLt)"), Any(&["wvsplitk"]));
pub(crate) const TRITON: Row = group(
    Any(&["triton_poi", "triton_red", "triton_per"]),
    &[
        labelled("Triton Fused", Text("triton_*_silu"), Any(&["silu", "swiglu"])),
        labelled("Triton Fused", Text("triton_*"), Always),
    ],
);
pub(crate) const SORTING: Row =
    labelled("Sorting", Label::Vendor("rocprim::sort/merge_*", "cub::DeviceRadixSort*"), Any(&["sort", "merge"]));
pub(crate) const ROCPRIM: Row = labelled("Other", Text("rocprim/cub_*"), ExactAny(&["rocprim::", "cub::"]));

/// In the order in which they are tried.
pub(crate) const ROWS: &[Row] = &[
    group(Any(&["attention", "fmha"]), ATTENTION),
    group(
        Any(&["flash_fwd"]),
        &[
            labelled(FLASH, Text("flash::flash_fwd_kernel (QKV+Softmax+Attn)"), Vendor(Nvidia)),
            labelled("Attention (Prefill)", Text("flash::flash_fwd_kernel"), Always),
        ],
    ),
    labelled("MoE GEMM", Text("fused_moe_kernel"), Any(&["fused_moe_kernel"])),
    MATMUL_OGS,
    group(
        Any(&["topk", "routing", "bitmatrix", "moe_forward", "_combined_routing"]),
        &[
            labelled("MoE Routing", Text("moe::dev::routing::*"), ExactAny(&["moe::"])),
            labelled("MoE Routing", Text("moe_routing_*"), Always),
        ],
    ),
    labelled("MoE Finalize", Text("moe_finalize_*"), Either(&[Any(&["finalize"]), Test::All(&["scatter", "moe"])])),
    NORM,
    TENSILE,
    CUBLASLT,
    WVSPLITK,
    labelled("Dense GEMM", Text("cutlass*_gemm"), Both(&[Any(&["cutlass"]), Any(&["gemm", "cutlass3x"])])),
    labelled("Dense GEMM", Text("gemv*"), Any(&["gemv"])),
    labelled("Dense GEMM", Text("gemmSN_*"), Any(&["gemmsn"])),
    TRITON,
    group(
        Any(&["reduce"]),
        &[
            labelled("Reduce", Text("reduce_segments"), Any(&["reduce_segments", "devicereduce"])),
            labelled("Reduce", Text("reduce_kernel"), Any(&["reduce_kernel"])),
            labelled("Reduce", Text("reduce_*"), Always),
        ],
    ),
    labelled("Reduce", Text("cub/rocprim::scan_*"), Both(&[Any(&["scan"]), ExactAny(&["cub::", "rocprim::"])])),
    SORTING,
    labelled("Indexing", Text("index/scatter_*"), Any(&["indices", "scatter", "gather", "index_select", "embedding"])),
    labelled("Copy/Memory", Text("copy_*"), Any(&["copy", "memcpy"])),
    group(
        ExactAny(&["at::native::"]),
        &[
            labelled("Elementwise", Text("at::native::fill_*"), Any(&["fill"])),
            labelled("Elementwise", Text("at::native::*"), Always),
        ],
    ),
    ROCPRIM,
];
