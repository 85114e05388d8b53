//! explain-prediction beside a database, and as a trace for viewers.

use super::*;
use serde_json::Value;

/// Products of four sizes.
fn database() -> String {
    let columns = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)\n";
    let row = |(rows, us): (u32, f64)| {
        format!("\"{rows},512;2048,512\",DT_BF16;DT_BF16,ND;ND,\"{rows},2048\",DT_BF16,ND,{us}\n")
    };
    columns.to_owned() + &[(16, 5.0), (64, 9.0), (128, 15.0), (256, 28.0)].map(row).concat()
}

const MAPPING: &str = "operator_mappings: {aten.mm.default: {kernel_type: MatMulV2}}\n";

fn product(at: usize, rows: u32, source: &str, duration_us: u32) -> String {
    let tensor = |shape: &str| format!("tensor(..., device='meta', size=({shape}), dtype=torch.bfloat16)");
    let (one, other, result) = (tensor(&format!("{rows}, 512")), tensor("512, 2048"), tensor(&format!("{rows}, 2048")));
    format!(
        r#",{{"name": "aten.mm.default", "cat": "empirical", "ph": "X", "ts": {}, "dur": {duration_us}, "pid": 0, "tid": 0, "args": {{"Inputs": "({one}, {other}) kwargs: {{}}", "Output": "{result}", "kernel_shapes": "[[{rows}, 512], [2048, 512]]", "source": "{source}", "shape_match_rule": "identity", "kernel_type": "MatMulV2"}}}}"#,
        at * 100
    )
}

fn with_database() -> Result<Folder, Box<dyn Error>> {
    let folder = Folder::new()?;
    fs::create_dir(folder.0.path().join("db"))?;
    folder.write("db/op_mapping.yaml", MAPPING)?;
    let name = r#"{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}}"#;
    let events = product(0, 16, "MEASURED", 5) + &product(1, 96, "INTERPOLATED", 14);
    folder.write("t.json", format!(r#"{{"traceEvents": [{name}{events}]}}"#))?;
    let profile = "Type,Start Time(us),Duration(us),Input Shapes\nMatMulV2,1,5.2,\"16,512;2048,512\"\nMatMulV2,50,12.1,\"96,512;2048,512\"\n";
    folder.write("p.csv", profile)?;
    Ok(folder)
}

#[test]
fn leaves_that_rest_on_a_prediction_have_the_interval_of_the_database() -> TestResult {
    let folder = with_database()?;
    let run = || {
        folder
            .run("explain-prediction", &[&M6[..], &["--data-dir", "db", "--json", "e.json", "--csv", "e.csv"]].concat())
    };
    let without = run()?;
    assert_eq!(without.code, Some(0), "{without:?}");
    let document: Value = serde_json::from_str(&folder.read("e.json")?)?;
    assert!(document.get("interval").is_none() && !without.stdout.contains("the database"), "no tables, no intervals");
    let (leaves_before, csv_before) = (document["leaves"].clone(), folder.read("e.csv")?);

    folder.write("db/MatMulV2.csv", database())?;
    let ran = run()?;
    assert!(ran.stdout.contains("the database predicts "), "{ran:?}");
    let document: Value = serde_json::from_str(&folder.read("e.json")?)?;
    let whole = &document["interval"];
    let ps = |value: &Value, key: &str| value[key].as_i64().unwrap_or_default();
    assert_eq!((ps(whole, "simulated_ps"), ps(whole, "unanswered_ps")), (19_000_000, 0));
    assert!(ps(whole, "low_ps") < ps(whole, "best_ps") && ps(whole, "best_ps") < ps(whole, "high_ps"), "{whole}");
    let mut leaves = document["leaves"].clone();
    for leaf in leaves.as_array_mut().ok_or("leaves")? {
        let interval = leaf.as_object_mut().and_then(|leaf| leaf.remove("interval"));
        assert_eq!(interval.is_some(), leaf["source"] == "interpolated", "{leaf}");
        let Some(interval) = interval else { continue };
        assert_eq!(ps(&interval, "simulated_ps"), 14_000_000);
        // Between 9 us for 64 rows and 15 us for 128.
        let best_ps = ps(&interval, "best_ps");
        assert!((9_000_000..15_000_000).contains(&best_ps), "{interval}");
        assert!(ps(&interval, "low_ps") < best_ps && best_ps < ps(&interval, "high_ps"), "{interval}");
    }
    assert_eq!(leaves, leaves_before, "nothing but the interval is new, and the sum stays");
    let csv = folder.read("e.csv")?;
    assert!(csv.lines().next().is_some_and(|header| header.ends_with(",source,simulated_us,best_us,low_us,high_us")));
    for (line, before) in csv.lines().zip(csv_before.lines()) {
        assert!(line.starts_with(before), "{line}");
    }
    Ok(())
}

#[test]
fn a_sum_of_which_a_kernel_is_missing_has_no_interval() -> TestResult {
    let folder = with_database()?;
    folder.write("db/MatMulV2.csv", database())?;
    // Latent attention whose two products have rows, and whose attention has none.
    let mapping = "operator_mappings:\n  aten.mm.default: {kernel_type: MatMulV2}\n  tensor_cast.multihead_latent_attention.default: {composite: true, decomposer: true}\n";
    folder.write("db/op_mapping.yaml", mapping)?;
    for (table, shapes) in [("BatchMatMulV2", "8,1,128;8,128,512"), ("TransposeBatchMatMul", "8,1,512;8,512,128")] {
        let row = format!("\"{shapes}\",DT_BF16;DT_BF16,ND;ND,4\n");
        let text = format!("Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n{row}");
        folder.write(&format!("db/{table}.csv"), text)?;
    }
    let tensor = |shape: &str, of: &str| format!("tensor(..., device='meta', size=({shape}), dtype=torch.{of})");
    let inputs = [
        tensor("1, 8, 192", "bfloat16"),
        tensor("33, 128, 576", "bfloat16"),
        tensor("1, 33", "int64"),
        "tensor([0, 1]), tensor([4097]), tensor([1])".to_owned(),
        tensor("8, 128, 512", "bfloat16"),
        tensor("8, 512, 128", "bfloat16"),
        tensor("512, 2048", "bfloat16"),
        "128".to_owned(),
    ];
    let partial = format!(
        r#",{{"name": "tensor_cast.multihead_latent_attention.default", "cat": "empirical", "ph": "X", "ts": 200, "dur": 9, "pid": 0, "tid": 0, "args": {{"Inputs": "({}) kwargs: {{}}", "Output": "{}", "source": "PARTIAL", "hit_kernels": "['BatchMatMulV2', 'TransposeBatchMatMul']", "missed_kernels": "['FusedInferAttentionScore']"}}}}"#,
        inputs.join(", "),
        tensor("1, 8, 128", "bfloat16")
    );
    folder.write("t.json", folder.read("t.json")?.replace("]}", &format!("{partial}]}}")))?;
    let ran = folder.run("explain-prediction", &[&M6[..], &["--data-dir", "db", "--json", "e.json"]].concat())?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document: Value = serde_json::from_str(&folder.read("e.json")?)?;
    let leaves = document["leaves"].as_array().ok_or("leaves")?;
    let of = |source: &str| leaves.iter().filter(|leaf| leaf["source"] == source).collect::<Vec<_>>();
    assert!(of("interpolated")[0].get("interval").is_some());
    assert_eq!((of("partial").len(), of("partial")[0].get("interval")), (1, None), "{leaves:?}");
    assert_eq!(document["interval"]["unanswered_ps"], 9_000_000);
    Ok(())
}

#[test]
fn kernels_that_are_all_slower_by_one_factor_are_one_sentence() -> TestResult {
    let folder = Folder::new()?;
    let name = r#"{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}}"#;
    // 10 % slower, each within 1 % of that; the longest lies at one end.
    let kernels = [(16, 100, 1.11), (32, 100, 1.1), (48, 100, 1.1), (64, 100, 1.09), (80, 100, 1.1), (96, 1000, 1.09)];
    let (mut events, mut profile) = (String::new(), "Type,Start Time(us),Duration(us),Input Shapes\n".to_owned());
    for (at, (rows, us, factor)) in kernels.into_iter().enumerate() {
        events += &product(at, rows, "MEASURED", us);
        let took = f64::from(us) * factor;
        profile += &format!("MatMulV2,{},{took:.3},\"{rows},512;2048,512\"\n", 1 + 2000 * at);
    }
    folder.write("t.json", format!(r#"{{"traceEvents": [{name}{events}]}}"#))?;
    folder.write("p.csv", profile)?;
    let ran = folder.run("explain-prediction", &M6)?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let causes = ran.stdout.lines().filter(|line| line.contains("time per call")).collect::<Vec<_>>();
    assert_eq!(causes.len(), 1, "{}", ran.stdout);
    assert!(causes[0].contains("all kernels take 9.3 % longer than predicted"), "{}", ran.stdout);
    Ok(())
}

/// Checks what viewers need, and gives the number of slices and of arrows.
fn check_trace(text: &str) -> Result<(usize, usize), Box<dyn Error>> {
    let document: Value = serde_json::from_str(text)?;
    let events = document["traceEvents"].as_array().ok_or("no events")?;
    let (mut last, mut slices, mut arrows) = (0.0, 0, 0);
    let mut open: std::collections::BTreeMap<(i64, i64), Vec<i64>> = Default::default();
    for event in events.iter().filter(|event| event["ph"] != "M") {
        let start = event["ts"].as_f64().ok_or("no time")?;
        assert!(start >= last, "{event} after {last}");
        last = start;
        arrows += usize::from(event["ph"] == "s");
        if event["ph"] == "X" {
            slices += 1;
            let ns = |us: f64| (us * 1000.0).round() as i64;
            let (begin, end) = (ns(start), ns(start) + ns(event["dur"].as_f64().ok_or("no duration")?));
            let place = [&event["pid"], &event["tid"]].map(|number| number.as_i64().unwrap_or_default());
            let ends = open.entry((place[0], place[1])).or_default();
            while ends.last().is_some_and(|last| *last <= begin) {
                ends.pop();
            }
            assert!(ends.last().is_none_or(|last| end <= *last), "{event} overlaps");
            ends.push(end);
        }
    }
    Ok((slices, arrows))
}

#[test]
fn both_sides_as_one_trace() -> TestResult {
    let folder = Folder::new()?;
    let out = folder.0.path().join("both.json");
    for name in ["qwen3_32b_decode", "qwen3_32b_prefill", "deepseek_v3_decode", "deepseek_v3_prefill"] {
        let pass = repository().join("testdata/scenarios").join(name);
        let [trace, profile] = ["trace.json", "forward_pass.csv"].map(|file| pass.join(file));
        let mut command = Command::cargo_bin("explain-prediction")?;
        command.arg("--tc-trace").arg(&trace).arg("--prof-trace").arg(&profile).arg("--trace-out").arg(&out);
        assert!(command.output()?.status.success());
        let text = fs::read_to_string(&out)?;
        let (slices, arrows) = check_trace(&text)?;
        assert!(slices > 1000 && arrows > 300, "{name}: {slices} slices, {arrows} arrows");
        let inputs = fs::metadata(&trace)?.len() + fs::metadata(&profile)?.len();
        assert!((text.len() as u64) < 2 * inputs, "{name}: {} bytes from {inputs}", text.len());
        for part in
            ["\"layer 3\"", "\"family\":\"gemm", "\"cause\":\"", "\"lost_us\":", "\"predicted - measured (us)\""]
        {
            assert!(text.contains(part), "{name}: {part}");
        }
        // Our own reader takes it.
        let table =
            folder.run("trace-to-csv", &["--trace", &out.to_string_lossy(), "--columns", "op_name,ts,dur_us,pid"])?;
        assert_eq!((table.code, table.stdout.lines().count()), (Some(0), slices + 1), "{name}: {}", table.stderr);
    }
    let zipped = folder.0.path().join("both.json.gz");
    let pass = repository().join("testdata/scenarios/deepseek_v3_prefill");
    let mut command = Command::cargo_bin("explain-prediction")?;
    command.arg("--tc-trace").arg(pass.join("trace.json")).arg("--prof-trace").arg(pass.join("forward_pass.csv"));
    assert!(command.arg("--trace-out").arg(&zipped).output()?.status.success());
    assert_eq!(fs::read(&zipped)?[..2], [0x1f, 0x8b]);
    let table = |file: &Path| folder.run("trace-to-csv", &["--trace", &file.to_string_lossy()]);
    assert_eq!(table(&zipped)?.stdout, table(&out)?.stdout);
    Ok(())
}

#[test]
fn several_measured_passes_are_sides_of_their_own() -> TestResult {
    let folder = Folder::new()?;
    let mut profile = "Type,Start Time(us),Duration(us),Input Shapes\n".to_owned();
    let mut trace =
        r#"{"traceEvents": [{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}}"#
            .to_owned();
    let types = || ["RmsNorm", "MatMulV2", "Add"].repeat(400).into_iter().chain(["ArgMaxV2"]);
    let mut start_us = 0;
    for _ in 0..5 {
        for kernel_type in types() {
            profile += &format!("{kernel_type},{start_us},10,\"16,5120\"\n");
            start_us += 11;
        }
        start_us += 400;
    }
    for (at, kernel_type) in types().enumerate() {
        trace += &format!(
            ",\n{{\"name\": \"op.{kernel_type}\", \"ph\": \"X\", \"ts\": {}, \"dur\": 9, \"pid\": 0, \"tid\": 0, \"args\": {{\"source\": \"MEASURED\", \"kernel_type\": \"{kernel_type}\", \"kernel_shapes\": \"[[16, 5120]]\", \"Inputs\": \"{}\"}}}}",
            at * 9,
            "x".repeat(300)
        );
    }
    folder.write("t.json", trace + "]}")?;
    folder.write("p.csv", profile)?;
    let arguments = [&M6[..], &["--n-forward-passes", "5", "--trace-out", "both.json"]].concat();
    let ran = folder.run("explain-prediction", &arguments)?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = folder.read("both.json")?;
    let (slices, arrows) = check_trace(&text)?;
    assert!(arrows >= 1201 && slices > 6 * 1201, "{arrows} arrows, {slices} slices");
    assert!(text.contains("\"measured, pass 5\"") && text.contains("\"layer 399\""));
    let refused = folder.run("explain-prediction", &[&M6[..], &["--trace-out", "t.json"]].concat())?;
    assert_eq!(refused.code, Some(1), "an input is no output");
    Ok(())
}

/// A measured pass as the profiler writes it: the two rows of a collective start together. What runs on the AI CPU is left out, which
/// explain-prediction does not count.
fn pass_as_recorded(text: &str) -> String {
    let cell = |line: &str, at: usize| line.split(',').nth(at).unwrap_or_default().to_owned();
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    for (at, line) in lines.iter().copied().enumerate() {
        let next = lines.get(at + 1).copied().map(|next| cell(next, 4)).unwrap_or_default();
        let line = if line.starts_with("N/A,") { line.replacen(&cell(line, 4), &next, 1) } else { line.to_owned() };
        if cell(&line, 3) != "AI_CPU" {
            out += &line;
            out.push('\n');
        }
    }
    out
}

#[test]
fn the_measured_side_is_what_compare_traces_sums_up() -> TestResult {
    for scenario in ["qwen3_32b_prefill", "qwen3_32b_decode", "deepseek_v3_prefill", "deepseek_v3_decode"] {
        let folder = Folder::new()?;
        let given = repository().join("testdata/scenarios").join(scenario).canonicalize()?;
        folder.write("pass.csv", pass_as_recorded(&fs::read_to_string(given.join("forward_pass.csv"))?))?;
        let trace = given.join("trace.json").display().to_string();
        let predicted = ["--tc-trace", &trace, "--prof-trace", "pass.csv", "--json", "e.json"];
        assert_eq!(folder.run("explain-prediction", &predicted)?.code, Some(0), "{scenario}");
        assert_eq!(
            folder.run("compare-traces", &["pass.csv", "pass.csv", "-o", "d.json"])?.code,
            Some(0),
            "{scenario}"
        );
        let document = |name: &str| -> Result<Value, Box<dyn Error>> { Ok(serde_json::from_str(&folder.read(name)?)?) };
        let (measured, compared) = (document("e.json")?, document("d.json")?);
        assert_eq!(measured["passes"].as_f64(), compared["elapsed"]["trace1"]["passes"].as_f64(), "{scenario}");
        let operations = compared["operations"].as_array().ok_or("operations")?;
        let sum: f64 = operations.iter().filter_map(|row| row["trace1_total_ms"].as_f64()).sum();
        assert_eq!(measured["measured_ps"].as_f64(), Some((sum * 1e9).round()), "{scenario}");
    }
    Ok(())
}

/// A shipped scenario's file.
fn scenario(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/scenarios").join(name).display().to_string()
}

#[test]
fn a_pass_of_another_model_is_said_to_be_one() -> TestResult {
    let folder = Folder::new()?;
    let explained = |trace: &str, pass: &str| {
        let (trace, pass) = (scenario(&format!("{trace}/trace.json")), scenario(&format!("{pass}/forward_pass.csv")));
        folder.run("explain-prediction", &["--tc-trace", &trace, "--prof-trace", &pass])
    };
    for (trace, pass) in [("deepseek_v3_decode", "qwen3_32b_decode"), ("qwen3_32b_prefill", "deepseek_v3_prefill")] {
        let ran = explained(trace, pass)?;
        assert!(ran.stdout.starts_with("NOT THE SAME WORKLOAD: "), "{ran:?}");
        assert!(!ran.stdout.contains("What to do"), "no advice follows: {ran:?}");
    }
    for same in ["deepseek_v3_decode", "deepseek_v3_prefill", "qwen3_32b_decode", "qwen3_32b_prefill"] {
        let ran = explained(same, same)?;
        assert!(ran.stdout.starts_with("predicted "), "{ran:?}");
    }
    Ok(())
}
