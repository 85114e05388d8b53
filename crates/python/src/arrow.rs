//! Tables and streams that hand themselves over through Arrow's PyCapsule interface.

use crate::errors;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::{PyRecordBatchReader, PyTable};
use std::sync::{Mutex, PoisonError};

/// The method by which Python objects hand over Arrow streams.
const STREAM: &str = "__arrow_c_stream__";

/// A table in Arrow's memory. pyarrow, pandas, polars and DuckDB take it: pyarrow.table(t), polars.DataFrame(t).
#[pyclass(frozen, module = "perfdb")]
pub(crate) struct ArrowTable {
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
}

impl ArrowTable {
    pub(crate) fn new(batch: RecordBatch) -> ArrowTable {
        ArrowTable { schema: batch.schema(), batches: vec![batch] }
    }

    pub(crate) fn capsule<'py>(
        &self,
        py: Python<'py>,
        requested: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let table = Bound::new(py, PyTable::try_new(self.batches.clone(), self.schema.clone())?)?;
        Ok(table.call_method1(STREAM, (requested,))?.cast_into()?)
    }
}

#[pymethods]
impl ArrowTable {
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The columns' names.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Arrow's stream of it.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.capsule(py, requested_schema)
    }

    fn __repr__(&self) -> String {
        format!("ArrowTable({} rows: {})", self.__len__(), self.column_names().join(", "))
    }
}

/// What opens a file's stream, as often as it is asked for.
type Open = Box<dyn Fn() -> PyResult<Box<dyn RecordBatchReader + Send>> + Send + Sync>;

/// Rows of a file in batches, as they are read. Whoever iterates or takes its Arrow stream reads the file from the start.
#[pyclass(frozen, module = "perfdb")]
pub(crate) struct ArrowStream {
    open: Open,
    schema: SchemaRef,
}

impl ArrowStream {
    pub(crate) fn new(schema: SchemaRef, open: Open) -> ArrowStream {
        ArrowStream { open, schema }
    }
}

/// A failure of a stream: that of the file's reader, where it was one.
fn arrow_error(failure: &ArrowError) -> PyErr {
    match failure {
        ArrowError::ExternalError(inner) => errors::error(inner.as_ref()),
        other => errors::error(other),
    }
}

#[pymethods]
impl ArrowStream {
    /// The columns' names.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __iter__(&self) -> PyResult<ArrowBatches> {
        Ok(ArrowBatches(Mutex::new((self.open)()?)))
    }

    /// All of it as one table in memory.
    fn read_all(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        let reader = self.__iter__()?;
        let mut batches = Vec::new();
        while let Some(batch) = reader.next_batch(py)? {
            batches.push(batch);
            py.check_signals()?;
        }
        Ok(ArrowTable { batches, schema: self.schema.clone() })
    }

    /// Arrow's stream of it.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let reader = Bound::new(py, PyRecordBatchReader::new((self.open)()?))?;
        Ok(reader.call_method1(STREAM, (requested_schema,))?.cast_into()?)
    }

    fn __repr__(&self) -> String {
        format!("ArrowStream({})", self.column_names().join(", "))
    }
}

/// One reading of a stream, batch by batch.
#[pyclass(frozen, module = "perfdb")]
pub(crate) struct ArrowBatches(Mutex<Box<dyn RecordBatchReader + Send>>);

impl ArrowBatches {
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let next = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next());
        next.transpose().map_err(|failure| arrow_error(&failure))
    }
}

#[pymethods]
impl ArrowBatches {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// The next batch, as a table.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<ArrowTable>> {
        Ok(self.next_batch(py)?.map(ArrowTable::new))
    }
}
