//! The cases of `explain-prediction`, asked of the library.

use perfdb_compare::attribution::{Options, Passes, explain_files};
use perfdb_store::op_mapping::OpMapping;
use serde_json::Value;
use std::path::Path;

/// Where `found` lacks what is expected.
fn missing(found: &Value, expected: &Value, at: &str) -> Option<String> {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => expected.iter().find_map(|(key, value)| {
            let at = format!("{at}.{key}");
            found.get(key).map_or_else(|| Some(format!("{at} is missing")), |found| missing(found, value, &at))
        }),
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => {
            let pairs = found.iter().zip(expected).enumerate();
            pairs.into_iter().find_map(|(index, (found, expected))| missing(found, expected, &format!("{at}[{index}]")))
        }
        (Value::Number(found), Value::Number(expected)) => {
            let (found, expected) = (found.as_f64()?, expected.as_f64()?);
            let close = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
            (!close).then(|| format!("{at}: {found} for {expected}"))
        }
        _ => (found != expected).then(|| format!("{at}: {found} for {expected}")),
    }
}

#[test]
fn the_attributions_of_all_cases() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/explain-prediction");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for case in std::fs::read_dir(&cases).unwrap() {
        let case = case.unwrap().path();
        let Ok(expected) = std::fs::read_to_string(case.join("expected/out.json")) else { continue };
        let mut expected: Value = serde_json::from_str(&expected).unwrap();
        expected.as_object_mut().unwrap().remove("format_version");
        let mapping = OpMapping::load(&case.join("op_mapping.yaml")).unwrap();
        let passes = Passes::of_double(expected["passes"].as_f64().unwrap()).unwrap();
        let options = Options { mapping: mapping.as_ref(), passes, ..Options::default() };
        let explanation = explain_files(&case.join("trace.json"), &case.join("pass.csv"), &options).unwrap().result;
        let found = serde_json::to_value(&explanation).unwrap();
        seen += 1;
        if let Some(fault) = missing(&found, &expected, "") {
            wrong.push(format!("{}: {fault}", case.file_name().unwrap().to_string_lossy()));
        }
    }
    wrong.sort();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(seen, 26);
}

#[test]
fn several_passes_compared_as_one_are_told() {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/explain-prediction/23-three-passes");
    let explain = |passes: &str| {
        let options = Options { passes: Passes::parse(passes).unwrap(), ..Options::default() };
        explain_files(&case.join("trace.json"), &case.join("pass.csv"), &options).unwrap().warnings
    };
    let told = explain("1");
    assert_eq!(told.len(), 1);
    assert!(told[0].to_string().contains("3 forward passes"), "{}", told[0]);
    assert_eq!(explain("3"), []);
}
