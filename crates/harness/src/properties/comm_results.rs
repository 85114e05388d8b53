//! Results of the communication bench: a folder is refused, or its rows are numbers.
//!
//! The bytes are up to three files with a zero byte between them: the lines of rank 0, `run.json` and `plan.json`.

use perfdb_comm::aggregate::{DispatchOverhead, aggregate};
use perfdb_comm::results::Results;
use std::fs;

pub(crate) const WORDS: &[&str] = &[
    "{\"config\": 0, \"api\": \"all_reduce\", \"samples_us\": [1.5, 2]}\n",
    "{\"done\": true}\n",
    "\"error\": \"x\"",
    "\"verified\": false",
    "\"config\": 18446744073709551615",
    "NaN",
    "1e-400",
    "\0",
    "\"timing\": \"profiler\"",
    "\"backend\": \"hccl\"",
    "\"ranks\": [0, 1]",
    "\"message_bytes\": 0",
    "\"num_devices\": 18446744073709551615",
    "\"group\": 7",
    "[]",
    "{",
];

pub(crate) const RUN: &str = r#"{"schema": "perfdb.comm-run/1", "backend": "gloo", "timing": "event", "world_size": 2, "torch": "2.9.0", "executed_dtype": "torch.bfloat16"}"#;
pub(crate) const PLAN: &str = include_str!("comm_results/plan.json");

pub(crate) fn check(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    for (name, usual) in [("rank0.jsonl", ""), ("run.json", RUN), ("plan.json", PLAN)] {
        let content = parts.next().unwrap_or(usual.as_bytes());
        fs::write(folder.path().join(name), content).expect("a file in a temporary folder");
    }
    let results = match Results::read(folder.path()) {
        Ok(results) => results,
        Err(error) => return assert!(!error.to_string().contains('\n'), "an error is one line: {error}"),
    };
    for overhead in [DispatchOverhead::Auto, DispatchOverhead::On, DispatchOverhead::Off] {
        let found = aggregate(&results, overhead);
        let points = results.plan.configs.len();
        assert_eq!(found.measurements.len() + found.missing.len(), points, "every point has a value or a reason");
        assert!(found.missing.iter().all(|missing| missing.config < points && !missing.reason.is_empty()));
        assert!(found.rows.len() <= points);
        for row in &found.rows {
            assert!(!row.duration_us.is_nan() && !row.bandwidth_gbps.is_nan(), "{row:?}");
        }
    }
}
