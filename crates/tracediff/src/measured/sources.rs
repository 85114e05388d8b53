//! Which library a kernel is of, and which framework called it.

use crate::copies::CopyKind;

/// Libraries by pieces of kernel names, in the order in which they are tried.
const LIBRARIES: [(&str, &[&str]); 15] = [
    ("nccl", &["nccl"]),
    ("rccl", &["rccl"]),
    (
        "cublas",
        &[
            "nvjet",
            "cublas",
            "gemvx",
            "gemvnsp",
            "gemv2",
            "gemmsn",
            "xmma_gemm",
            "splitkreduce",
            "_sgemm_",
            "_s884gemm",
            "_s16816gemm",
            "_h884gemm",
            "_h16816gemm",
            "_fp16_s",
            "_bf16_s",
        ],
    ),
    ("cudnn", &["cudnn", "xmma_fprop", "xmma_dgrad", "xmma_wgrad", "implicit_convolve", "scudnn"]),
    ("miopen", &["miopen", "igemm_fwd", "igemm_bwd", "naive_conv", "sp3asmconv"]),
    ("tensile", &["cijk_"]),
    ("aiter", &["aiter"]),
    ("composable_kernel", &["ck_tile", "ck::", "kernel_gemm_xdl"]),
    ("flashinfer", &["flashinfer"]),
    ("flash_attention", &["flash::", "flash_fwd", "flash_bwd", "flashattn", "pytorch_flash"]),
    ("deep_gemm", &["deep_gemm"]),
    ("vllm", &["vllm::"]),
    ("triton", &["triton_", "_attn_fwd"]),
    ("cutlass", &["cutlass"]),
    ("aten", &["at::native", "at_cuda_detail", "fmha_cutlass"]),
];

/// Frameworks by how the names of their operators begin.
const FRAMEWORKS: [(&str, &[&str]); 2] = [
    ("vllm", &["vllm::", "_C::", "_vllm_fa", "_moe_C::", "_C_cache_ops::"]),
    ("sglang", &["sgl_kernel::", "sglang::"]),
];

/// The library of a kernel, where its name tells.
pub(super) fn library(kernel: &str) -> Option<&'static str> {
    let lower = kernel.to_ascii_lowercase();
    LIBRARIES.iter().find(|(_, marks)| marks.iter().any(|mark| lower.contains(mark))).map(|(library, _)| *library)
}

/// What makes a copy or a set, as if it were a library.
pub(super) fn of_copy(kind: CopyKind) -> &'static str {
    match kind {
        CopyKind::HostToDevice => "memcpy_htod",
        CopyKind::DeviceToHost => "memcpy_dtoh",
        CopyKind::DeviceToDevice => "memcpy_dtod",
        CopyKind::PeerToPeer => "memcpy_ptop",
        CopyKind::Other => "memcpy",
        CopyKind::Set => "memset",
    }
}

/// Whether this names copies or sets.
pub(super) fn is_of_copies(name: &str) -> bool {
    name.starts_with("memcpy") || name == "memset"
}

/// Whether this is the name of a library.
pub(super) fn is_library(name: &str) -> bool {
    LIBRARIES.iter().any(|(library, _)| *library == name)
}

/// The framework of an operator; nothing for PyTorch's own.
pub(super) fn framework(operator: &str) -> Option<&'static str> {
    FRAMEWORKS.iter().find(|(_, begins)| begins.iter().any(|begin| operator.starts_with(begin))).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_libraries() {
        for (name, expected) in [
            ("nvjet_tst_256x128_64x4_1x2_h_bz_TNN", Some("cublas")),
            ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", Some("cublas")),
            ("sm90_xmma_fprop_implicit_gemm_bf16", Some("cudnn")),
            ("Cijk_Alik_Bljk_BBS_BH_MT128x128x64", Some("tensile")),
            ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>", Some("flash_attention")),
            ("void at::native::vectorized_elementwise_kernel<4>", Some("aten")),
            ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", Some("nccl")),
            ("my_kernel", None),
        ] {
            assert_eq!(library(name), expected, "{name}");
        }
        assert_eq!((framework("vllm::unified_attention"), framework("aten::mm")), (Some("vllm"), None));
    }
}
