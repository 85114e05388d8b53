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
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
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
