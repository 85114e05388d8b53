//! The chrome reader: both ways of reading, all ways of getting bytes, faults and their places.
#![allow(clippy::unwrap_used)]

use flate2::Compression;
use flate2::write::GzEncoder;
use perfdb_trace::chrome::{Args, Event, Field, Item, Part, ReadError, ReadOptions, Reader, read_ordered};
use perfdb_trace::source::Source;
use perfdb_trace::{Error, json};
use proptest::prelude::*;
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
fn gzip_streams() {
    let text = br#"{"traceEvents": [{"name": "one"}, {"name": "two"}]}"#;
    let options = ReadOptions::simulator();
    let expected = pull(memory(text), &options);
    let whole = gzip(text);
    let members: Vec<u8> = text.chunks(9).flat_map(gzip).collect();
    let padded = [whole.clone(), vec![0; 1000]].concat();
    for bytes in [&whole, &members, &padded] {
        assert_eq!(pull(Source::from_bytes("t.json", bytes.as_slice()).unwrap(), &options), expected);
    }
    for cut in 2..whole.len() {
        let result = pull(Source::from_bytes("t.json", &whole[..cut]).unwrap(), &options);
        assert!(result.as_ref().is_err_and(|error| error.contains("gzip")), "{cut}: {result:?}");
    }
    // The message points to where the inflated text ends.
    let message = |bytes: &[u8]| pull(Source::from_bytes("t.json", bytes).unwrap(), &options).unwrap_err();
    let (head, tail) = text.split_at(40);
    let two = [gzip(head), gzip(tail)].concat();
    assert_eq!(
        message(&two[..gzip(head).len() + 10]),
        "t.json: the gzip stream breaks off (event 1) at byte 40 (line 1, column 41)"
    );
    assert_eq!(
        message(&[&whole, &b"x"[..]].concat()),
        "t.json: something follows the gzip stream at byte 51 (line 1, column 52)"
    );
    assert_eq!(message(&whole[..5]), "t.json: the gzip stream breaks off at byte 0 (line 1, column 1)");
    for garbage in [&b"x"[..], b"\x1f", b"\0\0x", b"\x1f\x8b"] {
        let bytes = [&whole, garbage].concat();
        assert!(pull(Source::from_bytes("t.json", bytes).unwrap(), &options).is_err(), "{garbage:?}");
    }
    let mut corrupt = whole.clone();
    let middle = corrupt.len() - 6;
    corrupt[middle] ^= 0xff;
    assert!(pull(Source::from_bytes("t.json", corrupt).unwrap(), &options).is_err());
    // No such block type.
    let corrupt = [&gzip(head)[..], &whole[..10], b"\xff\xff\xff\xff"].concat();
    assert_eq!(
        message(&corrupt),
        "t.json: broken gzip stream (corrupt deflate stream) (event 1) at byte 40 (line 1, column 41)"
    );
}

#[test]
fn files() {
    let folder = std::env::temp_dir().join(format!("perfdb-trace-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let options = ReadOptions::simulator();
    assert_eq!(pull(Source::open(file("plain", b"{}")).unwrap(), &options), Ok(vec![]));
    assert_eq!(pull(Source::open(file("packed", &gzip(b"{}"))).unwrap(), &options), Ok(vec![]));
    let empty = pull(Source::open(file("empty", b"")).unwrap(), &options).unwrap_err();
    assert!(empty.ends_with("JSON ends too early at byte 0 (line 1, column 1)"), "{empty}");
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n";
    for bytes in [&pointer[..], &gzip(pointer)] {
        assert!(matches!(Source::open(file("pointer", bytes)), Err(Error::LfsPointer { .. })));
    }
    assert!(Source::open(folder.join("none")).unwrap_err().is_missing());
    assert!(!Source::open(folder.join("plain/none")).unwrap_err().is_missing());
    let error = Source::open(&folder).unwrap_err();
    assert!(!error.is_missing() && error.to_string().contains("directory"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Traces of several chunks whose events have all kinds of shapes, some of which look like events inside others.
fn large_trace(seed: u64, events: usize) -> String {
    let mut text = String::from("{\"traceEvents\": [");
    let mut state = seed;
    for number in 0..events {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let kind = state >> 60;
        if number > 0 {
            text.push_str(if kind.is_multiple_of(3) { ",\n" } else { ", " });
        }
        let filler = "x".repeat((state >> 50) as usize % 700);
        text.push_str(&match kind {
            0 => format!(r#"{{"name": "a}}, {{\"name\": \"b", "dur": {number}}}"#),
            1 => format!(r#"{{"name": "n{number}", "args": {{"list": [{{"name": 1}}, {{"name": 2}}, {{"name": "{filler}"}}]}}}}"#),
            2 => r#"{"ph": "M"}"#.to_owned(),
            3..8 => format!(
                r#"{{"name": "op", "ph": "X", "dur": 12, "args": {{"Inputs": "{}", "source": "MEASURED", "kernel_type": "K{}", "durations": {}}}}}"#,
                "tensor(..., size=(1, 7168))".repeat(8),
                kind % 2,
                kind % 5
            ),
            _ => format!(
                r#"{{"name": "op{kind}", "ph": "X", "dur": {number}.5, "args": {{"Inputs": "{filler}", "source": "S{}", "External id": {number}}}}}"#,
                kind % 4
            ),
        });
    }
    text.push_str("]}");
    text
}

#[test]
fn many_chunks() {
    for seed in 0..2 {
        let text = large_trace(seed, 12_000);
        assert!(text.len() > 4 << 20);
        let found = simulator(&text).unwrap();
        assert_eq!(found.len(), 12_000);
        // What was seen is what a plain reading of the JSON gives.
        let value = json::parse(text.as_bytes()).unwrap().repr();
        assert_eq!(found.iter().filter(|event| event.contains("'K1'")).count(), value.matches("'K1'").count());
    }
}

#[test]
fn a_file_that_is_shortened_while_it_is_read_is_an_error() {
    let text = large_trace(3, 60_000);
    assert!(text.len() > 16 << 20);
    let file = tempfile::NamedTempFile::new().unwrap();
    let message = ": the file was shortened while it was read";
    for threads in [1, 3] {
        std::fs::write(file.path(), &text).unwrap();
        let mut source = Source::open(file.path()).unwrap();
        let result = read_ordered(
            &mut source,
            &ReadOptions::simulator(),
            threads,
            |_: &mut (), _| {
                file.as_file().set_len(100).unwrap();
                Ok::<(), Infallible>(())
            },
            |_| Ok::<(), Infallible>(()),
        );
        let error = result.unwrap_err().to_string();
        assert!(error.ends_with(message), "{threads}: {error}");
    }
    std::fs::write(file.path(), &text).unwrap();
    let mut source = Source::open(file.path()).unwrap();
    let options = ReadOptions::simulator();
    let mut reader = Reader::new(&mut source, &options);
    assert!(reader.next_item().unwrap().is_some());
    file.as_file().set_len(100).unwrap();
    let error = loop {
        match reader.next_item() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("read to the end"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.ends_with(message), "{error}");
    // What is read as a whole, and as a stream.
    let whole = |source: Result<Source, Error>| source.and_then(|mut source| source.read_all());
    std::fs::write(file.path(), &text).unwrap();
    let source = Source::open(file.path());
    file.as_file().set_len(100).unwrap();
    assert!(whole(source).unwrap_err().to_string().ends_with(message));
    std::fs::write(file.path(), &text).unwrap();
    let mut stream = Source::open(file.path()).unwrap().into_reader();
    file.as_file().set_len(100).unwrap();
    assert!(stream.read_to_end(&mut Vec::new()).is_err());
}

#[test]
fn events_longer_than_a_chunk() {
    let event = |length: usize| format!(r#"{{"name": "{}", "args": {{"source": "S"}}}}"#, "y".repeat(length));
    let lengths = [10, 3 << 20, 20, 1 << 20, (1 << 20) - 60, 30, 5 << 20, 40];
    let text = format!("{{\"traceEvents\": [{}]}}", lengths.map(event).join(", "));
    assert_eq!(simulator(&text).unwrap().len(), lengths.len());
}

#[test]
fn faults_in_many_chunks() {
    let text = large_trace(1, 12_000);
    for at in [1_000_000, 2_500_000, text.len() - 10] {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = 1;
        let message = read(&bytes, &ReadOptions::simulator()).unwrap_err();
        assert!(message.contains(&format!("at byte {at} ")), "{message}");
        let message = read(&bytes[..at], &ReadOptions::simulator()).unwrap_err();
        assert!(message.contains("ends too early") && message.contains(&format!("at byte {at} ")), "{message}");
    }
}

/// Events whose args repeat, wholly or up to some member, with every byte of one of them changed in turn.
#[test]
fn repeated_args_with_a_change_anywhere() {
    let args = r#"{"Inputs": "(tensor(..., device='meta', size=(1, 7168), dtype=torch.bfloat16)", "n": [1, {"a": "\u00e9"}], "source": "MEASURED", "kernel_type": "MatMulV2", "External id": 12}"#;
    for at in 0..args.len() {
        for byte in [b'"', b'}', b'7', 0xe9] {
            let mut changed = args.as_bytes().to_vec();
            changed[at] = byte;
            let event = |args: &[u8]| [b"{\"name\": \"aten.mm.default\", \"args\": ", args, b"}"].concat();
            let once = [&b"{\"traceEvents\": ["[..], &event(&changed), b"]}"].concat();
            let again = [&b"{\"traceEvents\": ["[..], &event(args.as_bytes()), b", ", &event(&changed), b"]}"].concat();
            let (once, again) =
                (pull(memory(&once), &ReadOptions::simulator()), pull(memory(&again), &ReadOptions::simulator()));
            match (once, again) {
                (Ok(once), Ok(again)) => assert_eq!(
                    once[0].split_once(' '),
                    again[1].split_once(' ').map(|(_, rest)| (once[0].split_once(' ').unwrap().0, rest))
                ),
                (Err(_), Err(_)) => {}
                (once, again) => panic!("{at} {byte}: {once:?} {again:?}"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes, &ReadOptions::profiler().all_members());
    }

    #[test]
    fn a_trace_with_faults(
        seed in any::<u64>(),
        faults in proptest::collection::vec((any::<prop::sample::Index>(), prop_oneof![any::<u8>(), Just(b'"'), Just(b'}'), Just(b',')]), 0..3),
    ) {
        let mut bytes = large_trace(seed, 12).into_bytes();
        for (at, byte) in faults {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let found = read(&bytes, &ReadOptions::simulator());
        prop_assert_eq!(found.is_err_and(|error| !error.contains("not an object")), json::parse(&bytes).is_err());
    }
}
