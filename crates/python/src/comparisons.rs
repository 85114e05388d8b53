//! Comparisons and checks, as the JSON that the tools write; the package makes objects of it.

use crate::errors::{Error, error};
use perfdb_compare::ledger::{Options as LedgerOptions, explain_files};
use perfdb_doctor::{Options as CheckOptions, check};
use perfdb_report::ledger::document;
use perfdb_report::tracediff::json;
use perfdb_store::op_mapping::OpMapping;
use perfdb_tracediff::{AnalysisOptions, LoadOptions, PhaseFilter, Trace, analyse};
use pyo3::exceptions::{PyValueError, PyWarning};
use pyo3::prelude::*;
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// Two GPU traces of the same workload, as compare-traces --format json.
#[pyfunction]
#[pyo3(signature = (first, second, *, phase = "all"))]
pub(crate) fn compare_traces(py: Python<'_>, first: PathBuf, second: PathBuf, phase: &str) -> PyResult<String> {
    let phases = [PhaseFilter::All, PhaseFilter::Prefill, PhaseFilter::Decode, PhaseFilter::Mixed];
    let phase = phases.into_iter().find(|known| known.name() == phase);
    let phase = phase.ok_or_else(|| PyValueError::new_err("phase is one of all, prefill, decode, mixed"))?;
    py.detach(|| {
        let load = |path: &Path| Trace::open(path, &LoadOptions::default()).map_err(|failure| error(&failure));
        let (first, second) = (load(&first)?, load(&second)?);
        let mut options = AnalysisOptions::default();
        options.compare.phase = phase;
        let analysis = analyse(&first, &second, &options).map_err(|failure| error(&failure))?;
        Ok(json(&analysis.document, None))
    })
}

/// Where a prediction is wrong, as explain-prediction --json.
#[pyfunction]
#[pyo3(signature = (tc_trace, prof_trace, *, n_forward_passes = 1.0, data_dir = None))]
pub(crate) fn explain_prediction(
    py: Python<'_>,
    tc_trace: PathBuf,
    prof_trace: PathBuf,
    n_forward_passes: f64,
    data_dir: Option<PathBuf>,
) -> PyResult<String> {
    let passes = perfdb_compare::ledger::Passes::of_double(n_forward_passes)
        .ok_or_else(|| PyValueError::new_err("n_forward_passes is a positive number"))?;
    let (warnings, text) = py.detach(|| {
        let mapping = match data_dir.map(|folder| folder.join("op_mapping.yaml")) {
            None => None,
            Some(path) => match OpMapping::load(&path).map_err(|failure| error(&failure))? {
                None => return Err(Error::new_err(format!("{}: there is no such file", path.display()))),
                found => found,
            },
        };
        let options = LedgerOptions { mapping: mapping.as_ref(), passes, ..LedgerOptions::default() };
        let outcome = explain_files(&tc_trace, &prof_trace, &options).map_err(|failure| error(&failure))?;
        let text = document(&outcome.result).map_err(|failure| error(&failure))?;
        let warnings: Vec<String> = outcome.warnings.iter().map(ToString::to_string).collect();
        Ok::<_, PyErr>((warnings, text))
    })?;
    for warning in warnings {
        let text = CString::new(warning.replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyWarning>(), &text, 2)?;
    }
    Ok(text)
}

/// What is wrong with a trace or a kernel table, as check-trace --json.
#[pyfunction]
pub(crate) fn check_trace(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let report = py.detach(|| check(&path, &CheckOptions::default())).map_err(|failure| error(&failure))?;
    Ok(report.to_json().to_string())
}
