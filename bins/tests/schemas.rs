//! What tools write as JSON is what `docs/schemas` says.

use assert_cmd::Command;
use serde_json::Value;
use std::error::Error;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What is wrong with a value, by a schema: the keywords that the schemas of this repository use. Others are an error, so that nothing is
/// passed over.
fn faults(value: &Value, schema: &Value, whole: &Value, at: &str) -> Vec<String> {
    let Some(keywords) = schema.as_object() else { return vec![format!("{at}: the schema is no object")] };
    let mut found = Vec::new();
    for (keyword, wanted) in keywords {
        let list = || wanted.as_array().into_iter().flatten();
        let fails = |schema: &Value| faults(value, schema, whole, at);
        match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" => {}
            "$ref" => match whole.pointer(wanted.as_str().unwrap_or_default().trim_start_matches('#')) {
                Some(schema) => found.extend(fails(schema)),
                None => found.push(format!("{at}: there is no {wanted}")),
            },
            "type" => {
                let names: Vec<&str> = wanted.as_str().into_iter().chain(list().filter_map(Value::as_str)).collect();
                if !names.iter().any(|name| is_of_type(value, name)) {
                    found.push(format!("{at}: {value} is no {}", names.join(" or ")));
                }
            }
            "const" if value != wanted => found.push(format!("{at}: {value} is not {wanted}")),
            "enum" if !list().any(|one| one == value) => found.push(format!("{at}: {value} is none of {wanted}")),
            "minimum" | "maximum" => {
                let is_beyond = |(value, limit)| if keyword == "minimum" { value < limit } else { value > limit };
                if value.as_f64().zip(wanted.as_f64()).is_some_and(is_beyond) {
                    found.push(format!("{at}: {value}: {keyword} {wanted}"));
                }
            }
            // Codes of findings and the like: what stands between `^` and `$` is looked at by those who make them.
            "pattern" if value.as_str().is_some_and(str::is_empty) => {
                found.push(format!("{at}: an empty text for {wanted}"));
            }
            "required" => {
                let missing =
                    list().filter_map(Value::as_str).filter(|key| value.is_object() && value.get(key).is_none());
                found.extend(missing.map(|key| format!("{at}: there is no {key}")));
            }
            "properties" => {
                for (key, schema) in wanted.as_object().into_iter().flatten() {
                    found.extend(
                        value.get(key).into_iter().flat_map(|one| faults(one, schema, whole, &format!("{at}/{key}"))),
                    );
                }
            }
            "additionalProperties" => {
                let known = keywords.get("properties").and_then(Value::as_object);
                let members = value.as_object().into_iter().flatten();
                for (key, one) in members.filter(|(key, _)| !known.is_some_and(|known| known.contains_key(*key))) {
                    found.extend(further(one, wanted, whole, &format!("{at}/{key}")));
                }
            }
            "items" => {
                let first = keywords.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
                for (index, one) in value.as_array().into_iter().flatten().enumerate().skip(first) {
                    found.extend(further(one, wanted, whole, &format!("{at}/{index}")));
                }
            }
            "prefixItems" => {
                for (index, (one, schema)) in value.as_array().into_iter().flatten().zip(list()).enumerate() {
                    found.extend(faults(one, schema, whole, &format!("{at}/{index}")));
                }
            }
            "minItems" | "maxItems" => {
                let limit = wanted.as_u64().unwrap_or_default() as usize;
                let holds = |length: usize| if keyword == "minItems" { length >= limit } else { length <= limit };
                if !value.as_array().is_none_or(|items| holds(items.len())) {
                    found.push(format!("{at}: {keyword} {limit}"));
                }
            }
            "allOf" => found.extend(list().flat_map(fails)),
            "anyOf" if !list().any(|schema| fails(schema).is_empty()) => {
                found.push(format!("{at}: none of anyOf fits"))
            }
            "oneOf" if list().filter(|schema| fails(schema).is_empty()).count() != 1 => {
                let each: Vec<String> =
                    list().map(|schema| fails(schema).into_iter().next().unwrap_or_default()).collect();
                found.push(format!("{at}: not one of oneOf fits: {each:?}"));
            }
            "const" | "enum" | "pattern" | "anyOf" | "oneOf" => {}
            other => found.push(format!("{at}: the schema has {other}, which this test does not know")),
        }
    }
    found
}

/// What is wrong with a member that a schema does not name.
fn further(value: &Value, schema: &Value, whole: &Value, at: &str) -> Vec<String> {
    match schema {
        Value::Bool(true) => Vec::new(),
        Value::Bool(false) => vec![format!("{at}: is not known")],
        schema => faults(value, schema, whole, at),
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        // A whole number of any size: those beyond 64 bits are read as doubles.
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

const SCENARIO: &str = "--data-dir DATA/scenarios --tc-trace DATA/scenarios/qwen3_32b_decode/trace.json --prof-trace DATA/scenarios/qwen3_32b_decode/forward_pass.csv";

#[test]
fn results_are_as_their_schemas_say() -> TestResult {
    let explained = format!("{SCENARIO} --json -");
    for (tool, arguments) in [
        ("check-trace", "DATA/gpu-traces/h100.json --json"),
        ("compare-traces.ranks", "--ranks DATA/ranks --format json"),
        (
            "compare-traces.ranks",
            "--ranks1 DATA/ranks --ranks2 DATA/ranks/rank0.json DATA/ranks/rank1.json --format json",
        ),
        ("compare-traces.runs", "--before DATA/runs/main --after DATA/runs/change --format json"),
        ("compare-traces.runs", "--after DATA/runs/main/run1.json.gz --format json"),
        ("check-trace", "DATA/first-database/profile/ASCEND_PROFILER_OUTPUT/kernel_details.csv --result-json -"),
        ("compare-traces", "DATA/gpu-traces/mi300x.json DATA/gpu-traces/h100.json --format json"),
        ("compare-traces", "DATA/gpu-traces/shapes-a100.json DATA/gpu-traces/shapes-h100.json --format json"),
        ("explain-prediction", explained.as_str()),
        ("explain-prediction", "--scenarios DATA/scenarios.yaml --data-dir DATA/scenarios --json -"),
        ("check-database", "--database-path DATA/first-database/database --json -"),
        ("parse-kernel-details", "--profiling-path DATA/first-database/profile --database-path db --json -"),
        (
            "generate-shape-grid",
            "--database-path DATA/demo-database/HOST_CPU/demo --config DATA/demo-database/rules.yaml --dry-run --json -",
        ),
        (
            "generate-shape-grid",
            "--database-path DATA/demo-database/HOST_CPU/demo --dry-run --rows 0 --max-hbm-gb 0 --target-models dsv3 --json -",
        ),
        ("explain-trace", "DATA/gpu-traces/h100.json --json"),
        ("explain-trace", "DATA/gpu-traces/shapes-a100.json --json --max-bytes 3000"),
        ("explain-trace", "DATA/gpu-traces/mi300x.json --json --max-bytes 512"),
        ("cut-forward-pass", "DATA/first-database/profile --json -"),
        ("cut-forward-pass", "DATA/scenarios/qwen3_32b_decode/forward_pass.csv --json -"),
        ("evaluate-database", "--database-path DATA/first-database/database --json -"),
        (
            "diff-databases",
            "DATA/first-database/database DATA/demo-database/HOST_CPU/demo --workload DATA/first-database/trace.json --json -",
        ),
        ("merge-databases", "DATA/first-database/database DATA/demo-database/HOST_CPU/demo --dry-run --json -"),
        ("check-density", "--database-path DATA/first-database/database --json -"),
        (
            "audit-coverage",
            "--database-path DATA/first-database/database --from-trace DATA/first-database/trace.json --suggest 3 --json -",
        ),
        (
            "query-database",
            "--database-path DATA/first-database/database --semantics best --kernel MatMulV2 --input-shapes 100,5120;5120,768 --types DT_BF16 --json -",
        ),
        (
            "query-database",
            "--database-path DATA/first-database/database --kernel NoSuchKernel --input-shapes 100,5120 --types DT_BF16 --json -",
        ),
        ("validate-comm-alignment", "--csv-dir DATA/first-database/hccl/v8.5 --json -"),
        ("generate-comm-microbench", "--plan"),
        ("generate-comm-microbench", "--plan --bench-mode event --ops all_reduce --num-devices 2 4 --grid-shape 4 8"),
        ("run-comm-bench", "--plan"),
        (
            "start-microbench",
            "--database-path DATA/first-database/database --prof-path DATA/first-database/PROF_000001_20260101000000_EXAMPLE --dry-run --json -",
        ),
    ] {
        let schema = root().join(format!("docs/schemas/{tool}.json"));
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(&schema)?)?;
        let folder = TempDir::new()?;
        // The lists of scenarios have paths that are relative to the clone.
        let at = if arguments.contains("--scenarios") { root() } else { folder.path().to_owned() };
        let arguments = arguments.replace("DATA", &root().join("testdata").display().to_string());
        // What stands behind the point is which of a tool's documents it is.
        let name = tool.split('.').next().unwrap_or(tool);
        let output = Command::cargo_bin(name)?.args(arguments.split(' ')).current_dir(at).output()?;
        let value: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("{tool}: {error}"))?;
        let faults = faults(&value, &schema, &schema, "");
        assert!(faults.is_empty(), "{tool} {arguments}:\n{}", faults.join("\n"));
        // A schema that takes everything says nothing.
        let emptied = Value::Object(serde_json::Map::new());
        assert!(!self::faults(&emptied, &schema, &schema, "").is_empty(), "{tool}: an empty object fits");
    }
    Ok(())
}

#[test]
fn results_of_replayed_rows_are_as_their_schema_says() -> TestResult {
    let schema = std::fs::read_to_string(root().join("docs/schemas/op-replay.results.json"))?;
    let schema: Value = serde_json::from_str(&schema)?;
    let folder = TempDir::new()?;
    let profile = root().join("testdata/first-database/profile");
    let parse = ["--database-path", "db", "--profiling-path"];
    Command::cargo_bin("parse-kernel-details")?.args(parse).arg(profile).current_dir(&folder).assert().success();
    let results_of = |tool: &str, arguments: &str| -> Result<Vec<Value>, Box<dyn Error>> {
        let always = ["--output", "profiles", "--repeat-count", "1", "--warmup", "0", "--results", "-"];
        let mut command = Command::cargo_bin(tool)?;
        let command = command.args(arguments.split(' ')).args(["--database-path", "db"]).args(always);
        let output = command.current_dir(&folder).output()?;
        let value: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("{tool}: {error}"))?;
        let faults = faults(&value, &schema, &schema, "");
        assert!(faults.is_empty(), "{tool}:\n{}", faults.join("\n"));
        Ok(value.as_array().cloned().unwrap_or_default())
    };
    assert_eq!(results_of("op-replay", "SwiGlu")?.len(), 2);
    let results = results_of("run-all-op", "--ops SwiGlu AddRmsNormBias FusedInferAttentionScore")?;
    let statuses: Vec<&str> = results.iter().filter_map(|result| result["status"].as_str()).collect();
    assert_eq!(statuses, ["invalid", "invalid", "skip", "skip", "ok", "ok"]);
    // A run without its time, or with the reason of another status, fits nothing.
    for (from, to) in [("repeat", "repeats"), ("match", "reason")] {
        let text = serde_json::to_string(&results)?.replace(&format!("\"{from}\":"), &format!("\"{to}\":"));
        assert_eq!(faults(&serde_json::from_str(&text)?, &schema, &schema, "").len(), 2, "{to}");
    }
    Ok(())
}

#[test]
fn every_schema_is_one_of_a_tools() -> TestResult {
    for entry in std::fs::read_dir(root().join("docs/schemas"))? {
        let path = entry?.path();
        let tool = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = tool.split('.').next().unwrap_or(&tool);
        assert!(perfdb_tools::all_tools::find(name).is_some(), "{tool}");
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
        assert!(schema.get("title").is_some(), "{tool}");
    }
    Ok(())
}

#[test]
fn faults_are_found() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {"a": {"enum": [1, 2]}, "b": {"type": "array", "items": {"$ref": "#/$defs/n"}, "minItems": 1}},
        "$defs": {"n": {"type": ["integer", "null"], "minimum": 0, "maximum": 9}}
    });
    let count = |text: &str| faults(&serde_json::from_str(text).unwrap_or_default(), &schema, &schema, "").len();
    for (text, faults) in [
        (r#"{"a": 1}"#, 0),
        (r#"{"a": 2, "b": [0, null]}"#, 0),
        (r#"{"a": 3}"#, 1),
        (r#"{"b": [-1, "x"]}"#, 3),
        (r#"{"a": 1, "b": [9, 10]}"#, 1),
        (r#"{"a": 1, "b": [], "c": 0}"#, 2),
        ("[]", 1),
    ] {
        assert_eq!(count(text), faults, "{text}");
    }
}
