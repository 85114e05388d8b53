//! audit-coverage as it is called: shares for people and programs, limits, the way from a trace to rows that are measured.

use assert_cmd::Command;
use serde_json::Value;
use std::error::Error;
use std::fs;
use std::path::Path;

type TestResult = Result<(), Box<dyn Error>>;

/// Status, stdout and stderr of a tool.
fn run(folder: &Path, tool: &str, arguments: &[&str]) -> Result<(Option<i32>, String, String), Box<dyn Error>> {
    let mut command = Command::cargo_bin(tool)?;
    let output = command.current_dir(folder).args(arguments).output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
}

fn database() -> Result<tempfile::TempDir, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut table = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)\n".to_owned();
    for (rows, us) in [(1, 3.0), (16, 3.2), (64, 4.0), (256, 8.0), (1024, 25.0)] {
        table += &format!("\"{rows},512;512,256\",DT_BF16;DT_BF16,ND;ND,\"{rows},256\",DT_BF16,ND,{us}\n");
    }
    fs::write(folder.path().join("MatMulV2.csv"), table)?;
    let mapping = "operator_mappings:\n  aten.mm.default: {kernel_type: MatMulV2}\n  aten.view.default: {zero_cost: true}\n  aten.mul.Tensor: {kernel_type: Mul, query_mode: elementwise}\n";
    fs::write(folder.path().join("op_mapping.yaml"), mapping)?;
    let line = |id: &str, op: &str, rows: i64, calls: u64, further: &str| {
        let tensor = |a: i64, b: i64| format!("{{\"shape\": [{a}, {b}], \"dtype\": \"bf16\"}}");
        let inputs = format!("[{}, {}]", tensor(rows, 512), tensor(512, 256));
        let query = format!("{{\"op\": \"{op}\", \"inputs\": {inputs}, \"output\": {}}}", tensor(rows, 256));
        format!("{{\"id\": \"{id}\", \"calls\": {calls}{further}, \"query\": {query}}}\n")
    };
    let manifest = [
        line("decode", "aten.mm.default", 16, 60, ", \"critical\": true"),
        line("decode", "aten.mm.default", 100, 20, ""),
        line("decode", "aten.mm.default", 4096, 10, ""),
        line("decode", "aten.mul.Tensor", 16, 10, ""),
        line("decode", "aten.view.default", 16, 7, ""),
        line("prefill", "aten.mm.default", 1024, 5, ""),
    ];
    fs::write(folder.path().join("calls.jsonl"), manifest.concat())?;
    Ok(folder)
}

#[test]
fn what_an_audit_writes_is_a_manifest_again() -> TestResult {
    let folder = database()?;
    let at = folder.path();
    let own = "{\"query\": {\"op\": \"my.mm\", \"entry\": {\"kernel_type\": \"MatMulV2\"}, \"inputs\": [{\"shape\": [16, 512], \"dtype\": \"bf16\"}, {\"shape\": [512, 256], \"dtype\": \"bf16\"}]}}\n";
    fs::write(at.join("calls.jsonl"), fs::read_to_string(at.join("calls.jsonl"))? + own)?;
    let questions = |manifest: &str| -> Result<Vec<Value>, Box<dyn Error>> {
        let arguments = ["--database-path", ".", "--manifest", manifest, "--json", "o.json"];
        let (status, _, stderr) = run(at, "audit-coverage", &arguments)?;
        assert_eq!(status, Some(0), "{stderr}");
        let json: Value = serde_json::from_slice(&fs::read(at.join("o.json"))?)?;
        let of = |workload: &Value| workload["questions"].as_array().cloned().unwrap_or_default();
        Ok(json["workloads"].as_array().into_iter().flatten().flat_map(of).collect())
    };
    let first = questions("calls.jsonl")?;
    let line =
        |question: &Value| format!("{}\n", serde_json::json!({"query": question["query"], "calls": question["calls"]}));
    fs::write(at.join("again.jsonl"), first.iter().map(line).collect::<String>())?;
    let again = questions("again.jsonl")?;
    assert_eq!(again.len(), first.len());
    for (first, again) in first.iter().zip(&again) {
        for key in ["query", "calls", "standing", "duration_us", "reason"] {
            assert_eq!(first[key], again[key], "{first}");
        }
    }
    assert!(
        first
            .iter()
            .any(|question| question["query"]["entry"]["kernel_type"] == "MatMulV2" && question["duration_us"] == 3.2)
    );
    Ok(())
}

const AUDIT: [&str; 4] = ["--database-path", ".", "--manifest", "calls.jsonl"];

#[test]
fn people_read_shares_kernels_and_what_is_missing() -> TestResult {
    let folder = database()?;
    let (status, stdout, stderr) = run(folder.path(), "audit-coverage", &[&AUDIT[..], &["--suggest", "3"]].concat())?;
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(stdout);
    Ok(())
}

#[test]
fn programs_read_the_same() -> TestResult {
    let folder = database()?;
    let outputs = ["--json", "o.json", "--csv", "o.csv", "--suggest", "5"];
    let (status, _, stderr) = run(folder.path(), "audit-coverage", &[&AUDIT[..], &outputs].concat())?;
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let json: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("o.json"))?)?;
    let decode = &json["workloads"][0];
    let calls = |source: &str| decode["shares"][source]["calls"].clone();
    assert_eq!((&decode["name"], &decode["calls"], &decode["free_calls"]), (&"decode".into(), &100.into(), &7.into()));
    let shares = ["exact", "padded", "interpolated", "beyond", "partial", "missing"].map(calls);
    assert_eq!(shares, [60, 0, 20, 10, 0, 10].map(Value::from));
    assert_eq!(decode["interpolated_by"][0]["axes"], serde_json::json!(["M"]));
    assert_eq!(decode["shares"]["exact"]["time_us"], 60.0 * 3.2);
    assert_eq!(decode["calls_without_time"], 10);
    assert_eq!(json["workloads"][1]["shares"]["exact"]["calls"], 5);
    let question = &decode["questions"][1];
    let [low, high] = [0, 1].map(|at| question["interval_us"][at].as_f64().unwrap_or_default());
    let us = question["duration_us"].as_f64().unwrap_or_default();
    assert!(4.0 < us && us < 8.0 && 0.0 < low && low < us && us < high, "{question}");
    let product = &json["kernels"].as_array().ok_or("kernels")?.iter().find(|one| one["kernel_type"] == "MatMulV2");
    let product = product.ok_or("no MatMulV2")?;
    assert_eq!((&product["rows"], &product["scores"][0]["left_out"]), (&5.into(), &"row".into()));
    let suggested: Vec<&Value> = json["suggestions"]["rows"].as_array().ok_or("rows")?.iter().collect();
    let mut inputs: Vec<&str> = suggested.iter().filter_map(|row| row["inputs"].as_str()).collect();
    inputs.sort_unstable();
    assert_eq!(inputs, ["100,512;512,256", "4096,512;512,256"]);
    assert_eq!(suggested[0]["cells"]["Output Shapes"].as_str().map(|cell| cell.ends_with(",256")), Some(true));
    assert_eq!(json["suggestions"]["without"][0]["name"], "aten.mul.Tensor");
    let csv = fs::read_to_string(folder.path().join("o.csv"))?;
    assert_eq!(csv.lines().count(), 7);
    assert!(csv.contains("\ndecode,1,aten.mm.default,MatMulV2,true,exact,,60,3.2,"), "{csv}");
    Ok(())
}

#[test]
fn limits_that_do_not_hold_end_with_3() -> TestResult {
    let folder = database()?;
    let audit = |limits: &[&str]| run(folder.path(), "audit-coverage", &[&AUDIT[..], limits].concat());
    let (status, _, stderr) = audit(&["--require-exact", "60.1"])?;
    assert_eq!(status, Some(3));
    assert!(
        stderr.contains("limit: decode: ") && stderr.contains(" % are exact (limit at least 60.1 %)\n"),
        "{stderr}"
    );
    assert!(!stderr.contains("prefill"), "{stderr}");
    let (status, _, stderr) = audit(&["--max-missing", "19"])?;
    assert_eq!(status, Some(3), "{stderr}");
    assert_eq!(audit(&["--max-missing", "90", "--require-exact", "1"])?.0, Some(0));
    assert_eq!(audit(&["--max-missing", "101"])?.0, Some(2));
    Ok(())
}

#[test]
fn time_of_which_nothing_is_known_is_not_called_exact() -> TestResult {
    let folder = database()?;
    let line = "{\"id\": \"new\", \"query\": {\"op\": \"aten.silu.default\", \"inputs\": [{\"shape\": [16, 512], \"dtype\": \"bf16\"}]}}\n";
    fs::write(folder.path().join("new.jsonl"), line)?;
    let arguments = ["--database-path", ".", "--manifest", "new.jsonl", "--html", "page.html"];
    let (status, stdout, stderr) = run(folder.path(), "audit-coverage", &arguments)?;
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let of_time: Vec<&str> = stdout.lines().nth(4).ok_or("no line of time")?.split_whitespace().collect();
    assert_eq!(of_time, ["time", "unknown", "-", "-", "-", "-", "-", "-"], "{stdout}");
    let kernel = stdout.lines().find(|line| line.starts_with("aten.silu.default")).ok_or("no kernel")?;
    assert_eq!(kernel.split_whitespace().nth(2), Some("unknown"), "{stdout}");
    let page = fs::read_to_string(folder.path().join("page.html"))?;
    assert!(page.contains("0.0 % of the calls is based on exact matches") && !page.contains("of the time"), "{page}");
    Ok(())
}

#[test]
fn a_table_that_is_there_is_not_said_to_be_missing() -> TestResult {
    let folder = database()?;
    let mapping =
        "operator_mappings:\n  aten.mm.default: {kernel_type: MatMulV2, alternate_kernel_types: [MatMulV2AiCore]}\n";
    fs::write(folder.path().join("op_mapping.yaml"), mapping)?;
    let (_, stdout, _) = run(folder.path(), "audit-coverage", &AUDIT)?;
    let line = stdout
        .lines()
        .find(|line| line.contains("beyond aten.mm.default 4096,512;512,256 bfloat16, 10 ×"))
        .ok_or("no call beyond")?;
    assert!(!line.contains("the database has no table for its kernel"), "{line}");
    assert!(line.contains(": no matching row"), "{line}");
    Ok(())
}

#[test]
fn a_table_that_cannot_be_used_is_named_with_the_reason() -> TestResult {
    let folder = database()?;
    let table = folder.path().join("MatMulV2.csv");
    fs::write(&table, fs::read_to_string(&table)? + "1,2,3,4,5,6,7,8,9\n")?;
    let arguments = ["--database-path", ".", "--manifest", "calls.jsonl", "--suggest", "3"];
    let (status, stdout, stderr) = run(folder.path(), "audit-coverage", &arguments)?;
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(stderr.matches("warning: no answers from a table: MatMulV2.csv:7: ").count(), 1, "{stderr}");
    assert!(stdout.contains("its table cannot be used"), "{stdout}");
    Ok(())
}

#[test]
fn what_cannot_be_used_is_one_error_line() -> TestResult {
    let folder = database()?;
    let (status, _, stderr) = run(folder.path(), "audit-coverage", &["--database-path", "."])?;
    assert_eq!(status, Some(2));
    assert!(stderr.contains("no workload: give --from-trace, --manifest or --model"), "{stderr}");
    fs::write(
        folder.path().join("bad.jsonl"),
        "{\"query\": {\"op\": \"a\"}}\n{\"query\": {\"op\": \"a\", \"inputs\": 3}}\n",
    )?;
    fs::write(folder.path().join("empty.json"), "{\"traceEvents\": []}")?;
    for (arguments, error) in [
        (["--manifest", "bad.jsonl"], "error: bad.jsonl:2: query.inputs: not a list\n"),
        (
            ["--from-trace", "empty.json"],
            "error: empty.json: no calls that were looked up in a profiling database (was it written by the analytic model?)\n",
        ),
    ] {
        let (status, stdout, stderr) =
            run(folder.path(), "audit-coverage", &[&["--database-path", "."], &arguments[..]].concat())?;
        assert_eq!((status, stdout.as_str(), stderr.as_str()), (Some(1), "", error));
    }
    Ok(())
}

/// The loop of docs/guide/coverage.md.
#[test]
fn from_a_trace_to_rows_that_are_measured_and_back() -> TestResult {
    let folder = tempfile::tempdir()?;
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/demo-database");
    let database = folder.path().join("HOST_CPU/demo");
    fs::create_dir_all(&database)?;
    for entry in fs::read_dir(demo.join("HOST_CPU/demo"))? {
        let path = entry?.path();
        fs::copy(&path, database.join(path.file_name().ok_or("a name")?))?;
    }
    fs::copy(demo.join("op_mapping.yaml"), database.join("op_mapping.yaml"))?;
    fs::copy(demo.join("trace.json"), folder.path().join("trace.json"))?;
    let measure = ["--database-path", "HOST_CPU/demo", "--backend", "native", "--repeat-count", "3", "--update-mode"];
    let measure = |mode| run(folder.path(), "start-microbench", &[&measure[..], &[mode]].concat());
    let audit = |further: &[&str]| {
        let workload = ["--database-path", "HOST_CPU/demo", "--from-trace", "trace.json"];
        run(folder.path(), "audit-coverage", &[&workload[..], further].concat())
    };
    let (status, _, stderr) = measure("all")?;
    assert_eq!(status, Some(0), "{stderr}");
    let (status, stdout, stderr) = audit(&["--require-exact", "100"])?;
    assert_eq!(status, Some(3), "{stdout}{stderr}");
    let (status, stdout, stderr) = audit(&["--suggest", "20", "--append"])?;
    assert_eq!(status, Some(0), "{stderr}");
    assert!(
        stdout
            .ends_with("appended 6 rows to 4 tables; measure them with start-microbench --update-mode missing-only\n"),
        "{stdout}"
    );
    // What waits for its duration is not suggested again.
    let (status, stdout, _) = audit(&["--suggest", "20"])?;
    assert_eq!(status, Some(0));
    assert!(stdout.ends_with("none\n6 more are in their tables and wait for their durations\n"), "{stdout}");
    let (status, _, stderr) = measure("missing-only")?;
    assert_eq!(status, Some(0), "{stderr}");
    let (status, stdout, stderr) = audit(&["--require-exact", "100", "--max-missing", "0", "--suggest", "20"])?;
    assert_eq!((status, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.ends_with("rows to measure next\nnone\n"), "{stdout}");
    Ok(())
}

const CONFIG: &str = r#"{"model_type": "qwen3", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 4,
    "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 1000, "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-6}"#;

const PASS: [&str; 12] =
    ["--database-path", ".", "--model", "tiny", "--tp", "2", "--phase", "decode", "--batch", "16", "--context", "300"];

#[test]
fn a_model_is_audited_without_a_trace() -> TestResult {
    let folder = database()?;
    fs::create_dir(folder.path().join("tiny"))?;
    fs::write(folder.path().join("tiny/config.json"), CONFIG)?;
    let (status, stdout, stderr) = run(folder.path(), "audit-coverage", &[&PASS[..], &["--json", "o.json"]].concat())?;
    assert_eq!((status, stderr.as_str()), (Some(0), ""), "{stdout}");
    let document: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("o.json"))?)?;
    assert_eq!(document["workloads"][0]["name"], "tiny decode 16 x 300");
    // Products: queries, keys and values, their way out, two of the feed-forward layer, in each of four layers; and the output.
    let questions = document["workloads"][0]["questions"].as_array().ok_or("no questions")?;
    let products = questions.iter().filter(|question| question["name"] == "aten.mm.default");
    assert_eq!(products.filter_map(|question| question["calls"].as_u64()).sum::<u64>(), 17);
    Ok(())
}

#[test]
fn sequences_that_are_longer_than_the_model_takes_are_told() -> TestResult {
    let folder = database()?;
    fs::write(folder.path().join("tiny"), CONFIG)?;
    let told = "warning: --context: sequences of 4097 tokens, but the model takes 4096 (max_position_embeddings)\n";
    for (phase, context, expected) in
        [("decode", "4095", ""), ("decode", "4096", told), ("prefill", "4096", ""), ("prefill", "4097", told)]
    {
        let further = ["--phase", phase, "--batch", "1", "--context", context];
        let (status, _, stderr) = run(folder.path(), "audit-coverage", &[&PASS[..], &further].concat())?;
        assert_eq!((status, stderr.as_str()), (Some(0), expected), "{phase} {context}");
    }
    Ok(())
}

#[test]
fn what_is_no_description_is_told_by_its_field() -> TestResult {
    let folder = database()?;
    let file = folder.path().join("tiny");
    let told = |text: &str, arguments: &[&str]| -> Result<(Option<i32>, String), Box<dyn Error>> {
        fs::write(&file, text)?;
        let (status, _, stderr) = run(folder.path(), "audit-coverage", arguments)?;
        Ok((status, stderr))
    };
    let unknown = told(&CONFIG.replace("qwen3", "mamba"), &PASS)?;
    assert_eq!(unknown.0, Some(1));
    assert!(unknown.1.starts_with("error: tiny: model_type: the architecture mamba is not known"), "{}", unknown.1);
    let missing = told(&CONFIG.replace("vocab_size", "vocabulary"), &PASS)?;
    assert_eq!(missing, (Some(1), "error: tiny: vocab_size: is missing\n".to_owned()));
    let stored =
        CONFIG.replace("\"hidden_size\"", "\"quantization_config\": {\"quant_method\": \"fp8\"}, \"hidden_size\"");
    let quantized = told(&stored, &PASS)?;
    assert_eq!(quantized.0, Some(1));
    assert!(
        quantized.1.starts_with("error: quantization_config.quant_method: 'fp8' does not determine"),
        "{}",
        quantized.1
    );
    assert!(quantized.1.ends_with("w8a8-dynamic (--quantization)\n"), "{}", quantized.1);
    assert_eq!(told(&stored, &[&PASS[..], &["--quantization", "w8a8-static"]].concat())?.0, Some(0));
    let incomplete = told(CONFIG, &PASS[..6])?;
    assert_eq!(incomplete.0, Some(2), "{}", incomplete.1);
    Ok(())
}

/// A forecast asks the database what the trace asks.
#[test]
fn a_forecast_is_audited_like_the_recorded_trace() -> TestResult {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let trace = data.join("tc-traces-newest/qwen3_dc_trace.json.gz");
    let database = data.join("db/ATLAS_800_A3_752T_128G_DIE/vllm_ascend/vllm0.18.0_torch2.9.0_cann8.5");
    if !trace.is_file() || !database.is_dir() {
        println!("skipped: no recorded traces in {}", data.display());
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let config = r#"{"model_type": "qwen3", "head_dim": 128, "hidden_size": 5120, "intermediate_size": 25600,
        "max_position_embeddings": 40960, "num_attention_heads": 64, "num_hidden_layers": 64, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-06, "vocab_size": 151936}"#;
    fs::write(folder.path().join("config.json"), config)?;
    let database = database.display().to_string();
    let common = ["--database-path", &database, "--tp", "16", "--ep", "1", "--no-leave-out", "--json", "o.json"];
    let shares = |workload: &[&str]| -> Result<Value, Box<dyn Error>> {
        let (status, _, stderr) = run(folder.path(), "audit-coverage", &[&common[..], workload].concat())?;
        assert_eq!(status, Some(0), "{stderr}");
        let document: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("o.json"))?)?;
        let calls = &document["workloads"][0]["shares"];
        Ok(calls.clone())
    };
    let forecast = shares(&["--model", ".", "--phase", "decode", "--batch", "16", "--context", "4096"])?;
    let traced = shares(&["--from-trace", &trace.display().to_string()])?;
    println!("{forecast}\n{traced}");
    for (source, share) in traced.as_object().ok_or("no shares")? {
        assert_eq!(forecast[source]["calls"], share["calls"], "{source}");
    }
    Ok(())
}
