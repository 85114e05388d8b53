//! Runs before a change against runs after it, five files a side.

use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

use super::run;

/// What the servers of a side do.
#[derive(Clone, Copy)]
pub(crate) struct Server {
    /// By what the attention takes longer.
    pub(crate) attention: f64,
    /// Rows of the product.
    pub(crate) rows: u32,
    /// By what the first step takes longer.
    pub(crate) first_step: f64,
}

pub(crate) const USUAL: Server = Server { attention: 1.0, rows: 64, first_step: 1.0 };

/// From -1 to 1, the same for the same numbers.
fn noise(numbers: [u64; 3]) -> f64 {
    let mixed = numbers.iter().fold(0x9E37_79B9_7F4A_7C15_u64, |state, number| {
        let state = (state ^ number.wrapping_add(0x632B_E59B_D9B4_E019)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (state ^ (state >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB)
    });
    (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Eight decode steps of four layers. Runs vary by 0.3 %, calls by 1 %.
fn trace(seed: u64, server: Server, slow: f64) -> String {
    let product = format!("[[{}, 1024], [1024, 4096]]", server.rows);
    let kernels = [
        ("nvjet_tst_64x8", "aten::mm", product.as_str(), 60.0),
        ("flash_fwd_splitkv_kernel", "vllm::attention", "[[64, 32, 128]]", 30.0 * server.attention),
        ("rms_norm_kernel", "vllm::rms_norm", "[[64, 4096]]", 8.0),
    ];
    let (mut events, mut now, mut id) = (Vec::new(), 1000.0, 1);
    let of_run = slow * (1.0 + 0.003 * noise([seed, 0, 0]));
    for step in 0..8 {
        let begin = now;
        let longer = if step == 0 { server.first_step } else { 1.0 };
        for layer in 0..4 {
            for (at, (name, operator, shapes, us)) in kernels.iter().enumerate() {
                let us = us * of_run * longer * (1.0 + 0.01 * noise([seed, 1 + step, layer * 8 + at as u64]));
                events.push(format!(
                    r#"{{"ph": "X", "cat": "cpu_op", "name": "{operator}", "pid": 1, "tid": 1, "ts": {:.3}, "dur": 1, "args": {{"External id": {id}, "Input Dims": {shapes}, "Input type": ["c10::BFloat16", "c10::BFloat16"]}}}}"#,
                    begin + (layer * 8) as f64 + at as f64 * 2.0
                ));
                events.push(format!(
                    r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {now:.3}, "dur": {us:.3}, "args": {{"External id": {id}, "device": 0, "stream": 7}}}}"#
                ));
                now += us + 0.5;
                id += 1;
            }
        }
        events.push(format!(
            r#"{{"ph": "X", "cat": "user_annotation", "name": "execute_context_0(0)_generation_8(8)", "pid": 1, "tid": 1, "ts": {begin:.3}, "dur": {:.3}}}"#,
            now - begin
        ));
        now += 10.0;
    }
    format!(r#"{{"traceEvents": [{}]}}"#, events.join(",\n"))
}

/// Five runs in a folder of their own.
pub(crate) fn runs(folder: &Path, name: &str, server: Server) {
    let inside = folder.join(name);
    std::fs::create_dir(&inside).expect("a folder");
    let seed = name.bytes().fold(0, |sum, byte| 31 * sum + u64::from(byte));
    for at in 0..5 {
        std::fs::write(inside.join(format!("run{at}.json")), trace(100 * seed + at, server, 1.0)).expect("a file");
    }
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let run = run(folder, &[arguments, &["--format", "json", "-q"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("strict JSON")
}

fn found(document: &Value) -> Vec<(&str, &str)> {
    let rows = document["rows"].as_array().into_iter().flatten();
    rows.filter(|row| ["slower", "faster"].contains(&row["verdict"].as_str().unwrap_or_default()))
        .map(|row| (row["name"].as_str().unwrap_or_default(), row["verdict"].as_str().unwrap_or_default()))
        .collect()
}

#[test]
fn a_slow_operator_is_named_with_its_interval() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    runs(folder, "main", USUAL);
    runs(folder, "change", Server { attention: 1.1, ..USUAL });
    let document = json(folder, &["--before", "main", "--after", "change"]);
    // 3 of 102 us per layer: 2.9 %, less by the gaps between steps.
    let [low, high] = [0, 1].map(|end| document["elapsed"]["interval_percent"][end].as_f64().expect("an end"));
    assert_eq!(document["verdict"], "slower", "{}", document["sentence"]);
    assert!(low > 2.0 && low < 2.8 && high > 2.9 && high < 4.0, "{low} to {high}");
    let named = found(&document);
    assert!(named.contains(&("Attention", "slower")), "{named:?}");
    assert!(named.iter().all(|(name, _)| ["compute", "Attention"].contains(name)), "{named:?}");
    assert!(
        document["rows"].as_array().is_some_and(|rows| rows.iter().any(|row| row["name"] == "mm 64×1024, 1024×4096"))
    );
    let attention =
        document["rows"].as_array().into_iter().flatten().find(|row| row["name"] == "Attention").expect("rows");
    let [low, high] = [0, 1].map(|end| attention["interval_percent"][end].as_f64().expect("an end"));
    assert!(low < 10.0 && 10.0 < high && high - low < 4.0, "{attention}");
    let back = json(folder, &["--before", "change", "--after", "main"]);
    assert_eq!(back["verdict"], "faster", "{}", back["sentence"]);
}

#[test]
fn runs_of_one_server_have_no_difference() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    runs(folder, "main", USUAL);
    runs(folder, "again", USUAL);
    let document = json(folder, &["--before", "main", "--after", "again"]);
    assert_eq!((document["verdict"].as_str(), found(&document)), (Some("same"), vec![]), "{}", document["sentence"]);
    assert_eq!(document["elapsed"]["is_measured"], true);
    assert_eq!(document["outlier_runs"].as_array().map(Vec::len), Some(0));
    assert_eq!(document["left_out"].as_array().map(Vec::len), Some(0));
    // One run a side takes what runs are assumed to vary by.
    let one = json(folder, &["--before", "main/run0.json", "--after", "again/run0.json"]);
    assert_eq!((one["verdict"].as_str(), &one["elapsed"]["is_measured"]), (Some("inconclusive"), &Value::Bool(false)));
    assert!(one["elapsed"]["runs_needed"].as_u64().is_some_and(|runs| runs > 5), "{}", one["elapsed"]);
}

#[test]
fn another_workload_is_said_before_any_verdict() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    runs(folder, "main", USUAL);
    runs(folder, "larger", Server { rows: 128, ..USUAL });
    let document = json(folder, &["--before", "main", "--after", "larger"]);
    assert_eq!((document["verdict"].as_str(), found(&document)), (Some("different workloads"), vec![]));
    assert!(document["different_workloads"].as_str().is_some_and(|why| why.contains("equal shapes")), "{document}");
    let gated = run(folder, &["--before", "main", "--after", "larger", "--fail-slower", "2", "-q"]);
    assert!(gated.stdout.starts_with("different workloads, not comparable: "), "{}", gated.stdout);
    assert!(gated.code == 1 && gated.stderr.contains("--fail-slower cannot be decided: different"), "{}", gated.stderr);
}

#[test]
fn warm_up_and_outlier_runs_are_named() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    runs(folder, "main", Server { first_step: 3.0, ..USUAL });
    runs(folder, "change", USUAL);
    std::fs::write(folder.join("change/run2.json"), trace(77, USUAL, 1.3)).expect("a file");
    let document = json(folder, &["--before", "main", "--after", "change"]);
    let left_out = document["left_out"].as_array().expect("a list");
    // The first step is left out of all runs, so that both sides are cut alike.
    assert_eq!(left_out.len(), 10, "{left_out:?}");
    assert!(left_out.iter().all(|step| (&step["why"], &step["step"]) == (&Value::from("warm-up"), &Value::from(0))));
    assert!(left_out[0]["of_median"].as_f64().is_some_and(|times| (times - 3.0).abs() < 0.1), "{left_out:?}");
    let outliers = document["outlier_runs"].as_array().expect("a list");
    assert_eq!((outliers.len(), outliers[0]["path"].as_str()), (1, Some("change/run2.json")), "{outliers:?}");
    let text = run(folder, &["--before", "main", "--after", "change", "-q"]).stdout;
    assert!(
        text.contains("left out as warm-up: the first step of each run (")
            && text.contains("unlike the other runs of its side: change/run2.json"),
        "{text}"
    );
}

#[test]
fn a_gate_is_passed_where_the_lower_end_exceeds_it() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    runs(folder, "main", USUAL);
    runs(folder, "change", Server { attention: 1.1, ..USUAL });
    let both = ["--before", "main", "--after", "change"];
    let broken = run(folder, &[&both[..], &["--fail-slower", "2%", "-o", "comment.md"]].concat());
    assert_eq!(broken.code, 3, "{}", broken.stderr);
    assert!(broken.stderr.contains("limit: elapsed time: slower by at least 2.5 % (limit 2 %)\n"), "{}", broken.stderr);
    let comment = std::fs::read_to_string(folder.join("comment.md")).expect("a comment");
    assert!(comment.lines().count() <= 40 && comment.starts_with("**perfdb trace diff: slower by 2."), "{comment}");
    assert!(comment.contains("\n- limit exceeded: elapsed time: slower by at least 2.5 % (limit 2 %)\n"), "{comment}");
    assert!(comment.contains("<details>") && comment.contains("| class: Attention | "), "{comment}");
    // The estimate is above 3 %, the lower end is not.
    let open = run(folder, &[&both[..], &["--fail-slower", "3"]].concat());
    assert!(open.code == 0 && open.stderr.contains("note: not beyond the limit for certain: "), "{}", open.stderr);
    // A stored baseline stands for the runs before.
    assert_eq!(run(folder, &["--after", "main", "-o", "main.json", "-q"]).code, 0);
    let stored = json(folder, &["--baseline", "main.json", "--after", "change"]);
    assert_eq!(stored["elapsed"], json(folder, &both)["elapsed"]);
    assert_eq!(run(folder, &["--baseline", "main.json", "--after", "change", "--fail-slower", "2%", "-q"]).code, 3);
    // Any number of readers, the same digits.
    let texts = ["1", "3"].map(|jobs| run(folder, &[&both[..], &["--jobs", jobs]].concat()).stdout);
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    runs(folder, "main", USUAL);
    std::fs::write(
        folder.join("other.json"),
        r#"{"format": "perfdb-runs", "format_version": 9, "before": [], "after": []}"#,
    )
    .expect("a file");
    let case = |arguments: &[&str], code: i32, says: &str| {
        let run = run(folder, arguments);
        assert!(run.code == code && run.stderr.contains(says), "{arguments:?}: {} {}", run.code, run.stderr);
    };
    case(&["--after", "main"], 2, "--before or --baseline is needed");
    case(&["--before", "main", "--after", "main/run0.json"], 1, "given twice");
    case(&["--before", "main", "--after", "none"], 1, "none: ");
    case(&["--baseline", "other.json", "--after", "main"], 1, "format version 9");
    case(&["--before", "main", "--after", "main", "--explain"], 2, "--explain");
    case(&["--before", "main", "--fail-slower", "2"], 2, "--after");
}
