//! Planted truths: what was changed in a copy of a trace is reported, all of it, and nothing else is.
//!
//! Which kernels count is worked out here from the file alone: those whose launch lies in a step. What was launched before the first
//! step belongs to the step before and is in no sum, so a change of it shows nowhere.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use perfdb_tracediff::{AnalysisOptions, Document, LoadOptions, PlainDocument, Trace, analyse};
use serde_json::{Value, json};

/// Names of kernels that are made slower, those with most time.
const PLANTED: usize = 3;

fn testdata(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(file)
}

fn read(path: &Path) -> Vec<Value> {
    let mut bytes = std::fs::read(path).expect("a file");
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut text).expect("gzip");
        bytes = text;
    }
    let mut document: Value = serde_json::from_slice(&bytes).expect("JSON");
    let events = document["traceEvents"].take();
    let Value::Array(events) = events else { panic!("no events in {}", path.display()) };
    events
}

/// The traces of the repository, one of them also with a step whose launches were not recorded, and public ones where they are there.
fn traces() -> Vec<(String, Vec<Value>)> {
    let files = ["gpu-traces/h100.json", "gpu-traces/mi300x.json", "gpu-traces/shapes-h100.json", "ranks/rank0.json"];
    let mut found: Vec<(String, Vec<Value>)> =
        files.iter().map(|file| ((*file).to_owned(), read(&testdata(file)))).collect();
    found.push(("h100.json from its second step on".to_owned(), without_first_step(&found[0].1)));
    let data = std::env::var_os("PERFDB_GOLDEN_DATA").map(PathBuf::from);
    let data = data.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    for file in [
        "h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
        "mi300/Falconsai_nsfw_image_detection__1016002.json.gz",
        "more/dlrm_rank1.json.gz",
        "inference/sglang_Qwen3-8B_decode.json.gz",
    ] {
        let path = data.join("gpu-traces").join(file);
        if path.is_file() {
            found.push((file.to_owned(), read(&path)));
        }
    }
    found
}

fn text<'a>(event: &'a Value, key: &str) -> &'a str {
    event[key].as_str().unwrap_or_default()
}

fn number(event: &Value, key: &str) -> f64 {
    event[key].as_f64().unwrap_or_default()
}

fn is_kernel(event: &Value) -> bool {
    text(event, "cat") == "kernel"
}

fn is_step(event: &Value) -> bool {
    let starts = |start: &&str| text(event, "name").starts_with(start);
    text(event, "cat") == "user_annotation" && ["execute_", "step[", "ProfilerStep#"].iter().any(starts)
}

fn is_call(event: &Value) -> bool {
    ["cuda_runtime", "cuda_driver"].contains(&text(event, "cat"))
}

fn correlation(event: &Value) -> String {
    event["args"]["correlation"].to_string()
}

/// Start and end of an event on the host.
fn span(event: &Value) -> (f64, f64) {
    (number(event, "ts"), number(event, "ts") + number(event, "dur"))
}

/// As if the profiler had started behind the first step: its annotation and its launches are missing.
fn without_first_step(events: &[Value]) -> Vec<Value> {
    let steps = events.iter().filter(|event| is_step(event)).map(span);
    let first = steps.min_by(|a, b| a.0.total_cmp(&b.0)).expect("a step");
    let is_inside = |event: &Value| (first.0..=first.1).contains(&number(event, "ts"));
    let is_left_out = |event: &&Value| (is_step(event) || is_call(event)) && is_inside(event);
    events.iter().filter(|event| !is_left_out(event)).cloned().collect()
}

/// Which kernels are in the sums of steps.
struct Counted {
    steps: Vec<(f64, f64)>,
    launches: BTreeMap<String, f64>,
    /// When the first kernel of a step starts.
    first: f64,
}

impl Counted {
    fn of(events: &[Value]) -> Counted {
        let steps: Vec<(f64, f64)> = events.iter().filter(|event| is_step(event)).map(span).collect();
        let mut launches = BTreeMap::new();
        for call in events.iter().filter(|event| is_call(event)) {
            launches.entry(correlation(call)).or_insert_with(|| number(call, "ts"));
        }
        let mut counted = Counted { steps, launches, first: f64::NEG_INFINITY };
        let owned = events.iter().filter(|event| is_kernel(event) && counted.is_owned(event) == Some(true));
        counted.first = owned.map(|kernel| number(kernel, "ts")).fold(f64::INFINITY, f64::min);
        counted
    }

    /// Whether the launch of a kernel lies in a step; nothing where it is not known.
    fn is_owned(&self, kernel: &Value) -> Option<bool> {
        let launch = self.launches.get(&correlation(kernel))?;
        Some(self.steps.iter().any(|(start, end)| (start..=end).contains(&launch)))
    }

    fn lets(&self, kernel: &Value) -> bool {
        self.steps.is_empty() || self.is_owned(kernel).unwrap_or_else(|| number(kernel, "ts") >= self.first)
    }
}

/// Kernel names by their counted time, the longest first.
fn heaviest(events: &[Value], counted: &Counted) -> Vec<String> {
    let mut times: BTreeMap<&str, f64> = BTreeMap::new();
    for kernel in events.iter().filter(|event| is_kernel(event) && counted.lets(event)) {
        *times.entry(text(kernel, "name")).or_default() += number(kernel, "dur");
    }
    let mut names: Vec<(&str, f64)> = times.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    names.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// Every kernel of a name takes `factor` times as long; what follows comes that much later, if `moves`. Also the ms that this adds to
/// counted kernels.
fn planted(events: &[Value], counted: &Counted, name: &str, factor: f64, moves: bool) -> (Vec<Value>, f64) {
    let mut order: Vec<usize> = (0..events.len()).filter(|at| events[*at]["ts"].is_number()).collect();
    order.sort_by(|a, b| number(&events[*a], "ts").total_cmp(&number(&events[*b], "ts")));
    let mut changed = events.to_vec();
    let (mut later, mut added) = (0.0, 0.0);
    for at in order {
        let event = &events[at];
        if moves {
            changed[at]["ts"] = json!(number(event, "ts") + later);
        }
        if is_kernel(event) && text(event, "name") == name {
            let more = number(event, "dur") * (factor - 1.0);
            changed[at]["dur"] = json!(number(event, "dur") + more);
            later += more;
            if counted.lets(event) {
                added += more;
            }
        }
    }
    (changed, added / 1000.0)
}

fn trace(events: &[Value]) -> Trace {
    let text = json!({"traceEvents": events}).to_string();
    Trace::from_reader("t.json", Cursor::new(text), &LoadOptions::default()).expect("a trace")
}

fn compared(first: &[Value], second: &[Value]) -> PlainDocument {
    let options = AnalysisOptions { confidence: true, explain: true, ..AnalysisOptions::default() };
    let analysis = analyse(&trace(first), &trace(second), &options).expect("an analysis");
    let Document::Plain(document) = analysis.document else { panic!("another document") };
    *document
}

/// The operations that differ, with their differences.
fn differing(document: &PlainDocument) -> Vec<(&str, f64)> {
    let rows = document.comparison.operations.iter().map(|row| (row.operation.as_str(), row.difference_ms));
    rows.filter(|(_, difference)| difference.abs() > 1e-6).collect()
}

/// The operations with the verdict that they are slower or faster.
fn judged(document: &PlainDocument) -> Vec<(&str, &str)> {
    let rows = document.details.confidence.iter().flat_map(|confidence| &confidence.operations);
    let verdicts = rows.map(|row| (row.operation.as_str(), row.verdict.verdict));
    verdicts.filter(|(_, verdict)| ["slower", "faster"].contains(verdict)).collect()
}

fn ratio(document: &PlainDocument) -> f64 {
    document.details.elapsed.as_ref().and_then(|report| report.elapsed.ratio).expect("a ratio")
}

#[test]
fn nothing_planted_is_nothing_reported() {
    for (name, events) in traces() {
        let mut moved = events.clone();
        moved.iter_mut().filter(|event| event["ts"].is_number()).for_each(|event| {
            event["ts"] = json!(number(event, "ts") + 4_194_304.0);
        });
        let mut reversed = events.clone();
        reversed.reverse();
        let mut with_others = events.clone();
        let start = number(events.iter().find(|event| is_kernel(event)).expect("a kernel"), "ts");
        with_others.extend((0..500).map(|at| {
            json!({"ph": "X", "cat": "cpu_op", "name": "other::work", "pid": 999_999, "tid": 1, "ts": start + f64::from(at), "dur": 0.5})
        }));
        for (what, other) in [("moved", moved), ("reversed", reversed), ("beside another process", with_others)] {
            let document = compared(&events, &other);
            assert!((ratio(&document) - 1.0).abs() < 1e-9, "{name}, {what}: {}", ratio(&document));
            assert_eq!((differing(&document), judged(&document)), (vec![], vec![]), "{name}, {what}");
        }
    }
}

#[test]
fn a_kernel_that_is_planted_slower_is_reported_with_all_that_was_added() {
    for (name, events) in traces() {
        let counted = Counted::of(&events);
        for kernel in heaviest(&events, &counted).iter().take(PLANTED) {
            let (slower, added) = planted(&events, &counted, kernel, 1.3, true);
            let document = compared(&events, &slower);
            let found = differing(&document);
            assert_eq!(found.len(), 1, "{name}, {kernel}: {found:?}");
            let (operation, difference) = found[0];
            assert!((difference - added).abs() <= 0.002 * added, "{name}, {kernel}: {difference} ms of {added}");
            let others: Vec<_> = judged(&document).into_iter().filter(|(other, _)| *other != operation).collect();
            assert_eq!(others, [], "{name}, {kernel}");
        }
    }
}

#[test]
fn a_kernel_that_is_planted_faster_has_the_only_verdict() {
    for (name, events) in traces() {
        let counted = Counted::of(&events);
        let kernel = &heaviest(&events, &counted)[0];
        let (faster, _) = planted(&events, &counted, kernel, 0.7, false);
        let document = compared(&events, &faster);
        let found = differing(&document);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert!(found[0].1 < 0.0, "{name}: {found:?}");
        let wrong = |(operation, verdict): &(&str, &str)| *operation != found[0].0 || *verdict != "faster";
        assert_eq!(judged(&document).into_iter().find(wrong), None, "{name}");
    }
}

#[test]
fn everything_planted_slower_by_one_factor_is_slower_by_it_everywhere() {
    for (name, events) in traces() {
        let start = events.iter().filter(|event| event["ts"].is_number()).map(|event| number(event, "ts"));
        let start = start.fold(f64::INFINITY, f64::min);
        let mut slower = events.clone();
        for event in slower.iter_mut().filter(|event| event["ts"].is_number()) {
            event["ts"] = json!(start + (number(event, "ts") - start) * 1.1);
            if event["dur"].is_number() {
                event["dur"] = json!(number(event, "dur") * 1.1);
            }
        }
        let document = compared(&events, &slower);
        assert!((ratio(&document) - 1.1).abs() < 2e-4, "{name}: {}", ratio(&document));
        for row in &document.comparison.operations {
            let ratio = row.trace2_over_trace1.expect("a ratio");
            assert!((ratio - 1.1).abs() < 3e-3, "{name}, {}: {ratio}", row.operation);
        }
    }
}

#[test]
fn exchanged_traces_have_the_parts_of_their_difference_with_the_other_sign() {
    let [first, second] = ["gpu-traces/h100.json", "gpu-traces/mi300x.json"].map(|file| read(&testdata(file)));
    let parts = |one: &[Value], other: &[Value]| -> Vec<(String, i64)> {
        let difference = compared(one, other).details.explanation.and_then(|explanation| explanation.difference);
        let parts = difference.expect("a difference").parts;
        parts.named().iter().map(|(name, ms)| ((*name).to_owned(), (ms * 1e9).round() as i64)).collect()
    };
    let mirrored: Vec<(String, i64)> = parts(&second, &first).into_iter().map(|(name, ps)| (name, -ps)).collect();
    assert_eq!(parts(&first, &second), mirrored);
}
