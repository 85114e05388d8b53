//! The command line of compare-traces: usage, bad input, warnings, lists of pairs, what a newcomer reads.

use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

#[path = "compare_traces/action.rs"]
mod action;
#[path = "compare_traces/captures.rs"]
mod captures;
#[path = "compare_traces/ranks.rs"]
mod ranks;
#[path = "compare_traces/runs.rs"]
mod runs;
#[path = "compare_traces/verdicts.rs"]
mod verdicts;

fn testdata(file: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/gpu-traces");
    folder.join(file).canonicalize().expect("a file in testdata").display().to_string()
}

struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

fn run(folder: &Path, arguments: &[&str]) -> Run {
    run_with(folder, arguments, &[])
}

fn run_with(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_compare-traces"))
        .current_dir(folder)
        .env("COLUMNS", "120")
        .envs(environment.iter().copied())
        .args(arguments)
        .output()
        .expect("a run");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn trace(folder: &Path, name: &str, events: &str) {
    std::fs::write(folder.join(name), format!(r#"{{"traceEvents": [{events}]}}"#)).expect("a file");
}

/// A stack for new threads that no system has room for, so that every thread is refused.
const NO_THREADS: (&str, &str) = ("RUST_MIN_STACK", "4611686018427387904");

#[test]
fn without_threads_the_result_is_the_same() {
    let folder = TempDir::new().expect("a folder");
    let kernel = |at: usize, name: &str| {
        let pad = "x".repeat(200);
        format!(r#"{{"cat": "kernel", "name": "{name}", "ts": {at}, "dur": 10, "args": {{"pad": "{pad}"}}}}"#)
    };
    let events = |name| (0..10_000).map(|at| kernel(10 * at, name)).collect::<Vec<_>>().join(",");
    trace(folder.path(), "a.json", &events("Cijk_A"));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events("nvjet_A"));
    std::io::Write::write_all(&mut gzip, text.as_bytes()).expect("in memory");
    std::fs::write(folder.path().join("b.json.gz"), gzip.finish().expect("in memory")).expect("a file");
    let list = "pairs: [{trace1: a.json, trace2: b.json.gz, output: one.json}, {trace1: b.json.gz, trace2: a.json, output: two.json}]";
    std::fs::write(folder.path().join("list.yaml"), list).expect("a file");
    for arguments in
        [&["a.json", "b.json.gz", "--format", "json"][..], &["--pairs", "list.yaml", "--jobs", "2", "--format", "json"]]
    {
        let with = run(folder.path(), arguments);
        let without = run_with(folder.path(), arguments, &[NO_THREADS]);
        assert_eq!((with.code, without.code), (0, 0), "{}", without.stderr);
        assert_eq!(with.stdout, without.stdout);
    }
}

const KERNEL: &str = r#"{"cat": "kernel", "name": "Cijk_A", "ts": 0, "dur": 10}"#;

#[test]
fn contradictions_are_usage_errors() {
    let folder = TempDir::new().expect("a folder");
    let two = ["a.json", "b.json"];
    let cases: &[&[&str]] = &[
        &[],
        &["a.json"],
        &["a.json", "b.json", "c.json"],
        &["--pairs", "list.yaml", "a.json"],
        &["--jobs", "0", "a.json", "b.json"],
        &["--format", "xml", "a.json", "b.json"],
        &["--threshold-ms", "x", "a.json", "b.json"],
        &["--threshold-ms=-1", "a.json", "b.json"],
        &["--form", "json", "a.json", "b.json"],
        &["--ranks", "a.json", "--pairs", "list.yaml"],
        &["--ranks", "a.json", "b.json", "--phase", "decode"],
        &["--ranks", "a.json", "b.json", "--compat", "0.1.33"],
        &["--ranks1", "a.json", "b.json"],
        &["--ranks", "a.json", "--ranks1", "b.json", "--ranks2", "c.json"],
        &["a.json", "b.json", "--ranks", "c.json"],
    ];
    let with_two: &[&[&str]] = &[
        &["--aligned", "--format", "text"],
        &["--full", "--format", "csv"],
        &["--fusion", "--format", "csv"],
        &["--compat", "0.1.33", "--format", "text"],
        &["--compat", "0.1.33", "--phase", "mixed"],
        &["--compat", "0.1.33", "--registry", "r.yaml"],
        &["--compat", "0.1.33", "--explain"],
        &["--compat", "0.1.35", "--clip-overlaps"],
        &["--compat", "0.1.33", "--no-confidence"],
        &["--compat", "0.1.35", "--aligned"],
        &["--compat", "0.1.35", "--full"],
        &["--compat", "0.1.35", "--no-stacks"],
        &["--compat", "0.1.34"],
        &["--explain", "--fusion"],
        &["--explain", "--layers", "--format", "csv"],
        &["--layers", "--format", "json"],
        &["--show-all", "--format", "csv"],
        &["--sections", "metadata"],
        &["--sections", "metdata", "--format", "json"],
        &["--no-kernels"],
        &["--full", "--aligned"],
        &["--accept", "WRONG"],
        &["--baseline", "old.json"],
        &["--fail-regression", "5"],
        &["--events", "e.csv", "--compat", "0.1.33"],
    ];
    let with_two = with_two.iter().map(|case| [&two[..], case].concat());
    for case in cases.iter().map(|case| case.to_vec()).chain(with_two) {
        let run = run(folder.path(), &case);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{case:?}: {}", run.stderr);
        assert!(run.stderr.contains("\nUsage: compare-traces [OPTIONS] TRACE1 TRACE2\n"), "{case:?}: {}", run.stderr);
    }
}

#[test]
fn bad_traces_are_one_line_each() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    trace(folder, "good.json", KERNEL);
    trace(folder, "empty.json", r#"{"cat": "cpu_op", "name": "x"}"#);
    trace(folder, "number.json", &format!("{KERNEL},\n5"));
    trace(folder, "control.json", "{\"cat\": \"a\nb\"}");
    std::fs::write(folder.join("cut.json"), format!(r#"{{"traceEvents": [{KERNEL}, {{"cat": "ker"#)).expect("a file");
    std::fs::write(folder.join("lfs.json"), "version https://git-lfs.github.com/spec/v1\n").expect("a file");
    for (file, parts) in [
        ("empty.json", vec!["no GPU kernel events"]),
        ("number.json", vec!["event 1", "line 2, column 1"]),
        ("control.json", vec!["event 0", "at byte"]),
        ("cut.json", vec!["event 1", "at byte", "line 1"]),
        ("lfs.json", vec!["LFS"]),
        ("missing.json", vec!["No such file"]),
    ] {
        let run = run(folder, &["good.json", file, "--output", "out.json"]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{file}");
        assert!(run.stderr.starts_with(&format!("error: {file}: ")), "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        parts.iter().for_each(|part| assert!(run.stderr.contains(part), "{part}: {}", run.stderr));
        assert!(!folder.join("out.json").exists());
    }
    let both = run(folder, &["missing.json", "empty.json"]);
    assert_eq!(both.stderr.lines().count(), 2, "{}", both.stderr);
}

#[test]
fn lists_and_registries_that_are_pointers() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    trace(folder, "a.json", KERNEL);
    std::fs::write(folder.join("lfs.yaml"), "version https://git-lfs.github.com/spec/v1\nsize 5\n").expect("a file");
    for arguments in [&["--pairs", "lfs.yaml"][..], &["a.json", "a.json", "--registry", "lfs.yaml"]] {
        let run = run(folder, arguments);
        assert_eq!((run.code, run.stderr.as_str()), (1, "error: lfs.yaml: Git LFS pointer, run git lfs pull\n"));
    }
}

#[test]
fn a_phase_that_is_not_there_names_those_that_are() {
    let folder = TempDir::new().expect("a folder");
    let step = r#"{"cat": "user_annotation", "name": "step[DECODE bs=1]", "ts": 0, "dur": 100}"#;
    trace(folder.path(), "a.json", &format!("{step}, {KERNEL}"));
    trace(folder.path(), "b.json", KERNEL);
    let run = run(folder.path(), &["a.json", "b.json", "--phase", "prefill"]);
    assert_eq!(run.code, 1);
    let expected = "error: a.json: no prefill phase (kernels per phase: decode 1)\n\
                    error: b.json: no prefill phase (kernels per phase: none 1)\n";
    assert_eq!(run.stderr, expected);
}

#[test]
fn what_is_odd_is_said_on_stderr_alone() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let stuck = r#"{"cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum", "ts": 0, "dur": 5000}"#;
    let mut events = vec![stuck.to_owned()];
    events.extend((1..300).map(|at| {
        format!(r#"{{"cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum", "ts": {}, "dur": 5}}"#, at * 10)
    }));
    trace(folder, "a.json", &events.join(","));
    trace(folder, "b.json", KERNEL);
    let same = run(folder, &["b.json", "./b.json", "--format", "json"]);
    assert_eq!(same.code, 0);
    assert!(same.stderr.contains("warning: ./b.json: both traces are the same file"), "{}", same.stderr);
    assert!(same.stderr.contains("warning: b.json: no device properties; taken for NVIDIA"), "{}", same.stderr);
    let odd = run(folder, &["a.json", "b.json", "--format", "json"]);
    for part in [
        "warning: a.json: not to be trusted: ",
        "warning: a.json: OVERLAP_IMPOSSIBLE (",
        "warning: a.json: SKEWED_START (",
        "warning: a.json: only 0.0% of kernel time has a counterpart",
    ] {
        assert!(odd.stderr.contains(part), "{part}: {}", odd.stderr);
    }
    let quiet = run(folder, &["a.json", "b.json", "--format", "json", "-q"]);
    assert_eq!((quiet.stderr.as_str(), &quiet.stdout), ("", &odd.stdout));
    let clipped = run(folder, &["a.json", "b.json", "--format", "csv", "--explain", "--clip-overlaps"]);
    assert!(clipped.stdout.contains("family,Communication,total,,,1.505000000,"), "{}", clipped.stdout);
}

#[test]
fn lists_run_in_order_and_check_first() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    trace(folder, "a.json", KERNEL);
    trace(folder, "b.json", KERNEL);
    let write = |text: &str| std::fs::write(folder.join("list.yaml"), text).expect("a file");
    write(
        "pairs:\n- {trace1: a.json, trace2: b.json}\n- {trace1: b.json, trace2: gone.json}\n- {name: x, trace1: a.json, trace2: b.json, output: new/x.csv, format: csv}\n",
    );
    let mut outputs = Vec::new();
    for jobs in ["1", "3"] {
        let run =
            run(folder, &["--pairs", "list.yaml", "--jobs", jobs, "--output-dir", "out", "--format", "json", "-q"]);
        assert_eq!(run.code, 1);
        assert_eq!(
            run.stdout,
            "status\tname\ttrace1_ms\ttrace2_ms\ttrace2_over_trace1\toutput\nok\ta_vs_b\t0.010\t0.010\t1.000\tout/a_vs_b.json\nfailed\tb_vs_gone\t-\t-\t-\t-\nok\tx\t0.010\t0.010\t1.000\tnew/x.csv\n"
        );
        assert!(run.stderr.starts_with("error: gone.json: "), "{}", run.stderr);
        outputs.push(std::fs::read(folder.join("out/a_vs_b.json")).expect("an output"));
        assert!(!folder.join("out/b_vs_gone.json").exists());
    }
    assert_eq!(outputs[0], outputs[1]);
    std::fs::remove_dir_all(folder.join("out")).expect("a folder");
    for (text, part) in [
        ("pairs: [{trace1: a.json, trace2: b.json}, {trace1: a.json, trace2: b.json}]", "both write"),
        ("pairs: [{trace1: a.json, trace2: b.json, colour: red}]", "colour"),
        ("pairs: [{trace1: a.json}]", "trace2"),
        ("defaults: {output: x}\npairs: []", "output"),
        ("pairs: [{trace1: a.json, trace2: b.json, full: true, format: csv}]", "--full"),
    ] {
        write(text);
        let run = run(folder, &["--pairs", "list.yaml", "--output-dir", "out"]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{text}");
        assert!(run.stderr.starts_with("error: list.yaml: ") && run.stderr.contains(part), "{text}: {}", run.stderr);
        assert!(!folder.join("out").exists(), "{text}");
    }
}

#[test]
fn report() {
    let folder = TempDir::new().expect("a folder");
    for file in ["mi300x.json", "h100.json"] {
        std::fs::copy(testdata(file), folder.path().join(file)).expect("a copy");
    }
    let run = run(folder.path(), &["mi300x.json", "h100.json", "--layers", "--explain"]);
    assert_eq!(run.code, 0);
    insta::assert_snapshot!(run.stdout);
}

#[test]
fn a_section_that_is_none_has_a_near_name() {
    let folder = TempDir::new().expect("a folder");
    let run = run(folder.path(), &["a.json", "b.json", "--format", "json", "--sections", "metadata,opertions"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("\"opertions\" is not a section (did you mean operations?)"), "{}", run.stderr);
}

#[test]
fn trust_follows_the_verdict() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let kernel = |at: u32| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "Cijk_A", "ts": {}.5, "dur": 10, "args": {{"correlation": {at}}}}}"#,
            20 * at
        )
    };
    let launch = |at: u32| {
        format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {}.5, "dur": 2, "args": {{"correlation": {at}}}}}"#,
            20 * at - 5
        )
    };
    let whole: Vec<String> = (1..100).flat_map(|at| [launch(at), kernel(at)]).collect();
    trace(folder, "whole.json", &whole.join(","));
    // A buffer of the profiler is lost: twenty launches in a row have no kernels.
    let lost: Vec<String> = (1..100)
        .flat_map(|at| if (40..60).contains(&at) { vec![launch(at)] } else { vec![launch(at), kernel(at)] })
        .collect();
    trace(folder, "lost.json", &lost.join(","));
    let run = run(folder, &["whole.json", "lost.json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("elapsed "), "{}", run.stdout);
    let trust = run.stdout.lines().find(|line| line.starts_with("trust: ")).unwrap_or_default();
    assert!(trust.starts_with("trust: trace 1 high; trace 2 LOW") && trust.contains("LOST_BUFFER"), "{}", run.stdout);
    let before_parts = run.stdout.split("\n\n").next().unwrap_or_default();
    assert!(before_parts.contains(trust), "{}", run.stdout);
    assert!(run.stderr.contains("warning: lost.json: not to be trusted: LOST_BUFFER"), "{}", run.stderr);
}

#[test]
fn times_in_another_unit_are_refused() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let events = |unit: u64| -> String {
        let event = |at: u64| {
            format!(
                r#"{{"cat": "kernel", "name": "k{}", "ts": {}, "dur": {}, "args": {{"correlation": {at}}}}},
                   {{"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": {}, "dur": {}, "args": {{"correlation": {at}}}}}"#,
                at % 7,
                unit * (at * 50 + 10),
                unit * 20,
                unit * at * 50,
                unit * 5
            )
        };
        (1..200).map(event).collect::<Vec<_>>().join(",")
    };
    trace(folder, "us.json", &events(1));
    trace(folder, "ns.json", &events(1000));
    let refused = run(folder, &["us.json", "ns.json"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("error: ns.json: times are in another unit"), "{}", refused.stderr);
    let accepted = run(folder, &["us.json", "ns.json", "--accept", "WRONG_UNIT"]);
    assert_eq!(accepted.code, 0, "{}", accepted.stderr);
}

#[test]
fn what_was_inside_the_limit_and_is_outside_now_fails() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let of = |gemm: u32| {
        let step = |at: u32| {
            format!(
                r#"{{"cat": "user_annotation", "name": "step[DECODE bs=1]", "ts": {0}, "dur": 90}},
                   {{"cat": "kernel", "name": "nvjet_a", "ts": {0}, "dur": {gemm}}},
                   {{"cat": "kernel", "name": "flash_fwd", "ts": {1}, "dur": 20}}"#,
                100 * at,
                100 * at + 60
            )
        };
        (0..10).map(step).collect::<Vec<_>>().join(",")
    };
    for (name, gemm) in [("base.json", 30), ("same.json", 30), ("slow.json", 45)] {
        trace(folder, name, &of(gemm));
    }
    let old = run(folder, &["base.json", "same.json", "--format", "json", "--output", "old.json"]);
    assert_eq!(old.code, 0, "{}", old.stderr);
    let gate = ["--baseline", "old.json", "--fail-regression", "10", "--format", "csv"];
    let same = run(folder, &[&["base.json", "same.json"][..], &gate].concat());
    assert_eq!(same.code, 0, "{}", same.stderr);
    let slow = run(folder, &[&["base.json", "slow.json"][..], &gate].concat());
    assert_eq!(slow.code, 3, "{}", slow.stderr);
    let expected = "limit: Dense GEMM (nvjet_a): trace 2 against trace 1 was +0.0 % and is +50.0 % now, 0.015 ms more (limit 10 %)";
    assert!(slow.stderr.contains(expected), "{}", slow.stderr);
}

#[test]
fn every_kernel_has_a_row_in_the_table_of_events() {
    let folder = TempDir::new().expect("a folder");
    for file in ["mi300x.json", "h100.json"] {
        std::fs::copy(testdata(file), folder.path().join(file)).expect("a copy");
    }
    let run = run(folder.path(), &["mi300x.json", "h100.json", "--format", "csv", "--events", "events.csv"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let events = std::fs::read_to_string(folder.path().join("events.csv")).expect("a table");
    let mut lines = events.lines();
    assert_eq!(lines.next(), Some("trace,index,name,start_us,duration_us,class,family,layer,part,pair"));
    assert_eq!(lines.count(), 170 + 190);
}

#[test]
fn both_traces_stand_below_each_other_in_one() {
    let folder = TempDir::new().expect("a folder");
    let inputs = ["mi300x.json", "h100.json"].map(testdata);
    let arguments = [inputs[0].as_str(), inputs[1].as_str(), "--trace-out", "both.json"];
    let plain = run(folder.path(), &arguments[..2]);
    let ran = run(folder.path(), &arguments);
    assert_eq!((ran.code, &ran.stdout), (0, &plain.stdout), "{}", ran.stderr);
    let text = std::fs::read_to_string(folder.path().join("both.json")).expect("a trace");
    let bytes: u64 = inputs.iter().map(|input| std::fs::metadata(input).expect("a file").len()).sum();
    assert!((text.len() as u64) < 2 * bytes, "{} bytes from {bytes}", text.len());
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let events = document["traceEvents"].as_array().expect("events");
    let kernels = |input: &String| -> usize {
        let trace: serde_json::Value = serde_json::from_slice(&std::fs::read(input).expect("a trace")).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        events.iter().filter(|event| event["cat"] == "kernel").count()
    };
    let of = |pid: i64| {
        let is_kernel = |event: &&serde_json::Value| {
            event["ph"] == "X" && event["pid"] == pid && event["args"]["family"].is_string()
        };
        events.iter().filter(is_kernel).count()
    };
    assert_eq!([of(1), of(2)], [kernels(&inputs[0]), kernels(&inputs[1])], "every kernel of both traces");
    let times: Vec<f64> = events.iter().filter_map(|event| event["ts"].as_f64()).collect();
    assert!(times.is_sorted());
    for part in ["\"ph\":\"s\"", "\"ph\":\"f\"", "layer 0\"", "\"lost_us\":", "\"cname\":", "trace 1 - trace 2 (us)"] {
        assert!(text.contains(part), "{part}");
    }
    let refused = run(folder.path(), &["--pairs", "list.yaml", "--trace-out", "both.json"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

/// Folder of the made-up ranks.
fn demo_ranks() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/ranks")
}

#[test]
fn the_late_rank_is_told_first() {
    let told = run(&demo_ranks(), &["--ranks", "."]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    insta::assert_snapshot!("ranks", told.stdout);
    let csv = run(&demo_ranks(), &["--ranks", "rank0.json", "rank2.json", "--format", "csv"]);
    assert_eq!(csv.stdout.lines().count(), 1 + 2 * 9, "{}", csv.stdout);
    let both = run(&demo_ranks(), &["--ranks1", "rank0.json", "rank1.json", "--ranks2", "rank0.json", "rank2.json"]);
    let verdict = "a step takes 1.079 ms on side 2 and 1.079 ms on side 1 (+0.0 %); waiting for one rank alone: 0.061 and 0.000 ms";
    let begins = format!("{verdict}\n\nFROM SIDE 1 TO SIDE 2, ms per step, mean of the ranks\n");
    assert!(both.stdout.starts_with(&begins), "{}", both.stdout);
    assert!(
        both.stdout.contains("\nwaiting for one rank alone        0.000        0.061       +0.061\n"),
        "{}",
        both.stdout
    );
}

#[test]
fn results_go_into_files_beside_the_text() {
    let folder = TempDir::new().expect("a folder");
    let traces = [testdata("mi300x.json"), testdata("h100.json")];
    let [first, second] = traces.each_ref().map(String::as_str);
    let text = run(folder.path(), &[first, second]);
    let both = run(folder.path(), &[first, second, "--result-json", "r.json", "--result-csv", "r.csv"]);
    assert_eq!((both.code, both.stdout), (0, text.stdout), "{}", both.stderr);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a result");
    assert_eq!(read("r.json"), run(folder.path(), &[first, second, "--format", "json"]).stdout);
    assert_eq!(read("r.csv"), run(folder.path(), &[first, second, "--format", "csv"]).stdout);
    let dash = run(folder.path(), &[first, second, "--json", "-"]);
    assert_eq!(dash.stdout, read("r.json"));
    for line in [
        &["--pairs", "x.yaml", "--result-json", "r.json"][..],
        &[first, second, "--fusion", "--result-csv", "r.csv"],
        &[first, second, "--json", "-", "--csv", "-"],
    ] {
        assert_eq!(run(folder.path(), line).code, 2, "{line:?}");
    }
    assert_eq!(run(folder.path(), &[first, second, "--result-json", first]).code, 1);
}
