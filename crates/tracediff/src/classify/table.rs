//! The class table of the default rules: alternatives of words, tried in order, first match wins.
//!
//! Alternatives are separated by two spaces, terms of one alternative by one; all terms must hold. A term is a piece of the name
//! in lower case; `|` at an end wants the boundary of a word there, `^` in front the start of the name, `!` in front that the
//! term does not hold ([`terms`](super::terms)).
//!
//! The table never asks for the vendor, so the same operation of two vendors always meets its counterpart. Order matters:
//! collectives first (`multimem_all_reduce` is no reduction), routing before sorting, convolutions before the `relu` in their
//! names.

use super::operation::CUDA_GRAPH;

/// A row: class and alternatives.
pub(super) type Row = (&'static str, &'static str);

/// Stands for a class where the operators in a generated name decide.
pub(super) const GENERATED: &str = "TRITON";
/// Stands for a class where the functor of a native kernel decides.
pub(super) const NATIVE: &str = "NATIVE";

/// Rows for the head of a name: what stands outside of template arguments, up to the first parenthesis.
pub(super) const HEAD: &[Row] = &[
    // A replay that is recorded as one row.
    (CUDA_GRAPH, "^cuda |graph|"),
    // A compiler names what it fused after all operators around it, collectives too, which it does not run.
    (GENERATED, "^triton_poi_fused  ^triton_red_fused  ^triton_per_fused"),
    ("All-Reduce", "all_reduce  allreduce  |cross_device_reduce  |quickreduce"),
    ("All-Gather", "all_gather  allgather"),
    ("Reduce-Scatter", "reduce_scatter  reducescatter"),
    (
        "All-to-All",
        "all_to_all  alltoall  all2all  dpsk::ep::  deep_ep  deepep  nvshmem  pplx  |mori|  |a2a|  \
         ep_dispatch  ep_combine",
    ),
    ("Communication", "|nccl  |rccl  |mscclpp  multimem  symm_mem  |sendrecv  |userbuffers"),
    ("Attention", "^triton_tem_ attention"),
    ("Convolution", "^triton_tem_ convolution"),
    ("Dense GEMM", "^triton_tem_ addmm  ^triton_tem_ |mm|  ^triton_tem_ |bmm"),
    (
        GENERATED,
        "^triton_poi_  ^triton_red_  ^triton_per_  ^triton_for_  ^triton_spl_  ^triton_unk_  ^triton_tem_fused  ^triton__",
    ),
    (
        "KV Cache",
        "reshape_and_cache !|rope  concat_and_cache  cache_mla  store_kvcache  store_kv_cache  kv_cache_store  \
         set_mla_kv  set_kv_buffer  copy_blocks  swap_blocks  kv_indices  copy_page_indices  gather_cache  \
         kv_to_cache  append_paged  appendpaged  kv_cache |copy|  kvcache |copy|  |mla_kv|  \
         reshape_paged_cache  write_req_to_token  |cp_gather  indexer_k_quant_and_cache  kv_buffer  \
         transfer_kv",
    ),
    ("RoPE", "rotary"),
    (
        "Quantize",
        "fbgemm quantize  fbgemm |fp8  fbgemm hfp8  float_to_fp8  float_to_hfp8  rowwise_quantiz  tofused8bit  \
         |hfp8",
    ),
    (
        "Embedding",
        "embedding_codegen  embedding_backward  embedding_forward  |embedding  embeddingbag  embedding_bag  \
         |tbe|  pooled_emb  |embs|  bounds_check_indices  linearize_index  indexing_backward  |recat|  recat_  \
         to_dense_representation  fbgemm_gpu  lxu_cache  |lfu_cache  |lru_cache  jagged",
    ),
    ("MoE GEMM+SwiGLU", "^bmm_ swiglu  ^bmm_ silu"),
    ("MoE GEMM", "^bmm_"),
    ("RoPE", "fused_rope  qk_rope"),
    (
        "LayerNorm",
        "rowwisemoments  gammabeta  gamma_beta  layernorm  layer_norm  |ln_fwd  |ln_bwd  |ln_parallel  \
         cudatransposedreduction  layer_norm_grad  |cuapplylayernorm",
    ),
    (
        "SSM",
        "selective_scan  |mamba  |ssd_  causal_conv1d  chunk_scan  chunk_state  state_passing  gated_delta  \
         |gdn|  |kda|  _kda_  delta_rule  |solve_tril  recompute_w_u  scaled_dot_kkt  chunk_local_cumsum  \
         |chunk_fwd  |chunk_bwd  |wkv  rwkv  lightning_attn  |bmm_chunk  fused_sigmoid_gating  fused_gdn",
    ),
    ("RMSNorm", "rmsnorm  rms_norm  qk_norm  qknorm  q_norm  k_norm|  |l2norm  |rsqnorm  rmsn|"),
    ("RoPE", "|rope|  |rope_  _rope_  |mrope  ropequantize  |rope"),
    (
        "Normalization",
        "batchnorm  batch_norm  groupnorm  group_norm  instance_norm  instancenorm  ^bn_  ::bn_  cudnn |bn_  \
         computefusedparams  internalgradients  compute1dbackward  |norm_fwd  |adaln  |weight_norm  welford",
    ),
    (
        "MoE GEMM+SwiGLU",
        "matmul_ogs swiglu  |moe gemm swiglu  |moe gemm silu  fused_moe swiglu  |fmoe_g1u1  |fmoe_  |fmoe|  \
         fmoe",
    ),
    (
        "MoE Finalize",
        "moe_sum  moesum  |moe finalize  finalize_moe  finalizemoe  finalizekernel !|ln_  \
         _finalize_matmul_scatter  unpermute  moe_combine  reduce_fused_impl  moe_reduce  |moe_unpermute  \
         ep_gather  finalizemoerouting  reduce_grouped",
    ),
    (
        "MoE Routing",
        "moesorting  moe_sorting  topksoftmax  topk_softmax  topkgating  topk_gating  topk_sigmoid  \
         topksigmoid  biased_grouped_topk  grouped_topk  groupedtopk  moe_fused_gate  |routing  \
         routingindices  bitmatrix  _topk_forward  _topk_backward  moe_align  count_and_sort_expert  \
         clean_and_count_expert  get_fused_mapping  expand_to_fused  expandinputrows  expand_input_rows  \
         expert_offsets  expert_first_token  moe_permute  moe_gate  |moe topk  |moe sort  |moe |routing  \
         unique_group_indices  compute_problem_sizes  problem_sizes  blockscan |expert  expertprefixsum  \
         expert_prefix  sorted_token  |row_id_map  row_id_map  permute_with_mask_map  |moe_pre  |moe_init  \
         dispatch_tokens  ep_scatter  expert_map  |moe_lora_align  threestepbuild  fusedbuildexpertmaps  \
         moe::dev::routing  _sum_bitmatrix  |histogram_expert  _combined_routing  moe_expert  |router|  \
         |moe |index",
    ),
    (
        "MoE GEMM",
        "fused_moe  fusedmoe  matmul_ogs  |moe gemm  |moe_gemm  moegemm  moe_mxgemm  ck_moe  |moe stage  \
         moe_stage  m_grouped  |grouped_gemm  groupedgemm  grouped_gemm  |group_gemm  |grouped_mm  |moe |mm  \
         moe_wna16  marlin_moe  moe_marlin  moeflatmm  moe_flatmm  fill_tensormaps  expert_gemm  gmm|  \
         |moe_fused  groupproblemshape  ptrarray  mixed_gemm_moe  |moe_ |mul",
    ),
    (
        "Attention",
        "attention  |attn  attn|  _attn_  fmha  flash_fwd  flash_bwd  |flash::  flashattn  flash_attn  \
         flashmla  flash_mla  |mla_  |mla|  _mla_  |sage_fwd  |sage_attn  batchdecode  batchprefill  batchmla  \
         mla_decode  mla_prefill  reduce_segments  |sdpa|  _sdpa_  |mha_  _mha_  |mqa_logits  mqa_logits  \
         paged_mqa  |fav2  |fav3  flash_decoding  flashdecoding  persistentvariablelengthmergestates  \
         mergestates  merge_state  splitkv_combine  |xqa|  |xqa_  masked_multihead  multihead  |qk_dot  \
         decode_grouped_att  _fwd_grouped_kernel_stage  _fwd_kernel_stage2  |att_fwd  _att_  indexer_topk  \
         sparse_mla  lean_atten  flash::",
    ),
    ("SwiGLU", "act_and_mul quant"),
    (
        "Quantize",
        "sage_quant  per_token_cast  per_channel_cast  cast_to_fp8  cast_back  per_token_group_quant  |cvt_fp  \
         cvt_fp16_to_fp4  cvt_warp  |quant_  scaled_fp8_quant  scaled_quant  quantize  dequant  \
         _quant_ !gemm !matmul !|silu !act_and_mul !gelu  _quant| !gemm !matmul !silu !act_and_mul !gelu  \
         |quant| !gemm !matmul !silu !act_and_mul !gelu  |amax|  fp8_cast  |cast_transpose  cast_transpose  \
         mxfp4_quant  mxfp8_quant  |nvfp4_quant  fp4_quant  fp8_quant  block_scale_interleave  |scale_swizzle  \
         swizzle_scale",
    ),
    ("Loss", "nll_loss  nllcriterion  cross_entropy  crossentropy  ctc_loss  |mse_loss  kl_div  |loss"),
    (
        "Convolution",
        "fprop !|sdpa  dgrad !gemm  wgrad !gemm  igemm_fwd  igemm_bwd  igemm_wrw  implicit_convolve  \
         explicit_convolve  implicitgemm  implicit_gemm  im2col  im2d2col  im3d2col  col2im  vol2col  \
         winograd  |conv1d  |conv2d  |conv3d  convolution  convolve  depthwise  nchwtonhwc  nhwctonchw  \
         scudnn  |fft2d  fft2d  computeoffsetskernel  cask_cudnn  naive_conv  grouped_conv  bwd_weight  \
         bwd_data  |conv_fwd  conv_bwd  |conv_  cudnn reducesplitk  miopen |conv  scalepackedtensor  |upconv  \
         gcnasmconv  |sp3asmconv  sp3asm  conv_depthwise  kernel_grad_params  |gridwise_conv",
    ),
    (
        "Pooling",
        "max_pool  avg_pool  maxpool  avgpool  average_pool  adaptive_pool  adaptive_average  adaptiveaverage  \
         adaptive_max  adaptivemax  |pooling  mlopooling  upsample  |pool2d  |pool3d",
    ),
    ("Optimizer", "|adam  fusedadam  |sgd  |lamb|  |adagrad  |lion|  multi_tensor_adam  fused_adam  adamw  |muon"),
    ("Elementwise", "optensor  op_tensor  subtensorop  tensorop !cutlass !|gemm  op2d  op1d"),
    (
        "Dense GEMM",
        "^cijk_  cijk_  nvjet  |gemm  sgemm  hgemm  dgemm  cgemm  zgemm  igemm  gemm| !fbgemm  xmma_gemm  \
         |gemv  gemv  gemvx  |matmul  matmul|  _mm_kernel  |cublas  hipblas  splitkreduce  reduce_1block  \
         split_k_reduce  |splitk  wvsplitk  llmm1  |postgsu  cutlass |tensorop  |cutlass_ gemm  triton_mm  \
         triton_tem_  ^streamk  |stream_k  |machete  |marlin  |gptq  awq_gemm  |awq  |wna16  flatmm  \
         |dot_kernel  |scaled_mm  gemmk1  gemmsn  flashmm  |skinny  |linear_kernel  lora_shrink  lora_expand  \
         |sgmv  |bgmv  |asm_gemm  epilogue::impl  |mmq  |mul_mat  tgemm  |a16w16  |a8w8  |bf16gemm",
    ),
    (
        "SwiGLU",
        "act_and_mul  silu_and_mul  |silu  swiglu  _silu_  silumul  silu|  |geglu  gelu_and_mul  \
         gelu_tanh_and_mul  act_mul",
    ),
    (
        "Activation",
        "gelu  |relu  relu|  leaky  hardtanh  hardswish  |sigmoid  |mish  |elu|  |activation  activ_fwd  \
         activationfwd  activ",
    ),
    ("SoftMax", "softmax  soft_max"),
    (
        "Sampling",
        "sampling  sampler  |sample  top_p  topp  min_p  |penalt  penalties  gumbel  multinomial  speculative  \
         |spec_  verify  rejection  |eagle  draft_token  logits_process  apply_token_bitmask  bitmask",
    ),
    (
        "Sorting",
        "radixsort  radix_sort  |sort  sort|  sort_  mergesort  bitonic  topk  top_k  searchsorted  onesweep  \
         |rocprim merge  |cub merge",
    ),
    (
        "Reduce",
        "argmax  devicereduce  device_reduce  reducebykey  devicescan  device_scan  |scan|  scan_  |scan  \
         _scan  cumsum  cumprod  wrapped_scan  devicecompact  deviceselect  |select_  segmentedreduce  \
         |reduce_kernel  |reduce|  |reduce  reduction  reduce|  histogram  run_length  |unique  nonzero  \
         reducesplitk",
    ),
    ("Elementwise", "elementwise_kernel_with_index"),
    (
        "Indexing",
        "indexselect  index_select  index_elementwise  index_put  indexfunc  |index  scatter  gather  \
         embedding  resolve_future  clamp_position  compute_position  get_last_loc  alloc_decode  \
         alloc_extend  |positions  masked_fill  take_  _take|  where_kernel",
    ),
    (
        "Copy/Memory",
        "catarray  |copy|  |copy  copy_  _copy  copy|  memcpy  copybuffer  batched_transpose  transpose  \
         |permute  |cat_  pad_  |pad  strided_copy  |im2  tensor_layout",
    ),
    (NATIVE, "|elementwise_kernel_with_index  at::native  multi_tensor_apply  elementwise  multi_tensor"),
    (
        "Elementwise",
        "fillbuffer  memset  |fill  distribution  dropout  |arange  |elementwise  |unrolled  |vectorized  \
         random  philox  |cast_  |cast|  |add_kernel  |mul_kernel  |scale_",
    ),
];

/// Rows for the whole name of a native elementwise kernel; else it is `Elementwise`.
pub(super) const FUNCTORS: &[Row] = &[
    ("SoftMax", "softmax  soft_max"),
    ("Normalization", "batch_norm  group_norm  instance_norm"),
    ("Optimizer", "fusedadam  fused_adam  |adam  fusedsgd  fused_sgd  fused_adagrad"),
    ("Loss", "nll_loss  mse_kernel  binary_cross_entropy  huber  smooth_l1  kl_div"),
    ("Pooling", "max_pool  avg_pool  adaptive  upsample"),
    (
        "Activation",
        "gelu  threshold_kernel  |relu  relu_kernel  leaky_relu  hardtanh  hardswish  hardsigmoid  silu  \
         |elu_  mish  softplus",
    ),
    ("Copy/Memory", "direct_copy  copy_kernel  copyfunctor  |copy<  copy_device  bfloat16_copy  catarray  |copy,"),
    ("Indexing", "index_kernel  index_put  index_copy  gpu_index  index_fill  scatter  gather_kernel"),
    ("Reduce", "reduceop  reduce_kernel"),
];

/// Rows for the whole name where its head is generic.
pub(super) const WHOLE: &[Row] = &[
    ("Communication", "|nccl  |rccl"),
    ("MoE Routing", "moesorting  topksoftmax  moe::dev::routing"),
    ("MoE Finalize", "finalizemoe  moe::dev::finalize"),
    ("Attention", "fmha  flashattn  attentionkernel  |mla|"),
    ("LayerNorm", "layernorm  rowwisemoments"),
    ("RMSNorm", "rmsnorm"),
    ("MoE GEMM", "moe gemm  moegemm  groupproblemshape  |grouped_gemm"),
    ("Convolution", "fprop  dgrad  wgrad  implicitgemm  convolution  grouped_conv  |conv2d  convfwd  convbwd"),
    ("Dense GEMM", "|gemm  gemm|  sgemm  hgemm  tensorop !subtensorop  gemmuniversal  |gemv  splitkreduce  cublas"),
    ("SoftMax", "softmax"),
    ("Sorting", "radixsort  radix_sort  merge_sort  mergesort  segmented_sort  block_sort  sort_  onesweep"),
    (
        "Reduce",
        "scan_kernel  scan_impl  scan_by_key  lookback_scan  device_scan  devicescan  reduce_impl  \
         block_reduce  device_reduce  reduce_by_key  |partition  reduce|",
    ),
    ("Copy/Memory", "transform_config  |transform  transform_kernel  |copy"),
];

/// Rows for what a compiler generated: the name lists the operators of the fused piece. Else it is `Triton Fused`.
pub(super) const OPERATORS: &[Row] = &[
    ("LayerNorm", "layer_norm"),
    ("Loss", "cross_entropy  nll_loss"),
    ("Normalization", "group_norm  batch_norm"),
    ("Activation", "gelu  |relu"),
    ("SwiGLU", "silu  swiglu"),
    ("RMSNorm", "rsqrt  rms_norm  |mean |pow |mul"),
    ("SoftMax", "softmax"),
    ("Embedding", "|embedding"),
];

/// Rows for the whole name where the host operator is generic too: names of particular libraries.
pub(super) const RARE: &[Row] = &[
    ("Communication", "msccl"),
    ("KV Cache", "req_to_token  update_kv_cache  updatekvcache  kv_cache_update"),
    ("RoPE", "applybiasrope  ropekernel"),
    ("SwiGLU", "moe::dev::activation  doactivationkernel"),
    ("SSM", "fused_recurrent_  _chunk_cumsum_  selective_state_update"),
    ("Attention", "aiter pa_bf16  aiter pa_fp16  kernel_mha  ^_fwd_kernel !norm"),
    ("Normalization", "bn_fw_  bn_bw_"),
    ("Convolution", "miopenconv  _conv_fwd  _conv_bwd"),
    ("MoE Routing", "topkdispatch"),
    ("Dense GEMM", "cutlass3x"),
    ("Sampling", "sampling prob"),
];
