//! Chrome traces: every way of reading the same bytes gives the same events or the same error, and agrees with a whole-document reader.

use crate::properties::trickle::Trickle;
use perfdb_pycompat::value::Value;
use perfdb_trace::chrome::{Args, Event, Field, Item, Part, ReadError, ReadOptions, Reader, read_ordered};
use perfdb_trace::json;
use perfdb_trace::source::Source;
use std::convert::Infallible;

pub(crate) const WORDS: &[&str] = &[
    "{\"traceEvents\":[",
    "\"traceEvents\"",
    "\"ph\":\"X\"",
    "\"args\":{",
    "\"op\":\"aten.mm.default\"",
    "\"dur\":1e400",
    "\"ts\":-0.0",
    "NaN",
    "-Infinity",
    "\\ud83d",
    "\\u0000",
    "\u{feff}",
    "]}",
    "[[[[",
    "\"id\":18446744073709551616",
    ",",
    "\"name\"",
    "null",
];

/// The first two bytes of gzip, which has a property of its own.
const GZIP: &[u8] = &[0x1f, 0x8b];

pub(crate) fn check(bytes: &[u8]) {
    if bytes.starts_with(GZIP) {
        return;
    }
    for preset in [ReadOptions::simulator(), ReadOptions::profiler()] {
        let options = preset.args(["op", "Input Dims", "stream"]).all_members().with_forms();
        let whole = one_by_one(Source::from_bytes("trace.json", bytes), &options);
        let piecewise = one_by_one(Source::from_reader("trace.json", Trickle::new(bytes, 7)), &options);
        assert_eq!(whole, piecewise, "whole and in pieces");
        let ordered = in_order(Source::from_bytes("trace.json", bytes), &options);
        assert_eq!(whole, ordered, "event by event and in order");
    }
    agrees_with_documents(bytes);
}

/// What a trace comes to: its events and members as text, or the error.
type Read = Result<Vec<String>, String>;

fn shown(event: &Event<'_>) -> String {
    let args = match event.args() {
        Args::Absent => "absent",
        Args::Object => "object",
        Args::Other(_) => "other",
    };
    let number = |number: Option<perfdb_trace::scan::Number<'_>>| number.map(|number| number.text().to_owned());
    format!(
        "{}@{} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {} {args} {:?}",
        event.index(),
        event.offset(),
        event.name(),
        event.category(),
        number(event.timestamp()),
        number(event.duration()),
        event.text_arg(0),
        number(event.number_arg(2)),
        event.arg(1).map(|value| value.to_value()),
        event.has_phase("X"),
        event.field(Field::Id).map(|value| value.is_truthy()),
    ) + &String::from_utf8_lossy(event.raw())
}

fn one_by_one(source: Result<Source, perfdb_trace::Error>, options: &ReadOptions) -> Read {
    let mut source = source.map_err(|error| error.to_string())?;
    let mut reader = Reader::new(&mut source, options);
    let (mut events, mut members) = (Vec::new(), Vec::new());
    loop {
        match reader.next_item().map_err(|error| error.to_string())? {
            Some(Item::Event(event)) => events.push(shown(&event)),
            Some(Item::Restart) => events.clear(),
            Some(Item::Member { name, value }) => members.push(format!("{:?} {:?}", name.decode(), value.to_value())),
            None => break,
        }
    }
    events.extend(members);
    Ok(events)
}

fn in_order(source: Result<Source, perfdb_trace::Error>, options: &ReadOptions) -> Read {
    let mut source = source.map_err(|error| error.to_string())?;
    let (mut events, mut members) = (Vec::new(), Vec::new());
    let map = |events: &mut Vec<String>, event: &Event<'_>| -> Result<(), Infallible> {
        events.push(shown(event));
        Ok(())
    };
    let merge = |part: Part<'_, Vec<String>>| -> Result<(), Infallible> {
        match part {
            Part::Chunk(chunk) => events.extend(chunk),
            Part::Restart => events.clear(),
            Part::Member { name, value } => members.push(format!("{:?} {:?}", name.decode(), value.to_value())),
        }
        Ok(())
    };
    match read_ordered(&mut source, options, 2, map, merge) {
        Ok(()) => {}
        Err(ReadError::Read(error)) => return Err(error.to_string()),
        Err(_) => unreachable!("nothing else fails here"),
    }
    events.extend(members);
    Ok(events)
}

/// The document reader takes what the trace reader takes, and what `serde_json` takes, with the same values.
fn agrees_with_documents(bytes: &[u8]) {
    let document = json::parse(bytes);
    let mut source = match Source::from_bytes("trace.json", bytes) {
        Ok(source) => source,
        // A pointer of Git LFS.
        Err(_) => return,
    };
    let options = ReadOptions::simulator();
    let mut reader = Reader::new(&mut source, &options);
    let mut count = 0;
    let read = loop {
        match reader.next_item() {
            Ok(Some(Item::Event(_))) => count += 1,
            Ok(Some(Item::Restart)) => count = 0,
            Ok(Some(Item::Member { .. })) => {}
            Ok(None) => break Ok(()),
            Err(error) => break Err(error.to_string()),
        }
    };
    if read.is_ok() {
        assert!(
            !matches!(document, Err(json::Error::Malformed { .. })),
            "a trace, and no document: {:?}",
            document.as_ref().err()
        );
    }
    if let Ok(Value::Dict(members)) = &document
        && let Some(Value::List(events)) = members.get("traceEvents")
        && events.iter().all(|event| matches!(event, Value::Dict(_)))
    {
        assert_eq!(read, Ok(()), "a document with events, and no trace");
        assert_eq!(count, events.len(), "events");
    }
    if let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) {
        let document = document.unwrap_or_else(|error| panic!("JSON that is none: {error}"));
        assert!(is_same(&value, &document), "{value} and {}", document.repr());
    }
}

/// Whether two readers mean the same value. `serde_json` has integers up to 64 bits, others are doubles.
fn is_same(value: &serde_json::Value, other: &Value) -> bool {
    use serde_json::Value as Json;
    match (value, other) {
        (Json::Null, Value::None) => true,
        (Json::Bool(one), Value::Bool(two)) => one == two,
        (Json::Number(one), Value::Int(two)) if one.is_i64() => one.as_i64() == Some(*two),
        (Json::Number(one), two) => one.as_f64() == two.as_double(),
        (Json::String(one), Value::Text(two)) => one == two,
        (Json::Array(one), Value::List(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_same(one, two))
        }
        (Json::Object(one), Value::Dict(two)) => {
            one.len() == two.len() && one.iter().all(|(key, one)| two.get(key).is_some_and(|two| is_same(one, two)))
        }
        _ => false,
    }
}
