//! One answer, for Python.

use crate::database::Database;
use crate::errors::of_message;
use crate::question::Query;
use perfdb_query::{Answer as LibraryAnswer, Fact, LookupError, Query as LibraryQuery, Reader, RowRef, answer_to_json};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::Arc;

/// The function that makes an answer again, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (Py<Database>, Query, String));

/// A row of a table: file and line.
#[pyclass(frozen, module = "perfdb", eq, hash, get_all)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    /// The file.
    file: String,
    /// The line on which the row starts, from 1.
    line: u32,
}

#[pymethods]
impl Row {
    #[new]
    fn new(file: String, line: u32) -> Row {
        Row { file, line }
    }

    fn __getnewargs__(&self) -> (String, u32) {
        (self.file.clone(), self.line)
    }

    fn __repr__(&self) -> String {
        format!("Row({:?}, {})", self.file, self.line)
    }

    fn __str__(&self) -> String {
        let name = self.file.rsplit('/').next().unwrap_or_default();
        format!("{name}:{}", self.line)
    }
}

impl From<&RowRef> for Row {
    fn from(row: &RowRef) -> Row {
        Row { file: row.path.display().to_string(), line: row.line }
    }
}

/// What a call costs, or why nobody knows. It is true where there is a duration.
#[pyclass(frozen, module = "perfdb")]
pub(crate) struct Answer {
    pub(crate) result: Arc<Result<LibraryAnswer, LookupError>>,
    pub(crate) query: Arc<LibraryQuery>,
    pub(crate) reader: Reader,
    pub(crate) database: Py<Database>,
}

impl Answer {
    fn answer(&self) -> Option<&LibraryAnswer> {
        self.result.as_ref().as_ref().ok()
    }

    fn miss(&self) -> Option<&LookupError> {
        self.result.as_ref().as_ref().err()
    }
}

#[pymethods]
impl Answer {
    /// Whether there is a duration.
    #[getter]
    fn hit(&self) -> bool {
        self.result.is_ok()
    }

    fn __bool__(&self) -> bool {
        self.result.is_ok()
    }

    /// The duration in microseconds; None where there is no answer.
    #[getter]
    fn duration_us(&self) -> Option<f64> {
        self.answer().map(|answer| answer.duration_us)
    }

    /// The lower end, in microseconds, of the 90 % interval; only under "best".
    #[getter]
    fn low_us(&self) -> Option<f64> {
        Some(self.answer()?.prediction()?.low_us)
    }

    /// The upper end of that interval, in microseconds.
    #[getter]
    fn high_us(&self) -> Option<f64> {
        Some(self.answer()?.prediction()?.high_us)
    }

    /// 1 for a row that fits as it is, less for what is derived.
    #[getter]
    fn confidence(&self) -> Option<f64> {
        self.answer().map(|answer| answer.confidence)
    }

    /// "MEASURED", "INTERPOLATED" or "PARTIAL".
    #[getter]
    fn source(&self) -> Option<&'static str> {
        self.answer().map(|answer| answer.source.name())
    }

    /// The tables that answered, joined by ",".
    #[getter]
    fn kernel_type(&self) -> Option<String> {
        self.answer()?.kernel_type().map(|name| name.into_owned())
    }

    /// The rule by which rows matched; None for sums without one.
    #[getter]
    fn rule(&self) -> Option<&'static str> {
        self.answer()?.rule
    }

    /// How it was interpolated.
    #[getter]
    fn method(&self) -> Option<&'static str> {
        self.answer()?.method()
    }

    /// How the call lies to the measured rows, under "best": "measured", "inside", "beyond", "new configuration".
    #[getter]
    fn class_(&self) -> Option<&'static str> {
        Some(self.answer()?.prediction()?.class.name())
    }

    /// The answer in words, under "best".
    #[getter]
    fn sentence(&self) -> Option<String> {
        Some(self.answer()?.prediction()?.sentence.clone())
    }

    /// The rows that it is based on.
    #[getter]
    fn rows(&self) -> Vec<Row> {
        self.answer().map_or_else(Vec::new, |answer| answer.rows.iter().map(Row::from).collect())
    }

    /// The kernels that add up to the answer, as dictionaries: kernel_type, duration_us, source, rule and, where predicted, low_us and high_us.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let as_dict = |part: &perfdb_query::Part| {
            let dict = PyDict::new(py);
            dict.set_item("kernel_type", &*part.kernel_type)?;
            dict.set_item("duration_us", part.duration_us)?;
            dict.set_item("source", part.source.name())?;
            dict.set_item("rule", part.rule)?;
            if let Some([low, high]) = part.interval_us {
                dict.set_item("low_us", low)?;
                dict.set_item("high_us", high)?;
            }
            Ok(dict)
        };
        self.answer().map_or_else(|| Ok(Vec::new()), |answer| answer.parts().iter().map(as_dict).collect())
    }

    /// Why there is no answer: a code such as "shape_mismatch".
    #[getter]
    fn reason(&self) -> Option<String> {
        self.miss().map(|miss| miss.reason.to_string())
    }

    /// The same in words.
    #[getter]
    fn meaning(&self) -> Option<&'static str> {
        self.miss().map(|miss| miss.reason.meaning())
    }

    /// The rows that come nearest, as dictionaries: file, line, input_shapes, duration_us and difference (empty where it fits).
    #[pyo3(signature = (count = 3))]
    fn nearest<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let found = py.detach(|| self.reader.nearest(&self.query, count));
        let as_dict = |near: &perfdb_query::Nearest| {
            let dict = PyDict::new(py);
            dict.set_item("file", near.row.path.display().to_string())?;
            dict.set_item("line", near.row.line)?;
            dict.set_item("input_shapes", near.inputs.to_string())?;
            dict.set_item("duration_us", near.duration_us)?;
            dict.set_item("difference", &near.difference)?;
            Ok(dict)
        };
        found.iter().map(as_dict).collect()
    }

    /// Pickled as the database and the query: it is queried again where it is unpickled.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let answer = slf.get();
        let again = slf.py().import("perfdb._perfdb")?.getattr("answer_again")?;
        let text = answer_to_json(&answer.result).to_string();
        Ok((again, (answer.database.clone_ref(slf.py()), Query(answer.query.clone()), text)))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// All of it, with the keys of query-database's JSON.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = answer_to_json(&self.result).to_string();
        py.import("json")?.call_method1("loads", (text,))
    }

    /// What the simulator's reader says of it in a trace: details, kernel_shapes, rule, and of a sum parts as (kernel_type,
    /// simulation_shapes, kernel_shapes, rule). None where there is no answer. Between several axes triangulate, a function of the coordinates
    /// of all places and those of the call, may return the corners to tell as (place, weight, share of the duration), or None; duration_us is then
    /// that between these corners.
    #[pyo3(signature = (triangulate = None))]
    fn statistics<'py>(
        &self,
        py: Python<'py>,
        triangulate: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(answer) = self.answer() else { return Ok(None) };
        let mut failed: Option<PyErr> = None;
        let mut corners = |places: &[&[f64]], target: &[f64]| {
            let function = triangulate.as_ref()?;
            let asked = function.call1((places.to_vec(), target)).and_then(|corners| corners.extract());
            asked.unwrap_or_else(|error| {
                failed.get_or_insert(error);
                None
            })
        };
        let statistics = self.reader.statistics(&self.query, answer, &mut corners);
        if let Some(error) = failed {
            return Err(error);
        }
        let dict = PyDict::new(py);
        dict.set_item("details", map(py, &statistics.details)?)?;
        dict.set_item("kernel_shapes", value(py, &statistics.kernel_shapes)?)?;
        dict.set_item("rule", statistics.rule)?;
        let parts = statistics.parts.map(|parts| {
            let part = |part: perfdb_query::PartShapes| {
                (part.kernel_type, part.simulation_shapes, part.kernel_shapes, part.rule)
            };
            parts.into_iter().map(part).collect::<Vec<_>>()
        });
        dict.set_item("parts", parts)?;
        if let Some(duration_us) = statistics.duration_us {
            dict.set_item("duration_us", duration_us)?;
        }
        Ok(Some(dict))
    }

    fn __repr__(&self) -> String {
        match self.result.as_ref() {
            Ok(answer) => {
                let interval = answer
                    .prediction()
                    .map(|prediction| format!(" ({}–{})", rounded(prediction.low_us), rounded(prediction.high_us)));
                let rows: Vec<String> = answer.rows.iter().take(3).map(|row| row.to_string()).collect();
                let (us, source) = (rounded(answer.duration_us), answer.source.name());
                format!("Answer({us} us{}, {source}, {})", interval.unwrap_or_default(), rows.join(" "))
            }
            Err(miss) => format!("Answer(none: {miss})"),
        }
    }
}

/// The answer that was pickled, from the same database.
#[pyfunction]
pub(crate) fn answer_again(database: &Bound<'_, Database>, query: Query, was: &str) -> PyResult<Answer> {
    let answer = Database::ask(database, query.0)?;
    let now = answer_to_json(&answer.result).to_string();
    if now != was {
        let path = database.get().path.display();
        return Err(of_message(&format!("{path}: the database has another answer than when it was pickled"), false));
    }
    Ok(answer)
}

fn map<'py>(py: Python<'py>, facts: &[(&'static str, Fact)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, fact) in facts {
        dict.set_item(name, value(py, fact)?)?;
    }
    Ok(dict)
}

fn value<'py>(py: Python<'py>, fact: &Fact) -> PyResult<Bound<'py, PyAny>> {
    let all = |facts: &[Fact]| facts.iter().map(|fact| value(py, fact)).collect::<PyResult<Vec<_>>>();
    Ok(match fact {
        Fact::None => py.None().into_bound(py),
        Fact::Flag(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Fact::Integer(number) => number.into_pyobject(py)?.into_any(),
        Fact::Number(number) => number.into_pyobject(py)?.into_any(),
        Fact::Text(text) => text.into_pyobject(py)?.into_any(),
        Fact::List(facts) => PyList::new(py, all(facts)?)?.into_any(),
        Fact::Tuple(facts) => PyTuple::new(py, all(facts)?)?.into_any(),
        Fact::Map(facts) => map(py, facts)?.into_any(),
    })
}

fn rounded(us: f64) -> String {
    format!("{:.6}", us).trim_end_matches('0').trim_end_matches('.').to_owned()
}
