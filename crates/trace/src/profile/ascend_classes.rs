//! Classes of the operators of Ascend devices: those of GPU kernels that do the same work.

/// What an operator that communicates belongs to.
pub(super) const COMMUNICATION: &str = "Communication";

/// Classes and the patterns of their types in lower case; the first that fits counts.
///
/// `^` and `$` are beginning and end, `a*b` is an `a` with a `b` anywhere behind it, `a!b` an `a` without a `b` directly
/// behind it, `a!*b` one without a `b` anywhere behind it.
const CLASSES: [(&str, &str); 26] = [
    (
        COMMUNICATION,
        "^hcom ^hccl aicpukernel$ allreduce allgather!matmul reducescatter alltoall!*gmm ^send ^recv broadcast_$",
    ),
    ("MoE GEMM", "dispatchffncombine groupedmatmul gmm moe*matmul"),
    ("MoE Routing", "moegating moeinit moetokenpermute moecompute moedistributedispatch moererouting topkgating"),
    ("MoE Finalize", "moefinalize moetokenunpermute moedistributecombine muls_add"),
    ("Attention", "attention ^mla!po mlaprolog mlapo ringmla flashattn lightningindexer"),
    ("RMSNorm", "rmsnorm!*rope addrmsnorm rms_norm!*rope"),
    ("RoPE", "rope rotary"),
    ("KV Cache", "reshapeandcache reshape_and_cache kvcache scatterpakv pagedcache"),
    ("LayerNorm", "layernorm"),
    ("Normalization", "batchnorm bntraining groupnorm instancenorm lpnorm"),
    ("Convolution", "conv2d conv3d convolution depthwise conv1d deconv"),
    ("Dense GEMM", "matmul gemm linear"),
    ("Quantize", "quant"),
    ("SwiGLU", "swiglu silu"),
    ("Activation", "gelu relu sigmoid tanh softplus"),
    ("SoftMax", "softmax"),
    ("Optimizer", "applyadam adam sgd momentum"),
    ("Loss", "nllloss crossentropy loss"),
    ("Pooling", "pool"),
    ("Embedding", "embedding"),
    ("Sampling", "sampling topktopp multinomial stateless dropout"),
    ("Sorting", "sort topk"),
    ("Reduce", "reduce argmax argmin cumsum nonzero sum"),
    ("Indexing", "gather index scatter maskedfill maskedselect where slice!aicore$ stridedslice"),
    (
        "Copy/Memory",
        "memset memcpy tensormove transpose transdata cast concat split pad slice asstrided broadcastto identity viewcopy \
         copy tile expand pack",
    ),
    (
        "Elementwise",
        "^add ^sub ^mul ^div realdiv floor ^less ^greater ^equal notequal logical square sqrt ^exp ^log ^pow neg abs maximum \
         minimum reciprocal fill zeroslike oneslike tril triu range muls axpy addcmul addcdiv cos sin bitwise select",
    ),
];

/// The class of an operator by its type.
pub(super) fn of_type(kind: &str) -> &'static str {
    let kind = kind.to_lowercase();
    let fits = |patterns: &str| patterns.split(' ').any(|pattern| matches(&kind, pattern));
    CLASSES.iter().find(|(_, patterns)| fits(patterns)).map_or("Other", |(class, _)| class)
}

/// The class of a kernel of a timeline, whose name ends in the type, now and then with a number behind it:
/// `aclnnMm_TransData_TransData`, `trans_TransData_16`.
pub(super) fn of_name(name: &str) -> &'static str {
    of_type(type_in(name))
}

fn type_in(name: &str) -> &str {
    if name.starts_with("hcom") {
        return name;
    }
    let is_word = |piece: &&str| !piece.is_empty() && !piece.bytes().all(|byte| byte.is_ascii_digit());
    name.split('_').rfind(is_word).unwrap_or(name)
}

fn matches(text: &str, pattern: &str) -> bool {
    let (wanted, unwanted) = match pattern.split_once('!') {
        Some((wanted, unwanted)) => (wanted, Some(unwanted)),
        None => (pattern, None),
    };
    let (first, later) = match wanted.split_once('*') {
        Some((first, later)) => (first, Some(later)),
        None => (wanted, None),
    };
    let (first, at_start) = first.strip_prefix('^').map_or((first, false), |first| (first, true));
    let (first, at_end) = first.strip_suffix('$').map_or((first, false), |first| (first, true));
    let mut places = text.match_indices(first).filter(|(at, _)| !at_start || *at == 0);
    places.any(|(at, _)| {
        let rest = text.get(at + first.len()..).unwrap_or_default();
        (!at_end || rest.is_empty())
            && later.is_none_or(|later| rest.contains(later))
            && unwanted.is_none_or(|unwanted| !follows(rest, unwanted))
    })
}

fn follows(rest: &str, pattern: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('$')) {
        (Some(anywhere), _) => rest.contains(anywhere),
        (None, Some(whole)) => rest == whole,
        (None, None) => rest.starts_with(pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_classes_of_gpu_kernels() {
        for (kind, class) in [
            ("hcom_allReduce_", COMMUNICATION),
            ("allgatherAicpuKernel", COMMUNICATION),
            ("AllGatherMatmul", "Dense GEMM"),
            ("AlltoAllvGmm", "MoE GEMM"),
            ("MoeGroupedMatmulV2", "MoE GEMM"),
            ("MoeDistributeDispatchV2", "MoE Routing"),
            ("MatMulV3", "Dense GEMM"),
            ("FusedInferAttentionScore", "Attention"),
            ("MlaPreprocess", "Attention"),
            ("AddRmsNormBias", "RMSNorm"),
            ("KvRmsNormRopeCache", "RoPE"),
            ("AddRmsNormQuant", "RMSNorm"),
            ("DequantSwigluQuant", "Quantize"),
            ("SliceAiCore", "Copy/Memory"),
            ("StridedSliceD", "Indexing"),
            ("Slice", "Indexing"),
            ("Add", "Elementwise"),
            ("Whatever", "Other"),
        ] {
            assert_eq!(of_type(kind), class, "{kind}");
        }
    }

    #[test]
    fn names_end_in_their_type() {
        for (name, kind) in [
            ("aclnnMm_TransData_TransData", "TransData"),
            ("trans_TransData_16", "TransData"),
            ("hcom_allReduce__212_0", "hcom_allReduce__212_0"),
            ("MatMul12", "MatMul12"),
            ("_12_", "_12_"),
        ] {
            assert_eq!(type_in(name), kind);
        }
    }
}
