//! `-` as a file: stdout with nothing else on it, and stdin.

use assert_cmd::Command;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata")
}

/// What a command line prints on stdout; it must not leave a file of the name `-`.
fn stdout_of(line: &str, stdin: &[u8]) -> Result<String, Box<dyn Error>> {
    let folder = TempDir::new()?;
    let line = line.replace("DATA", &testdata().display().to_string());
    let mut words = line.split(' ');
    let tool = words.next().unwrap_or_default();
    let output = Command::cargo_bin(tool)?
        .args(words)
        .current_dir(folder.path())
        .env("SOURCE_DATE_EPOCH", "0")
        .write_stdin(stdin)
        .output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{line}: {error}");
    assert!(!folder.path().join("-").exists(), "{line}");
    assert!(!folder.path().join("-.lock").exists(), "{line}");
    Ok(String::from_utf8(output.stdout)?)
}

const M6: &str = "compute-m6 --tc-trace DATA/scenarios/qwen3_32b_decode/trace.json --prof-trace DATA/scenarios/qwen3_32b_decode/forward_pass.csv";
const PAIR: &str = "--tc-trace DATA/scenarios/qwen3_32b_decode/trace.json --prof-trace DATA/scenarios/qwen3_32b_decode/forward_pass.csv";

#[test]
fn json_has_stdout_for_itself() -> TestResult {
    for line in [
        &format!("{M6} --json-output -"),
        &format!("{M6} --result-json=-"),
        &format!("generate-op-comparison {PAIR} --data-dir DATA/scenarios --output -"),
        &format!("explain-prediction {PAIR} --data-dir DATA/scenarios --json -"),
        "generate-shape-grid --database-path DATA/demo-database/HOST_CPU/demo --config DATA/demo-database/rules.yaml --dry-run --json -",
        "parse-kernel-details --profiling-path DATA/first-database/profile --database-path db --json -",
        "check-database --database-path DATA/first-database/database --json -",
        "evaluate-database --database-path DATA/first-database/database --kernel SwiGlu --json -",
        "query-database --database-path DATA/first-database/database --json - aten.mm.default 16,5120:bf16 5120,768:bf16",
        "cut-forward-pass DATA/first-database/profile --json -",
        "compare-traces DATA/gpu-traces/mi300x.json DATA/gpu-traces/h100.json --format json --output -",
        "op-replay Add --database-path DATA/demo-database/HOST_CPU/demo --output . --results -",
        "start-microbench --database-path DATA/first-database/database --prof-path DATA/first-database/PROF_000001_20260101000000_EXAMPLE --dry-run --json -",
        "generate-comm-microbench --plan-out - --num-devices 2",
    ] {
        let text = stdout_of(line, b"")?;
        serde_json::from_str::<serde_json::Value>(&text).map_err(|error| format!("{line}: {error}\n{text}"))?;
    }
    Ok(())
}

#[test]
fn tables_and_pages_have_stdout_for_themselves() -> TestResult {
    for (line, beginning) in [
        (format!("generate-per-shape-comparison {PAIR} --output -"), "kernel_type,"),
        (format!("generate-per-shape-comparison {PAIR} --csv -"), "kernel_type,"),
        ("trace-to-csv --trace DATA/first-database/trace.json --result-csv -".to_owned(), "op_name,"),
        (format!("explain-prediction {PAIR} --data-dir DATA/scenarios --csv -"), "scenario,"),
        ("cut-forward-pass DATA/first-database/profile --pass 2 --output -".to_owned(), "Step Id,"),
        ("compare-traces DATA/gpu-traces/mi300x.json DATA/gpu-traces/h100.json --events -".to_owned(), "trace,"),
        ("evaluate-database --database-path DATA/first-database/database --html -".to_owned(), "<!"),
    ] {
        let text = stdout_of(&line, b"")?;
        assert!(text.starts_with(beginning), "{line}: {}", &text[..text.len().min(200)]);
        assert!(!text.contains("\n\n=="), "{line}");
    }
    Ok(())
}

#[test]
fn stdin_is_read_like_a_file() -> TestResult {
    let scenario = testdata().join("scenarios/qwen3_32b_decode");
    for (name, option) in [("trace.json", "--tc-trace"), ("forward_pass.csv", "--prof-trace")] {
        let path = scenario.join(name);
        let line = M6.replace(&format!("{option} DATA/scenarios/qwen3_32b_decode/{name}"), &format!("{option} -"));
        assert_ne!(line, M6);
        let piped = stdout_of(&format!("{line} --json-output -"), &fs::read(path)?)?;
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).map(|json| json["m6"].clone());
        assert_eq!(value(&piped)?, value(&stdout_of(&format!("{M6} --json-output -"), b"")?)?);
    }
    let trace = fs::read(testdata().join("gpu-traces/h100.json"))?;
    assert!(stdout_of("check-trace -", &trace)?.contains("190 rows"));
    let profile = fs::read(testdata().join("first-database/profile/ASCEND_PROFILER_OUTPUT/kernel_details.csv"))?;
    let refused = Command::cargo_bin("cut-forward-pass")?.arg("-").write_stdin(profile).output()?;
    let error = String::from_utf8(refused.stderr)?;
    assert_eq!(error, "error: /dev/stdin: it is read twice, which a pipe cannot be; write it to a file first\n");
    Ok(())
}

/// The table of a database that is written to stdout needs no lock of a folder.
#[test]
fn a_filled_table_goes_to_stdout() -> TestResult {
    let folder = TempDir::new()?;
    let db = folder.path().join("db").display().to_string();
    stdout_of(&format!("parse-kernel-details --profiling-path DATA/first-database/profile --database-path {db}"), b"")?;
    let records = fs::read(testdata().join("first-database/fia.jsonl"))?;
    let line = format!(
        "fill-fia-runtime-metadata --csv-path {db}/FusedInferAttentionScore.csv --jsonl-path - --output-path -"
    );
    let text = stdout_of(&line, &records)?;
    assert!(text.starts_with("\u{feff}OP State,"), "{text}");
    assert_eq!(text.matches("runtime_values_dumped").count(), 3);
    Ok(())
}

#[test]
fn two_files_cannot_both_be_stdout() -> TestResult {
    let output = Command::cargo_bin("explain-prediction")?.args(["--json", "-", "--csv", "-"]).output()?;
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr)?;
    assert!(error.starts_with("error: --json and --csv cannot both be stdout\n"), "{error}");
    Ok(())
}
