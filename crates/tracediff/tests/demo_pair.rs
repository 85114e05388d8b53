//! The pair of traces in `testdata` is what its generator writes, and the results are those in the guide.

#[allow(dead_code, unreachable_pub)]
#[path = "../examples/write_demo_pair.rs"]
mod write_demo_pair;

use perfdb_tracediff::{CompareOptions, LoadOptions, PhaseFilter, Trace, compare};
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/gpu-traces")
}

#[test]
fn the_files_are_those_of_the_generator() {
    for (file, text) in write_demo_pair::demo_pair() {
        let stored = std::fs::read_to_string(folder().join(file)).expect("a file in testdata");
        assert!(stored == text, "{file} is stale: cargo run -p perfdb-tracediff --example write_demo_pair");
    }
}

#[test]
fn both_gpus_run_the_same_model() {
    let load = |file| Trace::open(folder().join(file), &LoadOptions::default()).expect("a trace");
    let (mi300x, h100) = (load("mi300x.json"), load("h100.json"));
    let result = compare(&mi300x, &h100, &CompareOptions::default()).expect("a comparison");
    let metadata = &result.metadata;
    assert_eq!((metadata.trace1_layers, metadata.trace2_layers), (4, 4));
    assert_eq!((metadata.trace1_passes, metadata.trace2_passes), (5, 5));
    // The generated norm of one side meets the norm of the other.
    assert!(result.operations.iter().any(|row| row.operation == "RMSNorm"));
    let only: Vec<_> = result.unmatched_operations.iter().map(|row| (row.operation.as_str(), row.trace)).collect();
    assert_eq!(only, [("Quantize", 2)]);
    let options = CompareOptions { phase: PhaseFilter::Decode, ..CompareOptions::default() };
    let decode = compare(&mi300x, &h100, &options).expect("a comparison");
    assert!(decode.operations.iter().all(|row| row.phases == ["decode"]));
}
