//! Quirks of the old releases that results are compared with.

use std::io::Cursor;
use std::path::Path;

use perfdb_tracediff::{
    AnalysisOptions, CompareOptions, Document, Error, LegacyComparison, LoadOptions, PhaseFilter, Rules, Trace, View,
    analyse,
};

fn trace() -> Trace {
    let text = r#"{"traceEvents": [{"cat": "kernel", "name": "flash_attention", "ts": 1, "dur": 2},
        {"cat": "kernel", "name": "nvjet_tst", "ts": 3, "dur": 5}]}"#;
    let options = LoadOptions { rules: Rules::Wafer0133, ..LoadOptions::default() };
    Trace::from_reader(Path::new("t.json"), Cursor::new(text), &options).expect("a trace")
}

fn loaded(events: &str) -> Trace {
    let options = LoadOptions { rules: Rules::Wafer0133, ..LoadOptions::default() };
    let text = format!(r#"{{"traceEvents": [{events}]}}"#);
    Trace::from_reader(Path::new("t.json"), Cursor::new(text), &options).expect("a trace")
}

fn compared(first: &Trace, second: &Trace) -> LegacyComparison {
    match analyse(first, second, &AnalysisOptions::default()).map(|analysis| analysis.document) {
        Ok(Document::Legacy(comparison)) => *comparison,
        other => panic!("no comparison: {other:?}"),
    }
}

#[test]
fn a_python_function_without_an_id_gives_its_name_and_no_stack() {
    let frame = |name: &str, ts: f64, id: &str| {
        format!(r#"{{"cat": "python_function", "name": "{name}", "ts": {ts}, "dur": 100, "args": {{{id}}}}}"#)
    };
    let kernel = r#"{"cat": "kernel", "name": "nvjet_tst", "ts": 10, "dur": 5}"#;
    // The first frame in order of time is never looked at.
    let first = frame("first", -5.0, r#""Python id": 1"#);
    let stacks_of = |second: &str| {
        let trace = loaded(&format!("{first}, {second}, {kernel}"));
        let comparison = compared(&trace, &trace);
        let row = comparison.operations.into_iter().next().expect("a row");
        (row.trace1_cpu_op, row.trace1_python_stacks)
    };
    let own = Some("model.py: forward".to_owned());
    assert_eq!(stacks_of(&frame("model.py: forward", 0.0, "")), (own.clone(), Vec::new()));
    let with_id = frame("model.py: forward", 0.0, r#""Python id": 2"#);
    assert_eq!(stacks_of(&with_id), (own.clone(), vec![vec!["model.py: forward".to_owned()]]));
}

#[test]
fn the_gap_of_a_layer_of_trace_2_alone_is_negated() {
    // A layer is a correlation id behind an attention kernel.
    let kernel = |name: &str, ts: u32, dur: u32, correlation: u32| {
        format!(
            r#"{{"cat": "kernel", "name": "{name}", "ts": {ts}, "dur": {dur}, "args": {{"correlation": {correlation}}}}}"#
        )
    };
    let one = loaded(&kernel("fmhaSm100a_Context", 0, 5, 1));
    let two = loaded(&[kernel("fmhaSm100a_Context", 0, 5, 1), kernel("fmhaSm100a_Context", 9, 0, 2)].join(","));
    let gap_ms = |first, second| {
        let comparison = compared(first, second);
        comparison.layers.into_iter().find(|layer| !layer.in_both).expect("a layer of one side").gap_ms
    };
    assert_eq!(gap_ms(&one, &two).to_bits(), (-0.0_f64).to_bits());
    assert_eq!(gap_ms(&two, &one).to_bits(), 0.0_f64.to_bits());
}

fn prefill(view: View) -> Result<Document, Error> {
    let compare = CompareOptions { phase: PhaseFilter::Prefill, ..CompareOptions::default() };
    let options = AnalysisOptions { view, compare, ..AnalysisOptions::default() };
    analyse(&trace(), &trace(), &options).map(|analysis| analysis.document)
}

#[test]
fn the_alignment_of_0_1_33_takes_traces_without_the_phase_whole() {
    let Ok(Document::LegacyAligned(aligned)) = prefill(View::Aligned) else { panic!("no alignment") };
    assert_eq!((aligned.metadata.sides.trace1_kernels, aligned.metadata.sides.trace2_kernels), (2, 2));
    assert_eq!(aligned.metadata.sides.trace1_total_ms, 0.007);
    assert_eq!(aligned.layer_alignments.len(), 1);
}

#[test]
fn operations_of_a_phase_that_neither_trace_has_are_an_error() {
    assert!(matches!(prefill(View::Plain), Err(Error::NoPhase { .. })));
    assert!(matches!(prefill(View::Full), Err(Error::NoPhase { .. })));
}
