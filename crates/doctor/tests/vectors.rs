//! Files with known defects, and what is expected to be found.

use std::path::{Path, PathBuf};

use perfdb_doctor::{Finding, Options, Packing, Report, check, repair, repaired_line};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/check-trace/vectors")
}

fn codes(findings: &[Finding]) -> Vec<String> {
    let mut codes: Vec<String> = findings.iter().map(|finding| finding.code.name().to_owned()).collect();
    codes.sort_unstable();
    codes
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Every value that is expected is there; numbers within `1e-6`.
fn compare(place: &str, expected: &Value, found: &Value, faults: &mut Vec<String>) {
    match (expected, found) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap_or(f64::NAN), other.as_f64().unwrap_or(f64::NAN));
            let far = (one - other).abs() > 1e-6 || one.is_nan() != other.is_nan();
            if far {
                faults.push(format!("{place}: {other} instead of {one}"));
            }
        }
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in one {
                compare(&format!("{place}.{key}"), value, other.get(key).unwrap_or(&Value::Null), faults);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{place}[{at}]"), one, other, faults);
            }
        }
        (one, other) if one == other => {}
        (one, other) => faults.push(format!("{place}: {other} instead of {one}")),
    }
}

fn compare_report(name: &str, expected: &Value, report: &Report, faults: &mut Vec<String>) {
    let mut same =
        |what: &str, expected: &Value, found: Value| compare(&format!("{name} {what}"), expected, &found, faults);
    same("kind", &expected["kind"], report.kind.name().into());
    same("trust", &expected["trust"], report.trust.name().into());
    same("exit", &expected["exit"], if report.has_findings() { 3 } else { 0 }.into());
    same("codes", &expected["codes"], codes(&report.findings).into());
    same("notes", &expected["notes"], codes(&report.notes).into());
    let json = report.to_json();
    same("kernel_time_us", &expected["kernel_time_us"], json["kernel_time_us"].clone());
    same("certificate", &expected["certificate"], json["certificate"].clone());
    same("findings", &expected["findings"], json["findings"].clone());
}

#[test]
fn known_defects_are_told_with_their_figures() {
    let expected = std::fs::read(folder().join("expected.json")).expect("the expectations");
    let expected: Value = serde_json::from_slice(&expected).expect("JSON");
    let mut faults = Vec::new();
    for (name, expected) in expected.as_object().expect("an object") {
        let report = check(&folder().join(name), &Options::default()).expect("a file");
        compare_report(name, expected, &report, &mut faults);
        assert!(report.certificate.broken().is_empty(), "{name}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn repaired_copies_have_what_cannot_be_mended() {
    let expected = std::fs::read(folder().join("expected.json")).expect("the expectations");
    let expected: Value = serde_json::from_slice(&expected).expect("JSON");
    let out = tempfile::tempdir().expect("a folder");
    let mut faults = Vec::new();
    for (name, expected) in expected.as_object().expect("an object") {
        let path = folder().join(name);
        let report = check(&path, &Options::default()).expect("a file");
        let mut copy = Vec::new();
        let repairs = repair(&path, &report, &mut copy, Packing::of(&path));
        if expected["after_repair"].is_null() {
            assert!(repairs.is_err(), "{name}");
            continue;
        }
        let repairs = repairs.expect("a copy");
        let lines: Vec<String> = repairs.counts().iter().map(|(code, count)| repaired_line(*code, *count)).collect();
        if lines != texts(&expected["repairs"]) {
            faults.push(format!("{name}: {lines:?} instead of {}", expected["repairs"]));
        }
        let copied = out.path().join(name);
        std::fs::write(&copied, &copy).expect("a file");
        let after = check(&copied, &Options::default()).expect("a file");
        if codes(&after.findings) != texts(&expected["after_repair"]) {
            faults.push(format!(
                "{name}: after the repair {:?} instead of {}",
                codes(&after.findings),
                expected["after_repair"]
            ));
        }
        let mut again = Vec::new();
        repair(&copied, &after, &mut again, Packing::of(&copied)).expect("a copy");
        assert!(copy == again, "{name}: repairing twice is not repairing once");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
