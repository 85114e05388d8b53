//! What viewers need, asked of our own reader of traces.
#![allow(clippy::unwrap_used)]

use perfdb_trace::chrome::{Field, Item, ReadOptions, Reader};
use perfdb_trace::scan::Value;
use perfdb_trace::source::Source;
use perfdb_trace::timeline::{Agreement, Call, Side, Target, Timeline, Window};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

type Calls = Vec<(i64, i64, u32)>;

/// A slice as it is read again: process, thread, start and end in nanoseconds, name.
type Slice = (i64, i64, i64, i64, String);

fn written(windows: &[(Calls, Calls)]) -> Vec<u8> {
    let mut timeline = Timeline::new(Vec::new(), &["one", "other"], "one - other").unwrap();
    for (number, (one, other)) in windows.iter().enumerate() {
        let side = |calls: &Calls| {
            let call = |&(start_ps, duration_ps, work): &(i64, i64, u32)| Call {
                name: if work == 0 { "a \"quoted\"\\ name\u{1}" } else { "MatMul" },
                shape: "16,512",
                family: "matmul",
                cause: "time",
                lost_ps: Some(duration_ps),
                start_ps,
                duration_ps,
                work,
                agreement: Agreement::Off,
            };
            let until_ps = calls.iter().map(|(start, duration, _)| start + duration).max().unwrap_or(0);
            Side { calls: calls.iter().map(call).collect(), until_ps }
        };
        let name = format!("layer {number}");
        timeline.add(&Window { name: &name, sides: vec![side(one), side(other)] }).unwrap();
    }
    timeline.finish().unwrap()
}

/// Reads a trace with the reader of the tools: the slices, and the ends of arrows by their number.
fn read(trace: &[u8]) -> (Vec<Slice>, BTreeMap<i64, Vec<String>>) {
    let folder =
        std::env::temp_dir().join(format!("perfdb-trace-{}-{:?}", std::process::id(), std::thread::current().id()));
    std::fs::write(&folder, trace).unwrap();
    let mut source = Source::open(&folder).unwrap();
    let options = ReadOptions::simulator();
    let mut reader = Reader::new(&mut source, &options);
    let (mut slices, mut last_us) = (Vec::new(), 0.0);
    while let Some(item) = reader.next_item().unwrap() {
        let Item::Event(event) = item else { continue };
        let number = |field| match event.field(field) {
            Some(Value::Number(number)) => number.to_f64(),
            _ => f64::NAN,
        };
        let start_us = number(Field::Timestamp);
        if event.has_phase("M") {
            continue;
        }
        assert!(start_us >= last_us, "{start_us} after {last_us}");
        last_us = start_us;
        if event.has_phase("X") {
            let ns = |us: f64| (us * 1000.0).round() as i64;
            let (start, duration) = (ns(start_us), ns(number(Field::Duration)));
            let name = event.name().unwrap().into_owned();
            let [process, thread] = [Field::Process, Field::Thread].map(|field| number(field) as i64);
            slices.push((process, thread, start, start + duration, name));
        }
    }
    std::fs::remove_file(&folder).unwrap();
    let document: serde_json::Value = serde_json::from_slice(trace).unwrap();
    let mut arrows: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for event in document["traceEvents"].as_array().unwrap() {
        if let (Some(id), Some(phase)) = (event["id"].as_i64(), event["ph"].as_str()) {
            arrows.entry(id).or_default().push(phase.to_owned());
        }
    }
    (slices, arrows)
}

/// On each thread, slices lie inside each other or apart.
fn assert_nested(slices: &[Slice]) {
    let mut open: BTreeMap<(i64, i64), Vec<i64>> = BTreeMap::new();
    for (process, thread, start, end, name) in slices {
        let ends = open.entry((*process, *thread)).or_default();
        while ends.last().is_some_and(|last| last <= start) {
            ends.pop();
        }
        assert!(ends.last().is_none_or(|last| end <= last), "{name} {start}..{end} is beyond {ends:?}");
        ends.push(*end);
    }
}

fn calls() -> impl Strategy<Value = Calls> {
    prop::collection::vec((0i64..40_000, 0i64..9_000, 0u32..4), 0..20).prop_map(|mut calls| {
        calls.sort_unstable();
        calls
    })
}

proptest! {
    #[test]
    fn traces_are_ordered_nested_and_whole(windows in prop::collection::vec((calls(), calls()), 0..4)) {
        let (slices, arrows) = read(&written(&windows));
        assert_nested(&slices);
        let kernels = slices.iter().filter(|slice| !slice.4.starts_with("layer")).count();
        prop_assert_eq!(kernels, windows.iter().map(|(one, other)| one.len() + other.len()).sum::<usize>());
        for ends in arrows.values() {
            prop_assert_eq!(ends, &["s", "f"]);
        }
    }
}

#[test]
fn the_same_work_is_joined_and_the_counter_runs() {
    let calls = |starts: [i64; 2], duration_ps: i64| starts.map(|start| (start, duration_ps, 1)).to_vec();
    let windows = [(calls([0, 9_000_000], 5_000_000), calls([0, 8_000_000], 7_000_000))];
    let trace = written(&windows);
    let (slices, arrows) = read(&trace);
    assert_eq!((slices.len(), arrows.len()), (6, 2));
    let document: serde_json::Value = serde_json::from_slice(&trace).unwrap();
    let counters: Vec<f64> =
        document["traceEvents"].as_array().unwrap().iter().filter_map(|event| event["args"]["us"].as_f64()).collect();
    assert_eq!(counters, [-2.0, -9.0, -4.0]);
}

#[test]
fn a_name_that_ends_in_gz_compresses() {
    let write = |name: &str| {
        let mut target = Target::of_name(Path::new(name), Vec::new());
        std::io::Write::write_all(&mut target, b"{}").unwrap();
        target.finish().unwrap()
    };
    assert_eq!(write("a.json"), b"{}");
    assert_eq!(write("a.json.gz")[..2], [0x1f, 0x8b]);
    assert_eq!(write("a.json.gz"), write("b.GZ"));
}
