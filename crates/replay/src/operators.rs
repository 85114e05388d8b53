//! The replayable operators, one file each. Adding one is adding a file and its line in the list below.

use perfdb_store::near_name::nearest;

use crate::operator::Operator;

macro_rules! operators {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// Every operator, in the order of the code points of their names.
        pub static OPERATORS: &[Operator] = &[$($module::OPERATOR),*];
    };
}

operators! {
    add,
    add_rms_norm_bias,
    arg_max_v2,
    ascend_quant_v2,
    batch_mat_mul_v2,
    dispatch_ffn_combine,
    dynamic_quant,
    fused_infer_attention_score,
    gather_v2,
    grouped_matmul,
    grouped_matmul_swiglu_quant,
    index,
    interleave_rope,
    kv_rms_norm_rope_cache,
    lightning_indexer,
    masked_fill,
    mat_mul_common,
    mat_mul_v2,
    mat_mul_v3,
    moe_token_permute,
    moe_token_unpermute,
    pad_v3,
    quant_batch_matmul_v3,
    ring_mla_prefill_bf16_kernel,
    reshape_and_cache_nd_kernel,
    rms_norm,
    scatter_nd_update,
    slice,
    softmax_v2,
    sort,
    sparse_flash_attention,
    swi_glu,
    tensor_move,
    transpose,
    transpose_batch_mat_mul,
    split_qkv_rmsnorm_rope_kernel,
}

/// The operator that may run on several ranks, with flags of its own.
pub const DISPATCH_FFN_COMBINE: &str = "DispatchFFNCombine";

/// The operator of that name. Case matters.
pub fn find(name: &str) -> Option<&'static Operator> {
    OPERATORS.iter().find(|operator| operator.name == name)
}

/// ` (did you mean 'Add'?)` for a name that is none but near to one; else nothing.
pub fn suggestion(name: &str) -> String {
    let nearest = nearest(name, OPERATORS.iter().map(|operator| operator.name), str::to_lowercase);
    nearest.map(|near| format!(" (did you mean '{near}'?)")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested() {
        assert_eq!(suggestion("matmulv2"), " (did you mean 'MatMulV2'?)");
        assert_eq!(suggestion("SoftMax"), " (did you mean 'SoftmaxV2'?)");
        assert_eq!((suggestion("zzz").as_str(), suggestion("").as_str()), ("", ""));
    }

    #[test]
    fn the_list_is_sorted() {
        assert!(OPERATORS.is_sorted_by(|a, b| a.name < b.name));
    }
}
