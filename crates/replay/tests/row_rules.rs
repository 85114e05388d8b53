//! Row rules beyond the golden rows: which rows are replayed, which are refused, and by which kind.

use perfdb_replay::operator::{PlanOptions, Planned};
use perfdb_replay::operators;
use perfdb_replay::plan::{RowPlan, plan_rows};
use perfdb_replay::row::Row;
use perfdb_replay::settings::RunSettings;
use perfdb_store::table::{ReadOptions, Table};
use serde_json::{Value, json};

const COLUMNS: [&str; 6] =
    ["Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types", "Output Formats"];

/// Plans a row of these cells, further cells given as `column=value`.
fn plan(op: &str, cells: [&str; 5], more: &[(&str, &str)]) -> Result<Planned, String> {
    let header: Vec<String> =
        COLUMNS.iter().chain(more.iter().map(|(column, _)| column)).map(|name| (*name).to_owned()).collect();
    let formats = cells[4].split(';').map(|_| "ND").collect::<Vec<_>>().join(";");
    let mut row: Vec<&str> = cells.to_vec();
    row.push(&formats);
    row.extend(more.iter().map(|(_, value)| value));
    let options = PlanOptions { ep_size: 1, ..PlanOptions::default() };
    let operator = operators::find(op).expect("a known operator");
    (operator.plan)(&Row::new(&header, &row), &options).map_err(|refusal| refusal.kind.name().to_owned())
}

/// The fate as one word: `ok`, a reason to skip, or the kind of refusal.
fn word(op: &str, cells: [&str; 5]) -> String {
    match plan(op, cells, &[]) {
        Ok(Planned::Replay(_)) => "ok".to_owned(),
        Ok(Planned::Skip(reason)) => reason.name().to_owned(),
        Err(kind) => kind,
    }
}

fn call(op: &str, cells: [&str; 5], more: &[(&str, &str)]) -> Value {
    match plan(op, cells, more) {
        Ok(Planned::Replay(call)) => json!({
            "api": call.api,
            "inputs": call.inputs.iter().map(|input| json!([input.name, input.shape, input.dtype, input.init])).collect::<Vec<_>>(),
            "args": call.args,
            "kwargs": call.kwargs,
        }),
        other => panic!("{op} {cells:?}: {other:?}"),
    }
}

/// Operator, inputs (shapes, types, formats), outputs (shapes, types), fate.
const RULES: &[(&str, [&str; 5], &str)] = &[
    // Slots and types in general.
    ("Add", ["4,4", "", "", "4,4", "FLOAT"], "ok"),
    ("Add", [" \"4 , 4, ; \" ", "DT_FLOAT;", "ND;", "4,4", "FLOAT"], "ok"),
    ("Add", ["4,-4", "FLOAT", "ND", "4,4", "FLOAT"], "bad-shape"),
    ("Add", ["4,4.0", "FLOAT", "ND", "4,4", "FLOAT"], "bad-shape"),
    ("Add", ["4,0", "FLOAT", "ND", "4,0", "FLOAT"], "bad-shape"),
    ("Add", ["4,4", "float", "ND", "4,4", "FLOAT"], "unsupported-dtype"),
    ("Add", ["4,4", "DT_UNDEFINED", "ND", "4,4", "FLOAT"], "unsupported-dtype"),
    ("Add", ["4,4;3,4", "FLOAT;FLOAT", "ND;ND", "4,4", "FLOAT"], "shape-mismatch"),
    ("Add", ["4,4;4,4;x", "FLOAT;FLOAT", "ND;ND", "4,4", "FLOAT"], "bad-shape"),
    ("Add", ["4,4;4,4;7", "FLOAT;FLOAT;FLOAT", "ND;ND;ND", "4,4", "FLOAT"], "ok"),
    ("Add", ["4,4;4,4", "FLOAT;DT_BF16", "ND;ND", "4,4", "FLOAT"], "ok"),
    ("Add", ["4,4,16,16", "DT_BF16", "FRACTAL_NZ", "64,64", "DT_BF16"], "ok"),
    ("Add", ["4,16,16", "DT_BF16", "FRACTAL_NZ", "64,64", "DT_BF16"], "bad-rank"),
    // Floating point where the definition has real numbers.
    ("RmsNorm", ["4,8;8", "INT32;FLOAT", "ND;ND", "4,8;4,1", "FLOAT;FLOAT"], "unsupported-dtype"),
    ("RmsNorm", ["4,8;8", "DT_BF16;FLOAT", "ND;ND", "4,8;4,1", "DT_BF16;FLOAT"], "ok"),
    ("SwiGlu", ["4,8", "INT8", "ND", "4,4", "INT8"], "unsupported-dtype"),
    ("SwiGlu", ["4,7", "INT8", "ND", "4,4", "INT8"], "unsupported-dtype"),
    ("DynamicQuant", ["4,8", "INT8", "ND", "4,8;4", "INT8;FLOAT"], "unsupported-dtype"),
    (
        "InterleaveRope",
        ["2,2,2,4;2,1,2,4;2,1,2,4", "INT8;FLOAT;FLOAT", "ND;ND;ND", "2,2,2,4", "INT8"],
        "unsupported-dtype",
    ),
    (
        "InterleaveRope",
        ["2,2,2,5;2,1,2,5;2,1,2,5", "FLOAT;FLOAT;FLOAT", "ND;ND;ND", "2,2,2,5", "FLOAT"],
        "shape-mismatch",
    ),
    (
        "InterleaveRope",
        ["2,2,2,4;2,1,3,4;2,1,2,4", "FLOAT;FLOAT;FLOAT", "ND;ND;ND", "2,2,2,4", "FLOAT"],
        "shape-mismatch",
    ),
    (
        "AddRmsNormBias",
        ["4,8;4,8;8;", "INT8;INT8;INT8;DT_UNDEFINED", "ND;ND;ND;NULL", "4,8;4,1;4,8", ""],
        "unsupported-dtype",
    ),
    // AddRmsNormBias: what stands for no bias.
    ("AddRmsNormBias", ["4,8;4,8;8;8", "FLOAT;FLOAT;FLOAT;DT_UNDEFINED", "ND;ND;ND;ND", "4,8;4,1;4,8", ""], "ok"),
    (
        "AddRmsNormBias",
        ["4,8;4,8;8;9", "FLOAT;FLOAT;FLOAT;DT_UNDEFINED", "ND;ND;ND;ND", "4,8;4,1;4,8", ""],
        "shape-mismatch",
    ),
    ("AddRmsNormBias", ["4,8;;8;", "FLOAT;FLOAT;FLOAT;FLOAT", "ND;ND;ND;ND", "4,8;4,1;4,8", ""], "bad-shape"),
    ("AddRmsNormBias", ["4,8;4,9;8;", "FLOAT;FLOAT;FLOAT;FLOAT", "ND;ND;ND;ND", "4,8;4,1;4,8", ""], "shape-mismatch"),
    // AscendQuantV2.
    ("AscendQuantV2", ["4,8;8;8;8;8", "FLOAT;FLOAT;FLOAT;X;X", "ND;ND;ND;ND;ND", "4,8", "INT32"], "ok"),
    ("AscendQuantV2", ["4,8;7", "FLOAT;FLOAT", "ND;ND", "4,8", "INT8"], "shape-mismatch"),
    ("AscendQuantV2", ["4,8;8", "FLOAT", "ND;ND", "4,8", "INT8"], "metadata-length"),
    ("AscendQuantV2", ["4,8;8", "INT8;FLOAT", "ND;ND", "4,8", "INT8"], "unsupported-dtype"),
    ("AscendQuantV2", ["4,8;8", "FLOAT;FLOAT", "ND;ND", "4,8", "DT_INT16"], "unsupported-dtype"),
    // Empty entries at the end of a list are none.
    ("AscendQuantV2", ["4,8;8", "FLOAT;FLOAT", "ND;ND", "4,8;", "INT8;"], "ok"),
    ("AscendQuantV2", ["4,8;8", "FLOAT;FLOAT", "ND;ND", "4,8", ""], "output-count"),
    ("QuantBatchMatmulV3", ["4,8;8,6;6;", "INT8;INT8;FLOAT", "ND;ND;ND", "4,6", "FLOAT16"], "ok"),
    ("QuantBatchMatmulV3", ["4,8;8,6;6;", "INT8;INT8;FLOAT;DT_UNDEFINED", "ND;ND;ND;NULL", "4,6", "FLOAT16"], "ok"),
    ("QuantBatchMatmulV3", ["4,8;8,6;6", "INT8;INT8;FLOAT;", "ND;ND;ND;", "4,6", "FLOAT16"], "ok"),
    ("QuantBatchMatmulV3", ["4,8;8,6;6", "INT8;INT8;FLOAT;FLOAT", "ND;ND;ND", "4,6", "FLOAT16"], "metadata-length"),
    // The first recorded output may stand behind an empty slot.
    ("MatMulV2", ["8,4;6,8", "FLOAT;FLOAT", "ND;ND", ";4,6", ";FLOAT"], "ok"),
    ("BatchMatMulV2", ["2,4,8;2,8,6", "FLOAT;FLOAT", "ND;ND", ";2,4,6", ";FLOAT"], "ok"),
    ("PadV3", ["3,5", "FLOAT", "ND", ";3,6", ";FLOAT"], "ok"),
    ("Slice", ["3,5", "FLOAT", "ND", ";3,4", ";FLOAT"], "ok"),
    ("Transpose", ["3,5", "FLOAT", "ND", ";5,3", ";FLOAT"], "ok"),
    ("Index", ["9,3;1;2;4", "FLOAT;INT64;INT64;INT64", "ND;ND;ND;ND", ";4,3", ";FLOAT"], "ok"),
    // Where positions count, a slot that is there has its type and format, and a list that is too short lacks slots.
    ("AddRmsNormBias", ["4,8;4,8;8;", ";FLOAT;FLOAT;FLOAT", "ND;ND;ND;ND", "4,8;4,1;4,8", ""], "metadata-length"),
    ("AddRmsNormBias", ["4,8;4,8;8;", "FLOAT;FLOAT;FLOAT;FLOAT", "ND;;ND;ND", "4,8;4,1;4,8", ""], "ok"),
    ("GroupedMatmul", ["6,8;2,8,4", "FLOAT;FLOAT", ";", "6,4", "FLOAT"], "ok"),
    ("GroupedMatmul", ["6,8;2,8,4", "FLOAT;FLOAT", "ND", "6,4", "FLOAT"], "metadata-length"),
    (
        "RINGMLAPrefillBF16Kernel",
        [
            "4,2,8;4,2,4;4,2,8;4,2,4;4,2,8",
            "DT_BF16;DT_BF16;DT_BF16;DT_BF16;DT_BF16",
            "NULL;ND;ND;ND;N/A",
            "4,2,8",
            "DT_BF16",
        ],
        "ok",
    ),
    ("AddRmsNormBias", ["4,8;4,8", "FLOAT;FLOAT", "ND;ND", "4,8;4,1;4,8", ""], "metadata-length"),
    ("AddRmsNormBias", ["", "FLOAT", "ND", "4,8;4,1;4,8", ""], "bad-shape"),
    (
        "KvRmsNormRopeCache",
        [
            "3,1,1,6;4;3,1,1,2;3,1,1,2;3;2,4,1,2;2,4,1,4;;;;;",
            "FLOAT;FLOAT;;FLOAT;INT64;FLOAT;FLOAT;;;;;",
            "ND;ND;ND;ND;ND;ND;ND;;;;;",
            "",
            "",
        ],
        "metadata-length",
    ),
    (
        "KvRmsNormRopeCache",
        ["3,1,1,6;4;3,1,1,2;3,1,1,2;3;2,4,1,2", "FLOAT;FLOAT;FLOAT;FLOAT;INT64;FLOAT", "ND;ND;ND;ND;ND;ND", "", ""],
        "metadata-length",
    ),
    (
        "KvRmsNormRopeCache",
        ["3,1,1,6;4;3,1,1,2;;3;2,4,1,2", "FLOAT;FLOAT;FLOAT;FLOAT;INT64;FLOAT", "ND;ND;ND;ND;ND;ND", "", ""],
        "bad-shape",
    ),
    // Products.
    ("MatMulV2", ["4,8;8,6", "FLOAT;DT_BF16", "ND;ND", "4,6", "FLOAT"], "unsupported-dtype"),
    ("MatMulV2", ["4,8;8,6", "FLOAT", "ND;ND", "4,6", "FLOAT"], "metadata-length"),
    ("MatMulV2", ["4,8;8,6", "FLOAT;FLOAT", "ND", "4,6", "FLOAT"], "metadata-length"),
    ("MatMulV2", ["4,8;8,6", "FLOAT;FLOAT", "ND;ND", "4,7", "FLOAT"], "shape-mismatch"),
    ("MatMulV2", ["8,4;8,6", "FLOAT;FLOAT", "ND;ND", "", ""], "shape-mismatch"),
    ("MatMulV2", ["8,4;8,6", "FLOAT;FLOAT", "ND;ND", "4,6", "FLOAT"], "ok"),
    ("MatMulV2", ["8,4;6,8", "FLOAT;FLOAT", "ND;ND", "4,6", "FLOAT"], "ok"),
    ("BatchMatMulV2", ["2,4,8;2,8,6", "FLOAT;FLOAT", "ND;ND", "", ""], "output-count"),
    ("BatchMatMulV2", ["2,4,8;2,8,6", "FLOAT;FLOAT", "ND;ND", "8,6", "FLOAT"], "bad-rank"),
    ("BatchMatMulV2", ["2,4,8;3,8,6", "FLOAT;FLOAT", "ND;ND", "2,4,6", "FLOAT"], "shape-mismatch"),
    ("BatchMatMulV2", ["2,4,8;2,8,6", "FLOAT;FLOAT", "ND;ND", "2,5,6", "FLOAT"], "shape-mismatch"),
    ("TransposeBatchMatMul", ["2,4,128;2,128,128", "FLOAT;FLOAT", "ND;ND", "4,2,128;1", "FLOAT;FLOAT"], "output-count"),
    ("TransposeBatchMatMul", ["2,4,128;3,128,128", "FLOAT;FLOAT", "ND;ND", "4,2,128", "FLOAT"], "shape-mismatch"),
    ("TransposeBatchMatMul", ["2,4,128;2,128,100", "FLOAT;FLOAT", "ND;ND", "4,2,100", "FLOAT"], "constraint"),
    // QuantBatchMatmulV3: the roles of the fourth input.
    ("QuantBatchMatmulV3", ["4,8;8,6;6;6", "INT8;INT8;FLOAT;INT32", "ND;ND;ND;ND", "4,6", "FLOAT16"], "ok"),
    ("QuantBatchMatmulV3", ["4,8;8,6;6;6", "INT8;INT8;FLOAT;DT_BF16", "ND;ND;ND;ND", "4,6", "FLOAT16"], "role"),
    ("QuantBatchMatmulV3", ["4,8;8,6;6;1", "INT8;INT8;FLOAT;FLOAT", "ND;ND;ND;ND", "4,6", "INT8"], "ok"),
    ("QuantBatchMatmulV3", ["4,8;8,6;6;6", "INT8;INT8;FLOAT", "ND;ND;ND;ND", "4,6", "FLOAT16"], "metadata-length"),
    ("QuantBatchMatmulV3", ["4,8;8,6;6", "INT8;INT8;FLOAT", "ND;ND;ND", "4,6", "DT_DOUBLE"], "unsupported-dtype"),
    ("QuantBatchMatmulV3", ["4,8;7,6;6", "INT8;INT8;FLOAT", "ND;ND;ND", "4,6", "FLOAT16"], "shape-mismatch"),
    ("QuantBatchMatmulV3", ["4,8;8,6;6", "INT8;INT8;FLOAT", "ND;ND;ND", "4,6;4", "FLOAT16;FLOAT"], "output-count"),
    ("QuantBatchMatmulV3", ["2,4,8;8,6;1", "INT8;INT8;FLOAT", "ND;ND;ND", "2,4,6", "INT32"], "ok"),
    // Grouped products.
    (
        "GroupedMatmul",
        ["6,8;2,8,4;;;;;;2", "FLOAT;DT_BF16;;;;;;INT64", "ND;ND;;;;;;ND", "6,4", "FLOAT"],
        "unsupported-dtype",
    ),
    (
        "GroupedMatmul",
        ["6,8;2,9,4;;;;;;2", "FLOAT;FLOAT;;;;;;INT64", "ND;ND;;;;;;ND", "6,4", "FLOAT"],
        "shape-mismatch",
    ),
    ("GroupedMatmul", ["6,8;2,8,4;;;;;;2", "FLOAT;FLOAT", "ND;ND", "6,4", "FLOAT"], "metadata-length"),
    ("GroupedMatmul", ["6,8;8,4", "FLOAT;FLOAT", "ND;ND", "6,4", "FLOAT"], "bad-rank"),
    ("GroupedMatmul", ["6,64;1,4,16,16", "FLOAT;FLOAT", "ND;FRACTAL_NZ", "6,16", "FLOAT"], "ok"),
    (
        "GroupedMatmul",
        ["6,8;2,8,4;;;;;;2", "FLOAT;FLOAT;;;;;;INT64", "ND;ND;;;;;;ND", "6,4", "DT_UNDEFINED"],
        "unsupported-dtype",
    ),
    (
        "GroupedMatmulSwigluQuant",
        ["6,8;2,8,4;2,5;6;2", "INT8;INT8;FLOAT;FLOAT;INT64", "ND;ND;ND;ND;ND", "", ""],
        "shape-mismatch",
    ),
    ("GroupedMatmulSwigluQuant", ["6,8;2,8,4;2,4;6", "INT8;INT8;FLOAT;FLOAT", "ND;ND;ND;ND", "", ""], "input-count"),
    // DispatchFFNCombine.
    (
        "DispatchFFNCombine",
        [
            "5,8;2,8,4;2,2,8;5,2;8;16;5,2",
            "FLOAT;FLOAT;FLOAT;INT32;INT64;INT64;FLOAT",
            "ND;ND;ND;ND;ND;ND;ND",
            "5,8;2",
            "FLOAT;INT32",
        ],
        "ok",
    ),
    (
        "DispatchFFNCombine",
        [
            "5,8;2,8,4;2,9,8;5,2;8;16;5,2",
            "FLOAT;FLOAT;FLOAT;INT32;INT64;INT64;FLOAT",
            "ND;ND;ND;ND;ND;ND;ND",
            "5,8;2",
            "FLOAT;INT32",
        ],
        "ok",
    ),
    (
        "DispatchFFNCombine",
        [
            "5,8;2,8,4;2,2,8;5,2;2,2,2;16;5,2",
            "FLOAT;FLOAT;FLOAT;INT32;INT64;INT64;FLOAT",
            "ND;ND;ND;ND;ND;ND;ND",
            "5,8;2",
            "FLOAT;INT32",
        ],
        "bad-rank",
    ),
    (
        "DispatchFFNCombine",
        [
            "5,8;2,8,4;2,2,8;5,2;;16;5,2",
            "FLOAT;FLOAT;FLOAT;INT32;INT64;INT64;FLOAT",
            "ND;ND;ND;ND;ND;ND;ND",
            "5,8;2",
            "FLOAT;INT32",
        ],
        "bad-shape",
    ),
    (
        "DispatchFFNCombine",
        [
            "5,8;2,8,4;2,2,8;5,2;8;16;5,2",
            "FLOAT;FLOAT;FLOAT;INT32;INT64;INT64;FLOAT",
            "ND;ND;ND;ND;ND;ND;ND",
            "5,8;2,1",
            "FLOAT;INT32",
        ],
        "shape-mismatch",
    ),
    // Indices and caches.
    ("Index", ["9,3;1;2;4", "FLOAT;INT64;INT64;INT64", "ND;ND;ND;ND", "", ""], "output-count"),
    ("Index", ["9,3;1;2;4", "FLOAT;INT64;INT64;INT64", "ND;ND;ND;ND", "0,3", "FLOAT"], "out-of-range"),
    ("Index", ["9,3;1;2;4", "FLOAT;INT64;INT64;INT16", "ND;ND;ND;ND", "4,3", "FLOAT"], "unsupported-dtype"),
    ("Index", ["9,3;1;2;4", "FLOAT;INT64;INT64", "ND;ND;ND;ND", "4,3", "FLOAT"], "metadata-length"),
    ("ScatterNdUpdate", ["9,3;4,1;4,2", "FLOAT;INT32;FLOAT", "ND;ND;ND", "9,3", "FLOAT"], "shape-mismatch"),
    (
        "ReshapeAndCacheNdKernel",
        ["9,2,4;9,2,4;2,4,2,4;2,4,2,4;9", "FLOAT;FLOAT;FLOAT;FLOAT;INT32", "ND;ND;ND;ND;ND", "", ""],
        "out-of-range",
    ),
    (
        "ReshapeAndCacheNdKernel",
        ["3,2,4;3,2,4;8;2,4,2,4;3", "FLOAT;FLOAT;FLOAT;FLOAT;INT32", "ND;ND;ND;ND;ND", "", ""],
        "bad-rank",
    ),
    ("MoeTokenUnpermute", ["6,8;6;2,3", "FLOAT;INT32;UNDEFINED", "ND;ND;ND", "6,8", "FLOAT"], "ok"),
    ("MoeTokenUnpermute", ["6,8;6", "UNDEFINED;INT32", "ND;ND", "6,8", "FLOAT"], "input-count"),
    ("MoeTokenUnpermute", ["6,8;6;2,4", "FLOAT;INT32;FLOAT", "ND;ND;ND", "2,8", "FLOAT"], "shape-mismatch"),
    ("MaskedFill", ["2,5;5", "FLOAT;UINT32", "ND;ND", "2,5", "FLOAT"], "ok"),
    // Shapes that follow from the output.
    ("PadV3", ["3,5", "FLOAT", "ND", "2,6", "FLOAT"], "ok"),
    ("Slice", ["3,5", "FLOAT", "ND", "3", "FLOAT"], "shape-mismatch"),
    ("Transpose", ["2,3", "FLOAT", "ND", "2,3,1", "FLOAT"], "shape-mismatch"),
    ("SoftmaxV2", ["4,8", "FLOAT", "ND", "N/A", "FLOAT"], "ok"),
    // split_qkv_rmsnorm_rope_kernel.
    (
        "split_qkv_rmsnorm_rope_kernel",
        ["5,512;4096,64;5", "DT_DOUBLE;DT_BF16;INT64", "ND;ND;ND", "5,256;5,128", ""],
        "unsupported-dtype",
    ),
    (
        "split_qkv_rmsnorm_rope_kernel",
        ["5,512;4096,64;5,1", "DT_BF16;DT_BF16;INT64", "ND;ND;ND", "5,256;5,128", ""],
        "bad-rank",
    ),
    ("split_qkv_rmsnorm_rope_kernel", ["5,500;64", "DT_BF16;DT_BF16", "ND;ND", "5,256;5,128", ""], "shape-mismatch"),
    // RINGMLAPrefillBF16Kernel: words for empty slots.
    (
        "RINGMLAPrefillBF16Kernel",
        [
            "4,2,8;4,2,4;4,2,8;4,2,4;4,2,8;N/A",
            "DT_BF16;DT_BF16;DT_BF16;DT_BF16;DT_BF16;null",
            "ND;ND;ND;ND;ND;NULL",
            "4,2,8;NA",
            "DT_BF16;FLOAT",
        ],
        "ok",
    ),
    (
        "RINGMLAPrefillBF16Kernel",
        [
            "4,2,8;4,2,4;4,2,8;undefined;4,2,8",
            "DT_BF16;DT_BF16;DT_BF16;DT_BF16;DT_BF16",
            "ND;ND;ND;ND;ND",
            "4,2,8",
            "DT_BF16",
        ],
        "bad-shape",
    ),
    (
        "RINGMLAPrefillBF16Kernel",
        [
            "4,2,8;4,2,4;4,2,8;4,2,4;4,2,9",
            "DT_BF16;DT_BF16;DT_BF16;DT_BF16;DT_BF16",
            "ND;ND;ND;ND;ND",
            "4,2,8",
            "DT_BF16",
        ],
        "shape-mismatch",
    ),
];

#[test]
fn rows_meet_their_fates() {
    let wrong: Vec<String> = RULES
        .iter()
        .map(|(op, cells, expected)| (op, cells, expected, word(op, *cells)))
        .filter(|(_, _, expected, got)| got != *expected)
        .map(|(op, cells, expected, got)| format!("{op} {cells:?}: {got}, expected {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn orientations_of_products() {
    let views = |a: &str, b: &str, output: &str| -> Vec<String> {
        let shapes = format!("{a};{b}");
        let Ok(Planned::Replay(call)) = plan("MatMulV2", [&shapes, "FLOAT;FLOAT", "ND;ND", output, "FLOAT"], &[])
        else {
            panic!("{shapes} {output}");
        };
        call.inputs.iter().map(|input| if input.view.is_some() { "t" } else { "" }.to_owned()).collect()
    };
    assert_eq!(views("4,8", "6,8", "4,6"), ["", "t"]);
    assert_eq!(views("4,8", "8,6", "4,6"), ["", ""]);
    assert_eq!(views("8,4", "6,8", "4,6"), ["t", "t"]);
    assert_eq!(views("8,4", "8,6", "4,6"), ["t", ""]);
    assert_eq!(views("8,8", "8,8", "8,8"), ["", "t"], "the first that fits");
    assert_eq!(views("4,8", "8,8", ""), ["", "t"]);
}

#[test]
fn sparse_attention_selects_for_one_key_head() {
    let cells = |chosen: &str| format!("4,2,8;9,16,1,8;9,16,1,8;{chosen};2,3;2;2;4,2,4;9,16,1,4");
    let types = "DT_BF16;DT_BF16;DT_BF16;INT32;INT32;INT32;INT32;DT_BF16;DT_BF16";
    let shape = |chosen: &str| {
        let formats = ["ND"; 9].join(";");
        let row = [&cells(chosen), types, &formats, "4,2,8", "DT_BF16"];
        call("SparseFlashAttention", row, &[])["inputs"][3].clone()
    };
    assert_eq!(shape("4,1,7"), shape("4,2,7"));
    assert_eq!(shape("4,2,7")[1], json!([4, 1, 7]));
}

#[test]
fn unpermuting_passes_every_input() {
    let row = ["6,8;6;2,3;5", "FLOAT;INT32;FLOAT;", "ND;ND;ND;ND", "2,8", "FLOAT"];
    let call = call("MoeTokenUnpermute", row, &[]);
    assert_eq!(call["args"][3], json!({"tensor": call["inputs"][3][0]}));
    assert_eq!((&call["inputs"][3][1], &call["inputs"][3][2]), (&json!([5]), &json!("bfloat16")));
}

#[test]
fn add_does_not_read_its_output() {
    let fate = |op: &str, inputs: &str, output: &str| {
        let text = format!("{}\n{inputs},{output},FLOAT,ND\n", COLUMNS.join(","));
        let table =
            Table::parse(std::path::Path::new("t.csv"), text.into_bytes(), &ReadOptions::database()).expect("a table");
        let operator = operators::find(op).expect("a known operator");
        let settings = RunSettings::new("", "").plan_settings(operator);
        plan_rows(&table, operator, &settings).next().expect("a row").plan
    };
    let add = |output: &str| match fate("Add", "\"4\",FLOAT,ND", output) {
        RowPlan::Case(case) => case.outputs.len(),
        other => panic!("{output}: {other:?}"),
    };
    assert_eq!((add("4"), add("N/A"), add("-1"), add("")), (1, 0, 0, 0));
    assert!(matches!(fate("Slice", "\"4\",FLOAT,ND", "N/A"), RowPlan::Invalid(_)));
}

#[test]
fn a_cut_pads_by_a_negative_number() {
    let call = call("PadV3", ["3,5", "FLOAT", "ND", "2,6", "FLOAT"], &[]);
    assert_eq!(call["kwargs"]["pad"], json!([0, 1, 0, -1]));
}

/// The 31 slots of FusedInferAttentionScore with some of them filled: (position, shape, type).
fn attention(slots: &[(usize, &str, &str)]) -> [String; 3] {
    let cell = |empty: &str, of: &dyn Fn(&(usize, &str, &str)) -> String| {
        let part = |at: usize| slots.iter().find(|slot| slot.0 == at).map_or_else(|| empty.to_owned(), of);
        (0..31).map(part).collect::<Vec<_>>().join(";")
    };
    [
        cell("", &|slot| slot.1.to_owned()),
        cell("DT_UNDEFINED", &|slot| slot.2.to_owned()),
        cell("NULL", &|_| "ND".to_owned()),
    ]
}

fn attention_plan(slots: &[(usize, &str, &str)], more: &[(&str, &str)]) -> Result<Value, String> {
    let [shapes, dtypes, formats] = attention(slots);
    let cells = [shapes.as_str(), &dtypes, &formats, "4,2,8;", "DT_BF16;FLOAT"];
    match plan("FusedInferAttentionScore", cells, more)? {
        Planned::Replay(_) => Ok(call("FusedInferAttentionScore", cells, more)["kwargs"].take()),
        Planned::Skip(reason) => Err(reason.name().to_owned()),
    }
}

const PAGED: [(usize, &str, &str); 4] =
    [(0, "4,2,8", "DT_BF16"), (1, "9,2,16,8", "DT_BF16"), (2, "9,2,16,8", "DT_BF16"), (14, "2,3", "INT32")];

#[test]
fn lengths_of_paged_attention() {
    let with_lengths = [&PAGED[..], &[(5, "2", "INT64"), (6, "2", "INT64")]].concat();
    let kwargs = attention_plan(&with_lengths, &[]).expect("a valid row");
    assert_eq!(kwargs["actual_seq_lengths"], json!([2, 4]));
    assert_eq!(kwargs["actual_seq_lengths_kv"], json!([16, 16]));
    assert_eq!((&kwargs["block_size"], &kwargs["num_key_value_heads"]), (&json!(16), &json!(2)));
    let kwargs = attention_plan(&with_lengths, &[("Runtime block_table_valid_blocks", "0,3")]).expect("a valid row");
    assert_eq!(kwargs["actual_seq_lengths_kv"], json!([16, 48]));
    let refused = |more: &[(&str, &str)]| attention_plan(&with_lengths, more).expect_err("a refusal");
    assert_eq!(refused(&[("Runtime block_table_valid_blocks", "1,4")]), "out-of-range");
    assert_eq!(refused(&[("Runtime block_table_valid_blocks", "1")]), "runtime-metadata");
    assert_eq!(refused(&[("Runtime actual_seq_lengths_kv_values", "1,2,3")]), "runtime-metadata");
    assert_eq!(refused(&[("Runtime num_heads", "two")]), "runtime-metadata");
    // What is passed as block size changes nothing about the pages, which the key's shape fixes.
    let kwargs =
        attention_plan(&with_lengths, &[("Runtime block_size", "8"), ("Runtime block_table_valid_blocks", "2,1")]);
    let kwargs = kwargs.expect("a valid row");
    assert_eq!((&kwargs["block_size"], &kwargs["actual_seq_lengths_kv"]), (&json!(8), &json!([32, 16])));
    assert_eq!(attention_plan(&PAGED, &[]).expect_err("no key lengths"), "runtime-metadata");
}

#[test]
fn masks_of_attention() {
    let plain = [(0, "4,2,8", "DT_BF16"), (1, "6,2,8", "DT_BF16"), (2, "6,2,8", "DT_BF16")];
    let mask = |shape, dtype| [&plain[..], &[(4, shape, dtype)]].concat();
    assert_eq!(attention_plan(&mask("2048,2048", "DT_BF16"), &[]).expect_err("a mask of numbers"), "unsupported-dtype");
    let init = |slots: &[(usize, &str, &str)], more: &[(&str, &str)]| {
        let [shapes, dtypes, formats] = attention(slots);
        let call = call("FusedInferAttentionScore", [&shapes, &dtypes, &formats, "4,2,8;", "DT_BF16;FLOAT"], more);
        call["inputs"].as_array().and_then(|inputs| inputs.get(3).cloned())
    };
    let triangle = |shape: Value, dtype: &str, value: Value| json!(["atten_mask", shape, dtype, {"kind": "triu", "diagonal": 1, "value": value}]);
    assert_eq!(
        init(&mask("1,1,2048,2048", "BOOL"), &[]),
        Some(triangle(json!([1, 1, 2048, 2048]), "bool", json!(true)))
    );
    assert_eq!(
        init(&mask("4,6", "FLOAT16"), &[]),
        Some(json!(["atten_mask", [4, 6], "float16", {"kind": "full", "value": 0}]))
    );
    assert_eq!(
        init(&mask("4,6", "UINT8"), &[]),
        Some(json!(["atten_mask", [4, 6], "uint8", {"kind": "full", "value": 0}]))
    );
    assert_eq!(init(&plain, &[("Runtime sparse_mode", "3")]), Some(triangle(json!([2048, 2048]), "int8", json!(1))));
    assert_eq!(init(&plain, &[]), None);
}

#[test]
fn forms_of_attention() {
    let batch = [
        (0, "2,4,3,8", "DT_BF16"),
        (1, "2,1,6,8", "DT_BF16"),
        (2, "2,1,6,8", "DT_BF16"),
        (24, "2,4,3,2", "DT_BF16"),
        (25, "2,1,6,2", "DT_BF16"),
    ];
    let kwargs =
        attention_plan(&[&batch[..], &[(5, "2", "INT64"), (6, "2", "INT64")]].concat(), &[]).expect("a valid row");
    assert_eq!((&kwargs["actual_seq_lengths"], &kwargs["actual_seq_lengths_kv"]), (&json!([3, 3]), &json!([6, 6])));
    assert_eq!(kwargs["scale"], json!(1.0 / 10f64.sqrt()));
    assert_eq!(
        attention_plan(&[&batch[..], &[(5, "3", "INT64")]].concat(), &[]).expect_err("another batch"),
        "shape-mismatch"
    );
    assert_eq!(
        attention_plan(&[&batch[..], &[(6, "3", "INT64")]].concat(), &[]).expect_err("another batch of keys"),
        "shape-mismatch"
    );
    assert_eq!(attention_plan(&batch[..3], &[]).expect_err("no rotated part"), "bad-rank");
    let tokens = [(0, "2,2,8", "DT_BF16"), (1, "6,2,8", "DT_BF16"), (2, "6,2,8", "DT_BF16"), (5, "3", "INT64")];
    assert_eq!(attention_plan(&tokens, &[]).expect_err("three sequences of two tokens"), "out-of-range");
    assert_eq!(attention_plan(&tokens[1..], &[]).expect_err("no query"), "bad-shape");
}

#[test]
fn lists_of_groups_keep_their_type() {
    let list = |op, cells: [&str; 5]| {
        let call = call(op, cells, &[]);
        let inputs = call["inputs"].as_array().cloned().unwrap_or_default();
        inputs.into_iter().find(|input| input[0] == "group_list").map(|input| input[2].clone())
    };
    let plain = ["6,8;2,8,4;;;;;;2", "FLOAT;FLOAT;;;;;;INT32", "ND;ND;;;;;;ND", "6,4", "FLOAT"];
    assert_eq!(list("GroupedMatmul", plain), Some(json!("int32")));
    let quantised = ["6,8;2,8,4;2,4;6;2", "INT8;INT8;FLOAT;FLOAT;INT32", "ND;ND;ND;ND;ND", "6,2;6", "INT8;FLOAT"];
    assert_eq!(list("GroupedMatmulSwigluQuant", quantised), Some(json!("int32")));
    let numbers = ["6,8;2,8,4;;;;;;2", "FLOAT;FLOAT;;;;;;FLOAT", "ND;ND;;;;;;ND", "6,4", "FLOAT"];
    assert_eq!(word("GroupedMatmul", numbers), "unsupported-dtype");
}

#[test]
fn ring_attention_writes_into_the_recorded_shape() {
    let shapes = "4,2,8;4,2,4;4,2,8;4,2,4;4,2,8";
    let cells = [shapes, "FLOAT;FLOAT;FLOAT;FLOAT;FLOAT", "ND;ND;ND;ND;ND", "4,16;2,4", "DT_BF16;FLOAT"];
    let call = call("RINGMLAPrefillBF16Kernel", cells, &[]);
    assert_eq!(call["inputs"][7], json!(["output", [4, 16], "bfloat16", {"kind": "full", "value": 0}]));
}

#[test]
fn attention_names_every_column_it_reads() {
    assert_eq!(operators::find("FusedInferAttentionScore").map(|operator| operator.reads), Some(&COLUMNS[..5]));
}
