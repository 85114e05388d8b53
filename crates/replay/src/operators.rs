//! The replayable operators, one file each. Adding one is adding a file, its `mod` line and its place in [`OPERATORS`].

mod add;
mod add_rms_norm_bias;
mod arg_max_v2;
mod ascend_quant_v2;
mod batch_mat_mul_v2;
mod dispatch_ffn_combine;
mod dynamic_quant;
mod fused_infer_attention_score;
mod gather_v2;
mod grouped_matmul;
mod grouped_matmul_swiglu_quant;
mod index;
mod interleave_rope;
mod kv_rms_norm_rope_cache;
mod lightning_indexer;
mod masked_fill;
mod mat_mul_common;
mod mat_mul_v2;
mod mat_mul_v3;
mod moe_token_permute;
mod moe_token_unpermute;
mod pad_v3;
mod quant_batch_matmul_v3;
mod reshape_and_cache_nd_kernel;
mod ring_mla_prefill_bf16_kernel;
mod rms_norm;
mod scatter_nd_update;
mod slice;
mod softmax_v2;
mod sort;
mod sparse_flash_attention;
mod split_qkv_rmsnorm_rope_kernel;
mod swi_glu;
mod tensor_move;
mod transpose;
mod transpose_batch_mat_mul;

use perfdb_store::near_name::nearest;

use crate::operator::Operator;

/// Every operator, in the order of the code points of their names.
pub static OPERATORS: &[Operator] = &[
    add::OPERATOR,
    add_rms_norm_bias::OPERATOR,
    arg_max_v2::OPERATOR,
    ascend_quant_v2::OPERATOR,
    batch_mat_mul_v2::OPERATOR,
    dispatch_ffn_combine::OPERATOR,
    dynamic_quant::OPERATOR,
    fused_infer_attention_score::OPERATOR,
    gather_v2::OPERATOR,
    grouped_matmul::OPERATOR,
    grouped_matmul_swiglu_quant::OPERATOR,
    index::OPERATOR,
    interleave_rope::OPERATOR,
    kv_rms_norm_rope_cache::OPERATOR,
    lightning_indexer::OPERATOR,
    masked_fill::OPERATOR,
    mat_mul_common::OPERATOR,
    mat_mul_v2::OPERATOR,
    mat_mul_v3::OPERATOR,
    moe_token_permute::OPERATOR,
    moe_token_unpermute::OPERATOR,
    pad_v3::OPERATOR,
    quant_batch_matmul_v3::OPERATOR,
    ring_mla_prefill_bf16_kernel::OPERATOR,
    reshape_and_cache_nd_kernel::OPERATOR,
    rms_norm::OPERATOR,
    scatter_nd_update::OPERATOR,
    slice::OPERATOR,
    softmax_v2::OPERATOR,
    sort::OPERATOR,
    sparse_flash_attention::OPERATOR,
    swi_glu::OPERATOR,
    tensor_move::OPERATOR,
    transpose::OPERATOR,
    transpose_batch_mat_mul::OPERATOR,
    split_qkv_rmsnorm_rope_kernel::OPERATOR,
];

/// The operator that may run on several ranks, with options of its own.
pub use perfdb_store::kernel::DISPATCH_FFN_COMBINE;

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
    fn the_database_layer_knows_the_same_operators() {
        let names: Vec<&str> = OPERATORS.iter().map(|operator| operator.name).collect();
        assert_eq!(names, perfdb_store::kernel::REPLAYABLE);
        assert!(find(DISPATCH_FFN_COMBINE).is_some());
    }
}
