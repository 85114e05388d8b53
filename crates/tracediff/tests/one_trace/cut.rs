//! A step cut out of a trace gives what the step gives in the whole, and nothing is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perfdb_trace::cut::{Counts, Cut, Piece, Spans};
use perfdb_tracediff::{LoadOptions, OneTrace, Selection, Trace, explain, piece};
use serde_json::Value;

use super::input::{document, steps};

/// The events of a document, as they are in it.
fn events(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with("{\"ph\""));
    lines.map(|line| line.trim_end_matches(',').to_owned()).collect()
}

fn open(path: &Path) -> Trace {
    let options = LoadOptions { alone: true, ..LoadOptions::default() };
    Trace::open(path, &options).expect("a trace")
}

fn report(trace: &Trace, rows: Option<Vec<usize>>) -> OneTrace {
    explain(trace, &Selection { rows, ..Selection::default() }).expect("a report")
}

/// The codes of the trace check.
fn codes(path: &Path) -> BTreeSet<&'static str> {
    let report = perfdb_doctor::check(path, &perfdb_doctor::Options::default()).expect("a report");
    report.findings.iter().map(|finding| finding.code.name()).collect()
}

struct Pieces {
    folder: tempfile::TempDir,
    whole: String,
    counts: Counts,
}

impl Pieces {
    fn new(whole: String, piece: impl FnOnce(&Path) -> Piece) -> Pieces {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("whole.json");
        std::fs::write(&path, &whole).expect("written");
        let (mut cut, mut rest) = (Vec::new(), Vec::new());
        let piece = piece(&path);
        let counts = Cut::new(&path, &piece).expect("read").write(&mut cut, Some(&mut rest)).expect("cut");
        std::fs::write(folder.path().join("cut.json"), cut).expect("written");
        std::fs::write(folder.path().join("rest.json"), rest).expect("written");
        Pieces { folder, whole, counts }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn events(&self, name: &str) -> Vec<String> {
        events(&std::fs::read_to_string(self.path(name)).expect("text"))
    }

    /// Each event of the whole is in one of the two, byte for byte, and what is in both runs across an edge or goes with
    /// something that does.
    fn check(&self) {
        let (whole, cut, rest) = (events(&self.whole), self.events("cut.json"), self.events("rest.json"));
        let count = |events: &[String]| {
            let mut counts: BTreeMap<String, i64> = BTreeMap::new();
            events.iter().for_each(|event| *counts.entry(event.clone()).or_default() += 1);
            counts
        };
        let (of_cut, of_rest) = (count(&cut), count(&rest));
        let mut both = 0;
        for (event, times) in count(&whole) {
            let there = [&of_cut, &of_rest].map(|counts| counts.get(&event).copied().unwrap_or(0));
            assert!(there.contains(&times), "{event}: {there:?}");
            both += i64::from(there == [times, times]);
        }
        let known: BTreeSet<&String> = whole.iter().collect();
        assert!(cut.iter().chain(&rest).all(|event| known.contains(event)));
        assert_eq!((self.counts.piece, self.counts.rest), (cut.len() as u64, rest.len() as u64));
        assert!(both < whole.len() as i64 / 5, "{both} of {} are in both", whole.len());
        for name in ["cut.json", "rest.json"] {
            closed(&self.events(name));
            let mut new = codes(&self.path(name));
            new.retain(|code| !codes(&self.path("whole.json")).contains(code));
            // Numbers of steps have a hole where one was cut out.
            new.remove("STEP_MISSING");
            assert!(new.is_empty(), "{name}: {new:?}");
            let document: Value = serde_json::from_slice(&std::fs::read(self.path(name)).expect("read")).expect("JSON");
            assert_eq!(document["traceName"], "made up");
        }
    }
}

/// Arrows have both ends, and kernels their launch.
fn closed(events: &[String]) {
    let mut ends: BTreeMap<(String, u64), Vec<String>> = BTreeMap::new();
    let (mut launches, mut launched) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        let event: Value = serde_json::from_str(event).expect("JSON");
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        if let Some(id) = event["id"].as_u64() {
            ends.entry((text("cat"), id)).or_default().push(text("ph"));
        }
        let correlation = event["args"]["correlation"].as_u64();
        match text("cat").as_str() {
            "cuda_runtime" => launches.extend(correlation),
            "kernel" | "gpu_memcpy" if text("name") != "backlog_gemm" => launched.extend(correlation),
            _ => {}
        }
    }
    assert!(ends.values().all(|ends| ends.len() == 2), "{ends:?}");
    assert_eq!(launches, launched);
}

fn of_rows(rows: Vec<usize>) -> impl Fn(&Path) -> Piece {
    move |path| {
        let selection = Selection { rows: Some(rows.clone()), ..Selection::default() };
        // As cut-trace loads it: nothing but the windows.
        let options = LoadOptions { alone: true, windows: true, stacks: false, ..LoadOptions::default() };
        let trace = Trace::open(path, &options).expect("a trace");
        let piece = piece(&trace, &selection).expect("a piece").expect("steps");
        Piece { title: Some("steps".to_owned()), ..piece }
    }
}

/// What must be the same, steps in front.
fn numbers(one: &OneTrace) -> Value {
    let value = serde_json::to_value(one).expect("JSON");
    let keys =
        ["elapsed_ms", "parts_ms", "busy_ms", "unknown_launch_ms", "kernel_count", "kernel_ms", "copies", "steps"];
    let more = ["classes", "top_kernels", "operators", "without_operator_ms", "boundaries", "devices"];
    keys.into_iter()
        .chain(more)
        .map(|key| (key.to_owned(), value[key].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn a_cut_step_takes_the_time_that_it_takes_in_the_whole() {
    for seed in 0..6 {
        let whole = document(&steps(seed, 4), 1_700_000_000_000_000_000);
        let path = std::env::temp_dir().join(format!("perfdb-cut-{}-{seed}.json", std::process::id()));
        std::fs::write(&path, &whole).expect("written");
        let trace = open(&path);
        let all = report(&trace, None);
        assert_eq!((all.step_count, all.devices, all.steps.len()), (4, 2, 8));
        let of_step = |step: usize| vec![step, step + 4];
        for rows in [of_step(0), of_step(1), of_step(3), vec![0, 2, 4, 6], vec![1]] {
            let pieces = Pieces::new(whole.clone(), of_rows(rows.clone()));
            pieces.check();
            let cut = report(&open(&pieces.path("cut.json")), None);
            assert_eq!(numbers(&cut), numbers(&report(&trace, Some(rows.clone()))), "seed {seed}, rows {rows:?}");
        }
        std::fs::remove_file(&path).expect("removed");
    }
}

#[test]
fn a_span_of_time_and_the_rest_are_the_whole() {
    for seed in 0..4 {
        let whole = document(&steps(seed, 3), 0);
        let span =
            |from: i128, to: i128| move |_: &Path| Piece::of_time(Spans::new([(from * 1_000_000, to * 1_000_000)]));
        for (from, to) in [(500, 800), (0, 300), (900, 100_000)] {
            Pieces::new(whole.clone(), span(from, to)).check();
        }
    }
}

#[test]
fn stacks_are_left_out_of_the_piece_alone() {
    let whole = document(&steps(1, 3), 0);
    let without = |path: &Path| Piece { no_stacks: true, ..of_rows(vec![1, 4])(path) };
    let pieces = Pieces::new(whole, without);
    let frames = |name: &str| pieces.events(name).iter().filter(|event| event.contains("python_function")).count();
    assert_eq!(frames("cut.json"), 0);
    assert!(frames("rest.json") > 0 && pieces.counts.stacks > 0);
}

#[test]
fn the_last_list_of_events_counts_and_a_bare_list_is_cut_as_well() {
    let events: Vec<String> = steps(2, 2).iter().map(|event| event.text(0)).collect();
    let list = events.join(",\n");
    let twice =
        format!("{{\"traceEvents\": [{{\"ph\": \"X\", \"ts\": 1, \"dur\": 1}}], \"traceEvents\": [\n{list}\n]}}");
    let bare = format!("[\n{list}\n]");
    let cut_of = |text: String| Pieces::new(text, of_rows(vec![0, 2])).events("cut.json");
    let expected = cut_of(document(&steps(2, 2), 0));
    assert_eq!(cut_of(bare), expected);
    assert_eq!(cut_of(twice), expected);
}
