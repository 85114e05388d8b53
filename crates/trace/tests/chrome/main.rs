//! The chrome reader: both ways of reading, all ways of getting bytes, faults and their places.
#![allow(clippy::unwrap_used)]

mod chunks;
mod sources;

use flate2::Compression;
use flate2::write::GzEncoder;
use perfdb_trace::chrome::{Args, Event, Field, Item, Part, ReadError, ReadOptions, Reader, read_ordered};
use perfdb_trace::source::Source;
use std::convert::Infallible;
use std::io::{Read, Write};

const WANTED: [&str; 3] = ["source", "kernel_type", "External id"];

/// What a caller can see of an event.
fn seen(event: &Event<'_>) -> String {
    let fields = [
        event.field(Field::Name),
        event.field(Field::Category),
        event.field(Field::Phase),
        event.field(Field::Timestamp),
        event.field(Field::Duration),
        event.process(),
        event.thread(),
        event.id(),
        event.arg(0),
        event.arg(1),
        event.arg(2),
    ];
    let fields = fields.map(|field| field.map(|value| value.to_value().map(|value| value.repr())));
    let args = match event.args() {
        Args::Absent => "absent".to_owned(),
        Args::Object => "object".to_owned(),
        Args::Other(value) => value.to_value().unwrap().repr(),
    };
    format!("{} {fields:?} {args}", event.offset())
}

fn pull(mut source: Source, options: &ReadOptions) -> Result<Vec<String>, String> {
    let options = options.clone().args(WANTED);
    let mut reader = Reader::new(&mut source, &options);
    let mut found = Vec::new();
    while let Some(item) = reader.next_item().map_err(|error| error.to_string())? {
        match item {
            Item::Event(event) => found.push(seen(&event)),
            Item::Restart => found.clear(),
            Item::Member { name, value } => found.push(format!("{} = {:?}", name.decode_lossy(), value.to_value())),
        }
    }
    Ok(found)
}

fn ordered(mut source: Source, options: &ReadOptions, threads: usize) -> Result<Vec<String>, String> {
    let options = options.clone().args(WANTED);
    let mut found = Vec::new();
    let result = read_ordered(
        &mut source,
        &options,
        threads,
        |chunk: &mut Vec<String>, event| {
            chunk.push(seen(event));
            Ok::<(), String>(())
        },
        |part| {
            match part {
                Part::Chunk(chunk) => found.extend(chunk),
                Part::Restart => found.clear(),
                Part::Member { name, value } => found.push(format!("{} = {:?}", name.decode_lossy(), value.to_value())),
            }
            Ok::<(), Infallible>(())
        },
    );
    result.map(|()| found).map_err(|error| error.to_string())
}

/// A stream that gives its bytes in pieces of a few bytes.
struct Trickle {
    bytes: Vec<u8>,
    at: usize,
    piece: usize,
}

impl Read for Trickle {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.piece.min(out.len()).min(self.bytes.len() - self.at);
        out[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

fn memory(text: &[u8]) -> Source {
    Source::from_bytes("t.json", text).unwrap()
}

fn stream(text: &[u8]) -> Source {
    Source::from_reader(
        "t.json",
        Trickle { bytes: text.to_vec(), at: 0, piece: if text.len() < 10_000 { 7 } else { 4093 } },
    )
    .unwrap()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// All ways of reading; they must agree.
fn read(text: &[u8], options: &ReadOptions) -> Result<Vec<String>, String> {
    let first = pull(memory(text), options);
    for (way, other) in [
        ("stream", pull(stream(text), options)),
        ("gzip", pull(Source::from_bytes("t.json", gzip(text)).unwrap(), options)),
        ("one thread", ordered(memory(text), options, 1)),
        ("three threads", ordered(memory(text), options, 3)),
        ("ordered stream", ordered(stream(text), options, 3)),
    ] {
        assert_eq!(first, other, "{way}");
    }
    first
}

fn simulator(text: &str) -> Result<Vec<String>, String> {
    read(text.as_bytes(), &ReadOptions::simulator())
}

fn fault(text: &str) -> String {
    simulator(text).unwrap_err()
}

#[test]
fn fields_and_wanted_args() {
    let found = simulator(
        r#"{"a": [1, {"traceEvents": 2}], "traceEvents": [ {"name": "n", "ph": "X", "dur": 1.50, "args": {"x": {"source": 1}, "source": "S"}} ,
        {"name": 1, "name": 2, "args": {"source": 1}, "args": {"kernel_type": []}}, {"\u0070h": "M", "args": null}, {}]}"#,
    )
    .unwrap();
    assert_eq!(found.len(), 4);
    assert!(
        found[0].contains("'n'")
            && found[0].contains("\"1.5\"")
            && found[0].contains("'S'")
            && found[0].ends_with("object")
    );
    assert!(found[1].contains("\"2\"") && found[1].contains("\"[]\"") && !found[1].contains("\"1\""), "{}", found[1]);
    assert!(found[2].contains("'M'") && found[2].ends_with("None"));
    assert!(found[3].ends_with("absent"));
}

#[test]
fn no_events() {
    for text in ["{}", " { } ", r#"{"traceEvents": []}"#, r#"{"x": 1, "traceEvents": [ ] , "y": {}}"#] {
        assert_eq!(simulator(text), Ok(vec![]), "{text}");
    }
}

#[test]
fn last_trace_events_wins() {
    let found =
        simulator(r#"{"traceEvents": [{"ph": "A"}, {"ph": "B"}], "x": 1, "traceEvents": [{"ph": "C"}]}"#).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("'C'"));
    // Faults of an earlier one count no more, as long as it is JSON.
    for earlier in ["[1, 2]", "5", "{}", r#"[{"ph": "A"}, []]"#] {
        let text = format!(r#"{{"traceEvents": {earlier}, "traceEvents": [{{}}]}}"#);
        assert_eq!(simulator(&text).map(|found| found.len()), Ok(1), "{text}");
    }
    assert_eq!(
        fault(r#"{"traceEvents": [{}], "traceEvents": {}}"#),
        "t.json: traceEvents is not a list at byte 37 (line 1, column 38)"
    );
    assert!(fault(r#"{"traceEvents": [}, "traceEvents": []}"#).contains("at byte 17 "));
}

#[test]
fn faults_and_their_locations() {
    let cases = [
        ("", "JSON ends too early at byte 0 (line 1, column 1)"),
        ("[]", "the top level is not an object at byte 0 (line 1, column 1)"),
        ("\n 5", "the top level is not an object at byte 2 (line 2, column 2)"),
        ("\u{feff}{}", "a byte order mark stands before the JSON value at byte 0 (line 1, column 1)"),
        ("{} x", "something follows the end of the JSON value at byte 3 (line 1, column 4)"),
        (r#"{"traceEvents": 1}"#, "traceEvents is not a list at byte 16 (line 1, column 17)"),
        (r#"{"traceEvents": [{}, 7]}"#, "not an object (event 1) at byte 21 (line 1, column 22)"),
        (r#"{"traceEvents": [{}, {"a": 01}]}"#, "malformed number (event 1) at byte 27 (line 1, column 28)"),
        (
            "{\"traceEvents\": [{},\n{\"a\": \"é\t\"}]}",
            "a control character stands unescaped in a text (event 1) at byte 30 (line 2, column 9)",
        ),
        (r#"{"traceEvents": [{"a": 1}"#, "JSON ends too early (event 1) at byte 25 (line 1, column 26)"),
        (r#"{"traceEvents": [{"a": 1"#, "JSON ends too early (event 0) at byte 24 (line 1, column 25)"),
        (r#"{"traceEvents": [{"a": 1},]}"#, "a JSON value is expected (event 1) at byte 26 (line 1, column 27)"),
        (r#"{"traceEvents": [{"a": 1} {}]}"#, "a ',' or ']' is expected (event 1) at byte 26 (line 1, column 27)"),
        (r#"{"traceEvents": [{"a" 1}]}"#, "a ':' is expected behind the key (event 0) at byte 22 (line 1, column 23)"),
        (r#"{"traceEvents": [], "x": tru}"#, "a JSON value is expected at byte 25 (line 1, column 26)"),
        (r#"{"x": "\q"}"#, "malformed escape in a text at byte 7 (line 1, column 8)"),
    ];
    for (text, message) in cases {
        assert_eq!(fault(text), format!("t.json: {message}"), "{text}");
    }
}

#[test]
fn bad_utf8() {
    let text =
        b"{\"x\": \"\xff\", \"traceEvents\": [{\"name\": \"a\xe2\x82b\", \"args\": {\"source\": \"\\ud800z\"}}]}";
    let message = read(text, &ReadOptions::simulator()).unwrap_err();
    assert_eq!(message, "t.json: bytes that are not UTF-8 at byte 7 (line 1, column 8)");
    let found = read(text, &ReadOptions::profiler()).unwrap();
    assert!(found[0].contains("a\u{fffd}b") && found[0].contains("\u{fffd}z"), "{}", found[0]);
    let found = read(br#"{"traceEvents": [{"name": "\ud800"}]}"#, &ReadOptions::simulator()).unwrap();
    assert!(found[0].contains("Err(HalfPair)"));
}

#[test]
fn bare_lists_are_for_profilers() {
    let text = br#" [{"ph": "X"}, {"ph": "M"}] "#;
    assert_eq!(read(text, &ReadOptions::profiler()).unwrap().len(), 2);
    assert!(read(b"[] 1", &ReadOptions::profiler()).is_err());
    assert!(read(text, &ReadOptions::simulator()).is_err());
}

#[test]
fn members() {
    let text = br#"{"a": 1, "traceEvents": [{}], "b": [2, "x"], "a": {"c": null}}"#;
    let found = read(text, &ReadOptions::profiler().members(["a"])).unwrap();
    assert_eq!(found.len(), 3);
    assert!(found[0].starts_with("a = Ok(Int(1))") && found[2].starts_with("a = Ok(Dict("));
    assert_eq!(read(text, &ReadOptions::profiler().all_members()).unwrap().len(), 4);
}

#[test]
fn deep_nesting() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let event =
        |levels| format!(r#"{{"traceEvents": [{{"x": {0}, "args": {{"source": {0}}}}}], "y": {0}}}"#, nested(levels));
    assert!(simulator(&event(900)).is_ok());
    assert!(fault(&event(1100)).contains("nested too deep (event 0)"));
    assert!(simulator(&format!(r#"{{"y": {}}}"#, nested(100_000))).is_err());
}

#[test]
fn an_error_of_the_caller_waits_for_the_end() {
    let refuse = |text: &str, threads| {
        let mut source = memory(text.as_bytes());
        read_ordered(
            &mut source,
            &ReadOptions::simulator(),
            threads,
            |_: &mut (), event| if event.has_phase("bad") { Err("bad phase") } else { Ok(()) },
            |_| Ok(()),
        )
        .map_err(|error: ReadError<&str, Infallible>| error.to_string())
    };
    let bad = r#"{"traceEvents": [{}, {"ph": "bad"}, 5]"#;
    assert_eq!(
        refuse(&format!("{bad}}}"), 2).unwrap_err(),
        "t.json: bad phase (event 1) at byte 21 (line 1, column 22)"
    );
    assert_eq!(refuse(&format!("{bad}, \"traceEvents\": []}}"), 2), Ok(()));
    // What is no JSON comes first.
    assert!(refuse(bad, 1).unwrap_err().contains("ends too early"));
}

#[test]
fn typed_fields() {
    let text =
        r#"[{"name": "a\u00e9\ud800", "cat": 5, "ts": 1.5, "dur": "x", "args": {"source": "S", "kernel_type": 7}}]"#;
    let mut source = memory(text.as_bytes());
    let options = ReadOptions::profiler().args(WANTED);
    let mut reader = Reader::new(&mut source, &options);
    let Some(Item::Event(event)) = reader.next_item().unwrap() else { panic!("an event") };
    assert_eq!(event.name().as_deref(), Some("a\u{e9}\u{fffd}"));
    assert_eq!((event.category(), event.field(Field::Category).is_some()), (None, true));
    assert_eq!(event.timestamp().map(|start| start.to_f64()), Some(1.5));
    assert!(event.duration().is_none() && event.field(Field::Duration).is_some());
    assert_eq!((event.text_arg(0).as_deref(), event.text_arg(1)), (Some("S"), None));
    assert_eq!(
        (event.number_arg(1).and_then(|number| number.to_i64()), event.number_arg(0).is_none()),
        (Some(7), true)
    );
    assert!(event.text_arg(2).is_none() && event.text_arg(9).is_none());
}
