//! The golden vectors: what each row becomes, and what each case computes.

use std::fs;
use std::path::{Path, PathBuf};

use perfdb_replay::bindings::{Bindings, Output};
use perfdb_replay::case::Case;
use perfdb_replay::fill::build_inputs;
use perfdb_replay::kernels::number::Number;
use perfdb_replay::kernels::tensor::Tensor;
use perfdb_replay::operator::{PlanOptions, Planned};
use perfdb_replay::operators;
use perfdb_replay::row::Row;
use perfdb_replay::with_data;
use serde_json::{Value, json};

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/op-replay")
}

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("a readable file");
    serde_json::from_str(&text).expect("JSON")
}

/// Numbers count by value: 1 is 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// The planned outcome of one record, without the keys that the driver adds.
fn planned(op: &str, header: &[String], cells: &[&str], options: &PlanOptions) -> Value {
    let operator = operators::find(op).expect("a known operator");
    match (operator.plan)(&Row::new(header, cells), options) {
        Err(refusal) => json!({"status": "invalid", "error": refusal.kind.name()}),
        Ok(Planned::Skip(reason)) => json!({"status": "skip", "reason": reason.name()}),
        Ok(Planned::Replay(call)) => {
            let case = Case {
                op: "".into(),
                csv: "".into(),
                row: 0,
                call: *call,
                outputs: Row::new(header, cells).recorded_outputs().expect("recorded outputs"),
                check: operator.check,
                repeat: 0,
                warmup: 0,
                fresh_inputs: false,
            };
            serde_json::to_value(&case).expect("a case is JSON")
        }
    }
}

const ADDED_BY_THE_DRIVER: [&str; 7] = ["v", "op", "csv", "row", "repeat", "warmup", "fresh_inputs"];

/// Row rules against `expected_cases.json` of every operator that is in the registry.
/// `PERFDB_TEST_OPERATOR=Add` narrows it.
#[test]
fn rows_become_the_golden_cases() {
    let one_rank = PlanOptions { ep_size: 1, ..PlanOptions::default() };
    let random = PlanOptions { balanced: false, max_output_size: 512, ..one_rank.clone() };
    let mut folders: Vec<_> =
        operators::OPERATORS.iter().map(|operator| (operator.name, operator.name, &one_rank)).collect();
    let many_ranks = PlanOptions::default();
    folders.push(("DispatchFFNCombine", "DispatchFFNCombine-ep16", &many_ranks));
    folders.push(("DispatchFFNCombine", "DispatchFFNCombine-random", &random));
    let only = std::env::var("PERFDB_TEST_OPERATOR").ok();
    folders.retain(|(op, _, _)| only.as_deref().is_none_or(|only| only == *op));
    let wrong: Vec<String> =
        folders.into_iter().flat_map(|(op, folder, options)| wrong_cases(op, folder, options)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rows of a folder that do not become what is expected.
fn wrong_cases(op: &str, folder: &str, options: &PlanOptions) -> Vec<String> {
    let folder = vectors().join(folder);
    let expected = read_json(&folder.join("expected_cases.json"));
    let expected = expected.as_array().expect("an array");
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(folder.join("rows.csv")).expect("rows");
    let header: Vec<String> = reader.headers().expect("a header").iter().map(str::to_owned).collect();
    let records: Vec<_> = reader.records().map(|record| record.expect("a record")).collect();
    assert_eq!(records.len(), expected.len(), "{op}");
    let mut wrong = Vec::new();
    for (record, expected) in records.iter().zip(expected) {
        let cells: Vec<&str> = record.iter().collect();
        let mut want = expected.clone();
        let mut got = planned(op, &header, &cells, options);
        for value in [&mut want, &mut got] {
            let map = value.as_object_mut().expect("an object");
            map.retain(|key, _| !ADDED_BY_THE_DRIVER.contains(&key.as_str()));
        }
        if !same(&got, &want) {
            wrong.push(format!("{op} row {}\n  want {want}\n  got  {got}", expected["row"]));
        }
    }
    wrong
}

fn flat(tensor: &Tensor) -> Vec<f64> {
    trait Wide: Copy {
        fn wide(self) -> f64;
    }
    macro_rules! wide {
        ($($kind:ty => $convert:expr),*) => { $(impl Wide for $kind { fn wide(self) -> f64 { $convert(self) } })* };
    }
    wide!(f32 => f64::from, f64 => f64::from, i8 => f64::from, u8 => f64::from, i16 => f64::from, i32 => f64::from,
        i64 => |value| value as f64, bool => |value| f64::from(u8::from(value)), half::f16 => half::f16::to_f64,
        half::bf16 => half::bf16::to_f64);
    with_data!(tensor.data(), values => values.iter().map(|value| value.wide()).collect())
}

fn first_difference(output: &Output, want: &Value) -> Option<String> {
    let got = output.tensor();
    if json!(got.shape()) != want["shape"] || got.dtype().name() != want["dtype"] || got.is_transposed() {
        return Some(format!("{} {:?}, expected {} {}", got.dtype(), got.shape(), want["dtype"], want["shape"]));
    }
    let (rtol, atol) = (want["rtol"].as_f64().expect("a number"), want["atol"].as_f64().expect("a number"));
    let expected: Vec<Number> = serde_json::from_value(want["values"].clone()).expect("numbers");
    let expected: Vec<f64> = expected.into_iter().map(Number::as_f64).collect();
    flat(got).into_iter().zip(expected).enumerate().find_map(|(at, (a, b))| {
        let close = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= atol + rtol * b.abs();
        (!close).then(|| format!("value {at}: {a}, expected {b}"))
    })
}

/// Reference implementations against `_numeric`, for every operator that is in the registry.
#[test]
fn cases_compute_the_golden_values() {
    let only = std::env::var("PERFDB_TEST_OPERATOR").ok();
    let mut wrong = Vec::new();
    let mut checked = 0;
    let mut files: Vec<_> = fs::read_dir(vectors().join("_numeric"))
        .expect("vectors")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "json")) {
        let vector = read_json(file);
        let case: Case = serde_json::from_value(vector["case"].clone()).expect("a case");
        let Some(operator) = operators::find(&case.op) else { continue };
        if only.as_deref().is_some_and(|only| only != operator.name) {
            continue;
        }
        checked += 1;
        let inputs = build_inputs(&case, 0).expect("inputs");
        let problem = match (operator.run)(&mut Bindings::new(&case.call, inputs)) {
            Err(error) => Some(error.to_string()),
            Ok(outputs) => {
                let expected = vector["expected"].as_array().expect("an array");
                if outputs.len() == expected.len() {
                    outputs.iter().zip(expected).find_map(|(got, want)| first_difference(got, want))
                } else {
                    Some(format!("{} outputs, expected {}", outputs.len(), expected.len()))
                }
            }
        };
        if let Some(problem) = problem {
            wrong.push(format!("{}: {problem}", file.file_stem().expect("a name").display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 0 || only.is_some());
}
