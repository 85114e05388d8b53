//! Names that say what they are only to those who know the library, asked when neither the class table nor the host
//! operator knows. Each row names the library it is for.

use super::condition::{Row, Test, class};
use Test::{All, Any, Both, Either, None, Starts};

/// In the order in which they are tried.
pub(crate) const ROWS: &[Row] = &[
    // MSCCL and MSCCL++ in RCCL.
    class("Communication", Any(&["msccl"])),
    // Inductor: split scans, kernels without a kind of their own.
    class("Triton Fused", Any(&["triton_spl_", "triton_unk_"])),
    // TensorRT-LLM: rotary embedding within a larger kernel.
    class("RoPE", Any(&["applybiasrope", "ropekernel"])),
    // vLLM and SGLang: token pools. TensorRT-LLM: paged cache updates.
    class("KV Cache", Any(&["req_to_token", "update_kv_cache", "updatekvcache", "kv_cache_update"])),
    // TensorRT-LLM: rows gathered for their experts.
    class("MoE Routing", Any(&["expandinputrows", "moe_permute", "topkdispatch", "moe_sorting"])),
    // Marlin and CUTLASS kernels of MoE layers, CK's fused layers.
    class("MoE GEMM", Any(&["marlin_moe", "moe_wna16", "fusedmoe", "fused_moe", "grouped_mm"])),
    // FLA and Mamba-2 in Triton.
    class(
        "SSM",
        Any(&[
            "delta_rule",
            "chunk_fwd_kernel_o",
            "_chunk_state_",
            "_chunk_cumsum_",
            "_state_passing_",
            "selective_state_update",
            "fused_recurrent_",
        ]),
    ),
    // SGLang and vLLM: Triton decode and prefill; FlashInfer: merging of partial results; TensorRT-LLM: XQA; AITER: assembly.
    class(
        "Attention",
        Either(&[
            Any(&[
                "_fwd_kernel_stage",
                "_fwd_grouped_kernel_stage",
                "mergestate",
                "merge_state",
                "kernel_mha",
                "xqa_kernel",
                "mla_a16w16",
                "mla_a8w8",
                "flash_mla",
                "flashmla",
                "sdpa",
            ]),
            All(&["aiter", "pa_bf16"]),
            All(&["aiter", "pa_fp16"]),
            Both(&[Starts("_fwd_kernel"), None(&["norm"])]),
        ]),
    ),
    // cuDNN.
    class("Normalization", Any(&["bn_fw_", "bn_bw_"])),
    // MIOpen.
    class("Convolution", Any(&["miopensp3asmconv", "miopenconv", "naive_conv", "_conv_fwd", "_conv_bwd"])),
    // Weight-only and block-scaled products of vLLM and SGLang, CK's flat matrix products.
    class("Dense GEMM", Any(&["marlin", "machete", "_scaled_mm", "flatmm"])),
    // TensorRT-LLM: gated activations of MoE layers.
    class("SwiGLU", Any(&["moe::dev::activation", "doactivationkernel"])),
    // Samplers of vLLM, SGLang and FlashInfer.
    class("Sorting", All(&["sampling", "prob"])),
];
