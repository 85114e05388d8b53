//! What the advice on a late host names.

use perfdb_tracediff::{LoadOptions, OneTrace, Selection, Trace, explain};
use std::io::Cursor;

fn event(category: &str, name: &str, start: f64, length: f64, correlation: u32) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "ts": {start}, "dur": {length}, "args": {{"correlation": {correlation}}}}}"#
    )
}

fn explained(events: &[String]) -> OneTrace {
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
    let options = LoadOptions { alone: true, ..LoadOptions::default() };
    let trace = Trace::from_reader("t.json", Cursor::new(text), &options).expect("a trace");
    explain(&trace, &Selection::default()).expect("an explanation")
}

/// What is said of a host that is late.
fn advice(events: &[String]) -> String {
    let found = explained(events).next.into_iter().find(|advice| advice.code == "HOST_LATE");
    found.expect("advice on a late host").text
}

/// A kernel that this call launches, which takes so long.
fn launched(call: &str, name: &str, start: f64, call_us: f64, number: u32) -> [String; 2] {
    [event("cuda_runtime", call, start, call_us, number), event("kernel", name, start + call_us + 1.0, 20.0, number)]
}

#[test]
fn launches_one_by_one_are_the_cause_where_nothing_else_is() {
    let kernels = (1..40).flat_map(|at| launched("cudaLaunchKernel", "nvjet_tst", 100.0 * f64::from(at), 5.0, at));
    assert!(advice(&kernels.collect::<Vec<_>>()).contains("use CUDA graphs or fewer launches"));
}

#[test]
fn calls_that_set_something_up_are_the_cause_and_not_the_number_of_launches() {
    let with = |set_up: &[(&str, f64)]| -> Vec<String> {
        let mut events: Vec<String> = Vec::new();
        let mut later = 0.0;
        for at in 1..40_u32 {
            let start = 100.0 * f64::from(at) + later;
            if at != 20 {
                events.extend(launched("cudaLaunchKernel", "nvjet_tst", start, 5.0, at));
                continue;
            }
            for (number, (call, length)) in (100..).zip(set_up) {
                events.push(event("cuda_runtime", call, start + later, *length, number));
                later += length;
            }
            events.extend(launched("cudaLaunchKernel", "cold_kernel", start + later, 5.0, at));
        }
        events
    };
    for calls in [&[("cudaMalloc", 30_000.0)][..], &[("cudaFree", 15_000.0), ("cudaStreamCreateWithFlags", 12_000.0)]] {
        let text = advice(&with(calls));
        assert!(text.contains(&format!("most of all {}", calls[0].0)), "{text}");
        assert!(text.contains("record after a warm-up") && text.contains("before cold_kernel"), "{text}");
        assert!(!text.contains("graphs"), "{text}");
    }
    // A wait is no setting up.
    assert!(advice(&with(&[("cudaStreamSynchronize", 30_000.0)])).contains("fewer launches"));
}

#[test]
fn graphs_that_are_replayed_already_are_not_asked_for() {
    let replay = |at: u32| {
        let start = 1000.0 * f64::from(at);
        let kernels = ["embedding", "nvjet_tst", "nvjet_tst", "sample"].into_iter().zip(0..4_u32);
        let kernels =
            kernels.map(move |(name, number)| event("kernel", name, start + 10.0 + 30.0 * f64::from(number), 25.0, at));
        std::iter::once(event("cuda_runtime", "cudaGraphLaunch", start, 5.0, at)).chain(kernels)
    };
    let text = advice(&(1..20).flat_map(replay).collect::<Vec<_>>());
    assert!(text.contains("graphs are replayed already") && !text.contains("fewer launches"), "{text}");
    assert!(text.contains("most of all after sample ("), "{text}");
}

#[test]
fn time_between_steps_is_the_engines() {
    let step = |at: u32| {
        let start = 5000.0 * f64::from(at);
        let mut events = vec![event("user_annotation", &format!("ProfilerStep#{at}"), start, 400.0, 0)];
        events.extend((0..4).flat_map(|number| {
            launched("cudaLaunchKernel", "nvjet_tst", start + 10.0 + 22.0 * f64::from(number), 1.0, 4 * at + number)
        }));
        events
    };
    let text = advice(&(1..6).flat_map(step).collect::<Vec<_>>());
    assert!(text.contains("lie between steps"), "{text}");
}
