use super::*;
use std::path::{Path, PathBuf};

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/lookup")
}

fn shape(value: &serde_json::Value) -> Shape {
    value.as_array().into_iter().flatten().filter_map(serde_json::Value::as_i64).collect()
}

fn tensor(value: &serde_json::Value) -> Tensor {
    let dtype = value["dtype"].as_str().and_then(|name| name.parse().ok()).unwrap_or(DType::Other);
    Tensor::new(shape(&value["shape"]), dtype)
}

fn call(query: &serde_json::Value) -> Call {
    let inputs = query["inputs"].as_array().into_iter().flatten().map(tensor).collect();
    let attention = query.get("attention").map(|attention| Attention {
        query: Tensor::new(
            shape(&attention["query"]),
            attention["dtype"].as_str().and_then(|name| name.parse().ok()).unwrap_or(DType::Other),
        ),
        key: shape(&attention["key"]),
        kv_lengths: shape(&attention["seq_lens"]),
    });
    Call {
        outputs: query.get("output").map(tensor).into_iter().collect(),
        attention,
        devices: query["devices"].as_i64().unwrap_or(1),
        ep_size: query["ep_size"].as_i64(),
        ..Call::new(query["op"].as_str().unwrap_or_default(), inputs)
    }
}

/// What differs between an answer and the expected one.
fn difference(answer: &Result<Hit, Miss>, expected: &serde_json::Value) -> Option<String> {
    let is_as_expected = match answer {
        Ok(hit) => {
            let duration_us = expected["latency_us"].as_f64().unwrap_or(f64::NAN);
            let rule = expected.get("rule").and_then(serde_json::Value::as_str);
            (hit.duration_us - duration_us).abs() <= 1e-9 * duration_us.abs().max(1.0)
                && expected["confidence"].as_f64() == Some(hit.confidence)
                && expected["source"].as_str() == Some(hit.source.name())
                && expected["kernel_type"].as_str() == Some(&hit.kernel_type)
                && rule.is_none_or(|rule| rule == hit.rule)
        }
        Err(miss) => expected["hit"] == false && expected["reason"].as_str() == Some(&miss.reason.to_string()),
    };
    (!is_as_expected).then(|| format!("{answer:?}, expected {expected}"))
}

#[test]
fn answers_are_those_of_the_vectors() -> TestResult {
    let vectors: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(golden().join("vectors.json"))?)?;
    let database = Database::open(&golden().join(vectors["database"].as_str().unwrap_or_default()))?;
    let cases = vectors["cases"].as_array().ok_or("no cases")?;
    assert!(cases.len() > 60);
    let mut wrong = Vec::new();
    for case in cases {
        for (name, interpolate) in [("exact", false), ("with_interpolation", true)] {
            let call = Call { interpolate, ..call(&case["query"]) };
            let found = difference(&database.lookup_operator(&call), &case[name]);
            wrong.extend(found.map(|found| format!("{} ({name}): {found}", case["name"])));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn rows_are_typed_and_know_their_lines() -> TestResult {
    let database = Database::open(&golden().join("db/TEST_DEVICE/vllm_ascend/vllm0.18.0_torch2.9.0_cann8.5"))?;
    assert!(database.kernel_types()?.any(|kernel_type| kernel_type == "MatMulV2"));
    let rows = database.rows("MatMulV2")?;
    let first = rows.iter().next().ok_or("no rows")?;
    assert!(first.inputs().iter().eq([[16, 512], [2048, 512]]));
    assert_eq!((first.line(), first.duration_us()), (2, 5.0));
    Ok(())
}

#[test]
fn a_miss_names_the_nearest_row() -> TestResult {
    let database = Database::open(&golden().join("db/TEST_DEVICE/vllm_ascend/vllm0.18.0_torch2.9.0_cann8.5"))?;
    let inputs = vec![Tensor::new([15, 512], DType::Bf16), Tensor::new([2048, 512], DType::Bf16)];
    let miss = database.lookup_operator(&Call::new("aten.mm.default", inputs)).err().ok_or("a hit")?;
    assert_eq!(miss.nearest, Some(("MatMulV2".to_owned(), 2)));
    Ok(())
}

/// A database with one table and a mapping of the operator `op` to it.
fn small(
    kernel_type: &str,
    table: &str,
    entry: &str,
) -> Result<(tempfile::TempDir, Database), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(format!("{kernel_type}.csv")), table)?;
    let mapping = format!("operator_mappings: {{op: {{kernel_type: {kernel_type}{entry}}}}}");
    std::fs::write(folder.path().join("op_mapping.yaml"), mapping)?;
    let database = Database::open(folder.path())?;
    Ok((folder, database))
}

const COLUMNS: &str = "Input Shapes,Input Data Types,Output Shapes,Output Data Types,Average Duration(us)";

#[test]
fn attention_takes_the_nearest_length_and_of_equal_ones_the_first() -> TestResult {
    let mut table = format!("{COLUMNS},Runtime avg_seq_len\n");
    for (row, (shape, length)) in [
        ("16,4,128", "140"),
        ("16,4,128", "116"),
        ("16,512", "140"),
        ("16,4,1,128", "111"),
        ("15,4,128", "90"),
        ("17,4,128", "128"),
        ("16,4,128", ""),
        ("16,8,64", "128"),
    ]
    .into_iter()
    .enumerate()
    {
        table.push_str(&format!("\"{shape}\",DT_BF16,4,DT_BF16,{},{length}\n", row + 1));
    }
    let (_folder, database) = small("FusedInferAttentionScore", &table, ", query_mode: attention_special")?;
    let duration = |tokens: i64, length: i64| {
        let attention = Attention {
            query: Tensor::new([tokens, 4, 128], DType::Bf16),
            key: vec![9, 1, 128],
            kv_lengths: vec![length],
        };
        let call = Call { attention: Some(attention), ..Call::new("op", Vec::new()) };
        database.lookup_operator(&call).map(|hit| hit.duration_us).map_err(|miss| miss.reason)
    };
    // 12 away on both sides: the first row, not the shorter one.
    assert_eq!(duration(16, 128), Ok(1.0));
    // 15 tokens are rounded up to 16, 17 are not rounded down.
    assert_eq!(duration(16, 91), Ok(5.0));
    assert_eq!(duration(16, 145), Ok(1.0));
    assert_eq!(duration(16, 112), Ok(4.0));
    assert_eq!(duration(16, 156), Ok(1.0));
    assert_eq!(duration(16, 157), Err(MissReason::ShapeMismatch));
    assert_eq!(duration(48, 128), Err(MissReason::ShapeMismatch));
    Ok(())
}

#[test]
fn a_second_input_with_two_leading_ones_is_found() -> TestResult {
    let table = format!("{COLUMNS}\n\"16,512;1,512\",DT_BF16;DT_BF16,4,DT_BF16,5\n");
    let (_folder, database) = small("MatMulV2", &table, "")?;
    let inputs = vec![Tensor::new([16, 512], DType::Bf16), Tensor::new([1, 1, 512], DType::Bf16)];
    let hit = database.lookup_operator(&Call::new("op", inputs))?;
    assert_eq!((hit.duration_us, hit.rule), (5.0, "batch_strip"));
    Ok(())
}

#[test]
fn a_table_is_read_once() -> TestResult {
    let (folder, database) = small("Add", &format!("{COLUMNS}\n4,DT_BF16,4,DT_BF16,5\n"), "")?;
    assert_eq!(database.rows("Add")?.iter().len(), 1);
    std::fs::remove_file(folder.path().join("Add.csv"))?;
    assert_eq!(database.rows("Add")?.iter().len(), 1);
    assert!(database.rows("Sort").is_err());
    assert!(database.lookup_operator(&Call::new("op", vec![Tensor::new([4], DType::Bf16)])).is_ok());
    Ok(())
}
