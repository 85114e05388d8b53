//! Rows of FusedInferAttentionScore.

use perfdb_replay::operator::Planned;
use perfdb_replay::operators;
use serde_json::{Value, json};

use super::{COLUMNS, call, plan};

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
fn attention_names_every_column_it_reads() {
    assert_eq!(operators::find("FusedInferAttentionScore").map(|operator| operator.reads), Some(&COLUMNS[..5]));
}
