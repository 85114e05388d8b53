//! What the names of kernels say about their work. The sizes of tiles in a name are not those of the problem.

use crate::roofline::Precision;

use perfdb_store::dtype::DType;

/// What the name of a kernel of attention tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct AttentionKernel {
    /// Whether a window hides keys that are far away.
    pub is_windowed: Option<bool>,
    /// What the cache of keys and values holds.
    pub cache: Option<DType>,
}

impl AttentionKernel {
    /// What a name tells; nothing of most.
    pub fn of_name(name: &str) -> AttentionKernel {
        let trtllm = || of_trtllm(name);
        let paged = || of_paged(name);
        trtllm().or_else(paged).unwrap_or(AttentionKernel { is_windowed: is_local(name), cache: None })
    }

    /// What two kernels of one call tell together.
    pub fn and(self, other: AttentionKernel) -> AttentionKernel {
        let is_windowed = match (self.is_windowed, other.is_windowed) {
            (Some(one), Some(other)) => Some(one || other),
            (one, other) => one.or(other),
        };
        AttentionKernel { is_windowed, cache: self.cache.or(other.cache) }
    }
}

/// `fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvSlidingOrChunkedCausalP16…` of TensorRT-LLM.
fn of_trtllm(name: &str) -> Option<AttentionKernel> {
    let rest = name.strip_prefix("fmhaSm")?;
    let (_, types) = rest.split_once("_Qkv")?;
    let cache = ["E4m3", "Bfloat16", "Fp16"].into_iter().find(|element| types.starts_with(element));
    let is_windowed = if types.contains("SlidingOrChunkedCausal") {
        Some(true)
    } else {
        (types.contains("Causal") || types.contains("Dense")).then_some(false)
    };
    let cache = cache.map(|element| match element {
        "E4m3" => DType::Float8E4M3Fn,
        "Bfloat16" => DType::BFloat16,
        _ => DType::Float16,
    });
    Some(AttentionKernel { is_windowed, cache })
}

/// `paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0, …,
/// ck_tile::ComposedAttention<0u, false> >`: the third type is that of the cache, and bit 1 of the variant stands for a window.
fn of_paged(name: &str) -> Option<AttentionKernel> {
    let (_, arguments) = name.split_once("paged_attention_ll4mi_QKV")?;
    let (_, arguments) = arguments.split_once('<')?;
    let cache =
        arguments.split(',').map(str::trim).filter(|argument| !argument.starts_with(|c: char| c.is_ascii_digit()));
    let cache = cache.take(2).last().and_then(|name| match name {
        "__hip_bfloat16" => Some(DType::BFloat16),
        "_Float16" => Some(DType::Float16),
        "unsigned char" => Some(DType::Float8E4M3Fn),
        _ => None,
    });
    let variant = arguments.split_once("ck_tile::ComposedAttention<").and_then(|(_, variant)| variant.split_once('u'));
    let variant: Option<u32> = variant.and_then(|(variant, _)| variant.parse().ok());
    Some(AttentionKernel { is_windowed: variant.map(|variant| variant & 2 != 0), cache })
}

/// The template argument `Is_local` of FlashAttention 2 and 3, behind `Is_causal`.
fn is_local(name: &str) -> Option<bool> {
    let second = [
        ("flash_fwd_splitkv_kernel<", "Flash_fwd_kernel_traits<", 1),
        ("flash_fwd_kernel<", "Flash_fwd_kernel_traits<", 2),
        ("FlashAttnFwdSm90<", "cutlass::arch::Sm90, ", 1),
    ];
    second.into_iter().find_map(|(kernel, before, at)| {
        let (_, arguments) = name.split_once(kernel)?;
        let (_, arguments) = arguments.split_once(before)?;
        let flags = if before.ends_with('<') { behind_brackets(arguments)? } else { arguments };
        let flags: Vec<&str> = flags.split(',').map(|flag| flag.trim().trim_end_matches('>').trim()).collect();
        let is_flag = |at: usize| flags.get(at).is_some_and(|flag| ["true", "false"].contains(flag));
        (0..=at).all(is_flag).then(|| flags[at] == "true")
    })
}

/// What follows the bracket that closes one that is open already, and the comma behind it.
fn behind_brackets(text: &str) -> Option<&str> {
    let mut open = 1;
    let end = text.find(|character| {
        open += match character {
            '<' => 1,
            '>' => -1,
            _ => 0,
        };
        open == 0
    })?;
    text[end + 1..].trim_start().strip_prefix(',').map(str::trim_start)
}

/// The type that the operands of a product have by the name of its kernel: a kernel may cut 32-bit numbers to fewer bits, or read as
/// 8 or 4 bits what the operator calls bytes. Where both operands differ, it is that of the wider one, which the units compute in.
pub fn product_precision(name: &str) -> Option<Precision> {
    let lower = name.to_ascii_lowercase();
    let cut = ["tf32", "xf32"].iter().any(|mark| lower.contains(mark));
    if let Some(rest) = name.strip_prefix("Cijk_") {
        return if cut { Some(Precision::Tf32) } else { of_tensile(rest) };
    }
    if let Some(rest) = lower.strip_prefix("nvjet_") {
        return of_nvjet(rest);
    }
    if lower.starts_with("bmm_") || lower.starts_with("gemm_") {
        return of_trtllm_product(&lower);
    }
    let is_product = ["gemm", "matmul"].iter().any(|word| lower.contains(word));
    if !is_product || ["reduce", "scatter"].iter().any(|word| lower.contains(word)) {
        return None;
    }
    if cut || lower.contains("tensorop_s1688gemm") || lower.contains("_s1688tf32") {
        return Some(Precision::Tf32);
    }
    let of_mark = [
        ("gemm_e4m3e4m3", Precision::Fp8),
        ("gemm_e4m3e5m2", Precision::Fp8),
        ("gemm_e5m2e4m3", Precision::Fp8),
        ("xmma_gemm_bf16bf16", Precision::Bf16),
        ("xmma_gemm_f16f16", Precision::Fp16),
        ("xmma_gemm_i8i8", Precision::Int8),
        ("xmma_gemm_f32f32", Precision::Fp32),
        ("f8f8bf16", Precision::Fp8),
        ("f8f8f16", Precision::Fp8),
        ("tensorop_bf16_s16816gemm", Precision::Bf16),
        ("tensorop_bf16_s161616gemm", Precision::Bf16),
        ("tensorop_bf16_s1688gemm", Precision::Bf16),
        ("tensorop_f16_s16816gemm", Precision::Fp16),
        ("tensorop_f16_s161616gemm", Precision::Fp16),
        ("tensorop_f16_s1688gemm", Precision::Fp16),
        ("tensorop_h16816gemm", Precision::Fp16),
        ("tensorop_i16832gemm", Precision::Int8),
        ("tensorop_d884gemm", Precision::Fp64),
        ("_matmul_ogs_nnt_bf16xbf16x", Precision::Bf16),
        ("_matmul_ogs_nnt_fp16xfp16x", Precision::Fp16),
        ("_sgemm_", Precision::Fp32),
        ("_dgemm_", Precision::Fp64),
        ("deep_gemm::fp8_gemm", Precision::Fp8),
        ("_fp8_gemm_1d", Precision::Fp8),
        ("_bf16_gemm_impl", Precision::Bf16),
    ];
    of_mark.into_iter().find(|(mark, _)| lower.contains(mark)).map(|(_, precision)| precision)
}

/// `Alik_Bljk_BBS_BH…`, `Alik_Bljk_B_BS_BH…`: the first letters behind the two index lists are the type of the operands.
fn of_tensile(rest: &str) -> Option<Precision> {
    let types = rest.split('_').nth(2)?;
    let eight_bits = ["F8", "B8"].iter().any(|mark| types.starts_with(mark));
    match types {
        _ if eight_bits => Some(Precision::Fp8),
        _ if types.starts_with("I8") => Some(Precision::Int8),
        "BBS" | "B" | "BSS" => Some(Precision::Bf16),
        "HHS" | "HSS" | "H" | "HHH" | "HB" => Some(Precision::Fp16),
        "S" | "SB" => Some(Precision::Fp32),
        "D" | "DB" => Some(Precision::Fp64),
        _ => None,
    }
}

/// `nvjet_tst_…`, `nvjet_sm103_qqtst_…` of cuBLASLt: q is 8 bits, t and h are bfloat16 and half, s and d 32 and 64 bits.
fn of_nvjet(rest: &str) -> Option<Precision> {
    let mut words = rest.split('_');
    let first = words.next()?;
    let types = if first.starts_with("sm") { words.next()? } else { first };
    match types {
        "tst" | "tss" => Some(Precision::Bf16),
        "hsh" | "hss" => Some(Precision::Fp16),
        _ if types.starts_with("qq") => Some(Precision::Fp8),
        _ => None,
    }
}

/// `bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128…` of TensorRT-LLM: the result, then the type of both operands or of each one.
fn of_trtllm_product(lower: &str) -> Option<Precision> {
    let mut operands = lower.split('_').nth(2)?;
    let mut widest = None;
    let known = [
        ("mxe4m3", Precision::Fp8),
        ("e4m3", Precision::Fp8),
        ("mxe2m1", Precision::Fp4),
        ("e2m1", Precision::Fp4),
        ("mxint4", Precision::Int4),
        ("bfloat16", Precision::Bf16),
        ("fp16", Precision::Fp16),
    ];
    while !operands.is_empty() {
        let (name, precision) = known.into_iter().find(|(name, _)| operands.starts_with(name))?;
        operands = &operands[name.len()..];
        let is_wider = widest.is_none_or(|widest: Precision| precision.bytes() > widest.bytes());
        widest = if is_wider { Some(precision) } else { widest };
    }
    widest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_attention_tell_windows_and_caches() {
        let kernel = |is_windowed, cache| AttentionKernel { is_windowed, cache };
        let paged = |variant: &str| {
            format!(
                "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, unsigned char, (vllm::Fp8KVCacheDataType)1, 1, \
                 128, 256, false, 4, 1, ck_tile::ComposedAttention<{variant}u, false> >(__hip_bfloat16 const*)"
            )
        };
        let two = |flags: &str| {
            format!(
                "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, \
                 Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, {flags}, false, true, false>(flash::Flash_fwd_params)"
            )
        };
        let three = |local: &str| {
            format!(
                "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, \
                 cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, 128, cutlass::bfloat16_t, float, cutlass::arch::Sm90, true, \
                 {local}, false, true> > > >(flash::Params)"
            )
        };
        let split = "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, cutlass::half_t>, false, true, \
                     false, false>(flash::Flash_fwd_params)";
        for (name, expected) in [
            (
                "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvSlidingOrChunkedCausalP16VarSeqQ128Kv128".to_owned(),
                kernel(Some(true), Some(DType::Float8E4M3Fn)),
            ),
            (
                "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64MultiCtasKvCgaVarSeqQ8Kv128".to_owned(),
                kernel(Some(false), Some(DType::BFloat16)),
            ),
            (paged("0"), kernel(Some(false), Some(DType::Float8E4M3Fn))),
            (paged("2"), kernel(Some(true), Some(DType::Float8E4M3Fn))),
            (two("false, true, false"), kernel(Some(false), None)),
            (two("false, true, true"), kernel(Some(true), None)),
            (three("false"), kernel(Some(false), None)),
            (three("true"), kernel(Some(true), None)),
            (split.to_owned(), kernel(Some(true), None)),
            ("kernel_unified_attention_2d".to_owned(), kernel(None, None)),
            ("flash_fwd_kernel<".to_owned(), kernel(None, None)),
        ] {
            assert_eq!(AttentionKernel::of_name(&name), expected, "{name}");
        }
        let known = kernel(Some(false), None).and(kernel(None, Some(DType::Float16)));
        assert_eq!(known.and(kernel(Some(true), None)), kernel(Some(true), Some(DType::Float16)));
    }

    #[test]
    fn kernels_of_products_tell_their_types() {
        use Precision::{Bf16, Fp4, Fp8, Fp16, Fp32, Fp64, Int8, Tf32};
        for (name, expected) in [
            ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x16x128_MI16x16x1_SN", Some(Bf16)),
            ("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x256", Some(Bf16)),
            ("Cijk_Ailk_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT16x16x128", Some(Fp32)),
            ("Cijk_Ailk_Bjlk_SB_Bias_AS_SAV_UserArgs_MT64x16x16", Some(Fp32)),
            ("Cijk_Alik_Bljk_HHS_BH_MT64x64x64", Some(Fp16)),
            ("Cijk_Alik_Bljk_F8BS_BH_Bias_SHB_HA_S_SABV_UserArgs_MT256x256x128", Some(Fp8)),
            ("Cijk_Alik_Bljk_DB_MT64x64x16", Some(Fp64)),
            ("Cijk_B_PostGSU2", None),
            ("nvjet_tst_192x8_64x8_4x1_v_bz_TNT", Some(Bf16)),
            ("nvjet_sm103_tst_32x64_64x16_4x1_v_bz_splitK_TNN", Some(Bf16)),
            ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", Some(Fp16)),
            ("nvjet_qqtst_128x128_128x6_2x1_v_bz_TNN", Some(Fp8)),
            ("nvjet_other_1x1", None),
            ("bmm_Bfloat16_Bfloat16Bfloat16_Fp32_t128x8x128u2_s5", Some(Bf16)),
            ("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16", Some(Fp8)),
            ("bmm_Bfloat16_E2m1_Fp32_t128x8x512", Some(Fp4)),
            ("bmm_Bfloat16_Unheard_Fp32_t128", None),
            ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", Some(Bf16)),
            ("sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x128x64", None),
            ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16", Some(Tf32)),
            ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8>", Some(Bf16)),
            ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x4_nt_align1>", Some(Tf32)),
            ("cutlass_80_tensorop_i16832gemm_s8_256x128_128x3_tn_align16", Some(Int8)),
            ("ampere_sgemm_128x128_tn", Some(Fp32)),
            ("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1", Some(Bf16)),
            ("void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 2112u, 7168u, 1u, 64u, 128u, 128u>", Some(Fp8)),
            ("void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>", None),
            ("void ck::kernel_moe_gemm<ck::GridwiseMoeGemm<...>>", None),
            ("vectorized_elementwise_kernel", None),
        ] {
            assert_eq!(product_precision(name), expected, "{name}");
        }
    }
}
