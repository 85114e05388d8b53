//! Manifests and other descriptions: workloads, `database.toml`, `manifest.json` of a shard, scenario files.

use perfdb_audit::coverage::Workload;
use perfdb_compare::scenario::read_scenarios;
use perfdb_files::shards::Manifest;
use perfdb_query::{ParallelConfig, Query};
use perfdb_store::provenance::Record;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

pub(crate) const WORDS: &[&str] = &[
    "{\"query\": {\"op\": \"aten.mm.default\", \"inputs\": [",
    "{\"shape\": [16, 512], \"dtype\": \"bf16\"}",
    "\"kernel\": \"MatMulV2\"",
    "\"calls\": 18446744073709551615",
    "\"critical\": true",
    "\"id\": \"a\"",
    "\n",
    "format_version = 1\n",
    "[[run]]\ndate = \"2026-01-01\"\ntool = \"x\"\n",
    "[versions]\n",
    "device = \"",
    "\"format\":\"perfdb.shard/1\"",
    "\"shard\":1,\"of\":2",
    "scenarios:\n  - name: a\n    tc_trace: t.json\n    trace_csv: c.csv\n    n_forward_passes: 2\n",
    "{trace_dir}",
    "1e400",
    "'''",
];

pub(crate) fn check(bytes: &[u8]) {
    workloads(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        records(text);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [shard, scenarios] = ["manifest.json", "scenarios.yaml"].map(|name| folder.path().join(name));
    fs::write(&shard, bytes).and_then(|()| fs::write(&scenarios, bytes)).expect("files in a temporary folder");
    if let Ok(manifest) = Manifest::read(folder.path()) {
        let text = serde_json::to_vec(&manifest).expect("a manifest can be written");
        fs::write(&shard, text).expect("a file in a temporary folder");
        let again =
            Manifest::read(folder.path()).unwrap_or_else(|error| panic!("what was written cannot be read: {error}"));
        assert_eq!(again, manifest);
        assert!(manifest.shard().is_some());
    }
    match read_scenarios(&scenarios, Path::new("traces")) {
        Ok(found) => {
            let names: HashSet<&String> = found.scenarios.iter().map(|scenario| &scenario.name).collect();
            assert_eq!(names.len(), found.scenarios.len(), "scenarios of one name");
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "an error is one line: {error}"),
    }
}

fn workloads(bytes: &[u8]) {
    match Workload::parse_manifest(Path::new("w.jsonl"), bytes, &ParallelConfig::default(), None) {
        Ok(workloads) => {
            assert!(workloads.iter().all(|workload| !workload.questions.is_empty()));
            assert!(workloads.iter().flat_map(|workload| &workload.questions).all(|question| question.calls > 0));
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "an error is one line: {error}"),
    }
    if let Ok(value) = serde_json::from_slice(bytes) {
        let _ = Query::from_json(&value);
    }
}

fn records(text: &str) {
    let path = Path::new("database.toml");
    if let Ok(record) = Record::parse(path, text)
        && let Ok(written) = record.to_text()
    {
        let again = Record::parse(path, &written)
            .unwrap_or_else(|error| panic!("what was written cannot be read: {error}\n{written}"));
        // NaN is unlike itself.
        assert!(again == record || written.contains("nan"), "{again:?} and {record:?}");
    }
}
