//! Classes of wafer-core 0.1.35: one list of conditions.

use super::condition::{Label, Row, Test, group, labelled};
use super::wafer_0_1_33_rows::{CUBLASLT, MATMUL_OGS, NORM, ROCPRIM, SORTING, TENSILE, TRITON, UNIFIED, WVSPLITK};
use Label::{Start, Text};
use Test::{All, Always, Any, Both, Either, ExactAny, ExactStarts};

const ATTENTION: &[Row] = &[
    UNIFIED,
    labelled("Attention (Prefill)", Text("fmhaSm100a*_Context"), Any(&["fmhasm100a", "context"])),
    labelled("Attention (Decode)", Text("fmhaSm100f*_ForGen"), Any(&["fmhasm100f", "forgen"])),
    labelled("Attention (Prefill)", Start, Always),
];

/// In the order in which they are tried.
pub(crate) const ROWS: &[Row] = &[
    group(Any(&["attention", "fmha"]), ATTENTION),
    labelled("KV Cache", Text("reshape_and_cache_*"), Any(&["reshape_and_cache"])),
    MATMUL_OGS,
    group(
        Both(&[ExactStarts(&["bmm_"]), Any(&["dynbatch"])]),
        &[
            labelled("MoE GEMM+SwiGLU", Text("bmm_*_swiGlu_dynBatch"), Any(&["swiglu"])),
            labelled("MoE GEMM", Text("bmm_*_dynBatch"), Always),
        ],
    ),
    labelled("MoE Routing", Text("moe_routing_*"), Any(&["topk", "routing", "bitmatrix", "moe_forward"])),
    labelled("MoE Finalize", Text("moe_finalize_*"), Either(&[Any(&["finalize"]), All(&["scatter", "moe"])])),
    NORM,
    TENSILE,
    CUBLASLT,
    WVSPLITK,
    TRITON,
    labelled("Elementwise", Text("at::native::*"), ExactAny(&["at::native::"])),
    SORTING,
    labelled(
        "Reduce",
        Label::Vendor("reduce_segments", "cub::DeviceReduce*"),
        Either(&[Any(&["reduce_segments", "devicereduce"]), All(&["reduce", "devicescan"])]),
    ),
    labelled("Copy/Memory", Text("copy_*"), Any(&["copy", "memcpy"])),
    ROCPRIM,
    labelled("Other", Start, Always),
];
