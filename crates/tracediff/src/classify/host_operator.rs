//! Classes by the host operator (`cpu_op`) that launched a kernel whose own name is generic.

/// Operators whose name behind the last `::` is a matrix product.
const MATRIX_PRODUCTS: [&str; 10] =
    ["mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "_scaled_mm", "addmv", "mv", "einsum"];

/// Operation and the words of which the lower-cased operator contains one; in order, around the matrix products.
const BEFORE: [(&str, &[&str]); 5] = [
    ("All-Reduce", &["all_reduce", "allreduce"]),
    ("All-Gather", &["all_gather", "allgather"]),
    ("Reduce-Scatter", &["reduce_scatter"]),
    ("All-to-All", &["all_to_all", "alltoall"]),
    ("Attention", &["attention", "attn", "fmha", "mha_", "sdpa"]),
];
const BEHIND: [(&str, &[&str]); 13] = [
    ("Convolution", &["convolution", "conv1d", "conv2d", "conv3d"]),
    ("RMSNorm", &["rms_norm", "rmsnorm"]),
    ("LayerNorm", &["layer_norm", "layernorm"]),
    ("Normalization", &["batch_norm", "group_norm", "instance_norm"]),
    ("SoftMax", &["softmax"]),
    ("SwiGLU", &["silu", "swiglu"]),
    ("Activation", &["gelu", "relu"]),
    ("RoPE", &["rotary", "rope"]),
    ("KV Cache", &["cache_ops", "store_cache"]),
    ("Embedding", &["embedding"]),
    ("Optimizer", &["_fused_adam", "_fused_sgd", "_fused_adagrad", "optimizer"]),
    ("Pooling", &["max_pool", "avg_pool"]),
    ("Loss", &["cross_entropy", "nll_loss", "mse_loss", "_loss_forward", "_loss_backward"]),
];

/// Class of the kernels that `operator` launches, if it launches one class only.
pub(crate) fn classify(operator: &str) -> Option<&'static str> {
    let lower = operator.to_lowercase();
    let base = lower.rsplit("::").next().unwrap_or(&lower);
    let find = |rows: &[(&'static str, &[&str])]| {
        rows.iter().find(|(_, words)| words.iter().any(|word| lower.contains(word))).map(|(operation, _)| *operation)
    };
    find(&BEFORE).or_else(|| MATRIX_PRODUCTS.contains(&base).then_some("Dense GEMM")).or_else(|| find(&BEHIND))
}

#[cfg(test)]
mod tests {
    use super::classify;

    #[test]
    fn operators_tell_what_their_kernels_do() {
        for (operator, expected) in [
            ("aten::mm", Some("Dense GEMM")),
            ("aten::_scaled_mm", Some("Dense GEMM")),
            ("einsum", Some("Dense GEMM")),
            ("aten::mm_backward", None),
            ("aten::_efficient_attention_forward", Some("Attention")),
            ("flash_attn::_flash_attn_forward", Some("Attention")),
            ("c10d::allreduce_", Some("All-Reduce")),
            ("aten::cudnn_convolution", Some("Convolution")),
            ("aten::native_layer_norm", Some("LayerNorm")),
            ("_C_cache_ops::reshape_and_cache", Some("KV Cache")),
            ("_C::rotary_embedding", Some("RoPE")),
            ("_c10d_functional::reduce_scatter_tensor", Some("Reduce-Scatter")),
            ("c10d::alltoall_base_", Some("All-to-All")),
            ("aten::embedding_dense_backward", Some("Embedding")),
            ("aten::_fused_adamw_", Some("Optimizer")),
            ("aten::_adaptive_avg_pool2d", Some("Pooling")),
            ("aten::nll_loss_forward", Some("Loss")),
            ("aten::add", None),
        ] {
            assert_eq!(classify(operator), expected, "{operator}");
        }
    }
}
