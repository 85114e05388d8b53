//! What real programs do and is no fault of a trace.

use std::io::Write;

use perfdb_doctor::{Code, Options, Report, check};
use serde_json::{Value, json};

fn event(category: &str, name: &str, start: f64, length: f64, correlation: u32) -> Value {
    json!({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start, "dur": length,
        "args": {"correlation": correlation, "device": 0, "stream": 7}})
}

fn report(events: &[Value]) -> Report {
    let mut file = tempfile::Builder::new().suffix(".json").tempfile().expect("a file");
    let text = json!({ "traceEvents": events }).to_string();
    file.write_all(text.as_bytes()).expect("written");
    check(file.path(), &Options::default()).expect("a report")
}

/// Kernels of 10 µs, each launched one step ahead, with `stall` in front of the memset that opens each of `steps`.
fn stalling(steps: u32, stall: impl Fn(u32) -> f64) -> Vec<Value> {
    let mut events = Vec::new();
    let mut device = 1_000_000.5;
    for step in 0..steps {
        device += stall(step);
        for at in 0..30 {
            let correlation = 100 * step + at + 1;
            let (category, name, call) = match at {
                0 => ("gpu_memset", "Memset (Device)", "cudaMemsetAsync"),
                _ => ("kernel", "gemm", "cudaLaunchKernel"),
            };
            let launch = 999_000.5 + f64::from(step) * 900.0 + 3.0 * f64::from(at);
            events.push(event("cuda_runtime", call, launch, 2.0, correlation));
            events.push(event(category, name, device, 10.0, correlation));
            device += 11.0;
        }
    }
    events
}

#[test]
fn a_device_that_stalls_in_every_step_has_no_clock_that_jumped() {
    let jump = report(&stalling(6, |step| if step == 3 { 50_000.0 } else { 0.0 }));
    assert!(jump.finding(Code::DeviceStall).is_some(), "one stall is a jump");
    let program = report(&stalling(6, |step| if step >= 2 { 50_000.0 } else { 0.0 }));
    assert!(program.finding(Code::DeviceStall).is_none(), "the program stalls before the same memset");
}

#[test]
fn a_device_that_was_never_quick_has_not_stalled() {
    // The launch of the first kernel is not in the trace; all others wait as long.
    let mut events = vec![event("kernel", "gemm", 1_000.5, 10.0, 0)];
    for at in 0..20 {
        let launch = 1_100.5 + 3.0 * f64::from(at);
        events.push(event("cuda_runtime", "cudaLaunchKernel", launch, 2.0, at + 1));
        events.push(event("kernel", "gemm", 51_200.5 + 11.0 * f64::from(at), 10.0, at + 1));
    }
    assert!(report(&events).finding(Code::DeviceStall).is_none());
}

#[test]
fn launches_that_a_replay_makes_long_are_in_microseconds() {
    let events = |kernel: f64| -> Vec<Value> {
        let of = |at: u32| {
            let start = 60_000.5 * f64::from(at);
            [
                event("cuda_runtime", "cudaLaunchKernel", start, 53_000.0, at + 1),
                event("kernel", "gemm", start + 20_000.0, kernel, at + 1),
            ]
        };
        (0..30).flat_map(of).collect()
    };
    assert!(report(&events(12.0)).finding(Code::WrongUnit).is_none());
    assert!(report(&events(12_000.0)).finding(Code::WrongUnit).is_some());
}

#[test]
fn calls_of_other_runtimes_are_host_calls() {
    let events: Vec<Value> = (0..30)
        .flat_map(|at| {
            let start = 100.5 * f64::from(at);
            [
                event("mlu_runtime", "cnInvokeKernel", start, 5.0, at + 1),
                event("kernel", "gemm", start + 10.0, 50.0, at + 1),
            ]
        })
        .collect();
    let report = report(&events);
    assert!(report.notes.iter().all(|note| note.code != Code::NoLaunches));
}

#[test]
fn a_trace_without_kernels_says_why() {
    let reason = |events: &[Value]| -> String {
        let report = report(events);
        let finding = report.finding(Code::NoKernels).expect("no kernels");
        finding.evidence.as_map()["reason"].as_str().expect("a text").to_owned()
    };
    let mut operator = event("cpu_op", "aten::mm", 0.5, 5.0, 0);
    operator["args"] = json!({"External id": 4});
    assert!(reason(std::slice::from_ref(&operator)).contains("CPU alone"));
    let launch = event("cuda_runtime", "cudaLaunchKernel", 1.5, 2.0, 1);
    assert!(reason(&[operator.clone(), launch]).contains("recorded no activity of the device"));
    let call = event("mtia_runtime", "runFunction - job_prep_and_submit_for_execution", 1.5, 2.0, 1);
    let work = event("mtia_ccp_events", "add-dtype_Float", 5.5, 2.0, 1);
    assert!(reason(&[operator.clone(), call, work]).contains("mtia_ccp_events"));
    let copy = event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 3.5, 2.0, 1);
    assert!(reason(&[operator, copy]).contains("only copies"));
}

#[test]
fn external_ids_that_repeat_correlations_are_called_so() {
    let events = |repeats: bool| -> Vec<Value> {
        let of = |at: u32| {
            let (start, number) = (100.5 * f64::from(at), at + 1);
            let mut operator = event("cpu_op", "aten::mm", start, 20.0, 0);
            operator["args"] = json!({"External id": number});
            let mut launch = event("cuda_runtime", "cudaLaunchKernel", start + 5.0, 4.0, number + 7);
            launch["args"]["External id"] = json!(number + 7);
            let mut kernel = event("kernel", "gemm", start + 15.0, 50.0, number + 7);
            kernel["args"]["External id"] = json!(if repeats { number + 7 } else { number + 8 });
            [operator, launch, kernel]
        };
        (0..40).flat_map(of).collect()
    };
    for repeats in [true, false] {
        let report = report(&events(repeats));
        let finding = report.finding(Code::ExternalIdImpossible).expect("ids of other operators");
        assert_eq!(finding.evidence.as_map().contains_key("repeat_correlations"), repeats);
    }
}

/// Steps of a launch and its kernel on one thread, with `gap` in front of the last ones and Python frames around all.
fn framed(gap: f64, leaf: Option<&str>) -> Vec<Value> {
    let start = |at: u32| 1_000.5 + 100.0 * f64::from(at) + if at >= 20 { gap } else { 0.0 };
    let end = start(40);
    let frame = |name: &str, start: f64, end: f64| event("python_function", name, start, end - start, 0);
    let mut events = vec![frame("train.py(7): main", 900.0, end), frame("train.py(21): step", 950.0, end - 10.0)];
    events.extend(leaf.map(|name| frame(name, start(19) + 50.0, start(20) - 1.0)));
    for at in 0..40 {
        events.push(event("cuda_runtime", "cudaLaunchKernel", start(at), 5.0, at + 1));
        events.push(event("kernel", "gemm", start(at) + 8.0, 30.0, at + 1));
    }
    events
}

#[test]
fn a_jump_behind_a_python_frame_is_found_and_a_wait_is_none() {
    let jump = report(&framed(3_000_000.0, None));
    let finding = jump.finding(Code::ClockJump).expect("a jump");
    assert_eq!(finding.evidence.as_map()["inside"], "train.py(21): step");
    let gap = finding.evidence.as_map()["gap_us"].as_f64().expect("a time");
    assert!((2_999_900.0..3_000_100.0).contains(&gap), "{gap}");
    for waiting in ["<built-in function sleep>", "threading.py(302): wait", "queue.py(171): get"] {
        let report = report(&framed(3_000_000.0, Some(waiting)));
        assert!(report.finding(Code::ClockJump).is_none(), "{waiting}");
    }
    assert!(report(&framed(500_000.0, None)).finding(Code::ClockJump).is_none(), "less than a second");
    // Without frames, nothing is open meanwhile, and the finding is an error as before.
    let bare: Vec<Value> = framed(3_000_000.0, None).split_off(2);
    let finding = report(&bare);
    let finding = finding.finding(Code::ClockJump).expect("a jump");
    assert!(!finding.evidence.as_map().contains_key("inside"));
}

/// An operator that launches a kernel, forty times; the one at `long` takes `gap` longer before it launches. `other` names it.
fn operated(gap: f64, long: u32, other: Option<&str>, launches: bool) -> Vec<Value> {
    let start = |at: u32| 1_000.5 + 100.0 * f64::from(at) + if at > long { gap } else { 0.0 };
    let mut events = Vec::new();
    for at in 0..40 {
        let late = if at == long { gap } else { 0.0 };
        let name = other.filter(|_| at == long).unwrap_or("aten::mm");
        let mut operator = event("cpu_op", name, start(at), 20.0 + late, 0);
        operator["args"] = json!({"External id": at + 1});
        events.push(operator);
        let calls = if launches || at != long { 0.0 } else { 25.0 };
        events.push(event("cuda_runtime", "cudaLaunchKernel", start(at) + late + 10.0 + calls, 5.0, at + 1));
        events.push(event("kernel", "gemm", start(at) + late + 18.0 + calls, 30.0, at + 1));
    }
    events
}

#[test]
fn a_jump_inside_an_operator_that_was_quick_before_is_found() {
    let jump = report(&operated(3_000_000.0, 20, None, true));
    let finding = jump.finding(Code::ClockJump).expect("a jump");
    assert_eq!(finding.evidence.as_map()["inside"], "aten::mm");
    // The first calls load and choose kernels; another operator, or one that computes on the host, may take that long.
    for (long, other, launches) in [(3, None, true), (20, Some("aten::sort"), true), (20, None, false)] {
        let report = report(&operated(3_000_000.0, long, other, launches));
        assert!(report.finding(Code::ClockJump).is_none(), "{long}, {other:?}, {launches}");
    }
    assert!(report(&operated(500_000.0, 20, None, true)).finding(Code::ClockJump).is_none(), "less than a second");
    // The same inside a Python frame: the operator decides.
    let mut frame = event("python_function", "train.py(21): step", 900.0, 3_100_000.0, 0);
    frame["args"] = json!({});
    for (other, is_found) in [(None, true), (Some("aten::sort"), false)] {
        let framed = [vec![frame.clone()], operated(3_000_000.0, 20, other, true)].concat();
        assert_eq!(report(&framed).finding(Code::ClockJump).is_some(), is_found, "{other:?}");
    }
}

#[test]
fn kernels_that_start_after_usual_latencies_have_no_shifted_clock() {
    let launched = |latency: f64| -> Vec<Value> {
        let of = |at: u32| {
            let start = 0.5 + 40.25 * f64::from(at);
            [
                event("cuda_runtime", "cudaLaunchKernel", start, 4.0, at + 1),
                event("kernel", "gemm", start + latency, 20.0, at + 1),
            ]
        };
        (0..50).flat_map(of).collect()
    };
    assert!(report(&launched(4.15)).finding(Code::KernelBeforeLaunch).is_none());
    // The same trace with the clock of the device 5 us behind, and 2 us behind.
    for latency in [-0.85, 2.15] {
        let report = report(&launched(latency));
        let finding = report.finding(Code::KernelBeforeLaunch).expect("a shifted clock");
        assert_eq!(finding.evidence.as_map()["least_latency_us"], latency);
    }
}
