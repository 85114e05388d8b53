use crate::chrome::{Event, Field, Item, ReadOptions, Reader};
use crate::source::Source;
use proptest::prelude::*;

const FIELDS: [Field; 8] = [
    Field::Name,
    Field::Category,
    Field::Phase,
    Field::Timestamp,
    Field::Duration,
    Field::Process,
    Field::Thread,
    Field::Id,
];

/// All that is known of an event.
fn facts(event: &Event<'_>) -> String {
    let fields = FIELDS.map(|field| event.field(field));
    let args = (event.args(), event.arg(0), event.arg(1), event.args_number());
    let (form, raw) = (event.form(), event.raw());
    assert!(!form.is_ascii() || raw.is_ascii());
    format!("{fields:?} {args:?} {} {} {}", form.keys(), form.is_odd(), String::from_utf8_lossy(raw))
}

fn read(events: &str) -> Vec<String> {
    let mut source = Source::from_bytes("t.json", events).expect("in memory");
    let options = ReadOptions::profiler().args(["b", "a longer one"]).with_forms();
    let mut reader = Reader::new(&mut source, &options);
    let mut all = Vec::new();
    while let Some(item) = reader.next_item().expect("JSON") {
        if let Item::Event(event) = item {
            all.push(facts(&event));
        }
    }
    all
}

fn value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "1",
        "-20",
        "0.5",
        "1700000000000000.125",
        "1e3",
        "NaN",
        "null",
        "true",
        "\"\"",
        "\"text\"",
        "\"a \\\" \\u00e9\"",
        "\"some text of more than sixteen bytes\"",
        "\"é\"",
        "[\"é\"]",
        "[]",
        "[1, 2]",
        "[{}]",
        "{}",
        "{\"b\": 1}",
    ])
}

/// An object of members, with the spaces of one writer.
fn object(keys: &'static [&'static str], member: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let spaces = prop::sample::select(vec![["", "", ""], [" ", "", ""], [" ", "\n    ", "\n"], ["  ", " ", " "]]);
    let members = prop::collection::vec((prop::sample::select(keys), member), 0..4);
    (spaces, members).prop_map(|([colon, before, end], members)| {
        let members = members.iter().map(|(key, value)| format!("{before}\"{key}\":{colon}{value}"));
        format!("{{{}{end}}}", members.collect::<Vec<_>>().join(if colon == " " { ", " } else { "," }))
    })
}

fn event() -> impl Strategy<Value = String> {
    let plain = || value().prop_map(str::to_owned).boxed();
    let args = object(&["b", "c", "a longer one", "\\u0062"], plain());
    let keys = &["name", "ph", "ts", "args", "other", "a key that is too long for a gap: more than forty bytes"];
    object(keys, prop_oneof![plain(), args].boxed())
}

proptest! {
    #[test]
    fn events_of_known_layouts_are_those_taken_key_by_key(
        events in prop::collection::vec(event(), 1..8),
        // The longer ones are long enough for layouts to be of stretches.
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..200),
    ) {
        // Alone, an event is the first of its layout.
        let alone: Vec<String> = events.iter().flat_map(|event| read(&format!("[{event}]"))).collect();
        let order: Vec<usize> = order.iter().map(|index| index.index(events.len())).collect();
        let list: Vec<&str> = order.iter().map(|at| events[*at].as_str()).collect();
        let expected: Vec<&String> = order.iter().map(|at| &alone[*at]).collect();
        // Behind the last event stands what a gap is compared with.
        let found = read(&format!("[{}{}]", list.join(",\n"), " ".repeat(100)));
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_gap_fits_its_place_alone() {
    // Behind `"b": 1` stands a comma, behind `"b": "1"` its quote.
    let events = [r#"{"args": {"b": 1, "c": 2}}"#, r#"{"args": {"b": "1", "c": 2}}"#, r#"{"args": {"b": 1}, "c": 2}"#];
    let alone: Vec<String> = events.iter().flat_map(|event| read(&format!("[{event}]"))).collect();
    let twice = read(&format!("[{},{}{}]", events.join(","), events.join(","), " ".repeat(100)));
    assert_eq!(twice, [alone.clone(), alone].concat());
}

#[test]
fn values_that_stay_the_same_are_taken_with_the_gaps_around_them() {
    let event = |thread: usize, name: &str, ts: usize, b: &str| {
        format!(
            r#"{{"ph": "X", "name": "{name}", "tid": {thread}, "ts": {ts}.125, "args": {{"b": {b}, "kind": "Dispatch", "a longer one": 7}}}}"#
        )
    };
    // Threads, names and values change now and then, and once everything is as it was in other events.
    let mut events: Vec<String> = (0..60).map(|at| event(7, ["gemm", "add"][at % 2], 1000 + at, "1")).collect();
    events.extend((0..60).map(|at| event(7 + at % 3, "copy", 2000 + at, ["1", "2", "\"1\"", "[1, 2]"][at % 4])));
    events.extend((0..60).map(|at| event(7 + at % 30, "gemm", 3000, &at.to_string())));
    events.extend([event(7, "gemm", 9, "NaN"), event(7, "g\\u00e9mm", 9, "1"), event(70, "gémm", 9, "1")]);
    let alone: Vec<String> = events.iter().flat_map(|event| read(&format!("[{event}]"))).collect();
    let together = read(&format!("[{}{}]", events.join(",\n"), " ".repeat(100)));
    assert_eq!(together, alone);
}

#[test]
fn bad_json_is_no_event_of_a_known_layout() {
    let event = |ts: &str| format!(r#"{{"ph": "X", "tid": 7, "ts": {ts}, "args": {{"b": 1}}}}"#);
    let good: Vec<String> = (0..60).map(|at| event(&at.to_string())).collect();
    for (bad, is_good) in [("1.5", true), ("1.", false), ("01", false), ("1 2", false), ("", false), ("\"", false)] {
        let text = format!("[{},\n{}{}]", good.join(",\n"), event(bad), " ".repeat(100));
        let mut source = Source::from_bytes("t.json", text).expect("in memory");
        let options = ReadOptions::profiler().args(["b"]).with_forms();
        let mut reader = Reader::new(&mut source, &options);
        let read = std::iter::from_fn(|| reader.next_item().map(|item| item.map(drop)).transpose())
            .collect::<Result<Vec<_>, _>>();
        assert_eq!(read.is_ok(), is_good, "{bad}");
    }
}
