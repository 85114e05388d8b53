//! Comparisons, checks and forecasts, as the JSON that the tools write; the package makes objects of it.

use crate::errors::{error, of_message};
use perfdb_compare::attribution::{Options as AttributionOptions, explain_files};
use perfdb_doctor::{Options as CheckOptions, check};
use perfdb_forecast::serving::{Described, Plan, Scheme, Sweep};
use perfdb_report::attribution::{NamedExplanation, document, page};
use perfdb_report::forecast::{NONE_FITS, Served, document as forecast_document, refused};
use perfdb_report::page::{Page, Provenance};
use perfdb_report::pages::{doctor_page, forecast_page, traces_page};
use perfdb_report::tracediff::json;
use perfdb_store::op_mapping::OpMapping;
use perfdb_tools::json_file::Versioned;
use perfdb_tracediff::{AnalysisOptions, LoadOptions, PhaseFilter, Trace, UnknownName, analyse};
use pyo3::exceptions::{PyValueError, PyWarning};
use pyo3::prelude::*;
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// What a comparison or a check found: the tool's JSON, and its page.
#[pyclass(frozen, module = "perfdb")]
pub(crate) struct Outcome {
    json: String,
    page: Option<Page>,
}

#[pymethods]
impl Outcome {
    /// The text that the tool writes.
    #[getter]
    fn json(&self) -> &str {
        &self.json
    }

    /// The page of the tool's --html; None for documents without one.
    fn html(&self, py: Python<'_>) -> PyResult<Option<String>> {
        py.detach(|| self.page.as_ref().map(Page::to_html).transpose()).map_err(|failure| error(&failure))
    }
}

fn provenance<'p>(tool: &str, inputs: impl IntoIterator<Item = (&'p str, &'p Path)>) -> Provenance {
    Provenance::of(tool, env!("CARGO_PKG_VERSION"), inputs)
}

/// Two GPU traces of the same workload, as compare-traces --format json.
#[pyfunction]
#[pyo3(signature = (first, second, *, phase = "all"))]
pub(crate) fn compare_traces(py: Python<'_>, first: PathBuf, second: PathBuf, phase: &str) -> PyResult<Outcome> {
    let phase: PhaseFilter =
        phase.parse().map_err(|unknown: UnknownName| PyValueError::new_err(format!("phase: {unknown}")))?;
    py.detach(|| {
        let load = |path: &Path| Trace::open(path, &LoadOptions::default()).map_err(|failure| error(&failure));
        let read = provenance("compare-traces", [("trace 1", first.as_path()), ("trace 2", second.as_path())]);
        let (first, second) = (load(&first)?, load(&second)?);
        let mut options = AnalysisOptions { confidence: true, ..AnalysisOptions::default() };
        options.compare.phase = phase;
        let analysis = analyse(&first, &second, &options).map_err(|failure| error(&failure))?;
        Ok(Outcome { json: json(&analysis.document, None), page: traces_page(&analysis.document, read) })
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
) -> PyResult<Outcome> {
    let passes = perfdb_compare::attribution::Passes::of_double(n_forward_passes)
        .ok_or_else(|| PyValueError::new_err("n_forward_passes is a positive number"))?;
    let (warnings, outcome) = py.detach(|| {
        let mapping = match data_dir.map(|folder| folder.join("op_mapping.yaml")) {
            None => None,
            Some(path) => match OpMapping::load(&path).map_err(|failure| error(&failure))? {
                None => return Err(of_message(&format!("{}: no such file", path.display()), true)),
                found => found,
            },
        };
        let options = AttributionOptions { mapping: mapping.as_ref(), passes, ..AttributionOptions::default() };
        let outcome = explain_files(&tc_trace, &prof_trace, &options).map_err(|failure| error(&failure))?;
        let json = document(&outcome.result).map_err(|failure| error(&failure))?;
        let warnings: Vec<String> = outcome.warnings.iter().map(ToString::to_string).collect();
        let read = [("predicted", tc_trace.as_path()), ("measured", prof_trace.as_path())];
        let named = NamedExplanation { name: String::new(), explanation: outcome.result };
        let page = page(&[named], provenance("explain-prediction", read));
        Ok::<_, PyErr>((warnings, Outcome { json, page: Some(page) }))
    })?;
    for warning in warnings {
        let text = CString::new(warning.replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyWarning>(), &text, 2)?;
    }
    Ok(outcome)
}

/// What is wrong with a trace or a kernel table, as check-trace --json.
#[pyfunction]
pub(crate) fn check_trace(py: Python<'_>, path: PathBuf) -> PyResult<Outcome> {
    let report = py.detach(|| check(&path, &CheckOptions::default())).map_err(|failure| error(&failure))?;
    let page = doctor_page(&report, provenance("check-trace", [("checked", path.as_path())]));
    Ok(Outcome { json: report.to_json().to_string(), page: Some(page) })
}

/// What deployments of a model take, as forecast -o FILE.json.
#[pyfunction]
#[pyo3(signature = (model, database, *, is_layers, tp, ep, dp, pp, batch, input, output, kv_cache, calibration, against))]
#[expect(clippy::too_many_arguments, reason = "the options of a tool, by name")]
pub(crate) fn forecast(
    py: Python<'_>,
    model: PathBuf,
    database: PathBuf,
    is_layers: bool,
    tp: Vec<u64>,
    ep: u64,
    dp: u64,
    pp: u64,
    batch: Vec<u64>,
    input: u64,
    output: u64,
    kv_cache: Option<&str>,
    calibration: Option<PathBuf>,
    against: Option<PathBuf>,
) -> PyResult<Outcome> {
    let cache = kv_cache.map(Scheme::of_cache).transpose();
    let cache = cache.map_err(|reason| PyValueError::new_err(format!("kv_cache: {reason}")))?;
    let sweep = Sweep { tensor: tp, batch, data: dp, expert: ep, pipeline: pp, input, output, cache };
    let model = if is_layers { Described::Layers(model) } else { Described::Config(model) };
    let plan = Plan { model, database, calibration, against, sweep };
    py.detach(|| {
        let planned = plan.forecast().map_err(|failure| error(&failure))?;
        let (served, refused) = (Served::all(&planned), refused(&planned.found));
        if served.is_empty() {
            return Err(of_message(NONE_FITS, false));
        }
        let document = Versioned::first(forecast_document(&served, &refused));
        let json = serde_json::to_string(&document).map_err(|failure| error(&failure))?;
        let read = provenance("forecast", [("model", plan.model.path()), ("database", plan.database.as_path())]);
        Ok(Outcome { json, page: Some(forecast_page(&served, &refused, read)) })
    })
}
