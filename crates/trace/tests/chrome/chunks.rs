//! Traces of many chunks, read by several threads, and bytes that are no trace.

use super::{gzip, memory, pull, read, simulator, stream};
use perfdb_trace::chrome::{Part, ReadError, ReadOptions, read_ordered};
use perfdb_trace::json;
use perfdb_trace::source::Source;
use proptest::prelude::*;
use std::collections::HashMap;
use std::convert::Infallible;

/// Traces of several chunks whose events have all kinds of shapes, some of which look like events inside others.
pub(crate) fn large_trace(seed: u64, events: usize) -> String {
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

#[test]
fn refused_events_of_streams_have_their_place() {
    let refuse = |mut source: Source, threads, bad: f64| {
        let result = read_ordered(
            &mut source,
            &ReadOptions::simulator(),
            threads,
            |_: &mut (), event| {
                let is_bad = event.duration().is_some_and(|duration| duration.to_f64() == bad);
                if is_bad { Err("refused") } else { Ok(()) }
            },
            |_| Ok(()),
        );
        result.map_err(|error: ReadError<&str, Infallible>| error.to_string())
    };
    let text = large_trace(2, 12_000);
    let events = &text["{\"traceEvents\": ".len()..text.len() - 1];
    let twice = format!("{{\"traceEvents\": {events}, \"x\": 1, \"traceEvents\": {events}}}");
    for bad in [9.5, 7000.5, 11986.5] {
        for text in [&text, &twice] {
            let expected = refuse(memory(text.as_bytes()), 1, bad);
            assert!(expected.as_ref().unwrap_err().contains("refused (event"), "{expected:?}");
            assert_eq!(refuse(stream(text.as_bytes()), 3, bad), expected);
            assert_eq!(refuse(Source::from_bytes("t.json", gzip(text.as_bytes())).unwrap(), 2, bad), expected);
        }
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

/// Args of one number are equal byte for byte, and layers that repeat have one.
#[test]
fn equal_args_have_a_number() {
    let text = large_trace(5, 6_000);
    for threads in [1, 3] {
        let (mut repeated, mut events) = (0, 0);
        let mut source = memory(text.as_bytes());
        let options = ReadOptions::simulator().args(["source", "kernel_type", "durations"]);
        read_ordered(
            &mut source,
            &options,
            threads,
            |chunk: &mut Vec<(u64, String)>, event| {
                let args = [0, 1, 2].map(|at| event.arg(at).map(|value| value.to_value().map(|value| value.repr())));
                chunk.extend(event.args_number().map(|number| (number, format!("{args:?}"))));
                Ok::<(), Infallible>(())
            },
            |part| {
                let Part::Chunk(numbered) = part else { return Ok::<(), Infallible>(()) };
                let mut known: HashMap<u64, String> = HashMap::new();
                for (number, args) in numbered {
                    events += 1;
                    repeated += usize::from(known.contains_key(&number));
                    assert_eq!(*known.entry(number).or_insert_with(|| args.clone()), args);
                }
                Ok(())
            },
        )
        .unwrap();
        assert!(events > 1_000 && repeated > 100, "{repeated} of {events}");
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
