//! Tables and streams that hand themselves over through Arrow's PyCapsule interface.

use crate::errors;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchReader, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PySlice};
use pyo3_arrow::{PyRecordBatchReader, PyTable};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

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

    /// Rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.__len__(), self.schema.fields().len())
    }

    /// The columns' names and Arrow types.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        schema(py, &self.schema)
    }

    /// Rows as a table: table[10:20], table[-5:].
    fn __getitem__(&self, rows: &Bound<'_, PySlice>) -> PyResult<ArrowTable> {
        let found = rows.indices(isize::try_from(self.__len__())?)?;
        if found.step != 1 {
            return Err(PyValueError::new_err("rows are taken one after the other: a slice without a step"));
        }
        let (mut start, mut count) = (found.start.max(0) as usize, found.slicelength);
        let mut batches = Vec::new();
        for batch in &self.batches {
            let taken = count.min(batch.num_rows().saturating_sub(start));
            if taken > 0 {
                batches.push(batch.slice(start, taken));
            }
            (start, count) = (start.saturating_sub(batch.num_rows()), count - taken);
        }
        Ok(ArrowTable { batches, schema: self.schema.clone() })
    }

    /// The values of a column as a list.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let at = self.schema.index_of(name).map_err(|_| PyKeyError::new_err(name.to_owned()))?;
        let list = PyList::empty(py);
        for batch in &self.batches {
            append_values(&list, batch.column(at))?;
        }
        Ok(list)
    }

    /// Pickled as its columns.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Vec<PickledColumn>,))> {
        let again = py.import("perfdb._perfdb")?.getattr("table_of_columns")?;
        let column = |field: &Arc<Field>| {
            let values = self.column(py, field.name())?.unbind();
            Ok((field.name().clone(), field.data_type().to_string(), field.is_nullable(), values))
        };
        Ok((again, (self.schema.fields().iter().map(column).collect::<PyResult<_>>()?,)))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let names = self.column_names();
        let shown = self.__getitem__(&PySlice::new(py, 0, ROWS_SHOWN as isize, 1))?;
        let columns = names.iter().map(|name| shown.column(py, name)).collect::<PyResult<Vec<_>>>()?;
        let mut html = String::from("<table>");
        if self.__len__() > ROWS_SHOWN {
            html += &format!("<caption>{ROWS_SHOWN} of {} rows</caption>", self.__len__());
        }
        let heads: String = names.iter().map(|name| format!("<th>{}</th>", escaped(name))).collect();
        html += &format!("<thead><tr>{heads}</tr></thead><tbody>");
        for row in 0..shown.__len__() {
            html += "<tr>";
            for column in &columns {
                let value = column.get_item(row)?;
                let text = if value.is_none() { String::new() } else { value.str()?.to_cow()?.into_owned() };
                html += &format!("<td>{}</td>", escaped(&text));
            }
            html += "</tr>";
        }
        Ok(html + "</tbody></table>")
    }

    fn __repr__(&self) -> String {
        format!("ArrowTable({} rows: {})", self.__len__(), self.column_names().join(", "))
    }
}

/// Rows of a table that a notebook shows.
const ROWS_SHOWN: usize = 20;

/// A column's name, Arrow type, whether it may have nulls, and its values.
type PickledColumn = (String, String, bool, Py<PyList>);

fn schema<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for field in schema.fields() {
        dict.set_item(field.name(), field.data_type().to_string())?;
    }
    Ok(dict)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The types of columns of perfdb's tables but texts, with the arrays that hold them.
macro_rules! for_number {
    ($type:expr, $action:ident, $other:expr) => {
        match $type {
            DataType::Float64 => $action!(Float64Array),
            DataType::Int64 => $action!(Int64Array),
            DataType::UInt64 => $action!(UInt64Array),
            DataType::UInt32 => $action!(UInt32Array),
            DataType::Boolean => $action!(BooleanArray),
            other => $other(other),
        }
    };
}

/// All of them.
macro_rules! for_type {
    ($type:expr, $action:ident, $other:expr) => {
        match $type {
            DataType::Utf8 => $action!(StringArray),
            other => for_number!(other, $action, $other),
        }
    };
}

fn append_values(list: &Bound<'_, PyList>, column: &ArrayRef) -> PyResult<()> {
    let unknown = |kind: &DataType| Err(PyTypeError::new_err(format!("values of the type {kind} are not read")));
    macro_rules! append {
        ($array:ty) => {{
            let values = column.as_any().downcast_ref::<$array>();
            values.into_iter().flatten().try_for_each(|value| list.append(value))
        }};
    }
    for_type!(column.data_type(), append, unknown)
}

/// The table that was pickled.
#[pyfunction]
pub(crate) fn table_of_columns(py: Python<'_>, columns: Vec<PickledColumn>) -> PyResult<ArrowTable> {
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (name, kind, nullable, values) in columns {
        let values = values.bind(py);
        let kinds =
            [DataType::Utf8, DataType::Float64, DataType::Int64, DataType::UInt64, DataType::UInt32, DataType::Boolean];
        let unknown = || PyTypeError::new_err(format!("values of the type {kind} are not read"));
        let own = kinds.into_iter().find(|own| own.to_string() == kind).ok_or_else(unknown)?;
        let other = |_: &DataType| Err(unknown());
        macro_rules! array {
            ($array:ty) => {{
                let values = values.iter().map(|value| value.extract()).collect::<PyResult<Vec<Option<_>>>>()?;
                Ok(Arc::new(<$array>::from(values)) as ArrayRef)
            }};
        }
        macro_rules! texts {
            ($array:ty) => {{
                let values = values.iter().map(|value| value.extract()).collect::<PyResult<Vec<Option<String>>>>()?;
                Ok(Arc::new(<$array>::from(values)) as ArrayRef)
            }};
        }
        let array: PyResult<ArrayRef> =
            if own == DataType::Utf8 { texts!(StringArray) } else { for_number!(&own, array, other) };
        arrays.push(array?);
        fields.push(Field::new(name, own, nullable));
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema, arrays).map_err(|failure| errors::error(&failure))?;
    Ok(ArrowTable::new(batch))
}

/// What opens a file's stream, as often as it is asked for.
type Open = Box<dyn Fn() -> PyResult<Box<dyn RecordBatchReader + Send>> + Send + Sync>;

/// Rows of a file in batches, as they are read. Whoever iterates or takes its Arrow stream reads the file from the start.
#[pyclass(frozen, module = "perfdb")]
pub(crate) struct ArrowStream {
    open: Open,
    schema: SchemaRef,
    origin: Origin,
}

/// The call that made a stream, for pickling.
pub(crate) enum Origin {
    Trace { path: PathBuf, args: Vec<String>, profiler: bool },
    Kernels { path: PathBuf },
}

impl ArrowStream {
    pub(crate) fn new(schema: SchemaRef, open: Open, origin: Origin) -> ArrowStream {
        ArrowStream { open, schema, origin }
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

    /// The columns' names and Arrow types.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        schema(py, &self.schema)
    }

    /// Pickled as the file and how it is read.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (PathBuf,))> {
        let module = py.import("perfdb._perfdb")?;
        match &self.origin {
            Origin::Kernels { path } => Ok((module.getattr("read_kernels")?, (path.clone(),))),
            Origin::Trace { path, args, profiler } => {
                let keywords = PyDict::new(py);
                keywords.set_item("args", args)?;
                keywords.set_item("profiler", profiler)?;
                let partial = py.import("functools")?.getattr("partial")?;
                Ok((partial.call((module.getattr("read_trace")?,), Some(&keywords))?, (path.clone(),)))
            }
        }
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
