//! Quantisation schemes: one name for the types of activations and of weights.

use super::DType::{self, BFloat16, Float4E2M1FnX2, Float8E4M3Fn, Int4, Int8};

/// By the names that serving frameworks and tables of measurements give them: activations, weights.
const SCHEMES: [(&str, DType, DType); 12] = [
    ("w8a8", Int8, Int8),
    ("sq", Int8, Int8),
    ("w8a16", BFloat16, Int8),
    ("int8_wo", BFloat16, Int8),
    ("w4a16", BFloat16, Int4),
    ("int4_wo", BFloat16, Int4),
    ("w4a8", Int8, Int4),
    ("w4afp8", Float8E4M3Fn, Int4),
    ("fp8_block", Float8E4M3Fn, Float8E4M3Fn),
    ("nvfp4", Float4E2M1FnX2, Float4E2M1FnX2),
    ("w4a16_mxfp4", BFloat16, Float4E2M1FnX2),
    ("w4a8_mxfp4_mxfp8", Float8E4M3Fn, Float4E2M1FnX2),
];

impl DType {
    /// The types of activations and of weights under a quantisation scheme; `None` if the name is none.
    ///
    /// ```
    /// use perfdb_store::dtype::DType;
    ///
    /// assert_eq!(DType::of_scheme("w4a16"), Some([DType::BFloat16, DType::Int4]));
    /// assert_eq!(DType::of_scheme("bf16"), None);
    /// ```
    pub fn of_scheme(name: &str) -> Option<[DType; 2]> {
        SCHEMES.iter().find(|(own, ..)| *own == name).map(|(_, activations, weights)| [*activations, *weights])
    }
}
