//! What workers of op replay write, and files of cases: a message, noise or a fault; a case that is written and read again is the same.

use perfdb_replay::case::Case;
use perfdb_replay::executor::worker::{LineKind, line_kind};

pub(crate) const WORDS: &[&str] = &[
    "{\"type\":\"hello\",\"protocol\":1,",
    "{\"type\":\"result\",\"id\":1,\"api\":\"torch.mm\",\"outputs\":[],\"samples\":[[1,2]]}",
    "{\"type\":\"error\",\"id\":1,\"kind\":\"oom\"}",
    "{\"type\":\"log\",\"message\":\"x\"}",
    "{\"type\":\"progress\",\"done\":1}",
    "{\"type\":\"bye\"}",
    "\"type\"",
    "NaN",
    "1e400",
    "18446744073709551616",
    "\"init\":{\"kind\":\"uniform\",\"low\":-1,\"high\":1}",
    "\"dtype\":\"bfloat16\"",
    "\"shape\":[2,3]",
    "{\"tensor\":\"a\"}",
    "null",
    "[",
    "\n",
];

pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        match line_kind(line) {
            Ok(LineKind::Message) => assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "no JSON"),
            Ok(LineKind::Noise) => {}
            Err(fault) => assert!(line.trim_start().starts_with('{') && !fault.is_empty()),
        }
        if let Ok(case) = serde_json::from_str::<Case>(line) {
            let written =
                serde_json::to_string(&case).unwrap_or_else(|error| panic!("a case cannot be written: {error}"));
            let again: Case = serde_json::from_str(&written)
                .unwrap_or_else(|error| panic!("a case that was written cannot be read: {error}\n{written}"));
            // Whole numbers are written as integers, so a zero loses its sign: the text says whether the case is the same.
            assert_eq!(serde_json::to_string(&again).ok(), Some(written));
        }
    }
}
