//! The shipped worker: its plain-torch results against the native ones and the vectors, and its calls on the NPU
//! against the golden cases through stand-ins that write calls down.
//!
//! What needs torch looks for an interpreter that has it ($PERFDB_PYTHON, python3, /usr/bin/python3) and says so where
//! there is none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use perfdb_files::interrupt::Interrupt;
use perfdb_replay::argument::Argument;
use perfdb_replay::backend::Backend;
use perfdb_replay::case::{Case, Device, Format};
use perfdb_replay::executor::native::{NativeExecutor, NativeSettings};
use perfdb_replay::executor::worker::command::WorkerCommand;
use perfdb_replay::executor::worker::{Listener, WorkerExecutor, WorkerSettings};
use perfdb_replay::executor::{Executor, Measured, OutputInfo};
use perfdb_replay::kernels::number::Number;
use serde_json::{Value, json};

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/op-replay")
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a readable file")).expect("JSON")
}

/// The first interpreter that runs `code`.
fn interpreter(code: &str) -> Option<String> {
    let named = std::env::var("PERFDB_PYTHON").ok().filter(|name| !name.is_empty());
    named.into_iter().chain(["python3".to_owned(), "/usr/bin/python3".to_owned()]).find(|python| {
        let mut command = Command::new(python);
        command.args(["-c", code]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

fn start(command: WorkerCommand, backend: Backend, exact_init: bool) -> WorkerExecutor {
    let settings = WorkerSettings {
        backend,
        seed: 0,
        exact_init,
        start_timeout: Duration::from_secs(300),
        case_timeout: Duration::from_secs(300),
        line_mib: 64,
    };
    let listener: Listener = Arc::new(|_| {});
    WorkerExecutor::start(command, &settings, &Interrupt::default(), &listener).expect("the worker greets")
}

fn with_torch(test: &str) -> Option<WorkerExecutor> {
    let Some(python) = interpreter("import torch") else {
        println!("SKIPPED {test}: no Python interpreter with torch; set PERFDB_PYTHON to one");
        return None;
    };
    Some(start(WorkerCommand::shipped(&python).expect("the shipped worker"), Backend::TorchCpu, true))
}

fn numbers(output: &OutputInfo) -> Vec<f64> {
    output.values.iter().flatten().map(|value| value.as_f64()).collect()
}

fn close(a: f64, b: f64, relative: f64, absolute: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= absolute + relative * b.abs()
}

#[test]
fn plain_torch_computes_the_golden_values() {
    let Some(mut worker) = with_torch("plain_torch_computes_the_golden_values") else { return };
    let mut files: Vec<PathBuf> = fs::read_dir(vectors().join("_numeric"))
        .expect("vectors")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    let mut wrong = Vec::new();
    for (id, file) in files.iter().enumerate() {
        let vector = read_json(file);
        let case: Case = serde_json::from_value(vector["case"].clone()).expect("a case");
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let measured = match worker.run(id as u64 + 1, &Arc::new(case), true) {
            Ok(measured) => measured,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let expected = vector["expected"].as_array().expect("an array");
        assert_eq!(measured.outputs.len(), expected.len(), "{name}");
        for (output, want) in measured.outputs.iter().zip(expected) {
            assert_eq!(
                (json!(output.shape), json!(output.dtype)),
                (want["shape"].clone(), want["dtype"].clone()),
                "{name}"
            );
            let (relative, absolute) = (want["rtol"].as_f64().expect("rtol"), want["atol"].as_f64().expect("atol"));
            let values: Vec<Number> = serde_json::from_value(want["values"].clone()).expect("numbers");
            for (at, (got, want)) in numbers(output).into_iter().zip(values).enumerate() {
                if !close(got, want.as_f64(), relative, absolute) {
                    wrong.push(format!("{name}: value {at} is {got}, expected {want:?}"));
                    break;
                }
            }
        }
    }
    worker.shut_down();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files.len() >= 40);
}

/// Cases of a golden row are small enough to be computed twice in a test below this many input elements.
const SMALL: usize = 300_000;

/// Accuracy that the specification asks for, of each type, doubled: both sides may err. An int8 result of a dynamic
/// scale may be off by one.
fn tolerance(dtype: &str) -> (f64, f64) {
    match dtype {
        "float32" => (1e-4, 1e-5),
        "float64" => (1e-12, 1e-12),
        "float16" => (4e-3, 2e-3),
        "bfloat16" => (3.2e-2, 2e-2),
        "int8" => (0.0, 1.0),
        _ => (0.0, 0.0),
    }
}

/// Where a choice among equal values is free, or a choice hangs on the last digit, indices may differ.
fn compares_values(op: &str, index: usize, dtype: &str) -> bool {
    !(op == "Sort" && index == 1 || op == "LightningIndexer" || (op == "ArgMaxV2" && dtype == "int64"))
}

#[test]
fn plain_torch_and_the_native_executor_agree_on_random_inputs() {
    let Some(mut worker) = with_torch("plain_torch_and_the_native_executor_agree_on_random_inputs") else { return };
    let settings = NativeSettings { threads: Some(2), seed: 0, case_timeout: Duration::from_secs(300) };
    let mut native =
        NativeExecutor::start(settings, Interrupt::default(), &(Arc::new(|_| {}) as Listener)).expect("threads");
    let mut wrong = Vec::new();
    let mut compared = std::collections::BTreeSet::new();
    for (id, case) in small_golden_cases().into_iter().chain(exact_cases()).enumerate() {
        let case = Arc::new(case);
        let place = format!("{} row {}", case.op, case.row);
        let (ours, theirs) = match (native.run(id as u64, &case, true), worker.run(id as u64, &case, true)) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (ours, theirs) => {
                wrong.push(format!("{place}: native {:?}, torch {:?}", ours.err(), theirs.err()));
                continue;
            }
        };
        compared.insert(case.op.to_string());
        wrong.extend(first_difference(&case.op, &ours, &theirs).map(|difference| format!("{place}: {difference}")));
    }
    worker.shut_down();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared.len() >= 30, "only {compared:?} were compared");
}

fn small_golden_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for operator in perfdb_replay::operators::OPERATORS {
        let plan = read_json(&vectors().join(operator.name).join("expected_cases.json"));
        for value in plan.as_array().expect("an array").iter().filter(|value| value["status"] == "ok") {
            let mut case: Case = serde_json::from_value(value.clone()).expect("a case");
            let size: usize = case.call.inputs.iter().map(|spec| spec.storage_shape().iter().product::<usize>()).sum();
            if size <= SMALL && case.call.ranks.is_none_or(|ranks| ranks == 1) {
                case.repeat = 1;
                cases.push(case);
            }
        }
    }
    cases
}

/// Cases whose results show what was computed in too narrow a type: an odd sum beyond float32, doubles, int32 indices.
fn exact_cases() -> Vec<Case> {
    let tensor = |name: &str| json!({"tensor": name});
    let input = |name: &str, shape: Value, dtype: &str, init: Value| json!({"name": name, "shape": shape, "dtype": dtype, "format": "ND", "init": init});
    let uniform = || json!({"kind": "uniform", "low": -1, "high": 1});
    let full = || json!({"kind": "full", "value": 127});
    let case = |op: &str, api: &str, inputs: Value, args: Value, kwargs: Value| {
        serde_json::from_value(json!({
            "op": op, "csv": "-", "row": 2, "status": "ok", "api": api, "inputs": inputs, "args": args, "kwargs": kwargs,
            "outputs": [], "check": "warn", "repeat": 1, "warmup": 0, "fresh_inputs": false,
        }))
        .expect("a case")
    };
    vec![
        case(
            "GroupedMatmul",
            "torch_npu.npu_grouped_matmul",
            json!([input("x", json!([2, 4097]), "int8", full()), input("weight", json!([1, 4097, 3]), "int8", full())]),
            json!([]),
            json!({
                "x": [tensor("x")], "weight": [tensor("weight")], "split_item": 2, "group_list_type": 0,
                "group_type": 0, "group_list": null, "output_dtype": {"dtype": "int32"},
            }),
        ),
        case(
            "FusedInferAttentionScore",
            "torch_npu.npu_fused_infer_attention_score",
            ["query", "key", "value"].map(|name| input(name, json!([5, 2, 8]), "float64", uniform())).into(),
            ["query", "key", "value"].map(tensor).into(),
            json!({
                "atten_mask": null, "actual_seq_lengths": [2, 5], "actual_seq_lengths_kv": [3, 5], "block_table": null,
                "query_rope": null, "key_rope": null, "num_heads": 2, "scale": 0.25, "input_layout": "TND",
                "num_key_value_heads": 2, "sparse_mode": 0, "block_size": 0, "softmax_lse_flag": false,
            }),
        ),
        case(
            "Index",
            "torch.Tensor.__getitem__",
            json!([
                input("source", json!([4, 3]), "float32", uniform()),
                input("index", json!([3]), "int32", json!({"kind": "values", "values": [2, -1, 0]})),
            ]),
            json!([tensor("source"), tensor("index")]),
            json!({}),
        ),
    ]
}

fn first_difference(op: &str, ours: &Measured, theirs: &Measured) -> Option<String> {
    if ours.outputs.len() != theirs.outputs.len() {
        return Some(format!("{} outputs, torch {}", ours.outputs.len(), theirs.outputs.len()));
    }
    ours.outputs.iter().zip(&theirs.outputs).enumerate().find_map(|(index, (a, b))| {
        if (&a.shape, &a.dtype) != (&b.shape, &b.dtype) {
            return Some(format!("output {index}: {} {:?}, torch {} {:?}", a.dtype, a.shape, b.dtype, b.shape));
        }
        if !compares_values(op, index, &a.dtype) {
            return None;
        }
        let (relative, absolute) = tolerance(&a.dtype);
        numbers(a).into_iter().zip(numbers(b)).enumerate().find_map(|(at, (a, b))| {
            (!close(a, b, relative, absolute)).then(|| format!("output {index} value {at}: {a}, torch {b}"))
        })
    })
}

/// What a call must look like: the argument as the stand-ins write it down.
fn recorded(argument: &Argument, case: &Case) -> Value {
    match argument {
        Argument::Tensor(name) => {
            let spec = case.call.inputs.iter().find(|spec| spec.name == *name).expect("a tensor of the case");
            let format = if spec.format == Format::FractalNz { "FRACTAL_NZ" } else { "ND" };
            let device = if spec.device == Some(Device::Host) { "cpu" } else { "npu" };
            json!({"tensor": [spec.shape, spec.dtype.name(), format, device]})
        }
        Argument::List(items) => items.iter().map(|item| recorded(item, case)).collect(),
        Argument::Group(_) => json!("ep"),
        other => serde_json::to_value(other).expect("JSON"),
    }
}

#[test]
fn calls_on_the_npu_are_those_of_the_golden_cases() {
    let Some(python) = interpreter("import json") else {
        println!("SKIPPED calls_on_the_npu_are_those_of_the_golden_cases: no Python interpreter");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let record = folder.path().join("calls.jsonl");
    let standins = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/standins");
    let command = WorkerCommand::shipped(&python)
        .expect("the shipped worker")
        .with_variable("PYTHONPATH", standins)
        .with_variable("PYTHONDONTWRITEBYTECODE", "1")
        .with_variable("PERFDB_RECORD", &record);
    let mut worker = start(command, Backend::Npu, false);
    let mut calls = 0;
    for operator in perfdb_replay::operators::OPERATORS {
        let plan = read_json(&vectors().join(operator.name).join("expected_cases.json"));
        for value in plan.as_array().expect("an array").iter().filter(|value| value["status"] == "ok") {
            let mut case: Case = serde_json::from_value(value.clone()).expect("a case");
            if case.call.ranks.is_some_and(|ranks| ranks > 1) {
                continue;
            }
            case.repeat = 1;
            let mut named = case.call.kwargs.clone();
            named.extend(case.call.attempts.first().map(|attempt| attempt.kwargs.clone()).into_iter().flatten());
            let kwargs: serde_json::Map<String, Value> =
                named.iter().map(|(name, argument)| (name.to_string(), recorded(argument, &case))).collect();
            let args: Vec<Value> = case.call.args.iter().map(|argument| recorded(argument, &case)).collect();
            let want = json!({"api": case.call.api, "args": args, "kwargs": kwargs});
            calls += 1;
            let case = Arc::new(case);
            worker.run(calls, &case, false).unwrap_or_else(|error| panic!("{} row {}: {error}", case.op, case.row));
            let text = fs::read_to_string(&record).expect("a record");
            let got: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            assert_eq!(got, [want], "{} row {}", case.op, case.row);
            fs::write(&record, "").expect("an empty record");
        }
    }
    worker.shut_down();
    assert!(calls > 100);
}
