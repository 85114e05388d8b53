//! Traces with spaces and line ends between keys, as formatters write them.

use perfdb_doctor::{Code, Options, check};

#[test]
fn a_key_that_comes_twice_is_found_behind_good_events_too() {
    let event = |second: &str| {
        format!(
            "{{\n    \"pid\": 0,\n    \"{second}\": 7,\n    \"ph\": \"X\",\n    \"cat\": \"kernel\",\n    \"name\": \"k\",\n    \"ts\": 1.5\n  }}"
        )
    };
    let found = |events: &[String]| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace.json");
        let events = events.join(",\n  ");
        std::fs::write(&path, format!("{{\n  \"traceEvents\": [\n  {events}\n  ]\n}}")).expect("written");
        let report = check(&path, &Options::default()).expect("a report");
        report.finding(Code::DuplicateKeys).is_some()
    };
    assert!(!found(&[event("tid"), event("tid")]));
    assert!(found(&[event("tid"), event("pid")]));
}
