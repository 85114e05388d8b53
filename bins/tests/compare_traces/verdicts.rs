//! What is said of a difference: its direction, its doubt, and what a gate makes of it.

use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

use super::{run, trace};

/// Steps of a product, an attention and whatever else is given, each so many us long.
fn steps(count: u32, kernels: &[(&str, u32)]) -> String {
    let step = |at: u32| {
        let begin = 1000 * at;
        let mut start = begin + 10;
        let mut events = vec![format!(
            r#"{{"cat": "user_annotation", "name": "execute_context_1(4)_generation_0(0)", "ts": {begin}, "dur": 900}}"#
        )];
        for (name, us) in kernels {
            events.push(format!(r#"{{"cat": "kernel", "name": "{name}", "ts": {start}, "dur": {us}}}"#));
            start += us + 2;
        }
        events.join(",")
    };
    (0..count).map(step).collect::<Vec<_>>().join(",")
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let run = run(folder, &[arguments, &["--format", "json", "-q"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("strict JSON")
}

#[test]
fn every_figure_is_of_trace_2_against_trace_1() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    trace(folder, "a.json", &steps(8, &[("nvjet_a", 100), ("flash_fwd", 50)]));
    trace(folder, "b.json", &steps(8, &[("nvjet_a", 150), ("flash_fwd", 50)]));
    let found = json(folder, &["a.json", "b.json"]);
    assert_eq!(found["format_version"], 3);
    let row = &found["operations"][0];
    assert_eq!((&row["operation"], &row["status"]), (&Value::from("Dense GEMM"), &Value::from("slower")));
    assert_eq!((row["trace2_over_trace1"].as_f64(), row["difference_ms"].as_f64()), (Some(1.5), Some(0.4)));
    assert_eq!(found["confidence"]["operations"][0]["verdict"], "slower");
    assert_eq!(found["confidence"]["operations"][0]["by_pass"], true);
    let table = run(folder, &["a.json", "b.json", "--format", "csv", "-q"]).stdout;
    let mut lines = table.lines();
    assert!(
        lines
            .next()
            .is_some_and(|head| head.contains(",trace2_over_trace1,avg_trace2_over_trace1,difference_ms,status,"))
    );
    assert!(lines.next().is_some_and(|row| row.contains(",1.500000,1.500000,0.400000,slower,")), "{table}");
    std::fs::write(folder.join("list.yaml"), "pairs: [{trace1: a.json, trace2: b.json}]").expect("a file");
    let pairs = run(folder, &["--pairs", "list.yaml", "--output-dir", "out", "-q"]);
    assert_eq!(
        pairs.stdout,
        "status\tname\ttrace1_ms\ttrace2_ms\ttrace2_over_trace1\toutput\nok\ta_vs_b\t1.200\t1.600\t1.333\tout/a_vs_b.txt\n"
    );
    let legacy = run(folder, &["--pairs", "list.yaml", "--output-dir", "out", "-q", "--compat", "0.1.33"]);
    assert_eq!(legacy.stdout, "ok\ta_vs_b\t1.200\t1.600\t0.750\tout/a_vs_b.json\n");
}

#[test]
fn names_that_lead_out_of_the_folder_of_outputs_are_refused() {
    let folder = TempDir::new().expect("a folder");
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).expect("a folder");
    trace(&inside, "a.json", &steps(1, &[("nvjet_a", 100)]));
    let absolute = folder.path().join("y").display().to_string();
    for name in ["../x", "a/../../x", absolute.as_str()] {
        let list = format!("pairs: [{{name: \"{name}\", trace1: a.json, trace2: a.json}}]");
        std::fs::write(inside.join("list.yaml"), list).expect("a file");
        let run = run(&inside, &["--pairs", "list.yaml", "--output-dir", "."]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{name}");
        assert!(run.stderr.starts_with("error: list.yaml: the name "), "{}", run.stderr);
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "{name}");
    }
}

#[test]
fn a_difference_inside_the_noise_has_its_doubt_and_no_advice() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    trace(folder, "a.json", &steps(1, &[("nvjet_a", 400), ("flash_fwd", 200)]));
    trace(folder, "b.json", &steps(1, &[("nvjet_a", 407), ("flash_fwd", 203)]));
    let text = run(folder, &["a.json", "b.json", "-q"]).stdout;
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|line| line.contains(": 1.017, inconclusive (")), "{text}");
    let expected = "trace 2: 1.7 % more time per forward pass (+0.010 ms) in one pass of each trace, where runs vary by 2 %: not distinguishable";
    assert_eq!(lines.next(), Some(expected));
    assert!(!text.contains("WHAT TO DO NEXT"), "{text}");
    let found = json(folder, &["a.json", "b.json"]);
    assert!(found["waterfall"].as_array().is_some_and(|rows| rows.iter().all(|row| row["matters"] == false)));
    // Whose runs vary by nothing, knows what a single pass says.
    let sure = json(folder, &["a.json", "b.json", "--run-variation", "0.01"]);
    assert_eq!(sure["confidence"]["whole"]["verdict"], "slower");
    // Noise that nobody knows is not small.
    let unknown = json(folder, &["a.json", "b.json", "--run-variation", "0"]);
    assert!(unknown["waterfall"].as_array().is_some_and(|rows| rows.iter().all(|row| row["matters"] == false)));
    assert_eq!(unknown["confidence"]["whole"]["reason"], "too few samples");
}

#[test]
fn the_gate_fails_on_what_becomes_worse_whatever_it_was() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    trace(folder, "base.json", &steps(8, &[("nvjet_a", 200), ("flash_fwd", 100)]));
    trace(folder, "old.json", &steps(8, &[("nvjet_a", 200), ("flash_fwd", 112)]));
    trace(folder, "worse.json", &steps(8, &[("nvjet_a", 200), ("flash_fwd", 160)]));
    trace(folder, "new.json", &steps(8, &[("nvjet_a", 200), ("flash_fwd", 112), ("moe_sort_kernel_new", 90)]));
    let baseline = run(folder, &["base.json", "old.json", "--format", "json", "--output", "last.json", "-q"]);
    assert_eq!(baseline.code, 0, "{}", baseline.stderr);
    let gate = |second: &str| {
        run(folder, &["base.json", second, "--baseline", "last.json", "--fail-regression", "10", "--format", "csv"])
    };
    assert_eq!(gate("old.json").code, 0, "{}", gate("old.json").stderr);
    let worse = gate("worse.json");
    let limits: Vec<&str> = worse.stderr.lines().filter(|line| line.starts_with("limit: ")).collect();
    assert_eq!(worse.code, 3, "{}", worse.stderr);
    let attention = "limit: Attention (flash_fwd): trace 2 against trace 1 was +12.0 % and is +60.0 % now, 0.048 ms more (limit 10 %)";
    assert!(limits.contains(&attention), "{limits:?}");
    let new = gate("new.json");
    let limits: Vec<&str> = new.stderr.lines().filter(|line| line.starts_with("limit: ")).collect();
    assert_eq!(new.code, 3, "{}", new.stderr);
    assert!(
        limits.iter().any(|line| line.contains("was not there and is in trace 2 only now, 0.090 ms more")),
        "{limits:?}"
    );
    let more = |line: &&str| line.split(" now, ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    assert!(limits.iter().map(more).is_sorted_by(|a, b| a >= b), "{limits:?}");
}

#[test]
fn few_events_give_strict_json() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let few = |us: [u32; 3]| {
        let kernel = |(at, us): (usize, u32)| {
            format!(r#"{{"cat": "kernel", "name": "nvjet_a", "ts": {}, "dur": {us}}}"#, 9000 * at)
        };
        us.into_iter().chain(us).enumerate().map(kernel).collect::<Vec<_>>().join(",")
    };
    trace(folder, "a.json", &few([1, 4000, 2]));
    trace(folder, "b.json", &few([3000, 1, 1]));
    let found = json(folder, &["a.json", "b.json"]);
    let row = &found["confidence"]["operations"][0];
    assert!(row["interval"].is_null() == row["reason"].is_string(), "{row}");
}
