//! The answers to a batch.

use crate::answer::Answer;
use crate::arrow::ArrowTable;
use crate::database::Database;
use crate::errors::of_message;
use crate::question::Query;
use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt32Builder};
use arrow_array::{ArrayRef, RecordBatch};
use perfdb_query::{Answer as LibraryAnswer, LookupError, Query as LibraryQuery, Reader};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use std::sync::Arc;

/// A database, queries with why some are none, and their durations.
type Pickled = (Py<Database>, Vec<(Query, Option<String>)>, Vec<f64>);

/// The answers to a batch, in the order of the questions: a sequence, and a table for whoever takes Arrow streams.
#[pyclass(frozen, module = "perfdb", sequence)]
pub(crate) struct Answers {
    pub(crate) reader: Reader,
    pub(crate) database: Py<Database>,
    pub(crate) queries: Vec<Arc<LibraryQuery>>,
    pub(crate) results: Vec<Arc<Result<LibraryAnswer, LookupError>>>,
}

#[pymethods]
impl Answers {
    fn __len__(&self) -> usize {
        self.results.len()
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<Answer> {
        let at = if index < 0 { index + self.results.len() as isize } else { index };
        let found = usize::try_from(at).ok().and_then(|at| self.at(py, at));
        found.ok_or_else(|| PyIndexError::new_err(format!("there are {} answers", self.results.len())))
    }

    fn __iter__(slf: Py<Self>) -> AnswersIterator {
        AnswersIterator { answers: slf, next: 0 }
    }

    /// The durations in microseconds as an array.array of doubles, which numpy takes as it is; not a number where there is no answer.
    #[getter]
    fn durations_us<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes: Vec<u8> = self.durations().flat_map(f64::to_ne_bytes).collect();
        py.import("array")?.call_method1("array", ("d", PyBytes::new(py, &bytes)))
    }

    /// Pickled as the database and the queries, which are queried again where it is unpickled.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled)> {
        let answers = slf.get();
        let again = slf.py().import("perfdb._perfdb")?.getattr("answers_again")?;
        let malformed = |miss: &LookupError| miss.detail.clone().filter(|_| miss.reason.code() == "malformed_query");
        let queries = answers.queries.iter().zip(&answers.results);
        let queries = queries
            .map(|(query, result)| (Query(query.clone()), result.as_ref().as_ref().err().and_then(malformed)))
            .collect();
        Ok((again, (answers.database.clone_ref(slf.py()), queries, answers.durations().collect())))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// As an Arrow table: query, kernel_type, duration_us, low_us, high_us, class, source, confidence, rule, file, line, is_padded,
    /// reason, sentence.
    fn to_arrow(&self) -> PyResult<ArrowTable> {
        Ok(ArrowTable::new(self.batch().map_err(|failure| crate::errors::error(&failure))?))
    }

    /// Arrow's stream of that table.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.to_arrow()?.capsule(py, requested_schema)
    }

    fn __repr__(&self) -> String {
        let hits = self.results.iter().filter(|result| result.is_ok()).count();
        format!("Answers({hits} of {} have a duration)", self.results.len())
    }
}

/// Goes through answers.
#[pyclass(module = "perfdb")]
pub(crate) struct AnswersIterator {
    answers: Py<Answers>,
    next: usize,
}

#[pymethods]
impl AnswersIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> Option<Answer> {
        let found = self.answers.get().at(py, self.next)?;
        self.next += 1;
        Some(found)
    }
}

/// The answers that were pickled, from the same database.
#[pyfunction]
pub(crate) fn answers_again(
    database: &Bound<'_, Database>,
    queries: Vec<(Query, Option<String>)>,
    were: Vec<f64>,
) -> PyResult<Answers> {
    let asked = queries.into_iter().map(|(query, malformed)| malformed.map_or(Ok(query.0), Err));
    let answers = Database::ask_all(database, asked.collect())?;
    if !answers.durations().map(f64::to_bits).eq(were.into_iter().map(f64::to_bits)) {
        let path = database.get().path.display();
        return Err(of_message(&format!("{path}: the database has other answers than when they were pickled"), false));
    }
    Ok(answers)
}

impl Answers {
    fn durations(&self) -> impl Iterator<Item = f64> {
        self.results.iter().map(|result| result.as_ref().as_ref().map_or(f64::NAN, |answer| answer.duration_us))
    }

    fn at(&self, py: Python<'_>, at: usize) -> Option<Answer> {
        let (result, query) = (self.results.get(at)?.clone(), self.queries[at].clone());
        Some(Answer { result, query, reader: self.reader.clone(), database: self.database.clone_ref(py) })
    }

    fn batch(&self) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let [mut name, mut source, mut kernel_type, mut rule, mut file, mut reason, mut class, mut sentence] =
            std::array::from_fn(|_| StringBuilder::new());
        let [mut duration, mut low, mut high, mut confidence] = std::array::from_fn(|_| Float64Builder::new());
        let (mut line, mut is_padded) = (UInt32Builder::new(), BooleanBuilder::new());
        for (query, result) in self.queries.iter().zip(&self.results) {
            let answer = result.as_ref().as_ref().ok();
            let prediction = answer.and_then(LibraryAnswer::prediction);
            let row = answer.and_then(|answer| answer.rows.first());
            name.append_value(query.name());
            duration.append_option(answer.map(|answer| answer.duration_us));
            low.append_option(prediction.map(|prediction| prediction.low_us));
            high.append_option(prediction.map(|prediction| prediction.high_us));
            confidence.append_option(answer.map(|answer| answer.confidence));
            source.append_option(answer.map(|answer| answer.source.name()));
            kernel_type.append_option(answer.and_then(LibraryAnswer::kernel_type));
            rule.append_option(answer.and_then(|answer| answer.rule));
            file.append_option(row.map(|row| row.path.display().to_string()));
            line.append_option(row.map(|row| row.line));
            is_padded.append_option(answer.map(LibraryAnswer::is_padded));
            reason.append_option(result.as_ref().as_ref().err().map(ToString::to_string));
            class.append_option(answer.map(|answer| answer.class().name()));
            sentence.append_option(prediction.map(|prediction| prediction.sentence.as_str()));
        }
        RecordBatch::try_from_iter_with_nullable([
            ("query", Arc::new(name.finish()) as ArrayRef, false),
            ("kernel_type", Arc::new(kernel_type.finish()), true),
            ("duration_us", Arc::new(duration.finish()), true),
            ("low_us", Arc::new(low.finish()), true),
            ("high_us", Arc::new(high.finish()), true),
            ("class", Arc::new(class.finish()), true),
            ("source", Arc::new(source.finish()), true),
            ("confidence", Arc::new(confidence.finish()), true),
            ("rule", Arc::new(rule.finish()), true),
            ("file", Arc::new(file.finish()), true),
            ("line", Arc::new(line.finish()), true),
            ("is_padded", Arc::new(is_padded.finish()), true),
            ("reason", Arc::new(reason.finish()), true),
            ("sentence", Arc::new(sentence.finish()), true),
        ])
    }
}
