//! Replays of graphs beside traces of their captures.

use std::path::Path;
use tempfile::TempDir;

use super::{run, trace};

/// One replay of a product.
fn replay(folder: &Path, name: &str) {
    let launch = r#"{"cat": "cuda_runtime", "name": "hipGraphLaunch", "ts": 0, "dur": 1, "args": {"correlation": 7}}"#;
    let kernel = r#"{"cat": "kernel", "name": "gemm", "ts": 20, "dur": 9, "args": {"correlation": 7}}"#;
    trace(folder, name, &format!("{launch},{kernel}"));
}

/// One graph of a product for each number of rows.
fn capture(folder: &Path, name: &str, rows: &[u32]) {
    let of = |(number, rows): (usize, &u32)| {
        let (start, id) = (100 * number, number + 1);
        let call = |name: &str, at: usize, args: &str| {
            format!(r#"{{"cat": "cuda_runtime", "name": "{name}", "ts": {at}, "dur": 1, "args": {{{args}}}}}"#)
        };
        let dims = format!(r#""Input Dims": [[{rows}, 64], [64, 64]], "Input type": ["float", "float"]"#);
        [
            call("hipStreamBeginCapture", start, &format!(r#""correlation": {}"#, 50 + id)),
            format!(
                r#"{{"cat": "cpu_op", "name": "aten::mm", "ts": {}, "dur": 20, "args": {{{dims}, "External id": {id}}}}}"#,
                start + 10
            ),
            call(
                "hipModuleLaunchKernel",
                start + 12,
                &format!(r#""correlation": {id}, "External id": {id}, "kernel": "gemm""#),
            ),
            call("hipStreamEndCapture", start + 60, &format!(r#""correlation": {}"#, 70 + id)),
        ]
        .join(",")
    };
    trace(folder, name, &rows.iter().enumerate().map(of).collect::<Vec<_>>().join(","));
}

#[test]
fn replays_whose_captures_contradict_each_other_are_noted() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    replay(folder, "a.json");
    replay(folder, "b.json");
    capture(folder, "one.json", &[8]);
    capture(folder, "two.json", &[8, 16]);
    let notes = |arguments: &[&str]| {
        let run = run(folder, &[&["a.json", "b.json"], arguments].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stderr.lines().filter(|line| line.starts_with("note: ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(notes(&["--capture1", "one.json", "--capture2", "one.json"]), [""; 0]);
    let found = notes(&["--capture1", "one.json", "--capture2", "two.json"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("note: b.json: 1 of 1 replays of graphs get no shapes: "), "{found:?}");
    assert_eq!(notes(&["--capture1", "one.json", "--capture2", "two.json", "-q"]), [""; 0]);
}
