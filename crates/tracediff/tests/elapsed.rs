//! Elapsed times of pairs of traces: the headline, its parts, and what adds up to what.

use super::gold;

use perfdb_tracediff::{
    AnalysisOptions, Basis, Boundaries, CompareOptions, Document, ElapsedReport, LoadOptions, PhaseFilter, Trace,
    analyse,
};
use std::io::Cursor;
use std::path::Path;

fn event(category: &str, name: &str, start: f64, length: f64, correlation: u32) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "ts": {start}, "dur": {length}, "args": {{"correlation": {correlation}, "bytes": 4000}}}}"#
    )
}

fn step(name: &str, start: f64, length: f64) -> String {
    event("user_annotation", name, start, length, 0)
}

fn trace(events: &[String]) -> Trace {
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
    Trace::from_reader("t.json", Cursor::new(text), &LoadOptions::default()).expect("a trace")
}

fn report(first: &Trace, second: &Trace, phase: PhaseFilter) -> ElapsedReport {
    let compare = CompareOptions { phase, ..CompareOptions::default() };
    let options = AnalysisOptions { compare, ..AnalysisOptions::default() };
    match analyse(first, second, &options).expect("an analysis").document {
        Document::Plain(plain) => plain.details.elapsed.expect("elapsed times"),
        other => panic!("another document: {other:?}"),
    }
}

/// A pass of `length` that begins at `start`: a GEMM, an all-reduce half under it, a copy, a gap.
fn pass(start: f64, kind: &str, number: u32) -> Vec<String> {
    let of = |at: u32| 10 * number + at;
    vec![
        step(kind, start, 5.0),
        event("cuda_runtime", "cudaLaunchKernel", start, 1.0, of(1)),
        event("cuda_runtime", "cudaLaunchKernel", start + 1.0, 1.0, of(2)),
        event("cuda_runtime", "cudaMemcpyAsync", start + 2.0, 1.0, of(3)),
        event("kernel", "nvjet_tst", start + 10.0, 20.0, of(1)),
        event("kernel", "ncclDevKernel_AllReduce_Sum", start + 20.0, 20.0, of(2)),
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", start + 35.0, 10.0, of(3)),
    ]
}

const DECODE: &str = "execute_context_0(0)_generation_1(1)";
const PREFILL: &str = "execute_context_1(9)_generation_0(0)";

#[test]
fn time_splits_into_parts() {
    // The second pass starts on the GPU at 110: 65 without anything, of which the host is late until 101.
    let events = [pass(0.0, DECODE, 0), pass(100.0, DECODE, 1)].concat();
    let trace = trace(&events);
    let found = report(&trace, &trace, PhaseFilter::All).elapsed;
    assert_eq!((found.basis, found.trace1.passes, found.ratio), (Basis::Pass, 2, Some(1.0)));
    let parts = found.trace1.parts_ms;
    assert_eq!(found.trace1.elapsed_ms, 0.135);
    assert_eq!(parts.compute_ms, 0.040);
    assert_eq!(parts.exposed_communication_ms, 0.020);
    assert_eq!(parts.exposed_copies_ms, 0.010);
    assert_eq!(parts.host_late_ms, 0.056);
    assert_eq!(parts.device_idle_ms, 0.009);
    assert_eq!(found.trace1.windows.len(), 2);
    let copies = &found.trace1.copies[0];
    assert_eq!(
        (copies.kind, copies.count, copies.bytes, copies.total_ms, copies.exposed_ms),
        ("DtoH", 2, 8000, 0.020, 0.010)
    );
    assert_eq!(copies.gb_per_s, Some(0.4));
}

#[test]
fn numbers_of_passes_are_normalised() {
    let passes = |count: u32| -> Trace {
        trace(&(0..count).flat_map(|at| pass(f64::from(100 * at), DECODE, at)).collect::<Vec<_>>())
    };
    let found = report(&passes(3), &passes(2), PhaseFilter::All);
    assert_eq!((found.elapsed.trace1.passes, found.elapsed.trace2.passes), (3, 2));
    // The last pass of each has no gap behind it: 100 + 100 + 35 and 100 + 35.
    assert_eq!(found.elapsed.trace1.elapsed_ms, 0.235);
    assert_eq!(found.elapsed.trace2.elapsed_ms, 0.135);
    let gemm = found.waterfall.iter().find(|row| row.row == "GEMM").expect("a family");
    assert_eq!((gemm.trace1_ms, gemm.trace2_ms), (0.020, 0.020));
}

#[test]
fn a_phase_counts_its_passes_alone() {
    let events = [pass(0.0, PREFILL, 0), pass(100.0, DECODE, 1), pass(200.0, DECODE, 2)].concat();
    let trace = trace(&events);
    let passes = |phase| report(&trace, &trace, phase).elapsed.trace1;
    assert_eq!((passes(PhaseFilter::Prefill).passes, passes(PhaseFilter::Prefill).elapsed_ms), (1, 0.100));
    assert_eq!((passes(PhaseFilter::Decode).passes, passes(PhaseFilter::Decode).elapsed_ms), (2, 0.135));
    assert_eq!(passes(PhaseFilter::All).passes, 3);
}

#[test]
fn without_steps_the_whole_is_compared() {
    let with = trace(&pass(0.0, DECODE, 0));
    let without = trace(&pass(0.0, DECODE, 0)[1..]);
    let found = report(&with, &without, PhaseFilter::All);
    assert_eq!((found.elapsed.basis, found.elapsed.trace2.passes, found.elapsed.ratio), (Basis::Whole, 1, Some(1.0)));
    // One run of each shows nothing: the sentence promises no more than the first line, which is inconclusive.
    assert_eq!(
        found.verdict,
        "trace 2: as much time (+0.000 ms) in these traces, where runs vary by 2 %: not distinguishable"
    );
}

#[test]
fn rows_add_up_and_mirror() {
    let slow = trace(&[pass(0.0, DECODE, 0), pass(100.0, DECODE, 1)].concat());
    let mut faster = pass(0.0, DECODE, 0);
    faster.push(event("kernel", "triton_red_rms_norm", 50.0, 4.0, 77));
    let fast = trace(&faster);
    let (forward, backward) = (report(&slow, &fast, PhaseFilter::All), report(&fast, &slow, PhaseFilter::All));
    let sum: f64 = forward.waterfall.iter().map(|row| row.difference_ms).sum();
    let whole = forward.elapsed.trace2.per_pass_ms - forward.elapsed.trace1.per_pass_ms;
    assert!((sum - whole).abs() < 1e-12, "{sum} {whole}");
    for row in &forward.waterfall {
        let mirrored = backward.waterfall.iter().find(|other| other.row == row.row).expect("the same rows");
        assert_eq!(row.difference_ms, -mirrored.difference_ms);
    }
    // Two passes and one are too few to say more.
    assert!(forward.verdict.starts_with("trace 2: 34.8 % less time"), "{}", forward.verdict);
    let itself = report(&slow, &slow, PhaseFilter::All);
    assert!(itself.waterfall.iter().all(|row| row.difference_ms == 0.0));
}

/// Real traces with tables of another tool.
#[test]
fn parts_equal_the_reference_tables() {
    let Some(traces) = gold::traces() else { return };
    traces.iter().for_each(|(trace, tables)| compare_with(trace, tables));
    assert_eq!(traces.len(), 12);
}

fn compare_with(file: &Path, reference: &Path) {
    let trace = Trace::open(file, &LoadOptions::default()).expect("a trace");
    let found = report(&trace, &trace, PhaseFilter::All).elapsed.trace1;
    let parts = found.parts_ms;
    let table = std::fs::read_to_string(reference.join("gpu_timeline.csv")).expect("a table");
    for (row, ms) in [
        ("computation_time", parts.compute_ms),
        ("exposed_comm_time", parts.exposed_communication_ms),
        ("exposed_memcpy_time", parts.exposed_copies_ms),
        ("idle_time", parts.host_late_ms + parts.device_idle_ms),
        ("total_time", found.elapsed_ms),
    ] {
        let line = table.lines().find(|line| line.split(',').next() == Some(row)).expect("a row");
        let expected: f64 = line.split(',').nth(1).and_then(|cell| cell.parse().ok()).expect("a number");
        assert!((ms - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{} {row}: {ms} {expected}", file.display());
    }
}

#[test]
fn steps_own_what_they_launched_and_nothing_else() {
    // The queue still runs three kernels and a copy of the step before when the recorded step begins; the last of them ends
    // after its first kernel has started on another stream.
    let unlaunched = |start: f64, length: f64| event("kernel", "nvjet_before", start, length, 0);
    let [_, launch, _, _, kernel, ..] = &pass(100.0, "ProfilerStep#6", 1)[..] else { panic!("a pass") };
    let events = [
        step("ProfilerStep#6", 100.0, 50.0),
        unlaunched(90.0, 5.0),
        unlaunched(101.0, 4.0),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 105.0, 1.0, 0),
        unlaunched(106.0, 8.0),
        launch.clone(),
        // Begins at 110, under the last kernel of the step before.
        kernel.replace(r#""args": {"#, r#""args": {"stream": 9, "#),
        event("cuda_runtime", "cudaLaunchKernel", 103.0, 1.0, 12),
        event("kernel", "nvjet_tst", 132.0, 5.0, 12),
    ];
    let trace = trace(&events);
    let found = report(&trace, &trace, PhaseFilter::All).elapsed.trace1;
    assert_eq!((found.boundaries, found.passes, found.left_out_passes), (Boundaries::Launch, 1, 0));
    assert_eq!((found.lead_kernels, found.lead_kernel_ms, found.lead_ms), (3, 0.017, 0.020));
    assert_eq!(found.elapsed_ms, 0.027);
    assert_eq!(found.copies, [], "the copy belongs to the step before");
    assert_eq!(trace.kernel_count(), 2);
}

#[test]
fn a_trace_without_launches_is_cut_on_the_device() {
    let kernels = |from: f64| (0..4).map(move |at| event("kernel", "nvjet_tst", from + 10.0 * f64::from(at), 9.0, 0));
    let on_device = |name: &str, start: f64, length: f64| event("gpu_user_annotation", name, start, length, 0);
    let steps = [step("ProfilerStep#1", 0.0, 5.0), step("ProfilerStep#2", 6.0, 5.0)];
    let events: Vec<String> = kernels(100.0).chain(kernels(200.0)).chain(steps).collect();
    let cut = [on_device("ProfilerStep#1", 100.0, 39.0), on_device("ProfilerStep#2", 200.0, 39.0)];
    let elapsed = |events: &[String]| {
        let trace = trace(events);
        report(&trace, &trace, PhaseFilter::All).elapsed.trace1
    };
    let found = elapsed(&[events.as_slice(), &cut].concat());
    assert_eq!((found.boundaries, found.passes, found.elapsed_ms), (Boundaries::DeviceAnnotation, 2, 0.139));
    // Annotations that few kernels start in are no steps, and no kernel starts in those of the host.
    let narrow = [on_device("ProfilerStep#1", 100.0, 1.0), on_device("ProfilerStep#2", 200.0, 1.0)];
    for events in [[events.as_slice(), &narrow].concat(), events] {
        assert_eq!(elapsed(&events).boundaries, Boundaries::Whole);
        assert_eq!(elapsed(&events).lead_kernels, 0);
    }
}

#[test]
fn three_passes_have_a_median() {
    let passes = |starts: &[f64]| -> Trace {
        trace(&starts.iter().zip(0..).flat_map(|(start, at)| pass(*start, DECODE, at)).collect::<Vec<_>>())
    };
    let median = |trace: &Trace| report(trace, trace, PhaseFilter::All).elapsed.trace1.median_pass_ms;
    assert_eq!(median(&passes(&[0.0, 100.0])), None);
    assert_eq!(median(&passes(&[0.0, 100.0, 400.0])), Some(0.1));
}

#[test]
fn traces_of_other_phases_are_no_comparison() {
    let (prefill, decode) = (trace(&pass(0.0, PREFILL, 0)), trace(&pass(0.0, DECODE, 0)));
    let found = report(&prefill, &decode, PhaseFilter::All);
    let why = "trace 1 has prefill passes, trace 2 has decode passes";
    assert_eq!(found.different_workloads.as_deref(), Some(why));
    assert!(found.verdict.starts_with(&format!("different workloads, not comparable: {why}")), "{}", found.verdict);
    assert!(found.next_steps.is_empty());
    assert_eq!(report(&decode, &decode, PhaseFilter::All).different_workloads, None);
}

/// Passes of one kernel each, with these times.
fn passes_of(times: &[f64]) -> Trace {
    let mut events = Vec::new();
    let mut start = 0.0;
    for (at, time) in (1..).zip(times) {
        events.push(step("ProfilerStep#1", start, 5.0));
        events.push(event("cuda_runtime", "cudaLaunchKernel", start, 1.0, at));
        events.push(event("kernel", "nvjet_tst", start + 2.0, *time, at));
        start += time + 2.0;
    }
    trace(&events)
}

#[test]
fn one_pass_that_is_held_up_does_not_move_the_headline() {
    let (first, second) = (passes_of(&[100.0; 5]), passes_of(&[100.0, 100.0, 100.0, 100.0, 900.0]));
    let found = report(&first, &second, PhaseFilter::All);
    assert!(found.elapsed.ratio > Some(2.0), "{:?}", found.elapsed.ratio);
    assert_eq!(found.elapsed.median_ratio, Some(1.0));
    let verdict = "trace 2: as much time per step (+0.000 ms, median of 5 steps) in these 5 steps, which vary by ";
    assert!(found.verdict.starts_with(verdict), "{}", found.verdict);
    let two = passes_of(&[100.0, 900.0]);
    assert_eq!(report(&two, &two, PhaseFilter::All).elapsed.median_ratio, None);
}

#[test]
fn a_late_host_has_its_cause() {
    // Each pass is launched 10 ms after the one before has ended.
    let slow = |gap: f64| {
        let passes = (1..9).map(|at| {
            let start = f64::from(at) * (100.0 + gap);
            vec![
                step(DECODE, start, 5.0),
                event("cuda_runtime", "cudaLaunchKernel", start, 1.0, at),
                event("kernel", "nvjet_tst", start + 2.0, 90.0, at),
            ]
        });
        trace(&passes.collect::<Vec<_>>().concat())
    };
    let found = report(&slow(0.0), &slow(10_000.0), PhaseFilter::All);
    let advice = &found.next_steps.first().expect("something to do").advice;
    assert!(advice.contains("lie between passes"), "{advice}");
    assert!(found.elapsed.trace2.between_passes_ms > 60.0);
}

#[test]
fn one_call_that_loads_a_kernel_is_named_and_left_out() {
    let paced = |launch: f64, pace: f64| {
        let mut events = vec![step(DECODE, 0.0, 100_000.0)];
        for at in 1..40_u32 {
            let start = f64::from(at) * pace + if at > 20 { launch } else { 0.0 };
            let (length, name) = if at == 20 { (launch + 5.0, "cold_kernel") } else { (5.0, "nvjet_tst") };
            events.push(event("cuda_runtime", "cudaLaunchKernel", start, length, at));
            events.push(event("kernel", name, start + length + 1.0, 20.0, at));
        }
        trace(&events)
    };
    let with = |launch: f64| paced(launch, 50.0);
    let found = report(&with(0.0), &with(20_000.0), PhaseFilter::All);
    let advice = &found.next_steps.first().expect("something to do").advice;
    assert!(advice.contains("calls set up what comes first for 20.0"), "{advice}");
    let cold = found.elapsed.trace2.cold_start.as_ref().expect("a cold start");
    assert_eq!((cold.call.as_str(), cold.kernel.as_str()), ("cudaLaunchKernel", "cold_kernel"));
    assert!((19.9..20.1).contains(&cold.stall_ms), "{}", cold.stall_ms);
    assert!(found.verdict.contains("without the cold start"), "{}", found.verdict);
    assert_eq!(found.elapsed.trace1.cold_start, None);
    // Where both begin cold, that is not what makes the difference.
    let found = report(&with(20_000.0), &paced(20_000.0, 400.0), PhaseFilter::All);
    let advice = &found.next_steps.first().expect("something to do").advice;
    assert!(advice.contains("both traces begin with calls that set up what comes first, for 20.0"), "{advice}");
}

#[test]
fn a_gap_that_is_most_of_a_pass_is_named_and_moves_no_threshold() {
    let with = |gap: f64| {
        let mut events = vec![step(DECODE, 0.0, 50.0)];
        for at in 1..20_u32 {
            let (name, later) = if at == 10 { ("late_kernel", gap) } else { ("nvjet_tst", 0.0) };
            let start = 50.0 + f64::from(at) * 30.0 + if at > 10 { gap } else { later };
            events.push(event("cuda_runtime", "cudaLaunchKernel", f64::from(at) * 2.0, 1.0, at));
            events.push(event("kernel", name, start, 25.0, at));
        }
        trace(&events)
    };
    let found = report(&with(0.0), &with(10_000.0), PhaseFilter::All);
    assert!(found.elapsed.trace1.large_gaps.is_empty());
    let [gap] = &found.elapsed.trace2.large_gaps[..] else { panic!("{:?}", found.elapsed.trace2.large_gaps) };
    assert_eq!(gap.kernel, "late_kernel");
    assert!((gap.gap_ms - 10.005).abs() < 1e-9 && gap.launched_before_ms > 10.0, "{gap:?}");
    // 1 % of the 0.565 ms without it.
    assert!(found.threshold_ms < 0.006, "{}", found.threshold_ms);
}

#[test]
fn collectives_of_a_generic_kernel_have_the_kind_of_their_operator() {
    let call = |name: &str, start: f64, number: u32| {
        let args = format!(r#""args": {{"External id": {number}, "correlation": {number}}}"#);
        [
            format!(r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "ts": {start}, "dur": 5, {args}}}"#),
            format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic_2", "ts": {start}, "dur": 4, {args}}}"#
            ),
        ]
    };
    let calls =
        [call("c10d::allreduce_", 0.0, 1), call("c10d::_allgather_base_", 10.0, 2), call("c10d::broadcast_", 20.0, 3)];
    let text = format!(r#"{{"traceEvents": [{}]}}"#, calls.concat().join(","));
    let classes = |collective_kinds| -> Vec<String> {
        let options = LoadOptions { collective_kinds, ..LoadOptions::default() };
        let trace = Trace::from_reader("t.json", Cursor::new(text.clone()), &options).expect("a trace");
        trace.collectives().iter().map(|call| call.class.to_owned()).collect()
    };
    assert_eq!(classes(true), ["All-Reduce", "All-Gather", "Communication"]);
    assert_eq!(classes(false), ["Communication"; 3]);
}
