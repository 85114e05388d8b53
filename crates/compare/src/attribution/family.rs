//! Families of kernels that do the same kind of work, so that one may stand for another.

use perfdb_store::registry::FAMILIES;
pub(crate) use perfdb_store::registry::{COMPOSITES, is_collective};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::LazyLock;

/// A family's name; of kernels that nothing knows `type:` and the type.
pub type Family = Cow<'static, str>;

/// What two kernels of a family must agree in to do the same work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Gemm,
    Query,
    Tokens,
    Elements,
    Nothing,
}

impl Work {
    /// What the kernels of a family must agree in.
    pub(super) fn of(family: &str) -> Work {
        match family {
            "gemm" => Work::Gemm,
            "attention" => Work::Query,
            "rope" | "kv_cache" | "activation" | "moe" | "moe_gate" | "gather" => Work::Tokens,
            "sampling" | "collective" | "all_to_all" => Work::Nothing,
            _ => Work::Elements,
        }
    }
}

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

/// The kernel types of a composite operator.
pub(crate) fn composite(operator: &str) -> Option<&'static [&'static str]> {
    COMPOSITES.iter().find(|(name, _)| *name == operator).map(|(_, kernels)| *kernels)
}

/// A norm over at most this width, where others are wider, is the norm of attention heads.
pub(super) const WIDEST_HEAD: i64 = 256;

pub(super) static TABLE: LazyLock<FxHashMap<&str, &str>> = LazyLock::new(|| {
    let types = FAMILIES.iter().flat_map(|&(family, types)| types.iter().map(move |&name| (name, family)));
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

pub(super) fn operator_family(operator: &str) -> Option<&'static str> {
    // A matrix product that is not fused with the collective behind it.
    let is_product =
        || operator.match_indices("matmul").any(|(at, found)| !operator[at + found.len()..].starts_with("_all"));
    let fits = |parts: &[&str], family: &str| {
        parts.iter().any(|part| operator.contains(part)) || family == "gemm" && is_product()
    };
    OPERATORS.iter().find(|(parts, family)| fits(parts, family)).map(|(_, family)| *family)
}

/// Whether anything is known of a family but its one type.
pub(crate) fn is_known(family: &str) -> bool {
    !family.starts_with("type:")
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
    fn composites_are_in_code_point_order() {
        assert!(COMPOSITES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
