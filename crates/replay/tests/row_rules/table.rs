//! Rows and their outcomes.

use super::word;

/// Operator, inputs (shapes, types, formats), outputs (shapes, types), outcome.
const RULES: &str = r#"
# Slots and types in general.
Add | 4,4 |  |  | 4,4 | FLOAT | ok
Add |  "4 , 4, ; "  | DT_FLOAT; | ND; | 4,4 | FLOAT | ok
Add | 4,-4 | FLOAT | ND | 4,4 | FLOAT | bad-shape
Add | 4,4.0 | FLOAT | ND | 4,4 | FLOAT | bad-shape
Add | 4,0 | FLOAT | ND | 4,0 | FLOAT | bad-shape
Add | 4,4 | float | ND | 4,4 | FLOAT | unsupported-dtype
Add | 4,4 | DT_UNDEFINED | ND | 4,4 | FLOAT | unsupported-dtype
Add | 4,4;3,4 | FLOAT;FLOAT | ND;ND | 4,4 | FLOAT | shape-mismatch
Add | 4,4;4,4;x | FLOAT;FLOAT | ND;ND | 4,4 | FLOAT | bad-shape
Add | 4,4;4,4;7 | FLOAT;FLOAT;FLOAT | ND;ND;ND | 4,4 | FLOAT | ok
Add | 4,4;4,4 | FLOAT;DT_BF16 | ND;ND | 4,4 | FLOAT | ok
Add | 4,4,16,16 | DT_BF16 | FRACTAL_NZ | 64,64 | DT_BF16 | ok
Add | 4,16,16 | DT_BF16 | FRACTAL_NZ | 64,64 | DT_BF16 | bad-rank
# Floating point where the definition has real numbers.
RmsNorm | 4,8;8 | INT32;FLOAT | ND;ND | 4,8;4,1 | FLOAT;FLOAT | unsupported-dtype
RmsNorm | 4,8;8 | DT_BF16;FLOAT | ND;ND | 4,8;4,1 | DT_BF16;FLOAT | ok
SwiGlu | 4,8 | INT8 | ND | 4,4 | INT8 | unsupported-dtype
SwiGlu | 4,7 | INT8 | ND | 4,4 | INT8 | unsupported-dtype
DynamicQuant | 4,8 | INT8 | ND | 4,8;4 | INT8;FLOAT | unsupported-dtype
InterleaveRope | 2,2,2,4;2,1,2,4;2,1,2,4 | INT8;FLOAT;FLOAT | ND;ND;ND | 2,2,2,4 | INT8 | unsupported-dtype
InterleaveRope | 2,2,2,5;2,1,2,5;2,1,2,5 | FLOAT;FLOAT;FLOAT | ND;ND;ND | 2,2,2,5 | FLOAT | shape-mismatch
InterleaveRope | 2,2,2,4;2,1,3,4;2,1,2,4 | FLOAT;FLOAT;FLOAT | ND;ND;ND | 2,2,2,4 | FLOAT | shape-mismatch
AddRmsNormBias | 4,8;4,8;8; | INT8;INT8;INT8;DT_UNDEFINED | ND;ND;ND;NULL | 4,8;4,1;4,8 |  | unsupported-dtype
# AddRmsNormBias: what stands for no bias.
AddRmsNormBias | 4,8;4,8;8;8 | FLOAT;FLOAT;FLOAT;DT_UNDEFINED | ND;ND;ND;ND | 4,8;4,1;4,8 |  | ok
AddRmsNormBias | 4,8;4,8;8;9 | FLOAT;FLOAT;FLOAT;DT_UNDEFINED | ND;ND;ND;ND | 4,8;4,1;4,8 |  | shape-mismatch
AddRmsNormBias | 4,8;;8; | FLOAT;FLOAT;FLOAT;FLOAT | ND;ND;ND;ND | 4,8;4,1;4,8 |  | bad-shape
AddRmsNormBias | 4,8;4,9;8; | FLOAT;FLOAT;FLOAT;FLOAT | ND;ND;ND;ND | 4,8;4,1;4,8 |  | shape-mismatch
# AscendQuantV2.
AscendQuantV2 | 4,8;8;8;8;8 | FLOAT;FLOAT;FLOAT;X;X | ND;ND;ND;ND;ND | 4,8 | INT32 | ok
AscendQuantV2 | 4,8;7 | FLOAT;FLOAT | ND;ND | 4,8 | INT8 | shape-mismatch
AscendQuantV2 | 4,8;8 | FLOAT | ND;ND | 4,8 | INT8 | metadata-length
AscendQuantV2 | 4,8;8 | INT8;FLOAT | ND;ND | 4,8 | INT8 | unsupported-dtype
AscendQuantV2 | 4,8;8 | FLOAT;FLOAT | ND;ND | 4,8 | DT_INT16 | unsupported-dtype
# Empty entries at the end of a list are none.
AscendQuantV2 | 4,8;8 | FLOAT;FLOAT | ND;ND | 4,8; | INT8; | ok
AscendQuantV2 | 4,8;8 | FLOAT;FLOAT | ND;ND | 4,8 |  | output-count
QuantBatchMatmulV3 | 4,8;8,6;6; | INT8;INT8;FLOAT | ND;ND;ND | 4,6 | FLOAT16 | ok
QuantBatchMatmulV3 | 4,8;8,6;6; | INT8;INT8;FLOAT;DT_UNDEFINED | ND;ND;ND;NULL | 4,6 | FLOAT16 | ok
QuantBatchMatmulV3 | 4,8;8,6;6 | INT8;INT8;FLOAT; | ND;ND;ND; | 4,6 | FLOAT16 | ok
QuantBatchMatmulV3 | 4,8;8,6;6 | INT8;INT8;FLOAT;FLOAT | ND;ND;ND | 4,6 | FLOAT16 | metadata-length
# The first recorded output may stand behind an empty slot.
MatMulV2 | 8,4;6,8 | FLOAT;FLOAT | ND;ND | ;4,6 | ;FLOAT | ok
BatchMatMulV2 | 2,4,8;2,8,6 | FLOAT;FLOAT | ND;ND | ;2,4,6 | ;FLOAT | ok
PadV3 | 3,5 | FLOAT | ND | ;3,6 | ;FLOAT | ok
Slice | 3,5 | FLOAT | ND | ;3,4 | ;FLOAT | ok
Transpose | 3,5 | FLOAT | ND | ;5,3 | ;FLOAT | ok
Index | 9,3;1;2;4 | FLOAT;INT64;INT64;INT64 | ND;ND;ND;ND | ;4,3 | ;FLOAT | ok
# Where positions count, a slot that is there has its type and format, and a list that is too short lacks slots.
AddRmsNormBias | 4,8;4,8;8; | ;FLOAT;FLOAT;FLOAT | ND;ND;ND;ND | 4,8;4,1;4,8 |  | metadata-length
AddRmsNormBias | 4,8;4,8;8; | FLOAT;FLOAT;FLOAT;FLOAT | ND;;ND;ND | 4,8;4,1;4,8 |  | ok
GroupedMatmul | 6,8;2,8,4 | FLOAT;FLOAT | ; | 6,4 | FLOAT | ok
GroupedMatmul | 6,8;2,8,4 | FLOAT;FLOAT | ND | 6,4 | FLOAT | metadata-length
RINGMLAPrefillBF16Kernel | 4,2,8;4,2,4;4,2,8;4,2,4;4,2,8 | DT_BF16;DT_BF16;DT_BF16;DT_BF16;DT_BF16 | NULL;ND;ND;ND;N/A | 4,2,8 | DT_BF16 | ok
AddRmsNormBias | 4,8;4,8 | FLOAT;FLOAT | ND;ND | 4,8;4,1;4,8 |  | metadata-length
AddRmsNormBias |  | FLOAT | ND | 4,8;4,1;4,8 |  | bad-shape
KvRmsNormRopeCache | 3,1,1,6;4;3,1,1,2;3,1,1,2;3;2,4,1,2;2,4,1,4;;;;; | FLOAT;FLOAT;;FLOAT;INT64;FLOAT;FLOAT;;;;; | ND;ND;ND;ND;ND;ND;ND;;;;; |  |  | metadata-length
KvRmsNormRopeCache | 3,1,1,6;4;3,1,1,2;3,1,1,2;3;2,4,1,2 | FLOAT;FLOAT;FLOAT;FLOAT;INT64;FLOAT | ND;ND;ND;ND;ND;ND |  |  | metadata-length
KvRmsNormRopeCache | 3,1,1,6;4;3,1,1,2;;3;2,4,1,2 | FLOAT;FLOAT;FLOAT;FLOAT;INT64;FLOAT | ND;ND;ND;ND;ND;ND |  |  | bad-shape
# Products.
MatMulV2 | 4,8;8,6 | FLOAT;DT_BF16 | ND;ND | 4,6 | FLOAT | unsupported-dtype
MatMulV2 | 4,8;8,6 | FLOAT | ND;ND | 4,6 | FLOAT | metadata-length
MatMulV2 | 4,8;8,6 | FLOAT;FLOAT | ND | 4,6 | FLOAT | metadata-length
MatMulV2 | 4,8;8,6 | FLOAT;FLOAT | ND;ND | 4,7 | FLOAT | shape-mismatch
MatMulV2 | 8,4;8,6 | FLOAT;FLOAT | ND;ND |  |  | shape-mismatch
MatMulV2 | 8,4;8,6 | FLOAT;FLOAT | ND;ND | 4,6 | FLOAT | ok
MatMulV2 | 8,4;6,8 | FLOAT;FLOAT | ND;ND | 4,6 | FLOAT | ok
BatchMatMulV2 | 2,4,8;2,8,6 | FLOAT;FLOAT | ND;ND |  |  | output-count
BatchMatMulV2 | 2,4,8;2,8,6 | FLOAT;FLOAT | ND;ND | 8,6 | FLOAT | bad-rank
BatchMatMulV2 | 2,4,8;3,8,6 | FLOAT;FLOAT | ND;ND | 2,4,6 | FLOAT | shape-mismatch
BatchMatMulV2 | 2,4,8;2,8,6 | FLOAT;FLOAT | ND;ND | 2,5,6 | FLOAT | shape-mismatch
TransposeBatchMatMul | 2,4,128;2,128,128 | FLOAT;FLOAT | ND;ND | 4,2,128;1 | FLOAT;FLOAT | output-count
TransposeBatchMatMul | 2,4,128;3,128,128 | FLOAT;FLOAT | ND;ND | 4,2,128 | FLOAT | shape-mismatch
TransposeBatchMatMul | 2,4,128;2,128,100 | FLOAT;FLOAT | ND;ND | 4,2,100 | FLOAT | constraint
# QuantBatchMatmulV3: the roles of the fourth input.
QuantBatchMatmulV3 | 4,8;8,6;6;6 | INT8;INT8;FLOAT;INT32 | ND;ND;ND;ND | 4,6 | FLOAT16 | ok
QuantBatchMatmulV3 | 4,8;8,6;6;6 | INT8;INT8;FLOAT;DT_BF16 | ND;ND;ND;ND | 4,6 | FLOAT16 | role
QuantBatchMatmulV3 | 4,8;8,6;6;1 | INT8;INT8;FLOAT;FLOAT | ND;ND;ND;ND | 4,6 | INT8 | ok
QuantBatchMatmulV3 | 4,8;8,6;6;6 | INT8;INT8;FLOAT | ND;ND;ND;ND | 4,6 | FLOAT16 | metadata-length
QuantBatchMatmulV3 | 4,8;8,6;6 | INT8;INT8;FLOAT | ND;ND;ND | 4,6 | DT_DOUBLE | unsupported-dtype
QuantBatchMatmulV3 | 4,8;7,6;6 | INT8;INT8;FLOAT | ND;ND;ND | 4,6 | FLOAT16 | shape-mismatch
QuantBatchMatmulV3 | 4,8;8,6;6 | INT8;INT8;FLOAT | ND;ND;ND | 4,6;4 | FLOAT16;FLOAT | output-count
QuantBatchMatmulV3 | 2,4,8;8,6;1 | INT8;INT8;FLOAT | ND;ND;ND | 2,4,6 | INT32 | ok
# Grouped products.
GroupedMatmul | 6,8;2,8,4;;;;;;2 | FLOAT;DT_BF16;;;;;;INT64 | ND;ND;;;;;;ND | 6,4 | FLOAT | unsupported-dtype
GroupedMatmul | 6,8;2,9,4;;;;;;2 | FLOAT;FLOAT;;;;;;INT64 | ND;ND;;;;;;ND | 6,4 | FLOAT | shape-mismatch
GroupedMatmul | 6,8;2,8,4;;;;;;2 | FLOAT;FLOAT | ND;ND | 6,4 | FLOAT | metadata-length
GroupedMatmul | 6,8;8,4 | FLOAT;FLOAT | ND;ND | 6,4 | FLOAT | bad-rank
GroupedMatmul | 6,64;1,4,16,16 | FLOAT;FLOAT | ND;FRACTAL_NZ | 6,16 | FLOAT | ok
GroupedMatmul | 6,8;2,8,4;;;;;;2 | FLOAT;FLOAT;;;;;;INT64 | ND;ND;;;;;;ND | 6,4 | DT_UNDEFINED | unsupported-dtype
GroupedMatmulSwigluQuant | 6,8;2,8,4;2,5;6;2 | INT8;INT8;FLOAT;FLOAT;INT64 | ND;ND;ND;ND;ND |  |  | shape-mismatch
GroupedMatmulSwigluQuant | 6,8;2,8,4;2,4;6 | INT8;INT8;FLOAT;FLOAT | ND;ND;ND;ND |  |  | input-count
# DispatchFFNCombine.
DispatchFFNCombine | 5,8;2,8,4;2,2,8;5,2;8;16;5,2 | FLOAT;FLOAT;FLOAT;INT32;INT64;INT64;FLOAT | ND;ND;ND;ND;ND;ND;ND | 5,8;2 | FLOAT;INT32 | ok
DispatchFFNCombine | 5,8;2,8,4;2,9,8;5,2;8;16;5,2 | FLOAT;FLOAT;FLOAT;INT32;INT64;INT64;FLOAT | ND;ND;ND;ND;ND;ND;ND | 5,8;2 | FLOAT;INT32 | ok
DispatchFFNCombine | 5,8;2,8,4;2,2,8;5,2;2,2,2;16;5,2 | FLOAT;FLOAT;FLOAT;INT32;INT64;INT64;FLOAT | ND;ND;ND;ND;ND;ND;ND | 5,8;2 | FLOAT;INT32 | bad-rank
DispatchFFNCombine | 5,8;2,8,4;2,2,8;5,2;;16;5,2 | FLOAT;FLOAT;FLOAT;INT32;INT64;INT64;FLOAT | ND;ND;ND;ND;ND;ND;ND | 5,8;2 | FLOAT;INT32 | bad-shape
DispatchFFNCombine | 5,8;2,8,4;2,2,8;5,2;8;16;5,2 | FLOAT;FLOAT;FLOAT;INT32;INT64;INT64;FLOAT | ND;ND;ND;ND;ND;ND;ND | 5,8;2,1 | FLOAT;INT32 | shape-mismatch
# Indices and caches.
Index | 9,3;1;2;4 | FLOAT;INT64;INT64;INT64 | ND;ND;ND;ND |  |  | output-count
Index | 9,3;1;2;4 | FLOAT;INT64;INT64;INT64 | ND;ND;ND;ND | 0,3 | FLOAT | out-of-range
Index | 9,3;1;2;4 | FLOAT;INT64;INT64;INT16 | ND;ND;ND;ND | 4,3 | FLOAT | unsupported-dtype
Index | 9,3;1;2;4 | FLOAT;INT64;INT64 | ND;ND;ND;ND | 4,3 | FLOAT | metadata-length
ScatterNdUpdate | 9,3;4,1;4,2 | FLOAT;INT32;FLOAT | ND;ND;ND | 9,3 | FLOAT | shape-mismatch
ReshapeAndCacheNdKernel | 9,2,4;9,2,4;2,4,2,4;2,4,2,4;9 | FLOAT;FLOAT;FLOAT;FLOAT;INT32 | ND;ND;ND;ND;ND |  |  | out-of-range
ReshapeAndCacheNdKernel | 3,2,4;3,2,4;8;2,4,2,4;3 | FLOAT;FLOAT;FLOAT;FLOAT;INT32 | ND;ND;ND;ND;ND |  |  | bad-rank
MoeTokenUnpermute | 6,8;6;2,3 | FLOAT;INT32;UNDEFINED | ND;ND;ND | 6,8 | FLOAT | ok
MoeTokenUnpermute | 6,8;6 | UNDEFINED;INT32 | ND;ND | 6,8 | FLOAT | input-count
MoeTokenUnpermute | 6,8;6;2,4 | FLOAT;INT32;FLOAT | ND;ND;ND | 2,8 | FLOAT | shape-mismatch
MaskedFill | 2,5;5 | FLOAT;UINT32 | ND;ND | 2,5 | FLOAT | ok
# Shapes that follow from the output.
PadV3 | 3,5 | FLOAT | ND | 2,6 | FLOAT | ok
Slice | 3,5 | FLOAT | ND | 3 | FLOAT | shape-mismatch
Transpose | 2,3 | FLOAT | ND | 2,3,1 | FLOAT | shape-mismatch
SoftmaxV2 | 4,8 | FLOAT | ND | N/A | FLOAT | ok
# split_qkv_rmsnorm_rope_kernel.
split_qkv_rmsnorm_rope_kernel | 5,512;4096,64;5 | DT_DOUBLE;DT_BF16;INT64 | ND;ND;ND | 5,256;5,128 |  | unsupported-dtype
split_qkv_rmsnorm_rope_kernel | 5,512;4096,64;5,1 | DT_BF16;DT_BF16;INT64 | ND;ND;ND | 5,256;5,128 |  | bad-rank
split_qkv_rmsnorm_rope_kernel | 5,500;64 | DT_BF16;DT_BF16 | ND;ND | 5,256;5,128 |  | shape-mismatch
# RINGMLAPrefillBF16Kernel: words for empty slots.
RINGMLAPrefillBF16Kernel | 4,2,8;4,2,4;4,2,8;4,2,4;4,2,8;N/A | DT_BF16;DT_BF16;DT_BF16;DT_BF16;DT_BF16;null | ND;ND;ND;ND;ND;NULL | 4,2,8;NA | DT_BF16;FLOAT | ok
RINGMLAPrefillBF16Kernel | 4,2,8;4,2,4;4,2,8;undefined;4,2,8 | DT_BF16;DT_BF16;DT_BF16;DT_BF16;DT_BF16 | ND;ND;ND;ND;ND | 4,2,8 | DT_BF16 | bad-shape
RINGMLAPrefillBF16Kernel | 4,2,8;4,2,4;4,2,8;4,2,4;4,2,9 | DT_BF16;DT_BF16;DT_BF16;DT_BF16;DT_BF16 | ND;ND;ND;ND;ND | 4,2,8 | DT_BF16 | shape-mismatch
"#;

#[test]
fn rows_have_their_outcomes() {
    let rules = RULES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let wrong: Vec<String> = rules
        .filter_map(|rule| {
            let cells: Vec<&str> = rule.split(" | ").collect();
            let [op, inputs, types, formats, outputs, output_types, expected] = cells[..] else {
                panic!("a rule has seven cells: {rule}")
            };
            let got = word(op, [inputs, types, formats, outputs, output_types]);
            (got != expected).then(|| format!("{rule}: {got}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
