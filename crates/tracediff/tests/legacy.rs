//! Quirks of the old releases that results are compared with.

use std::io::Cursor;
use std::path::Path;

use perfdb_tracediff::{
    AnalysisOptions, CompareOptions, Document, Error, LoadOptions, PhaseFilter, Trace, View, WAFER_0_1_33, analyse,
};

fn trace() -> Trace {
    let text = r#"{"traceEvents": [{"cat": "kernel", "name": "flash_attention", "ts": 1, "dur": 2},
        {"cat": "kernel", "name": "nvjet_tst", "ts": 3, "dur": 5}]}"#;
    let options = LoadOptions { rules: WAFER_0_1_33, ..LoadOptions::default() };
    Trace::from_reader(Path::new("t.json"), Cursor::new(text), &options).expect("a trace")
}

fn prefill(view: View) -> Result<Document, Error> {
    let compare = CompareOptions { phase: PhaseFilter::Prefill, ..CompareOptions::default() };
    let options = AnalysisOptions { view, compare, ..AnalysisOptions::default() };
    analyse(&trace(), &trace(), &options).map(|analysis| analysis.document)
}

#[test]
fn the_alignment_of_0_1_33_takes_traces_without_the_phase_whole() {
    let Ok(Document::LegacyAligned(aligned)) = prefill(View::Aligned) else { panic!("no alignment") };
    assert_eq!((aligned.metadata.trace1_kernels, aligned.metadata.trace2_kernels), (2, 2));
    assert_eq!(aligned.metadata.trace1_total_ms, 0.007);
    assert_eq!(aligned.layer_alignments.len(), 1);
}

#[test]
fn operations_of_a_phase_that_neither_trace_has_are_an_error() {
    assert!(matches!(prefill(View::Plain), Err(Error::NoPhase { .. })));
    assert!(matches!(prefill(View::Full), Err(Error::NoPhase { .. })));
}
