//! The class table on kernel names of the libraries that serve models, a test per family.

use perfdb_tracediff::{Platform, Rules, classify};

/// Checks that every name has its class, on both vendors: the class never depends on the vendor.
fn check(family: &[(&str, &[&str])]) {
    let mut wrong = Vec::new();
    for (operation, names) in family {
        for name in *names {
            for platform in [Platform::Amd, Platform::Nvidia] {
                let found = classify(name, platform, None, Rules::Perfdb).name;
                if found != *operation {
                    wrong.push(format!("{name}: {found} instead of {operation}"));
                }
            }
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn vllm() {
    check(&[
        (
            "RMSNorm",
            &[
                "void vllm::rms_norm_kernel<c10::Half, 8, 2>(c10::Half*, c10::Half const*, long)",
                "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
                "void vllm::rms_norm_static_fp8_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn>(float)",
            ],
        ),
        (
            "Attention",
            &[
                "void vllm::paged_attention_v2_kernel<__half, __half, 128, 16, 128, 512>(float*)",
                "void vllm::merge_attn_states_kernel<c10::BFloat16, 128>(c10::BFloat16*)",
                "_fwd_kernel",
                "_fwd_grouped_kernel_stage1",
                "_fwd_kernel_stage2",
            ],
        ),
        (
            "KV Cache",
            &[
                "void vllm::reshape_and_cache_kernel<unsigned short, unsigned char>(int)",
                "void vllm::concat_and_cache_ds_mla_kernel<c10::BFloat16>(int)",
                "void vllm::gather_and_maybe_dequant_cache_mla<8>(int)",
            ],
        ),
        ("RoPE", &["void vllm::batched_rotary_embedding_kernel<c10::Half, true>(long const*)"]),
        ("SwiGLU", &["void vllm::act_and_mul_quant_kernel<c10::BFloat16, silu>(int)"]),
        ("All-Reduce", &["void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)"]),
        (
            "Quantize",
            &[
                "void vllm::dynamic_per_token_scaled_fp8_quant_kernel<c10::BFloat16>(int)",
                "void vllm::awq::dequantize_weights(int*)",
            ],
        ),
        ("MoE Routing", &["void vllm::moe::topkGatingSoftmax<4, 64, 4, 8, int>(float const*)"]),
        ("MoE GEMM", &["fused_moe_kernel_gptq_awq", "void marlin_moe_wna16::Marlin<__nv_bfloat16, 256>(int4 const*)"]),
        ("MoE Finalize", &["void vllm::moe::moe_sum_kernel<c10::Half, 2>(c10::Half*)"]),
        (
            "Dense GEMM",
            &[
                "void marlin::Marlin<__half, 1125899906909960l, 256, 1, 8, 8>(int4 const*)",
                "void machete::prepack_B_kernel<Layout>(int)",
                "_w8a8_triton_block_scaled_mm",
                "void wvSplitKQ_hf_<__hip_bfloat16, 64, 2, 16>(int)",
            ],
        ),
    ]);
}

#[test]
fn sglang_and_flashinfer() {
    check(&[
        (
            "Attention",
            &[
                "void flashinfer::BatchPrefillWithRaggedKVCacheKernel<Params>(Params)",
                "void flashinfer::MergeStatesKernel<8u, __nv_bfloat16>(int)",
                "void flashinfer::mla::hopper::BatchMLAPageAttentionHopperKernel<Params>(int)",
                "void flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576>>(Params)",
            ],
        ),
        (
            "KV Cache",
            &["create_flashinfer_kv_indices_triton", "set_mla_kv_buffer_kernel", "write_req_to_token_pool_triton"],
        ),
        ("RMSNorm", &["void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(int)"]),
        ("RoPE", &["void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheKernel<true, 128u>(int)"]),
        ("SwiGLU", &["void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, silu>(int)"]),
        ("Quantize", &["void per_token_group_quant_8bit_kernel<c10::BFloat16, c10::Float8_e4m3fn>(int)"]),
        (
            "MoE Routing",
            &["void moe_fused_gate_kernel<c10::BFloat16, 16>(int)", "void moe_align_block_size_kernel<int>(int)"],
        ),
        ("Dense GEMM", &["void deep_gemm::sm90_fp8_gemm_1d2d_impl<4096u, 7168u>(float*)"]),
        ("All-to-All", &["void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)"]),
        (
            "SSM",
            &["_chunk_scan_fwd_kernel", "_causal_conv1d_update_kernel", "fused_recurrent_gated_delta_rule_fwd_kernel"],
        ),
    ]);
}

#[test]
fn what_a_compiler_fused_is_not_a_collective() {
    check(&[
        (
            "Embedding",
            &["triton_poi_fused_add_all_reduce_bitwise_and_bitwise_or_embedding_ge_lt_masked_fill_mul_sub_0"],
        ),
        ("RMSNorm", &["triton_red_fused_add_all_reduce_mean_mul_pow_rsqrt_3"]),
        ("All-Reduce", &["triton_one_shot_all_reduce_kernel"]),
    ]);
}

#[test]
fn tensorrt_llm() {
    check(&[
        (
            "Attention",
            &[
                "fmhaSm90Kernel_QkvBfloat16OBfloat16H128SeparateQkvCausalVarSeqQ64Kv128",
                "void tensorrt_llm::kernels::mmha::masked_multihead_attention_kernel<__nv_bfloat16>(int)",
                "kernel_mha",
            ],
        ),
        ("All-Reduce", &["void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<int>(int)"]),
        ("MoE GEMM", &["bmm_Bfloat16_E2m1E2m1_Fp32_t128x8x512_s6_et128x8_m128x8x64_cga1x1x1_16dp256b_dynBatch_sm100f"]),
        ("MoE GEMM+SwiGLU", &["bmm_E4m3_E4m3E4m3_Fp32_t128x16x128_s4_swiGlu_dynBatch_sm100f"]),
        (
            "MoE Routing",
            &[
                "void moe::dev::routing::routingRenormalize::routingIndicesClusterKernel<Params>(Params)",
                "void tensorrt_llm::kernels::expandInputRowsKernel<__nv_bfloat16>(int)",
            ],
        ),
        ("RoPE", &["void tensorrt_llm::kernels::applyBiasRopeUpdateKVCacheV2<__nv_bfloat16>(int)"]),
        ("RMSNorm", &["void tensorrt_llm::kernels::generalRmsNorm<__nv_bfloat16>(int)"]),
        ("Quantize", &["void tensorrt_llm::kernels::quantize_with_block_size<2, __nv_bfloat16>(int)"]),
    ]);
}

#[test]
fn aiter_and_composable_kernel() {
    check(&[
        (
            "Attention",
            &[
                "_ZN5aiter32fmha_fwd_hd128_bf16_causal_groupE",
                "_ZN5aiter34pa_bf16_pertokenFp8_gqa8_2tg_4wE",
                "_ZN5aiter39mla_a16w16_qh16_m16x4_n16x1_coex0_mask1E",
                "void ck_tile::kentry<256, 2, ck_tile::FmhaFwdSplitKVKernel<Problem>>(Args)",
            ],
        ),
        ("RMSNorm", &["void aiter::add_rmsnorm_quant_kernel<__hip_bfloat16, 256>(int)"]),
        ("MoE GEMM+SwiGLU", &["_ZN5aiter43fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256E"]),
        ("MoE GEMM", &["void ck::kernel_moe_gemm_2lds<GridwiseMoe>(Args)", "ck_moe_stage2_f8_kernel"]),
        ("All-Reduce", &["void aiter::cross_device_reduce_2stage<__hip_bfloat16, 8>(int)"]),
        ("Reduce-Scatter", &["void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>(int)"]),
        ("Quantize", &["void aiter::dynamic_per_group_scaled_quant_kernel<__hip_bfloat16>(int)"]),
        (
            "Dense GEMM",
            &["_ZN5aiter38bf16gemm_fp32bf16_tn_64x64_splitk_cleanE", "void ck_tile::FlatmmKernel<Problem>(Args)"],
        ),
        ("MoE Routing", &["void aiter::biased_grouped_topk_kernel<float, 256>(int)"]),
    ]);
}

#[test]
fn triton_and_inductor() {
    check(&[
        ("Triton Fused", &["triton_poi_fused_clone_3", "triton_per_fused_add_div_2", "triton_spl_fused_cumprod_0"]),
        ("RMSNorm", &["triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_17"]),
        ("LayerNorm", &["triton_per_fused_native_layer_norm_4"]),
        ("SwiGLU", &["triton_poi_fused_mul_silu_split_1"]),
        ("SwiGLU", &["triton_poi_fused_addmm_mul_silu_2"]),
        ("RMSNorm", &["triton_red_fused_addmm_mean_mul_pow_rsqrt_5"]),
        ("RMSNorm", &["triton_red_fused_embedding_mean_mul_pow_rocm_unquantized_gemm_0"]),
        ("Activation", &["triton_poi_fused_gelu_8", "triton_poi_fused_relu_9"]),
        ("SoftMax", &["triton_per_fused__softmax_3"]),
        ("Dense GEMM", &["triton_mm", "triton_tem_fused_addmm_7"]),
        ("Attention", &["triton_tem_fused_flex_attention_0"]),
        ("MoE GEMM", &["_matmul_ogs_NNT_fp8xfp8xmxfp4_64x128x256x1"]),
    ]);
}

#[test]
fn cutlass_and_cublas() {
    check(&[
        (
            "Dense GEMM",
            &[
                "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>(Params)",
                "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<Shape>>(Params)",
                "cutlass3x_sm90_bf16_128x256_kernel",
                "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
                "sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize32x32x64",
                "void gemv2T_kernel_val<int, int, __nv_bfloat16>(int)",
                "void cublasLt::splitKreduce_kernel<32, 16, int, float>(int)",
                "void dot_kernel_gemvNSP_kernel<__half>(int)",
            ],
        ),
        (
            "Attention",
            &[
                "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<Mainloop>>>(Params)",
                "fmha_cutlassB_bf16_aligned_128x64_k128_sm80(PyTorchMemEffAttention::Params)",
            ],
        ),
    ]);
}

#[test]
fn cudnn_and_miopen() {
    check(&[
        (
            "Convolution",
            &[
                "sm90_xmma_fprop_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc",
                "void implicit_convolve_sgemm<float, float, 128, 6, 7, 3, 3, 5, 1>(int)",
                "void cudnn::winograd_nonfused::winogradForwardData4x4<float>(int)",
                "cutlass_80_tensorop_bf16_s16816dgrad_optimized_bf16_128x64_32x6_nhwc",
                "miopenSp3AsmConv_v30_3_1_gfx94x_fp32_f2x3_stride1",
                "naive_conv_ab_nonpacked_fwd_nchw_half_double_half",
                "MIOpenConvUniC",
            ],
        ),
        ("Attention", &["cudnn_generated_oss_sdpa_sm100_flash_bf16_knob_7_64x128x128"]),
        (
            "Normalization",
            &["void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(int)", "MIOpenBatchNormFwdTrainSpatial"],
        ),
    ]);
}

#[test]
fn rocblas_and_hipblaslt() {
    check(&[(
        "Dense GEMM",
        &[
            "Cijk_Ailk_Bljk_HHS_BH_MT64x128x32_MI32x32x8x1_SE_K1",
            "Custom_Cijk_Alik_Bljk_F8BS_BH_gfx950",
            "void rocblas_gemvt_sn_kernel<true, 256, 4, int, float>(int)",
            "void rocblas_gemm_batched_general_kernel<float>(int)",
            "hipblasLtMatmulKernel",
        ],
    )]);
}

#[test]
fn nccl_and_rccl() {
    check(&[
        ("All-Reduce", &["ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"]),
        ("All-Gather", &["ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)"]),
        ("Reduce-Scatter", &["ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"]),
        (
            "Communication",
            &[
                "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
                "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)",
                "mscclKernel_Sum_half_LL",
            ],
        ),
        ("All-to-All", &["void nvshmemi_transfer_kernel(int)"]),
        ("All-to-All", &["void all_to_all_vdev_2d_kernel(int)"]),
    ]);
}

/// Words count at their boundaries, and in the order of the table.
#[test]
fn words_within_other_words_do_not_decide() {
    check(&[
        (
            "Attention",
            &[
                "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1",
                "_ZN5aiter24pa_bf16_noquant_gqa8_1tg_4wE",
            ],
        ),
        ("MoE Finalize", &["void tensorrt_llm::kernels::finalizeMoeRoutingKernel<__nv_bfloat16>(int)"]),
        ("Elementwise", &["SubTensorOpWithScalar1d"]),
    ]);
}

#[test]
fn the_host_operator_goes_before_rare_names_and_behind_the_table() {
    let class = |name, host| classify(name, Platform::Nvidia, Some(host), Rules::Perfdb).name;
    assert_eq!(class("kernel_mha", "aten::gelu"), "Activation");
    assert_eq!(class("kernel_mha", "my::op"), "Attention");
    assert_eq!(class("nvjet_tst_64x8", "aten::gelu"), "Dense GEMM");
    assert_eq!(class("opaque", "my::op"), "Other");
}
