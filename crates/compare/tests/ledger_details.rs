//! Single rules of the ledger, each with a trace and a pass that show it.
#![allow(clippy::unwrap_used)]

use perfdb_compare::ledger::{Explanation, Options, Passes, explain_files};
use std::fmt::Write;

/// An operator of the simulator: kernel type, shapes, µs, further members of `args`.
type Operator<'a> = (&'a str, &'a str, u32, &'a str);

fn explained(operators: &[Operator<'_>], pass: &str) -> (Explanation, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (mut trace, mut start) = (String::new(), 0);
    for (kernel_type, shapes, time, more) in operators {
        write!(
            trace,
            r#",{{"name": "aten.op.default", "ph": "X", "ts": {start}, "dur": {time}, "pid": 0, "tid": 0, "args": {{"simulation_shapes": "{shapes}", "kernel_shapes": "{shapes}", "source": "MEASURED", "kernel_type": "{kernel_type}"{more}}}}}"#
        )
        .unwrap();
        start += time;
    }
    let head = r#"{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}}"#;
    std::fs::write(folder.path().join("trace.json"), format!("{{\"traceEvents\": [{head}{trace}]}}")).unwrap();
    std::fs::write(folder.path().join("pass.csv"), pass).unwrap();
    let options = Options { passes: Passes::parse("1").unwrap(), ..Options::default() };
    let outcome = explain_files(&folder.path().join("trace.json"), &folder.path().join("pass.csv"), &options).unwrap();
    (outcome.result, outcome.warnings.iter().map(ToString::to_string).collect())
}

/// A measured pass of these kernels: type, shapes, step.
fn pass(kernels: &[(&str, &str, &str)]) -> String {
    let mut text = String::from("Step Id,Type,Start Time(us),Duration(us),Input Shapes\n");
    for (at, (kernel_type, shapes, step)) in kernels.iter().enumerate() {
        writeln!(text, "{step},{kernel_type},{}.0,10,\"\"\"{shapes}\"\"\"", at * 10).unwrap();
    }
    text
}

const GEMM: (&str, &str) = ("MatMulV2", "16,512;512,768");
const GEMM_LIST: &str = "[[16, 512], [512, 768]]";
const ADD: (&str, &str) = ("SwiGlu", "16,1024");
const ADD_LIST: &str = "[[16, 1024]]";

fn calls(predicted: usize, measured: usize) -> (Explanation, Vec<String>) {
    let operators: Vec<Operator<'_>> =
        [(GEMM.0, GEMM_LIST, 10, ""), (ADD.0, ADD_LIST, 10, "")].into_iter().cycle().take(2 * predicted).collect();
    let kernels: Vec<_> = [(GEMM.0, GEMM.1, "1"), (ADD.0, ADD.1, "1")].into_iter().cycle().take(2 * measured).collect();
    explained(&operators, &pass(&kernels))
}

#[test]
fn layers_explain_calls_up_to_an_eighth_more() {
    assert_eq!(calls(9, 8).0.ledger.layers_note.map(|note| note.layers), Some(1));
    assert_eq!(calls(16, 8).0.ledger.layers_note, None);
}

#[test]
fn steps_are_counted_where_they_are_written() {
    let of = |steps: [&str; 3]| {
        let kernels: Vec<_> = [GEMM, ADD, ("RmsNorm", "16,512")]
            .iter()
            .zip(steps)
            .map(|(kernel, step)| (kernel.0, kernel.1, step))
            .collect();
        explained(&[(GEMM.0, GEMM_LIST, 10, "")], &pass(&kernels)).1
    };
    assert_eq!(of(["1", "1", "1"]), Vec::<String>::new());
    assert_eq!(of(["", "N/A", "1"]), Vec::<String>::new());
    let told = of(["1", "1", "2"]);
    assert!(told.len() == 1 && told[0].contains("2 forward passes"), "{told:?}");
}
