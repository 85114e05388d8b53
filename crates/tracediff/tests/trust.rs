//! What the findings of the trace doctor change about a comparison.

use std::io::Cursor;

use perfdb_tracediff::{AnalysisOptions, Document, LoadOptions, PlainDocument, Trace, analyse};

fn event(category: &str, name: &str, start: f64, length: f64, args: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 1, "tid": 1, "ts": {start}, "dur": {length}, "args": {{{args}}}}}"#
    )
}

fn load(events: &[String]) -> Trace {
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
    Trace::from_reader("t.json", Cursor::new(text), &LoadOptions::default()).expect("a trace")
}

fn against_itself(events: &[String]) -> PlainDocument {
    let trace = load(events);
    match analyse(&trace, &trace, &AnalysisOptions::default()).expect("an analysis").document {
        Document::Plain(plain) => *plain,
        other => panic!("another document: {other:?}"),
    }
}

/// A launched kernel.
fn launched(name: &str, call: &str, number: u32, launch: f64, start: f64, length: f64) -> [String; 2] {
    let args = format!(r#""correlation": {number}, "stream": 7"#);
    [event("cuda_runtime", call, launch, 1.0, &args), event("kernel", name, start, length, &args)]
}

#[test]
fn waiting_kernels_count_without_the_wait_per_pass_alone() {
    // Each kernel is resident 4 µs before the one before it ends.
    let events: Vec<String> = (0..50)
        .flat_map(|at| {
            let start = 10.0 + 20.0 * f64::from(at) - if at > 0 { 4.0 } else { 0.0 };
            let length = if at > 0 { 24.0 } else { 20.0 };
            launched("nvjet_a", "cudaLaunchKernelExC", at, 0.5 + f64::from(at), start + 60.5, length)
        })
        .collect();
    let document = against_itself(&events);
    let trust = document.trust.expect("trust").trace1;
    assert_eq!(trust.trust_reasons, ["OVERLAP_PDL"]);
    assert!((trust.clipped_ms - 49.0 * 0.004).abs() < 1e-12, "{}", trust.clipped_ms);
    let row = &document.comparison.operations[0];
    assert!(
        (row.trace1_total_ms - (0.020 + 49.0 * 0.024)).abs() < 1e-12,
        "the file's durations: {}",
        row.trace1_total_ms
    );
    assert!((row.trace1_per_pass_ms - 50.0 * 0.020).abs() < 1e-12, "{}", row.trace1_per_pass_ms);
    assert!((row.trace1_us_per_call - 20.0).abs() < 1e-9 && row.trace1_pass_calls == 50, "{}", row.trace1_us_per_call);
    let group: f64 = document.details.groups.iter().map(|group| group.trace1_ms).sum();
    assert!((group - 1.0).abs() < 1e-9, "{group}");
}

#[test]
fn a_kernel_that_waits_less_for_a_shorter_one_is_not_called_slower() {
    // The second kernel of each pair is resident 12 µs before the first one ends, if that takes 40 µs.
    let pairs = |first_us: f64| -> Vec<String> {
        let pair = |at: u32| {
            let start = 100.0 + 60.0 * f64::from(at);
            let first = launched("nvjet_a", "cudaLaunchKernelExC", 2 * at, start - 40.0, start, first_us);
            let call = "cudaLaunchKernelExC";
            let second = launched("flash_fwd_splitkv_kernel", call, 2 * at + 1, start - 38.0, start + 28.0, 24.0);
            first.into_iter().chain(second)
        };
        (0..50).flat_map(pair).collect()
    };
    let (before, after) = (load(&pairs(40.0)), load(&pairs(28.0)));
    let options = AnalysisOptions { confidence: true, ..AnalysisOptions::default() };
    let document = match analyse(&before, &after, &options).expect("an analysis").document {
        Document::Plain(plain) => plain,
        other => panic!("another document: {other:?}"),
    };
    assert_eq!(document.trust.expect("trust").trace1.trust_reasons, ["OVERLAP_PDL"]);
    let verdicts = document.details.confidence.expect("verdicts").operations;
    let verdict = |name: &str| verdicts.iter().find(|row| row.operation == name).map(|row| row.verdict.verdict);
    assert_eq!((verdict("Dense GEMM"), verdict("Attention")), (Some("faster"), Some("cannot tell")));
}

#[test]
fn the_order_of_a_file_says_nothing_of_kernels_that_begin_at_one_time() {
    // Times in whole microseconds: four kernels of two streams begin together, of which the middle ones communicate.
    let events: Vec<String> = (0..30_u32)
        .flat_map(|at| {
            let names =
                ["nvjet_a", "ncclDevKernel_AllReduce", "ncclDevKernel_SendRecv", "vectorized_elementwise_kernel"];
            (0..4).zip(names).flat_map(move |(number, name)| {
                let (id, stream) = (4 * at + number, 7 + number.min(1));
                let start = 1000.0 + 100.0 * f64::from(at) + if number == 0 { 0.0 } else { 50.0 };
                let args = format!(r#""correlation": {id}, "stream": {stream}, "device": 0"#);
                [
                    event("cuda_runtime", "cudaLaunchKernel", start - 40.0 + f64::from(number), 1.0, &args),
                    event("kernel", name, start, if number == 0 { 45.0 } else { 20.0 }, &args),
                ]
            })
        })
        .collect();
    let reversed: Vec<String> = events.iter().rev().cloned().collect();
    let (one, other) = (load(&events), load(&reversed));
    let document = match analyse(&one, &other, &AnalysisOptions::default()).expect("an analysis").document {
        Document::Plain(plain) => plain,
        other => panic!("another document: {other:?}"),
    };
    for group in &document.details.groups {
        assert_eq!((group.trace1_calls, group.trace1_ms), (group.trace2_calls, group.trace2_ms), "{group:?}");
    }
}

#[test]
fn events_that_stand_there_twice_count_once() {
    let mut events: Vec<String> = (0..20)
        .flat_map(|at| {
            launched("nvjet_a", "cudaLaunchKernel", at, f64::from(at) + 0.5, 100.5 + 10.0 * f64::from(at), 5.0)
        })
        .collect();
    events.push(events[7].clone());
    let document = against_itself(&events);
    let trust = document.trust.expect("trust").trace1;
    assert_eq!((trust.left_out_kernels, trust.trust_reasons.as_slice()), (1, &["DUPLICATE_EVENTS"][..]));
    assert_eq!(document.comparison.metadata.trace1_kernels, 20);
}

#[test]
fn old_categories_are_read() {
    let events = [
        event("Runtime", "cudaLaunchKernel", 0.5, 1.0, r#""correlation": 1, "external id": 4"#),
        event("Operator", "aten::mm", 0.0, 3.0, r#""external id": 4"#),
        event("Kernel", "opaque", 5.0, 10.0, r#""correlation": 1, "external id": 4"#),
    ];
    let document = against_itself(&events);
    assert_eq!(document.comparison.operations[0].operation, "Dense GEMM");
    assert_eq!(document.comparison.operations[0].trace1_cpu_op.as_deref(), Some("aten::mm"));
    // Where the present names are there too, the old one is something else.
    let mixed = [events.as_slice(), &[event("kernel", "nvjet", 50.0, 10.0, "")]].concat();
    assert_eq!(against_itself(&mixed).comparison.metadata.trace1_kernels, 1);
}

#[test]
fn operators_are_found_by_nesting_where_ids_are_impossible() {
    let events: Vec<String> = (0..40)
        .flat_map(|at| {
            let start = 100.0 * f64::from(at);
            let ids = format!(r#""correlation": {at}, "External id": {}"#, (at + 7) % 40);
            let name = if at % 2 == 0 { "aten::mm" } else { "aten::gelu" };
            [
                event("cpu_op", name, start, 20.0, &format!(r#""External id": {at}"#)),
                event("cuda_runtime", "cudaLaunchKernel", start + 5.5, 2.0, &ids),
                event("kernel", if at % 2 == 0 { "first" } else { "second" }, start + 10.0, 30.0, &ids),
            ]
        })
        .collect();
    let document = against_itself(&events);
    assert!(document.trust.expect("trust").trace1.trust_reasons.contains(&"EXTERNAL_ID_IMPOSSIBLE"));
    let rows: Vec<_> =
        document.comparison.operations.iter().map(|row| (row.operation.as_str(), row.trace1_count)).collect();
    assert!(rows.contains(&("Dense GEMM", 20)) && rows.contains(&("Activation", 20)), "{rows:?}");
}

#[test]
fn passes_that_lack_kernels_are_in_no_figure_per_pass() {
    let mut events = Vec::new();
    for pass in 0..5_u32 {
        let start = 1000.0 * f64::from(pass);
        events.push(event("user_annotation", "step[DECODE bs=1]", start, 900.0, ""));
        for at in 0..20 {
            let number = 100 * pass + at;
            let [launch, kernel] = launched(
                "nvjet_a",
                "cudaLaunchKernel",
                number,
                start + 2.0 * f64::from(at) + 0.5,
                start + 100.0 + 30.0 * f64::from(at),
                20.0,
            );
            events.push(launch);
            // The third pass has lost half of its kernels.
            if pass != 2 || at < 10 {
                events.push(kernel);
            }
        }
    }
    let document = against_itself(&events);
    let elapsed = document.details.elapsed.expect("elapsed times").elapsed.trace1;
    assert_eq!((elapsed.passes, elapsed.left_out_passes), (4, 1));
    assert!(elapsed.windows.iter().all(|window| window.pass != Some(2)));
}

#[test]
fn kernel_events_that_only_begin_or_end_are_named_and_count_for_nothing() {
    let mut events = launched("nvjet_a", "cudaLaunchKernel", 1, 0.5, 10.5, 5.0).to_vec();
    events.extend(launched("half", "cudaLaunchKernel", 2, 1.5, 20.5, 5.0));
    events[3] = events[3].replace("\"ph\": \"X\"", "\"ph\": \"B\"");
    events.push(events[3].replace("\"B\"", "\"E\"").replace("20.5", "25.5"));
    let trace = load(&events);
    let report = trace.report().expect("a report");
    let finding = report.finding(perfdb_doctor::Code::BadEvents).expect("a finding");
    let evidence = serde_json::json!(finding.evidence.as_map());
    assert_eq!(evidence, serde_json::json!({"kernels": 2, "no_complete_events": 2, "names": ["half"]}));
    assert!(report.finding(perfdb_doctor::Code::LaunchTwice).is_none());
    assert_eq!(against_itself(&events).comparison.metadata.trace1_kernels, 1);
}

#[test]
fn devices_of_other_makers_are_not_called_nvidia() {
    let launch = |category: &str| {
        let args = r#""correlation": 1"#;
        [event(category, "launch", 0.5, 1.0, args), event("kernel", "gemm", 5.5, 5.0, args)]
    };
    for category in ["xpu_runtime", "xpu_driver", "mtia_runtime", "mlu_runtime", "privateuse1_runtime"] {
        let trace = load(&launch(category));
        assert_eq!(trace.platform().name(), "other", "{category}");
    }
    assert_eq!(load(&launch("cuda_driver")).platform().name(), "NVIDIA");
}
