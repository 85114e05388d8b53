//! The answers to a batch.

use crate::answer::Answer;
use crate::arrow::ArrowTable;
use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt32Builder};
use arrow_array::{ArrayRef, RecordBatch};
use perfdb_query::{Answer as LibraryAnswer, Miss, Query, Reader};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// The answers to a batch, in the order of the questions: a sequence, and a table for whoever takes Arrow streams.
#[pyclass(frozen, module = "perfdb", sequence)]
pub(crate) struct Answers {
    pub(crate) reader: Reader,
    pub(crate) queries: Vec<Arc<Query>>,
    pub(crate) results: Vec<Arc<Result<LibraryAnswer, Miss>>>,
}

#[pymethods]
impl Answers {
    fn __len__(&self) -> usize {
        self.results.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Answer> {
        let at = if index < 0 { index + self.results.len() as isize } else { index };
        let at = usize::try_from(at).ok().filter(|at| *at < self.results.len());
        let at = at.ok_or_else(|| PyIndexError::new_err(format!("there are {} answers", self.results.len())))?;
        Ok(Answer { result: self.results[at].clone(), query: self.queries[at].clone(), reader: self.reader.clone() })
    }

    /// The durations in microseconds; None where there is no answer.
    #[getter]
    fn durations_us(&self) -> Vec<Option<f64>> {
        self.results.iter().map(|result| result.as_ref().as_ref().ok().map(|answer| answer.duration_us)).collect()
    }

    /// As an Arrow table: query, duration_us, low_us, high_us, confidence, source, kernel_type, rule, file, line, is_padded, reason.
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

impl Answers {
    fn batch(&self) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let [mut name, mut source, mut kernel_type, mut rule, mut file, mut reason] =
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
            reason.append_option(result.as_ref().as_ref().err().map(|miss| miss.reason.to_string()));
        }
        RecordBatch::try_from_iter_with_nullable([
            ("query", Arc::new(name.finish()) as ArrayRef, false),
            ("duration_us", Arc::new(duration.finish()), true),
            ("low_us", Arc::new(low.finish()), true),
            ("high_us", Arc::new(high.finish()), true),
            ("confidence", Arc::new(confidence.finish()), true),
            ("source", Arc::new(source.finish()), true),
            ("kernel_type", Arc::new(kernel_type.finish()), true),
            ("rule", Arc::new(rule.finish()), true),
            ("file", Arc::new(file.finish()), true),
            ("line", Arc::new(line.finish()), true),
            ("is_padded", Arc::new(is_padded.finish()), true),
            ("reason", Arc::new(reason.finish()), true),
        ])
    }
}
