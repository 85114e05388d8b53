//! The answers of the simulator's readers: all cases of both sets of vectors.

use perfdb_query::{Database, Layer, Query, ReaderSemantics, answer_to_json};
use serde_json::Value;
use std::path::{Path, PathBuf};

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden").join(name)
}

/// What differs between an answer and the expected one.
fn difference(answer: &Value, expected: &Value) -> Option<String> {
    for key in ["hit", "source", "kernel_type", "rule", "method", "axes", "missed_kernels"] {
        if expected.get(key).is_some_and(|expected| answer.get(key).unwrap_or(&Value::Null) != expected) {
            return Some(key.to_owned());
        }
    }
    if let Some(reason) = expected["reason"].as_str() {
        let own = answer["reason"].as_str().unwrap_or_default();
        return (own.split(';').next() != Some(reason)).then(|| "reason".to_owned());
    }
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap_or(f64::NAN);
    if (number(answer, "confidence") - number(expected, "confidence")).abs() > 1e-12 {
        return Some("confidence".to_owned());
    }
    let (own, us) = (number(answer, "duration_us"), number(expected, "latency_us"));
    let several = expected["axes"].as_array().is_some_and(|axes| axes.len() > 1) || expected["unique"].is_boolean();
    let is_fit = expected["rule"] == "comm" || expected["parts"].to_string().contains("\"comm\"");
    let tolerance = if several || is_fit { 1e-9 } else { 1e-12 };
    let is_same = match (&expected["unique"], expected["range_us"].as_array()) {
        (Value::Bool(false), Some(range)) => {
            let bound = |at: usize| range.get(at).and_then(Value::as_f64).unwrap_or(f64::NAN);
            own >= bound(0) * (1.0 - 1e-9) && own <= bound(1) * (1.0 + 1e-9)
        }
        _ => (own - us).abs() <= tolerance * us.abs(),
    };
    (!is_same).then(|| format!("duration_us {own}, expected {us}"))
}

fn check(folder: &str, semantics: ReaderSemantics, least: usize) -> TestResult {
    let folder = golden(folder);
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("vectors.json"))?)?;
    let database = Database::open(folder.join(vectors["database"].as_str().ok_or("no database")?))?;
    let cases = vectors["cases"].as_array().ok_or("no cases")?;
    assert!(cases.len() >= least, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for (layer, name) in [(Layer::Measured, "exact"), (Layer::Interpolating, "with_interpolation")] {
        let reader = database.reader(semantics, layer);
        for case in cases {
            let expected = &case[name];
            if expected.get("error").is_some() {
                continue;
            }
            let query = Query::from_json(&case["query"]).map_err(|error| format!("{}: {error}", case["name"]))?;
            let answer = reader.lookup(&query);
            if let Some(miss) = answer.as_ref().err().filter(|miss| miss.reason.meaning().contains("the rules for it"))
            {
                wrong.push(format!("{} ({name}): no words for {}", case["name"], miss.reason));
            }
            let answer = answer_to_json(&answer);
            if let Some(what) = difference(&answer, expected) {
                wrong.push(format!("{} ({name}): {what}\n   {answer}\n   {expected}", case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn the_newest_reader() -> TestResult {
    check("lookup-newest", ReaderSemantics::Upstream, 1170)
}

#[test]
fn the_reader_of_2025() -> TestResult {
    check("lookup", ReaderSemantics::Upstream2025, 64)
}
