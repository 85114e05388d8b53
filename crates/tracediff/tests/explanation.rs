//! How much of two traces a comparison rests on, in numbers that can be added up by hand.

use perfdb_tracediff::{
    AnalysisOptions, Coverage, Difference, Document, FamilyDifference, LoadOptions, Parts, Share, Trace,
    UnmatchedKernel, analyse,
};
use std::io::Cursor;

/// A kernel: name, start and time in µs, and whether a host operator and a Python function launched it.
type Kernel = (&'static str, u32, u32, bool, bool);

fn trace(kernels: &[Kernel]) -> Trace {
    let mut events = Vec::new();
    for (number, (name, start, time, operator, stack)) in (1..).zip(kernels) {
        let launch = number * 10;
        if *stack {
            events.push(format!(
                r#"{{"ph": "X", "cat": "python_function", "name": "model.py({number}): f", "pid": 1, "tid": 1, "ts": {launch}, "dur": 5, "args": {{"Python id": {number}}}}}"#
            ));
        }
        if *operator {
            events.push(format!(
                r#"{{"ph": "X", "cat": "cpu_op", "name": "aten::op", "pid": 1, "tid": 1, "ts": {launch}, "dur": 4, "args": {{"External id": {number}}}}}"#
            ));
        }
        events.push(format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {launch}.5, "dur": 1, "args": {{"correlation": {number}, "External id": {number}}}}}"#
        ));
        events.push(format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {start}, "dur": {time}, "args": {{"stream": 7, "correlation": {number}, "External id": {number}}}}}"#
        ));
    }
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
    Trace::from_reader("t.json", Cursor::new(text), &LoadOptions::default()).expect("a trace")
}

fn coverage(first: &[Kernel], second: &[Kernel]) -> Coverage {
    let options = AnalysisOptions { explain: true, ..AnalysisOptions::default() };
    match analyse(&trace(first), &trace(second), &options).expect("an analysis").document {
        Document::Plain(plain) => plain.details.explanation.expect("an explanation").coverage,
        other => panic!("another document: {other:?}"),
    }
}

fn share(trace1_us: u32, of1: u32, trace2_us: u32, of2: u32) -> Share {
    let percent = |part: u32, whole: u32| (whole > 0).then(|| 100.0 * f64::from(part) / f64::from(whole));
    Share {
        trace1_ms: f64::from(trace1_us) / 1000.0,
        trace1_percent: percent(trace1_us, of1),
        trace2_ms: f64::from(trace2_us) / 1000.0,
        trace2_percent: percent(trace2_us, of2),
    }
}

const GEMM: &str = "nvjet_tst_256x128";
const NORM: &str = "void vllm::rms_norm_kernel<c10::BFloat16>(int)";
const REDUCE: &str = "ncclDevKernel_AllReduce_Sum";
const UNKNOWN: &str = "zzz_mystery";

const FIRST: &[Kernel] = &[
    (GEMM, 1000, 20, true, true),
    (NORM, 1030, 8, true, false),
    (UNKNOWN, 1040, 3, false, true),
    (GEMM, 1050, 2, false, false),
    (REDUCE, 1060, 5, false, false),
    (REDUCE, 1070, 2, false, false),
];
const SECOND: &[Kernel] =
    &[(GEMM, 1000, 30, false, true), (NORM, 1040, 4, true, false), (UNKNOWN, 1050, 6, false, false)];

#[test]
fn shares_are_those_of_the_kernels_that_count() {
    let found = coverage(FIRST, SECOND);
    assert_eq!(found.classified, share(37, 40, 34, 40));
    assert_eq!(found.host_operator, share(28, 40, 4, 40));
    assert_eq!(found.python_stack, share(23, 40, 30, 40));
    assert_eq!(found.compared, share(33, 40, 40, 40));
}

#[test]
fn kernels_without_a_counterpart_are_named_by_time() {
    let of = |trace, kernel: &str, operation: &str, count, time_us: u32| UnmatchedKernel {
        trace,
        kernel: kernel.to_owned(),
        operation: operation.to_owned(),
        count,
        total_ms: f64::from(time_us) / 1000.0,
        percent: Some(100.0 * f64::from(time_us) / 40.0),
    };
    let expected = [of(1, REDUCE, "All-Reduce", 2, 7), of(2, UNKNOWN, "Other", 1, 6), of(1, UNKNOWN, "Other", 1, 3)];
    assert_eq!(coverage(FIRST, SECOND).top_unmatched, expected);
}

#[test]
fn nothing_is_a_share_of_no_time() {
    let none: &[Kernel] = &[(GEMM, 1000, 0, false, false)];
    assert_eq!(coverage(none, none).classified, share(0, 0, 0, 0));
}

fn difference(first: &[Kernel], second: &[Kernel]) -> Difference {
    let options = AnalysisOptions { explain: true, ..AnalysisOptions::default() };
    match analyse(&trace(first), &trace(second), &options).expect("an analysis").document {
        Document::Plain(plain) => {
            plain.details.explanation.and_then(|explanation| explanation.difference).expect("a difference")
        }
        other => panic!("another document: {other:?}"),
    }
}

#[test]
fn calls_and_speed_split_a_difference() {
    // Two calls of 10 µs against three of 12: one call of 11 more, and 2.5 calls that are 2 slower. 1 µs idles between two calls.
    let first: &[Kernel] =
        &[(GEMM, 1000, 10, false, false), (GEMM, 1011, 10, false, false), (NORM, 1021, 8, false, false)];
    let second: &[Kernel] = &[
        (GEMM, 1000, 12, false, false),
        (GEMM, 1014, 12, false, false),
        (GEMM, 1027, 12, false, false),
        (REDUCE, 1039, 7, false, false),
    ];
    let found = difference(first, second);
    assert_eq!((found.trace1_elapsed_ms, found.trace2_elapsed_ms, found.elapsed_ms), (0.029, 0.046, 0.017));
    let parts = Parts { calls: 0.011, speed: 0.005, one_sided: -0.001, device_idle: 0.002, ..Parts::default() };
    assert_eq!(found.parts, parts);
    let shares = found.shares_percent.expect("shares").named().map(|(_, share)| share.round());
    assert_eq!(shares, [38.0, 17.0, 0.0, -3.0, 0.0, 0.0, 0.0, 7.0]);
    let family = |family: &str, times: [f64; 2], [calls_ms, speed_ms, one_sided_ms]: [f64; 3]| FamilyDifference {
        family: family.to_owned(),
        trace1_ms: times[0],
        trace2_ms: times[1],
        difference_ms: calls_ms + speed_ms + one_sided_ms,
        calls_ms,
        speed_ms,
        fusion_ms: 0.0,
        one_sided_ms,
        overlap_ms: 0.0,
    };
    let families = [
        family("GEMM", [0.020, 0.036], [0.011, 0.005, 0.0]),
        family("Norm", [0.008, 0.0], [0.0, 0.0, -0.008]),
        family("Communication", [0.0, 0.007], [0.0, 0.0, 0.007]),
    ];
    assert_eq!(found.families, families);
}

#[test]
fn kernels_of_layers_count_as_layered() {
    let mut kernels = vec![("void at::native::embedding_kernel(int)", 990, 4, false, false)];
    for layer in 0..6 {
        let names = ["void flash::flash_fwd_kernel<Traits>(Params)", NORM, GEMM, NORM, GEMM];
        kernels.extend((0..).zip(names).map(|(at, name)| (name, 1000 + layer * 50 + at * 10, 5, false, false)));
    }
    let found = coverage(&kernels, SECOND);
    assert_eq!(found.layered, share(150, 154, 0, 40));
}
