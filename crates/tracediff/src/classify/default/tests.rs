use super::super::table;
use super::*;

/// A name that an alternative is about: its terms, one behind the other.
fn name_of(alternative: &str) -> String {
    let terms = alternative.split(' ').filter(|term| !term.starts_with('!'));
    terms.map(|term| term.trim_matches(['|', '^'])).collect::<Vec<_>>().join("_")
}

/// Every row decides about a name made of one of its alternatives.
fn all_reached(rows: &[Row], name: impl Fn(&str) -> String, expected: impl Fn(&'static str) -> Vec<&'static str>) {
    for (class, alternatives) in rows {
        let names: Vec<String> = alternatives.split("  ").map(|alternative| name(&name_of(alternative))).collect();
        let wanted = expected(class);
        let found = |name: &String| classify(name).is_some_and(|found| wanted.contains(&found));
        assert!(names.iter().any(found), "no alternative of {class} is reached: {names:?}");
    }
}

#[test]
fn every_row_is_reached() {
    let of_head = |class: &'static str| match class {
        table::GENERATED => vec!["Triton Fused"],
        table::NATIVE => vec!["Elementwise"],
        class => vec![class],
    };
    all_reached(HEAD, str::to_owned, of_head);
    all_reached(OPERATORS, |name| format!("triton_poi_fused_{name}_0"), |class| vec![class]);
    all_reached(
        FUNCTORS,
        |name| format!("void at::native::vectorized_elementwise_kernel<4, {name}<float>>(int)"),
        |class| vec![class],
    );
    all_reached(WHOLE, |name| format!("void opaque_thing<{name}>(int)"), |class| vec![class]);
}

#[test]
fn words_inside_of_others_do_not_decide() {
    for (name, expected) in [
        ("void fbgemm_gpu::split_embedding_codegen_forward<float>(int)", "Embedding"),
        ("cudnn_infer_ampere_scudnn_128x64_relu_medium_nn_v1", "Convolution"),
        ("OpTensorKernel", "Elementwise"),
        ("SubTensorOpWithScalar1d", "Elementwise"),
        ("cutlass_80_tensorop_s1688gemm_128x64", "Dense GEMM"),
        ("ck_tile::MoeSortingKernel", "MoE Routing"),
        ("topksoftmax_kernel", "MoE Routing"),
        ("void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>(long)", "LayerNorm"),
        (
            "void at::native::multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float>>(int)",
            "Optimizer",
        ),
        ("dpsk::ep::dispatch_kernel", "All-to-All"),
        ("nvshmem_put", "All-to-All"),
        ("chunk_gated_delta_rule_fwd_kernel_h", "SSM"),
        ("void sage_attn_kernel<64>(int)", "Attention"),
        ("fp8_mqa_logits_kernel", "Attention"),
        ("mla_dec_stage1_bf16", "Attention"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma", "Attention"),
        ("m_grouped_gemm_fp8_contiguous", "MoE GEMM"),
        ("void finalizeMoeRoutingKernel<__nv_bfloat16>(int)", "MoE Finalize"),
        ("void cvt_fp16_to_fp4<half>(int)", "Quantize"),
        ("_permute_kernel_row_id_map", "MoE Routing"),
        ("cross_entropy_kernel", "Loss"),
        ("void ck::kernel_grouped_conv_fwd_multiple_abd_xdl_cshuffle<int>(int)", "Convolution"),
        ("fused_rope_kernel", "RoPE"),
        ("void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024>(int)", "Sampling"),
    ] {
        assert_eq!(classify(name), Some(expected), "{name}");
    }
}

#[test]
fn names_that_say_nothing_have_no_class() {
    for name in ["opaque", "kernel_7", "", "void (anonymous namespace)::go<int>(int)"] {
        assert_eq!(classify(name), None, "{name}");
    }
}
