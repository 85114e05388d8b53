//! What must not change the answer.

use std::path::Path;

use perfdb_tracediff::{AnalysisOptions, Document, LoadOptions, OneTrace, PartsMs, Selection, Trace, analyse, explain};
use serde_json::Value;

use super::input::{Event, Random, document, explained, steps};

const EPOCH: i64 = 1_700_000_000_000_000_000;

fn of(events: &[Event]) -> OneTrace {
    explained(&document(events, EPOCH))
}

/// Everything but what depends on host operators and stacks, and on what the trace check says of the file.
fn device_numbers(one: &OneTrace) -> Value {
    let mut value = serde_json::to_value(one).expect("JSON");
    let members = value.as_object_mut().expect("an object");
    for key in ["operators", "without_operator_ms", "layers", "trust", "trust_reasons", "next"] {
        members.remove(key);
    }
    value
}

fn ps(ms: f64) -> i64 {
    (ms * 1e9).round() as i64
}

#[test]
fn parts_and_sums_add_up() {
    for seed in 0..8 {
        let events = steps(seed, 4);
        let one = of(&events);
        let parts = |parts: &PartsMs| {
            let all = [parts.compute_ms, parts.exposed_communication_ms, parts.exposed_copies_ms, parts.host_late_ms];
            all.iter().chain([&parts.device_idle_ms]).map(|ms| ps(*ms)).sum::<i64>()
        };
        assert_eq!(parts(&one.parts_ms), ps(one.elapsed_ms));
        assert_eq!(one.steps.iter().map(|step| ps(step.elapsed_ms)).sum::<i64>(), ps(one.elapsed_ms));
        assert!(one.steps.iter().all(|step| parts(&step.parts_ms) == ps(step.elapsed_ms)));
        let own: i64 = one.classes.iter().map(|class| ps(class.own_ms)).sum();
        assert_eq!(own, ps(one.parts_ms.compute_ms) + ps(one.parts_ms.exposed_communication_ms));
        assert_eq!(one.top_kernels.iter().map(|kernel| ps(kernel.total_ms)).sum::<i64>(), ps(one.kernel_ms));
        let on_device = events.iter().filter(|event| event.is_on_device()).count() as u64;
        assert_eq!(one.kernel_count + one.copies.count + one.lead.kernels + one.lead.copies, on_device);
    }
}

#[test]
fn neither_order_nor_epoch_nor_annotations_of_the_device_matter() {
    for seed in 0..4 {
        let events = steps(seed, 4);
        let expected = of(&events);
        let mut shuffled = events.clone();
        let mut random = Random(seed + 99);
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, random.below(at as i64 + 1) as usize);
        }
        let numbers = device_numbers(&expected);
        assert_eq!(device_numbers(&of(&shuffled)), numbers, "shuffled");
        assert_eq!(of(&shuffled).operators, expected.operators);
        assert_eq!(device_numbers(&explained(&document(&events, 3_000_000))), numbers, "moved");
        let without = |categories: &[&str]| -> Vec<Event> {
            events.iter().filter(|event| !categories.contains(&event.category)).cloned().collect()
        };
        assert_eq!(device_numbers(&of(&without(&["gpu_user_annotation"]))), numbers, "without annotations");
        assert_eq!(device_numbers(&of(&without(&["python_function", "cpu_op"]))), numbers, "without the host");
    }
}

#[test]
fn kernels_of_the_step_before_are_in_the_lead_alone() {
    let events = steps(3, 4);
    let expected = of(&events);
    let mut more = events.clone();
    let backlog = events.iter().find(|event| event.name == "backlog_gemm").expect("a backlog").clone();
    for at in 0..5 {
        let mut kernel = Event { start: 1_000 + at * 1_500, duration: Some(1_400), ..backlog.clone() };
        kernel.args.retain(|(key, _)| *key != "correlation");
        kernel.args.push(("correlation", (9_000_000 + at).to_string()));
        more.push(kernel);
    }
    let mut found = of(&more);
    assert_eq!(found.lead.kernels, expected.lead.kernels + 5);
    assert_eq!(found.unlaunched.kernels, expected.unlaunched.kernels + 5);
    found.lead = expected.lead.clone();
    found.unlaunched = expected.unlaunched.clone();
    assert_eq!(device_numbers(&found), device_numbers(&expected));
}

#[test]
fn a_copy_of_a_step_is_one_more_step() {
    let events = steps(5, 1);
    let first = of(&events);
    let later = |event: &Event| {
        let mut event = Event { start: event.start + 1_000_000_000, ..event.clone() };
        event.id = event.id.map(|id| id + 10_000);
        for (key, value) in &mut event.args {
            if *key == "correlation" {
                *value = (value.parse::<u64>().expect("a number") + 10_000).to_string();
            }
        }
        event.name = event.name.replace('#', "#1");
        event
    };
    let is_copied = |event: &&Event| event.name != "backlog_gemm" && !event.name.starts_with("main.py");
    let mut both = events.clone();
    both.extend(events.iter().filter(is_copied).map(later));
    let both = of(&both);
    assert_eq!(both.step_count, 2);
    let rows = |one: &OneTrace, device: &str| -> Vec<perfdb_tracediff::StepRow> {
        one.steps.iter().filter(|step| step.device == device).cloned().collect()
    };
    for device in ["0", "1"] {
        let (one, two) = (rows(&first, device), rows(&both, device));
        assert_eq!((one.len(), two.len()), (1, 2));
        // The window of the last step ends with its last event, as it does alone. What is left of the backlog runs in the first.
        assert_eq!(two[1].elapsed_ms, one[0].elapsed_ms, "device {device}");
        assert_eq!((two[1].kernels, two[1].copies), (one[0].kernels, one[0].copies));
    }
}

#[test]
fn without_launches_annotations_of_the_device_are_the_steps() {
    let events = steps(6, 3);
    let without = |categories: &[&str]| -> Vec<Event> {
        events.iter().filter(|event| !categories.contains(&event.category)).cloned().collect()
    };
    let value = |one: &OneTrace| serde_json::to_value(one.boundaries).expect("a word");
    let one = of(&without(&["cuda_runtime", "ac2g"]));
    assert_eq!(value(&one), "device_annotation");
    assert_eq!(one.unlaunched.kernels, one.kernel_count + one.lead.kernels);
    let one = of(&without(&["cuda_runtime", "ac2g", "gpu_user_annotation"]));
    assert_eq!(value(&one), "time");
    let one = of(&without(&["cuda_runtime", "ac2g", "gpu_user_annotation", "user_annotation"]));
    assert_eq!((value(&one), one.step_count), (Value::from("whole"), 0));
}

#[test]
fn either_side_of_a_trace_against_itself_is_that_trace_alone() {
    let shipped = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/gpu-traces").join(name);
        std::fs::read_to_string(path).expect("a trace")
    };
    let texts = ["h100.json", "mi300x.json"].map(shipped);
    for text in texts.into_iter().chain((0..4).map(|seed| document(&steps(seed, 4), EPOCH))) {
        let one = explained(&text);
        let reader = std::io::Cursor::new(text);
        let trace = Trace::from_reader("t.json", reader, &LoadOptions::default()).expect("a trace");
        let analysis = analyse(&trace, &trace, &AnalysisOptions::default()).expect("an analysis");
        let Document::Plain(plain) = analysis.document else { panic!("another document") };
        let elapsed = plain.details.elapsed.expect("elapsed times").elapsed;
        assert!(one.step_count > 0 && one.elapsed_ms > 0.0);
        let parts = |parts: &PartsMs, devices: u64| {
            let PartsMs { compute_ms, exposed_communication_ms, exposed_copies_ms, host_late_ms, device_idle_ms } =
                *parts;
            [compute_ms, exposed_communication_ms, exposed_copies_ms, host_late_ms, device_idle_ms]
                .map(|ms| ps(ms * devices as f64))
        };
        let mut lengths: Vec<i64> = one.steps.iter().map(|step| ps(step.elapsed_ms)).collect();
        lengths.sort_unstable();
        for side in [&elapsed.trace1, &elapsed.trace2] {
            assert_eq!((side.passes, side.boundaries), (one.step_count, one.boundaries));
            assert_eq!(ps(side.elapsed_ms * one.devices as f64), ps(one.elapsed_ms));
            assert_eq!(parts(&side.parts_ms, one.devices), parts(&one.parts_ms, 1));
            assert_eq!(side.lead_kernels, one.lead.kernels);
            let mut windows: Vec<i64> = side.windows.iter().map(|window| ps(window.elapsed_ms)).collect();
            windows.sort_unstable();
            assert_eq!(windows, lengths);
        }
    }
}

#[test]
fn steps_of_old_profilers_are_taken_where_they_are_asked_for() {
    let events = r#"[
        {"ph": "X", "cat": "Operator", "name": "ProfilerStep#7", "pid": 1, "tid": 1, "ts": 0, "dur": 10},
        {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 1, "args": {"correlation": 5}},
        {"ph": "X", "cat": "Kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 9, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 5}}]"#;
    let load = |steps: Option<&str>| {
        let options = LoadOptions { alone: true, steps: steps.map(str::to_owned), ..LoadOptions::default() };
        Trace::from_reader("t.json", std::io::Cursor::new(events), &options).expect("a trace")
    };
    let count = |trace: &Trace| explain(trace, &Selection::default()).expect("a report").step_count;
    let (whole, steps) = (load(None), load(Some("^ProfilerStep#")));
    assert_eq!((count(&whole), count(&steps)), (0, 1));
    assert!(whole.notes()[0].contains("--steps '^ProfilerStep#'") && steps.notes().is_empty(), "{:?}", whole.notes());
}
