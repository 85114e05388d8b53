//! Cases that no table makes, as a hand-written case file may hold them: reference implementations answer every one with
//! outputs or an error, never with a panic.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use perfdb_replay::argument::Argument;
use perfdb_replay::bindings::Bindings;
use perfdb_replay::case::{Case, View};
use perfdb_replay::fill::build_inputs;
use perfdb_replay::init::Init;
use perfdb_replay::kernels::number::Number;
use perfdb_replay::operators;
use perfdb_store::dtype::DType;

fn numeric_cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/op-replay/_numeric");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("vectors").map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    let case = |path: &Path| -> Case {
        let text = fs::read_to_string(path).expect("a readable file");
        let mut vector: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let mut case: Case = serde_json::from_value(vector["case"].take()).expect("a case");
        // Masks are large, and only their shape counts here.
        let masks = case.call.inputs.iter_mut().filter(|input| matches!(input.init, Init::Triu { .. }));
        masks.for_each(|mask| mask.shape = [8, 8].into());
        case
    };
    files.iter().map(|path| case(path)).collect()
}

/// Shapes near a shape: sizes changed, dimensions dropped, added and exchanged.
fn near(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut shapes =
        vec![vec![], [shape, &[1]].concat(), [&[2], shape].concat(), shape.iter().rev().copied().collect()];
    for at in 0..shape.len() {
        for size in [0, shape[at] - 1, shape[at] + 1, shape[at] * 2] {
            let mut changed = shape.to_vec();
            changed[at] = size;
            shapes.push(changed);
        }
        let mut dropped = shape.to_vec();
        dropped.remove(at);
        shapes.push(dropped);
    }
    shapes
}

/// The case with one input of another shape or type, or seen transposed.
fn with_other_inputs(case: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    for at in 0..case.call.inputs.len() {
        let mut change = |change: &dyn Fn(&mut perfdb_replay::case::TensorSpec)| {
            let mut changed = case.clone();
            change(&mut changed.call.inputs[at]);
            cases.push(changed);
        };
        for shape in near(&case.call.inputs[at].shape) {
            change(&|spec| {
                (spec.shape, spec.storage, spec.view) = (shape.clone().into(), None, None);
                spec.init = Init::default_for(spec.dtype);
            });
        }
        for dtype in DType::ALL {
            change(&|spec| (spec.dtype, spec.init) = (dtype, Init::default_for(dtype)));
        }
        change(&|spec| {
            let storage = perfdb_replay::kernels::shape::swap_last_two(&spec.shape);
            (spec.view, spec.storage, spec.init) = (Some(View::T), Some(storage), Init::default_for(spec.dtype));
        });
        for value in [-1_i64, 3, 1 << 40] {
            change(&|spec| spec.init = Init::full(value));
        }
    }
    cases
}

/// The case with one argument left out or of another kind.
fn with_other_arguments(case: &Case) -> Vec<Case> {
    let odd = [
        Argument::None,
        Argument::Number(Number::Int(-1)),
        Argument::Number(Number::Int(i64::MAX)),
        Argument::Number(Number::Float(f64::NAN)),
        Argument::Text("odd".into()),
        Argument::List(vec![]),
        Argument::List(vec![Argument::Number(Number::Int(7)), Argument::Number(Number::Int(-3))]),
        Argument::DType("qint3".into()),
        Argument::tensor("no such tensor"),
    ];
    let mut cases = Vec::new();
    for argument in &odd {
        for at in 0..case.call.args.len() {
            let mut changed = case.clone();
            changed.call.args[at] = argument.clone();
            cases.push(changed);
        }
        for at in 0..case.call.kwargs.len() {
            let mut changed = case.clone();
            changed.call.kwargs[at] = argument.clone();
            cases.push(changed);
        }
    }
    for at in 0..case.call.args.len() {
        let mut changed = case.clone();
        changed.call.args.truncate(at);
        cases.push(changed);
    }
    cases
}

#[test]
fn odd_cases_do_not_panic() {
    let only = std::env::var("PERFDB_TEST_OPERATOR").ok();
    let mut panicked = Vec::new();
    for case in numeric_cases() {
        if only.as_ref().is_some_and(|only| *only != case.op) {
            continue;
        }
        let operator = operators::find(&case.op).expect("a known operator");
        for odd in with_other_inputs(&case).into_iter().chain(with_other_arguments(&case)) {
            let Ok(inputs) = build_inputs(&odd, 0) else { continue };
            let run = AssertUnwindSafe(|| (operator.run)(&mut Bindings::new(&odd.call, inputs)).map(drop));
            if catch_unwind(run).is_err() {
                let shapes: Vec<_> = odd
                    .call
                    .inputs
                    .iter()
                    .map(|input| format!("{}: {} {:?} {:?}", input.name, input.dtype, input.shape, input.view))
                    .collect();
                panicked.push(format!("{}: {shapes:?} {:?} {:?}", odd.op, odd.call.args, odd.call.kwargs));
            }
        }
    }
    assert!(panicked.is_empty(), "{} panics\n{}", panicked.len(), panicked.join("\n"));
}
