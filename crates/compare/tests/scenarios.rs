//! The shipped scenarios: written by the generator as they are, and worth looking at.
#![allow(clippy::unwrap_used)]

#[path = "../examples/generate_scenarios/deepseek.rs"]
mod deepseek;
#[path = "../examples/generate_scenarios/model.rs"]
mod model;
#[path = "../examples/generate_scenarios/qwen.rs"]
mod qwen;
#[path = "../examples/generate_scenarios/write.rs"]
mod write;

use perfdb_compare::operators::{RowStatus, measured_total_us, share_pct};
use perfdb_compare::scenario::{Options, Scenario, ScenarioOutcome, compare_scenarios, read_scenarios};
use perfdb_compare::{Semantics, m6};
use perfdb_store::op_mapping::{Class, Lookup, OpMapping};
use std::path::{Path, PathBuf};

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

fn mapping() -> OpMapping {
    OpMapping::load(&testdata().join("scenarios/op_mapping.yaml")).unwrap().unwrap()
}

/// The shipped scenarios.
fn scenarios() -> Vec<Scenario> {
    let list = read_scenarios(&testdata().join("scenarios.yaml"), Path::new("")).unwrap();
    assert!(list.from_current_folder.is_empty());
    list.scenarios
}

#[test]
fn the_generator_writes_the_committed_bytes() {
    for (name, text) in write::files() {
        let committed = std::fs::read_to_string(testdata().join("scenarios").join(&name)).unwrap();
        assert!(committed == text, "{name} differs: run the example generate_scenarios again");
    }
}

#[test]
fn predictions_are_close() {
    let scenarios = scenarios();
    assert_eq!(scenarios.len(), 4);
    for scenario in scenarios {
        let options = m6::Options { semantics: Semantics::Corrected, ..Default::default() };
        let m6 = m6::compare_files(&scenario.tc_trace, &scenario.trace_csv, &options).unwrap().result;
        assert!(m6.is_within(0.9, 1.0), "{}: {m6:?}", scenario.name);
    }
}

#[test]
fn kernel_types_that_matter_are_found_and_counted() {
    let (mapping, scenarios) = (mapping(), scenarios());
    let mut reports = Vec::new();
    let options = Options { mapping: &mapping, semantics: Semantics::Corrected, jobs: 2 };
    compare_scenarios(&scenarios, options, |report| reports.push(report));
    for (report, scenario) in reports.iter().zip(&scenarios) {
        assert_eq!(report.name, scenario.name, "reports come in the order of the scenarios");
        let ScenarioOutcome::Compared(rows) = &report.outcome else { panic!("{report:?}") };
        assert!(rows.len() >= 10 && report.warnings.is_empty() && report.mapping_used);
        let total_us = measured_total_us(rows);
        for row in rows.iter().filter(|row| share_pct(row, total_us) > 5.0) {
            assert_eq!(row.status, RowStatus::Hit, "{}: {}", report.name, row.kernel_type);
            assert!(row.error_pct.value().abs() < 15.0, "{}: {row:?}", report.name);
            assert_eq!(row.count_error_pct.value(), 0.0, "{}: collectives count once, {row:?}", report.name);
        }
    }
}

#[test]
fn the_mapping_has_entries_of_every_class() {
    let mapping = mapping();
    let entries = mapping.operator_mappings.as_ref().unwrap();
    let classes = [
        Class::Composite,
        Class::Communication,
        Class::QueryMode,
        Class::ZeroCost,
        Class::AcceptedMiss,
        Class::Compute,
    ];
    for class in classes {
        assert!(entries.values().any(|entry| entry.class() == class), "{class:?}");
    }
    assert!(mapping.other.is_empty() && entries.values().all(|entry| entry.other.is_empty()));
    assert!(entries.keys().all(|name| mapping.find(name, Lookup::TopLevel).is_none()));
    assert!(mapping.find("torch.ops.aten.mm.default", Lookup::Nested).is_some());
}

/// A trace of several chunks: the decode events of a scenario over and over, with a fault-free second process between them.
fn long_trace(folder: &Path) -> PathBuf {
    let events = std::fs::read_to_string(testdata().join("scenarios/qwen3_32b_decode/trace.json")).unwrap();
    let start = events.find("{\"name\": \"process_name\"").unwrap();
    let first = events.find("{\"name\": \"aten.embedding").unwrap();
    let (names, repeated) = (&events[start..first], events[first..].strip_suffix("]}").unwrap());
    let other = repeated.replace("\"pid\": 0", "\"pid\": 1").replace("\"dur\": 6,", "\"dur\": 0.1,");
    let mut text = format!("{{\"traceEvents\": [{names}{repeated}");
    for _ in 0..8 {
        text += &format!(", {other}, {repeated}");
    }
    text += "]}";
    assert!(text.len() > 3 << 20);
    let path = folder.join("long.json");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn threads_do_not_show_in_the_results() {
    use perfdb_compare::event_table::{EventCell, TablePart, read_events};
    let folder = tempfile::tempdir().unwrap();
    let (trace, mapping) = (long_trace(folder.path()), mapping());
    let all = |threads: usize| {
        let empirical_us = m6::empirical(&trace, &m6::SourceFilter::default(), threads).unwrap().total_us;
        let operators = perfdb_compare::operators::read_predicted(&trace, &mapping, Lookup::Nested, threads).unwrap();
        let shapes = perfdb_compare::shapes::read_predicted(&trace, threads).unwrap();
        let mut rows = Vec::new();
        read_events(
            &trace,
            threads,
            |rows: &mut Vec<String>, row| rows.push(row.iter().map(EventCell::text).collect::<Vec<_>>().join("|")),
            |part| {
                match part {
                    TablePart::Rows(more) => rows.extend(more),
                    TablePart::Restart => rows.clear(),
                }
                Ok(())
            },
        )
        .unwrap();
        (empirical_us.to_bits(), operators.kernel_types, shapes, rows)
    };
    let one = all(1);
    for threads in [2, 5] {
        assert!(all(threads) == one, "{threads} threads");
    }
    let events_per_pass = one.3.len() / 17;
    assert_eq!(one.3.len(), 17 * events_per_pass);
    assert_eq!(one.1["SwiGlu"].count, 9 * 64, "the other process does not count");
}
