//! Real traces and tables raise no false alarm. They lie in a folder of their own (`PERFDB_GOLDEN_DATA`, or `../shared/data`
//! beside the repository); without it there is nothing to look at, and the tests print that.

use std::path::{Path, PathBuf};

use perfdb_doctor::{Kind, Options, Report, Severity, Trust, check};

fn data() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = std::env::var_os("PERFDB_GOLDEN_DATA").map_or_else(|| root.join("../shared/data"), PathBuf::from);
    if !data.is_dir() {
        eprintln!("skipped: no folder {}", data.display());
        return None;
    }
    Some(data)
}

/// Files below a folder whose names end in one of `endings`.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            found.extend(files(&entry, endings));
        } else if endings.iter().any(|ending| entry.to_string_lossy().ends_with(ending)) {
            found.push(entry);
        }
    }
    found.sort_unstable();
    found
}

fn report(file: &Path) -> Report {
    let report = check(file, &Options::default()).expect("readable");
    assert_eq!(report.certificate.broken(), [""; 0], "{}", file.display());
    report
}

#[test]
fn gpu_traces() {
    let Some(data) = data() else { return };
    for file in files(&data.join("gpu-traces"), &[".json", ".json.gz"]) {
        let report = report(&file);
        assert_eq!(report.kind, Kind::GpuTrace, "{}", file.display());
        // Written by hand, without correlations and with round times; and one that has no kernels by intention.
        let by_hand = file.to_string_lossy().contains("/gold/operators/")
            || file.to_string_lossy().contains("/gold/comparative/");
        if !by_hand && !file.to_string_lossy().contains("cpu_only") {
            assert_ne!(report.trust, Trust::Low, "{report:?}");
            assert!(report.findings.iter().all(|finding| finding.severity != Severity::Error), "{report:?}");
        }
    }
}

#[test]
fn simulator_traces() {
    let Some(data) = data() else { return };
    for folder in ["tc-traces", "tc-traces-newest"] {
        for file in files(&data.join(folder), &["_trace.json", "_trace.json.gz"]) {
            let report = report(&file);
            assert_eq!(report.kind, Kind::TcTrace, "{}", file.display());
            assert_ne!(report.trust, Trust::Low, "{report:?}");
        }
    }
}

#[test]
fn forward_passes() {
    let Some(data) = data() else { return };
    for file in files(&data.join("forward-pass"), &[".csv"]) {
        let report = report(&file);
        assert_eq!((report.kind, report.trust), (Kind::KernelTable, Trust::High), "{report:?}");
    }
}
