//! Families of kernels that do the same kind of work, so that one may stand for another.

use super::operands::{GemmKey, Operands};
use crate::error::Error;
use perfdb_pycompat::yaml::{self, Node};
use perfdb_store::op_mapping::OpMapping;
use perfdb_trace::source::Source;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::path::Path;
use std::sync::LazyLock;

/// A family's name; of kernels that nothing knows `type:` and the type.
pub type Family = Cow<'static, str>;

/// What two kernels of a family must agree in to do the same work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Gemm,
    Query,
    Tokens,
    Elements,
    Nothing,
}

const FAMILIES: [(&str, Work, &[&str]); 15] = [
    (
        "gemm",
        Work::Gemm,
        &[
            "MatMul",
            "MatMulV2",
            "MatMulV3",
            "MatMulCommon",
            "BatchMatMul",
            "BatchMatMulV2",
            "BatchMatMulV3",
            "BatchMatMulNd",
            "TransposeBatchMatMul",
            "QuantBatchMatmul",
            "QuantBatchMatmulV3",
            "QuantBatchMatmulV4",
            "WeightQuantBatchMatmulV2",
        ],
    ),
    (
        "attention",
        Work::Query,
        &[
            "FusedInferAttentionScore",
            "PromptFlashAttention",
            "IncreFlashAttention",
            "FlashAttentionScore",
            "PagedAttentionMaskNdKernel",
            "PagedAttentionNdKernel",
            "UnpadFlashAttentionBF16NdKernel",
            "RingMLAPrefillBF16Kernel",
            "MLAProlog",
            "MLAPO",
            "AttentionUpdate",
        ],
    ),
    (
        "rope",
        Work::Tokens,
        &[
            "_triton_rope",
            "split_qkv_rmsnorm_rope_kernel",
            "InterleaveRope",
            "ApplyRotaryPosEmb",
            "RotaryMul",
            "RotaryPositionEmbedding",
        ],
    ),
    (
        "kv_cache",
        Work::Tokens,
        &["ReshapeAndCacheNdKernel", "reshape_and_cache", "ScatterPaKvCache", "KvRmsNormRopeCache"],
    ),
    (
        "norm_add",
        Work::Elements,
        &[
            "RmsNorm",
            "AddRmsNorm",
            "AddRmsNormBias",
            "AddRmsNormCast",
            "AddRmsNormDynamicQuant",
            "AddRmsNormQuant",
            "RmsNormQuant",
            "LayerNorm",
            "LayerNormV3",
            "AddLayerNorm",
            "InplaceAddRmsNorm",
            "Add",
            "Adds",
            "muls_add_kernel",
        ],
    ),
    (
        "quant",
        Work::Elements,
        &["AscendQuantV2", "AscendQuant", "DynamicQuant", "DynamicQuantV2", "DynamicBlockQuant", "DequantSwigluQuant"],
    ),
    ("activation", Work::Tokens, &["SwiGlu", "SwiGluQuant", "Swish", "Gelu", "FastGelu", "Silu"]),
    (
        "moe",
        Work::Tokens,
        &[
            "DispatchFFNCombine",
            "GroupedMatmul",
            "GroupedMatmulSwigluQuant",
            "MoeDistributeDispatch",
            "MoeDistributeCombine",
            "MoeDistributeDispatchV2",
            "MoeDistributeCombineV2",
            "MoeTokenPermute",
            "MoeTokenUnpermute",
            "MoeInitRoutingV2",
            "MoeInitRoutingQuantV2",
            "MoeFinalizeRoutingV2",
        ],
    ),
    ("moe_gate", Work::Tokens, &["MoeGatingTopK", "MoeGatingTopKSoftmax", "MoeGatingTopKSoftmaxV2"]),
    (
        "elementwise",
        Work::Elements,
        &[
            "Mul",
            "Muls",
            "Sub",
            "RealDiv",
            "Div",
            "Neg",
            "Log",
            "Less",
            "GreaterEqual",
            "LogicalAnd",
            "LogicalNot",
            "MaskedFill",
            "SoftmaxV2",
        ],
    ),
    (
        "copy",
        Work::Elements,
        &[
            "Cast",
            "TensorMove",
            "Slice",
            "SliceD",
            "StridedSlice",
            "StridedSliceD",
            "PadV3",
            "ConcatD",
            "Concat",
            "Pack",
            "Split",
            "SplitD",
            "SplitVD",
            "Transpose",
            "TransData",
            "AsStrided",
            "BroadcastTo",
            "Tile",
            "ViewCopy",
            "Fill",
            "MemSet",
            "ZerosLike",
        ],
    ),
    ("gather", Work::Tokens, &["GatherV2", "GatherV3", "Index"]),
    ("sampling", Work::Nothing, &["ArgMaxV2", "ApplyTopKTopPCustom", "DSARandomUniform", "Sort", "TopKV2"]),
    ("collective", Work::Nothing, &["hcom_allReduce_", "hcom_allGather_", "hcom_reduceScatter_", "hcom_broadcast_"]),
    ("all_to_all", Work::Nothing, &["hcom_alltoallv_", "hcom_alltoall_", "hcom_alltoallvc_"]),
];

/// What an operator without a kernel type would have been: the first row one of whose parts occurs in its name.
const OPERATORS: [(&[&str], &str); 16] = [
    (&["mlapo"], "mla_prolog"),
    (&["multihead_latent_attention"], "attention"),
    (&["attention"], "attention"),
    (&["all_to_all"], "all_to_all"),
    (&["quant_linear", ".mm.", ".bmm.", ".addmm.", "linear"], "gemm"),
    (&["all_reduce", "all_gather", "reduce_scatter"], "collective"),
    (&["moe_gating", "top_k"], "moe_gate"),
    (&["dispatch", "grouped", "permute_tokens", "moe"], "moe"),
    (&["rms_norm", "layer_norm", ".add."], "norm_add"),
    (&["rope", "rotary"], "rope"),
    (&["reshape_and_cache", "concat_and_cache"], "kv_cache"),
    (&["swiglu", "silu", "gelu"], "activation"),
    (&["quantize"], "quant"),
    (&["pad", "slice", "cat", "copy", "permute", "clone", "convert_element"], "copy"),
    (&["embedding", "index"], "gather"),
    (&["mul", "sub", "div", "pow", "mean", "rsqrt", "neg"], "elementwise"),
];

/// The kernels behind operators that are predicted as one figure.
pub(crate) const COMPOSITES: [(&str, &[&str]); 4] = [
    (
        "tensor_cast.mlapo.default",
        &["MatMulV2", "MatMulV3", "RmsNorm", "KvRmsNormRopeCache", "InterleaveRope", "BatchMatMulV2"],
    ),
    (
        "tensor_cast.mlapo_quant.default",
        &[
            "DynamicQuant",
            "AscendQuantV2",
            "QuantBatchMatmulV3",
            "RmsNorm",
            "KvRmsNormRopeCache",
            "InterleaveRope",
            "BatchMatMulV2",
        ],
    ),
    (
        "tensor_cast.multihead_latent_attention.default",
        &["BatchMatMulV2", "MatMulV2", "TransposeBatchMatMul", "FusedInferAttentionScore"],
    ),
    (
        "tensor_cast.multihead_latent_attention_quant.default",
        &["BatchMatMulV2", "MatMulV2", "TransposeBatchMatMul", "FusedInferAttentionScore"],
    ),
];

/// The kernel types of a composite operator.
pub(crate) fn composite(operator: &str) -> Option<&'static [&'static str]> {
    COMPOSITES.iter().find(|(name, _)| *name == operator).map(|(_, kernels)| *kernels)
}

/// A norm over at most this width, where others are wider, is the norm of attention heads.
const WIDEST_HEAD: i64 = 256;

static TABLE: LazyLock<FxHashMap<&str, &str>> = LazyLock::new(|| {
    let types = FAMILIES.iter().flat_map(|&(family, _, types)| types.iter().map(move |&name| (name, family)));
    types.collect()
});

/// A type without its last `AiCore`, `Aicore` or `_` and digits.
pub(crate) fn canonical_type(kernel_type: &str) -> &str {
    if let Some(name) = kernel_type.strip_suffix("AiCore").or_else(|| kernel_type.strip_suffix("Aicore")) {
        return name;
    }
    let name = kernel_type.trim_end_matches(|character: char| character.is_ascii_digit());
    match name.strip_suffix('_') {
        Some(short) if name.len() < kernel_type.len() => short,
        _ => kernel_type,
    }
}

/// The family that the table has for a type.
pub(crate) fn table_family(kernel_type: &str) -> Option<&'static str> {
    TABLE.get(kernel_type).or_else(|| TABLE.get(canonical_type(kernel_type))).copied()
}

/// The family of a type by its name alone: from the table, or for an operator from its name.
pub(crate) fn plain_family(kernel_type: &str) -> Option<&'static str> {
    table_family(kernel_type).or_else(|| is_operator(kernel_type).then(|| operator_family(kernel_type)).flatten())
}

/// Whether a type is the name of an operator for which no kernel is known.
pub(crate) fn is_operator(kernel_type: &str) -> bool {
    kernel_type.contains('.')
}

/// Whether a type is a collective's.
pub(crate) fn is_collective(kernel_type: &str) -> bool {
    kernel_type.starts_with("hcom_")
}

fn operator_family(operator: &str) -> Option<&'static str> {
    // A matrix product that is not fused with the collective behind it.
    let is_product =
        || operator.match_indices("matmul").any(|(at, found)| !operator[at + found.len()..].starts_with("_all"));
    let fits = |parts: &[&str], family: &str| {
        parts.iter().any(|part| operator.contains(part)) || family == "gemm" && is_product()
    };
    OPERATORS.iter().find(|(parts, family)| fits(parts, family)).map(|(_, family)| *family)
}

/// Which family a kernel belongs to: what a user says, then the table of this program, then the operator mapping.
#[derive(Debug, Clone, Default)]
pub struct Families {
    given: FxHashMap<String, Family>,
    mapped: FxHashMap<String, Family>,
}

impl Families {
    /// Puts the kernel types of each mapping entry into one family; the first entry of a type wins.
    pub fn learn(&mut self, mapping: &OpMapping) {
        for entry in mapping.operator_mappings.iter().flat_map(|entries| entries.values()) {
            let main = entry.kernel_type.iter().chain(&entry.alternate_kernel_types);
            let types: Vec<&String> = main.filter(|name| !name.is_empty()).collect();
            let Some(first) = types.first() else { continue };
            let known = types.iter().find_map(|name| TABLE.get(canonical_type(name)));
            let family = match known {
                Some(family) => Cow::Borrowed(*family),
                None => Cow::Owned(format!("type:{}", canonical_type(first))),
            };
            for name in types {
                self.mapped.entry(name.clone()).or_insert_with(|| family.clone());
            }
        }
    }

    /// Reads a YAML map of kernel types to families.
    ///
    /// # Errors
    /// When the file can't be read or is no map of texts to texts.
    pub fn read(path: &Path) -> Result<Families, Error> {
        let text = Source::open(path)?.read_text()?;
        let refused = |reason: String| Error::FamiliesFile { path: path.to_owned(), reason };
        let Node::Map(map) = yaml::parse(&text).map_err(|error| refused(error.to_string()))? else {
            return Err(refused("a map of kernel types to families is needed".to_owned()));
        };
        let mut families = Families::default();
        for (kernel_type, family) in map.iter() {
            let kernel_type = kernel_type.to_string();
            let Some(family) = family.as_text() else {
                return Err(refused(format!("the family of {kernel_type} must be a text, not {}", family.kind())));
            };
            families.put(&kernel_type, family);
        }
        Ok(families)
    }

    /// Puts a kernel type into a family of the user's choice.
    pub fn put(&mut self, kernel_type: &str, family: &str) {
        self.given.insert(kernel_type.to_owned(), Cow::Owned(family.to_owned()));
    }

    /// The family of a kernel. `widest_norm` is the width of the widest norm of the pass.
    pub(crate) fn family(&self, kernel_type: &str, operands: Option<&Operands>, widest_norm: i64) -> Family {
        if let Some(family) = self.given.get(kernel_type) {
            return family.clone();
        }
        let name = canonical_type(kernel_type);
        if name == "RmsNorm"
            && let Some(width) = operands.and_then(Operands::width)
            && width <= WIDEST_HEAD
            && width < widest_norm
        {
            return Cow::Borrowed("rope");
        }
        if let Some(family) = table_family(kernel_type) {
            return Cow::Borrowed(family);
        }
        let mapped = self.mapped.get(kernel_type).or_else(|| self.mapped.get(name));
        if let Some(family) = mapped {
            return family.clone();
        }
        match is_operator(kernel_type).then(|| operator_family(kernel_type)).flatten() {
            Some(family) => Cow::Borrowed(family),
            None => Cow::Owned(format!("type:{name}")),
        }
    }
}

/// Whether anything is known of a family but its one type.
pub(crate) fn is_known(family: &str) -> bool {
    !family.starts_with("type:")
}

/// What kernels of one family must have in common to stand for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WorkKey {
    /// Nothing.
    Any,
    /// It can't be told, so they can't.
    Unknown,
    Gemm(GemmKey),
    Query(i64),
    Tokens(i64),
    Elements(i128),
}

impl WorkKey {
    /// Of a kernel with these operands; `query_tokens` where it is attention.
    pub(crate) fn of(family: &str, operands: Option<&Operands>, query_tokens: Option<i64>) -> WorkKey {
        let work = FAMILIES.iter().find(|(name, _, _)| *name == family).map_or(Work::Elements, |(_, work, _)| *work);
        match (work, operands) {
            (Work::Nothing, _) => WorkKey::Any,
            (Work::Gemm, operands) => operands.and_then(Operands::gemm_key).map_or(WorkKey::Unknown, WorkKey::Gemm),
            (Work::Query, _) => query_tokens.map_or(WorkKey::Unknown, WorkKey::Query),
            (Work::Tokens | Work::Elements, None) => WorkKey::Any,
            (Work::Tokens, Some(operands)) => WorkKey::Tokens(operands.tokens().unwrap_or(1)),
            (Work::Elements, Some(operands)) => WorkKey::Elements(operands.elements().unwrap_or(1)),
        }
    }

    /// For labels.
    pub(crate) fn text(&self) -> String {
        match self {
            WorkKey::Any => "*".to_owned(),
            WorkKey::Unknown => "?".to_owned(),
            WorkKey::Gemm(key) => format!("gemm:{}:{}:{}:{}", key.batch, key.m, key.k, key.n),
            WorkKey::Query(tokens) => format!("q:{tokens}"),
            WorkKey::Tokens(tokens) => format!("tokens:{tokens}"),
            WorkKey::Elements(elements) => format!("elements:{elements}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_once() {
        for (name, canonical) in [
            ("MatMulV2", "MatMulV2"),
            ("reshape_and_cache_200000000", "reshape_and_cache"),
            ("RmsNormAiCore", "RmsNorm"),
            ("x_1Aicore", "x_1"),
            ("_7", ""),
            ("a_", "a_"),
        ] {
            assert_eq!(canonical_type(name), canonical, "{name}");
        }
    }

    #[test]
    fn operators_by_their_names() {
        let family = |name: &str| Families::default().family(name, None, 0).into_owned();
        assert_eq!(family("tensor_cast.static_quant_linear.default"), "gemm");
        assert_eq!(family("tensor_cast.matmul_all_reduce.default"), "collective");
        assert_eq!(family("aten.matmul.default"), "gemm");
        assert_eq!(family("aten.convert_element_type.default"), "copy");
        assert_eq!(family("other.thing"), "type:other.thing");
        assert_eq!(family("custom_part_1"), "type:custom_part");
    }

    #[test]
    fn mapping_and_user() {
        let mapping = OpMapping::parse(
            "operator_mappings:\n  a: {kernel_type: NewMatMul, alternate_kernel_types: [MatMulV2]}\n  b: {kernel_type: Strange_5, alternate_kernel_types: [Odd]}\n",
        )
        .unwrap();
        let mut families = Families::default();
        families.learn(&mapping);
        let family = |families: &Families, name: &str| families.family(name, None, 0).into_owned();
        assert_eq!(family(&families, "NewMatMul"), "gemm");
        assert_eq!(family(&families, "Odd"), "type:Strange");
        families.put("Odd", "gemm");
        assert_eq!(family(&families, "Odd"), "gemm");
    }

    #[test]
    fn norms_of_heads() {
        let narrow = Operands(vec![vec![16, 128]]);
        let family = |widest| Families::default().family("RmsNorm", Some(&narrow), widest).into_owned();
        assert_eq!((family(5120), family(128)), ("rope".to_owned(), "norm_add".to_owned()));
    }

    #[test]
    fn composites_are_in_code_point_order() {
        assert!(COMPOSITES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
