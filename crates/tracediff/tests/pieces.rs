//! A large trace gives the same result however it is cut into pieces: one thread, several, a stream, gzip.

use std::fmt::Write as _;
use std::io::{Cursor, Read, Write as _};

use perfdb_tracediff::{AnalysisOptions, Document, LoadOptions, Rules, Trace, View, analyse};

/// Three megabytes of eager steps with numbers and texts for ids, so that every table has to be merged across pieces.
fn trace() -> String {
    let mut out = String::from("{\"traceEvents\": [");
    for step in 0..60_u64 {
        let base = 1_700_000_000_000_000 + step * 100_000;
        let kind = if step % 3 == 0 { "EXTEND" } else { "DECODE" };
        let _ =
            write!(out, r#"{{"cat": "user_annotation", "name": "step[{kind} bs=1]", "ts": {base}, "dur": 90000}},"#);
        for call in 0..100_u64 {
            let id = step * 1000 + call;
            let (correlation, external) = if call % 2 == 0 {
                (format!("{id}"), format!("{id}.0"))
            } else {
                (format!("\"c{id}\""), format!("\"e{id}\""))
            };
            let ts = base + call * 800;
            let name = ["Cijk_A", "kernel_unified_attention_2d", "opaque_\\u0061", "void act_and_mul_kernel<silu>()"]
                [call as usize % 4];
            let _ = write!(
                out,
                r#"{{"cat": "python_function", "name": "model.py({call}): f", "pid": "p", "tid": {}, "ts": {ts}, "dur": 700, "args": {{"Python id": {id}, "Python parent id": {}}}}},
{{"cat": "cpu_op", "name": "aten::op{}", "args": {{"External id": {external}}}}},
{{"cat": "cuda_runtime", "name": "launch", "pid": "p", "tid": {}, "ts": {ts}.5, "args": {{"correlation": {correlation}, "External id": {external}}}}},
{{"cat": "kernel", "name": "{name}", "ts": {}, "dur": {}.25, "args": {{"device": {}, "stream": "s{}", "correlation": {correlation}, "filler": "{}"}}}},"#,
                call % 5,
                id.saturating_sub(1),
                call % 7,
                call % 5,
                ts + 50_000,
                100 + call,
                step % 2,
                call % 3,
                "x".repeat(100),
            );
        }
    }
    out.pop();
    out.push_str("]}");
    out
}

fn full(trace: Trace) -> Document {
    let options = AnalysisOptions { view: View::Full, explain: true, ..AnalysisOptions::default() };
    analyse(&trace, &trace, &options).expect("an analysis").document
}

/// A reader that gives a few bytes at a time.
struct Drops<R>(R);

impl<R: Read> Read for Drops<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let end = buffer.len().min(70_001);
        self.0.read(&mut buffer[..end])
    }
}

#[test]
fn pieces_do_not_show() {
    let text = trace();
    assert!(text.len() > 3 << 20, "too small to be cut: {}", text.len());
    let folder = std::env::temp_dir().join(format!("perfdb-tracediff-pieces-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("t.json");
    std::fs::File::create(&path).and_then(|mut file| file.write_all(text.as_bytes())).expect("a file");
    for rules in [LoadOptions::default().rules, Rules::Wafer0133] {
        let options = |threads| LoadOptions { threads, rules, ..LoadOptions::default() };
        let one = full(Trace::open(&path, &options(1)).expect("a trace"));
        for threads in [2, 5] {
            assert!(one == full(Trace::open(&path, &options(threads)).expect("a trace")), "{threads} threads");
        }
        let stream = Drops(Cursor::new(text.clone()));
        assert!(one == full(Trace::from_reader(&path, stream, &options(3)).expect("a trace")), "a stream");
    }
    std::fs::remove_dir_all(&folder).expect("a folder");
}
