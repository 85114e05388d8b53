//! The calls that rows become.

use perfdb_replay::operator::Planned;
use perfdb_replay::operators;
use perfdb_replay::plan::{RowPlan, plan_rows};
use perfdb_replay::settings::RunSettings;
use perfdb_store::Semantics;
use perfdb_store::table::{ReadOptions, Table};
use serde_json::json;

use super::{COLUMNS, call, plan, plan_with, word};

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
    let outcome = |op: &str, inputs: &str, output: &str| {
        let text = format!("{}\n{inputs},{output},FLOAT,ND\n", COLUMNS.join(","));
        let table =
            Table::parse(std::path::Path::new("t.csv"), text.into_bytes(), &ReadOptions::database()).expect("a table");
        let operator = operators::find(op).expect("a known operator");
        let settings = RunSettings::new("", "").plan_settings(operator);
        plan_rows(&table, operator, &settings).next().expect("a row").plan
    };
    let add = |output: &str| match outcome("Add", "\"4\",FLOAT,ND", output) {
        RowPlan::Case(case) => case.outputs.len(),
        other => panic!("{output}: {other:?}"),
    };
    assert_eq!((add("4"), add("N/A"), add("-1"), add("")), (1, 0, 0, 0));
    assert!(matches!(outcome("Slice", "\"4\",FLOAT,ND", "N/A"), RowPlan::Invalid(_)));
}

#[test]
fn rows_of_profilers_are_run_if_faults_are_mended() {
    let plan = |op, cells, semantics| match plan_with(op, cells, &[], semantics) {
        Ok(Planned::Replay(call)) => Ok(call.inputs.len()),
        Ok(Planned::Skip(reason)) => Err(reason.name().to_owned()),
        Err(kind) => Err(kind),
    };
    let refused = || Err("input-count".to_owned());
    // The axis that the call has given to the kernel, and the value.
    let argmax = ["16,151936;1", "FLOAT;INT64", "ND;ND", "16", "INT64"];
    let fill = ["4099,7168;4099,1;1", "DT_BF16;BOOL;DT_BF16", "ND;ND;ND", "4099,7168", "DT_BF16"];
    for (op, cells, inputs) in [("ArgMaxV2", argmax, 1), ("MaskedFill", fill, 2)] {
        assert_eq!(plan(op, cells, Semantics::Upstream), refused());
        assert_eq!(plan(op, cells, Semantics::Corrected), Ok(inputs));
    }
    for (op, cells) in [
        ("ArgMaxV2", ["16,8;16", "FLOAT;INT64", "ND;ND", "16", "INT64"]),
        ("ArgMaxV2", ["16,8;1", "FLOAT;FLOAT", "ND;ND", "16", "INT64"]),
        ("ArgMaxV2", ["16,8;1;1", "FLOAT;INT64;INT64", "ND;ND;ND", "16", "INT64"]),
        ("MaskedFill", ["4,8;4,1;8", "FLOAT;BOOL;FLOAT", "ND;ND;ND", "4,8", "FLOAT"]),
        ("MaskedFill", ["4,8", "FLOAT", "ND", "4,8", "FLOAT"]),
    ] {
        assert_eq!(plan(op, cells, Semantics::Corrected), refused(), "{op} {cells:?}");
    }
}

#[test]
fn a_cut_pads_by_a_negative_number() {
    let call = call("PadV3", ["3,5", "FLOAT", "ND", "2,6", "FLOAT"], &[]);
    assert_eq!(call["kwargs"]["pad"], json!([0, 1, 0, -1]));
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
