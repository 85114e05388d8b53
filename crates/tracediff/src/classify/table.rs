//! The class table of the default rules. Tests are on the lower-cased kernel name; first match wins.
//!
//! The table never asks for the vendor, so the same operation of two vendors always meets its counterpart. Order
//! matters: collectives first (`multimem_all_reduce` is no reduction), compiler-generated kernels before everything
//! whose words their names list, routing before sorting, attention before the words that attention names contain.

use super::condition::{Row, Test, class, group};
use Test::{All, Always, Any, Both, Either, None, Starts};

const GEMM: Test = Any(&["gemm", "addmm"]);

/// Kernels that Triton code of the compiler's own became: the name lists the operators of the fused graph piece.
const COMPILED: &[Row] = &[
    class("LayerNorm", Any(&["layer_norm", "layernorm"])),
    group(
        Either(&[Any(&["rsqrt", "rms_norm", "rmsnorm"]), All(&["mean", "mul", "pow"])]),
        &[
            class("Embedding+RMSNorm+GEMM", Both(&[GEMM, Any(&["embedding"])])),
            class("RMSNorm+GEMM", GEMM),
            class("RMSNorm", Always),
        ],
    ),
    group(Any(&["silu", "swiglu"]), &[class("SwiGLU+GEMM", GEMM), class("SwiGLU", Always)]),
    class("Activation", Any(&["gelu", "relu"])),
    class("SoftMax", Any(&["softmax"])),
    class("Triton Fused", Always),
];

/// Rows 1 to 18; the host operator decides about what is left.
pub(crate) const ROWS: &[Row] = &[
    class("All-Reduce", Any(&["all_reduce", "allreduce", "cross_device_reduce"])),
    class("All-Gather", Any(&["all_gather", "allgather"])),
    class("Reduce-Scatter", Any(&["reduce_scatter", "reducescatter"])),
    class("All-to-All", Any(&["all_to_all", "alltoall", "all2all"])),
    class("Communication", Any(&["nccl", "rccl", "nvshmem", "deep_ep", "deepep", "multimem", "symm_mem"])),
    group(Any(&["triton_poi_", "triton_red_", "triton_per_", "triton_for_"]), COMPILED),
    class(
        "KV Cache",
        Any(&[
            "reshape_and_cache",
            "concat_and_cache",
            "cache_mla",
            "store_kvcache",
            "store_kv_cache",
            "set_mla_kv",
            "set_kv_buffer",
            "copy_blocks",
            "swap_blocks",
            "kv_indices",
            "copy_page_indices",
        ]),
    ),
    class(
        "MoE Routing",
        Any(&[
            "moe_align_block_size",
            "count_and_sort_expert",
            "topkgating",
            "topk_gating",
            "topk_softmax",
            "grouped_topk",
            "moe_fused_gate",
            "_topk_forward",
            "bitmatrix",
            "routing",
        ]),
    ),
    class(
        "MoE Finalize",
        Any(&["moe_sum", "moe_finalize", "finalizekernel", "finalize_moe", "_finalize_matmul_scatter", "unpermute"]),
    ),
    group(
        Either(&[
            Any(&["fused_moe_kernel", "_matmul_ogs", "moe_gemm", "moe_mxgemm", "fmoe", "ck_moe"]),
            Starts("bmm_"),
        ]),
        &[class("MoE GEMM+SwiGLU", Any(&["swiglu", "silu"])), class("MoE GEMM", Always)],
    ),
    class("SSM", Any(&["selective_scan", "mamba", "ssd_", "causal_conv1d", "chunk_scan"])),
    class(
        "Attention",
        Any(&[
            "attention",
            "attn",
            "fmha",
            "flash_fwd",
            "flash_bwd",
            "batchdecodewithpagedkv",
            "batchprefillwith",
            "mla_decode",
            "mla_prefill",
            "reduce_segments",
        ]),
    ),
    class("RMSNorm", Any(&["rmsnorm", "rms_norm"])),
    class("LayerNorm", Any(&["layernorm", "layer_norm"])),
    class("Normalization", Any(&["batchnorm", "batch_norm", "groupnorm", "group_norm", "instance_norm"])),
    class("RoPE", Any(&["rotary", "_rope", "rope_"])),
    class(
        "Convolution",
        Any(&[
            "fprop",
            "dgrad",
            "wgrad",
            "igemm_fwd",
            "igemm_bwd",
            "igemm_wrw",
            "implicit_convolve",
            "im2col",
            "im2d2col",
            "winograd",
            "conv1d",
            "conv2d",
            "conv3d",
            "convolution",
            "convolve",
            "depthwise",
            "nchwtonhwc",
            "nhwctonchw",
        ]),
    ),
    class("Quantize", Both(&[Any(&["quant"]), None(&["gemm", "matmul", "silu", "swiglu", "act_and_mul", "gelu"])])),
    class(
        "Dense GEMM",
        Any(&[
            "cijk_",
            "gemm",
            "nvjet",
            "wvsplitk",
            "gemv",
            "matmul",
            "cublas",
            "hipblas",
            "splitkreduce",
            "cutlass3x",
            "tensorop",
            "triton_mm",
            "triton_tem_",
        ]),
    ),
    class("SwiGLU", Any(&["act_and_mul", "silu", "swiglu"])),
    class("Activation", Any(&["gelu", "relu"])),
    class("SoftMax", Any(&["softmax"])),
    class("Sorting", Either(&[Any(&["sort", "topk"]), Both(&[Any(&["merge"]), Any(&["rocprim", "cub::"])])])),
    class("Reduce", Any(&["reduce", "scan_", "devicescan", "cumsum", "wrapped_scan"])),
    class(
        "Indexing",
        Any(&["gather", "scatter", "embedding", "indices", "index_select", "indexselect", "index_elementwise"]),
    ),
    class("Copy/Memory", Either(&[Any(&["copy", "catarray", "transpose"]), All(&["rocprim", "transform"])])),
    class("Elementwise", Any(&["at::native::", "elementwise", "memset"])),
];
