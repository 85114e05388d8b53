//! The last resort of wafer-core 0.1.33 for Triton kernels: the operators that their names mention.

use std::borrow::Cow;

use super::condition::Subject;
use super::operation::Operation;

/// `Fused (Unknown)` when a Triton kernel mentions two or more operators; the label joins them with `+`.
pub(crate) fn fused_unknown(subject: &Subject<'_>) -> Option<Operation> {
    let has = |word: &str| subject.lower.contains(word);
    if !has("triton") {
        return None;
    }
    let rms = has("rmsnorm");
    let layer = has("layernorm");
    let swiglu = has("swiglu");
    let words: Vec<&str> = [
        ("Embedding", has("embedding")),
        ("RMSNorm", rms),
        ("LayerNorm", layer),
        ("Norm", has("rsqrt") && !rms && !layer),
        ("SwiGLU", swiglu),
        ("SiLU", has("silu") && !swiglu),
        ("GELU", has("gelu")),
        ("ReLU", has("relu")),
        ("GEMM", has("gemm") || has("matmul") || has("mm_")),
        ("Softmax", has("softmax")),
        ("Attention", has("attention")),
        ("Reduce", has("reduce")),
    ]
    .into_iter()
    .filter_map(|(word, there)| there.then_some(word))
    .collect();
    (words.len() >= 2).then(|| Operation { name: Cow::Borrowed("Fused (Unknown)"), label: Cow::Owned(words.join("+")) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Platform;

    #[test]
    fn words_join_in_their_order() {
        let label =
            |name| fused_unknown(&Subject::new(name, Platform::Amd)).map(|operation| operation.label.into_owned());
        assert_eq!(label("triton_softmax_embedding").as_deref(), Some("Embedding+Softmax"));
        assert_eq!(label("triton_rmsnorm_rsqrt_matmul_mm_x").as_deref(), Some("RMSNorm+GEMM"));
        assert_eq!(label("triton_softmax"), None);
        assert_eq!(label("softmax_embedding"), None);
    }
}
