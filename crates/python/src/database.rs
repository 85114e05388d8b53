//! A database.

use crate::answer::Answer;
use crate::answers::Answers;
use crate::arrow::ArrowTable;
use crate::errors::{error, of_message, unreadable};
use crate::question::{ParallelConfig, of_cells, of_kernel, of_operator, question};
use crate::{errors, kernel_rows};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use perfdb_files::with_causes;
use perfdb_query::{Database as LibraryDatabase, Grid, Layer, LookupError, Query, Reader, ReaderSemantics};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pyo3_arrow::input::AnyRecordBatch;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

/// Questions between two looks at whether Ctrl-C was pressed.
const BLOCK: usize = 8192;

/// A database directory. Tables are read when they are first asked for, and kept; threads may share it.
///
/// path: the directory with op_mapping.yaml and a CSV per kernel type.
/// semantics: the lookup rules: "corrected" (the product's own), "best" (predictions with intervals between rows), "upstream" and
/// "upstream-2025" (the simulator's readers of 2026 and 2025).
/// layer: "interpolating", or "measured" for rows only.
#[pyclass(frozen, module = "perfdb")]
pub(crate) struct Database {
    database: LibraryDatabase,
    pub(crate) path: PathBuf,
    semantics: ReaderSemantics,
    layer: Layer,
    reader: RwLock<Reader>,
}

impl Database {
    fn reader(&self) -> Reader {
        self.reader.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn ask(slf: &Bound<'_, Self>, query: Arc<Query>) -> PyResult<Answer> {
        let reader = slf.get().reader();
        let result = slf.py().detach(|| reader.lookup(&query));
        if let Some(error) = result.as_ref().err().and_then(unreadable) {
            return Err(error);
        }
        Ok(Answer { result: Arc::new(result), query, reader, database: slf.clone().unbind() })
    }

    /// Answers all; between blocks Ctrl-C is heard. What is not a query has an error of its own in its place.
    pub(crate) fn ask_all(slf: &Bound<'_, Self>, queries: Vec<Asked>) -> PyResult<Answers> {
        let (reader, py) = (slf.get().reader(), slf.py());
        let mut results = Vec::with_capacity(queries.len());
        for block in queries.chunks(BLOCK) {
            py.check_signals()?;
            let failed = py.detach(|| {
                let from = results.len();
                let answer = |asked: &Asked| match asked {
                    Ok(query) => reader.lookup(query),
                    Err(reason) => Err(LookupError::malformed(reason)),
                };
                results.extend(block.iter().map(|asked| Arc::new(answer(asked))));
                results[from..].iter().find_map(|result| result.as_ref().as_ref().err().and_then(unreadable))
            });
            if let Some(error) = failed {
                return Err(error);
            }
        }
        let queries = queries.into_iter().map(|asked| asked.unwrap_or_else(|_| Arc::new(Query::kernel("")))).collect();
        Ok(Answers { reader, database: slf.clone().unbind(), queries, results })
    }
}

#[pymethods]
impl Database {
    #[new]
    #[pyo3(signature = (path, semantics = "corrected", *, layer = "interpolating"))]
    fn new(py: Python<'_>, path: PathBuf, semantics: &str, layer: &str) -> PyResult<Database> {
        let semantics: ReaderSemantics =
            semantics.parse().map_err(|unknown| PyValueError::new_err(format!("{unknown}")))?;
        let layer = match layer {
            "interpolating" => Layer::Interpolating,
            "measured" => Layer::Measured,
            other => return Err(PyValueError::new_err(format!("unknown layer {other:?} (interpolating, measured)"))),
        };
        let database = py.detach(|| LibraryDatabase::open(&path)).map_err(|failure| {
            if path.exists() { error(&failure) } else { of_message(&with_causes(&failure), true) }
        })?;
        let reader = RwLock::new(database.reader(semantics, layer));
        Ok(Database { database, path, semantics, layer, reader })
    }

    /// Pickled as path and rules: the files are read again where it is unpickled.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((PathBuf, &'static str), Bound<'py, PyDict>)> {
        let keywords = PyDict::new(py);
        keywords.set_item("layer", if self.layer == Layer::Measured { "measured" } else { "interpolating" })?;
        Ok(((self.path.clone(), self.semantics.name()), keywords))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// The directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Its lookup rules.
    #[getter]
    fn semantics(&self) -> &'static str {
        self.semantics.name()
    }

    /// What a kernel costs, by its inputs: shapes and data types as in a table ("16,5120;5120,768", "DT_BF16"; one type
    /// stands for all) or as sequences ([(16, 5120), (5120, 768)], ["bf16", "bf16"]).
    #[pyo3(signature = (kernel_type, input_shapes, data_types = None))]
    fn lookup(
        slf: &Bound<'_, Self>,
        kernel_type: &str,
        input_shapes: &Bound<'_, PyAny>,
        data_types: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Answer> {
        Self::ask(slf, Arc::new(of_kernel(kernel_type, input_shapes, data_types)?))
    }

    /// What an operator call costs, through the database's op_mapping.yaml. Arguments are (shape, type) pairs, tensors of any
    /// framework, numbers, texts, lists or None; grid is (devices per dimension from the outermost, tiers that have tables).
    #[pyo3(signature = (operator, inputs, *, outputs = None, keywords = None, ep_size = None, tp_size = None, sequence_parallel = false, grid = None, tier = None))]
    #[allow(clippy::too_many_arguments)] // Python's keywords
    fn lookup_operator(
        slf: &Bound<'_, Self>,
        operator: &str,
        inputs: &Bound<'_, PyAny>,
        outputs: Option<&Bound<'_, PyAny>>,
        keywords: Option<&Bound<'_, PyDict>>,
        ep_size: Option<i64>,
        tp_size: Option<i64>,
        sequence_parallel: bool,
        grid: Option<(Vec<i64>, Vec<i64>)>,
        tier: Option<i64>,
    ) -> PyResult<Answer> {
        let grid = grid.map(|(shape, tiers)| Grid { shape, tiers });
        let parallel = ParallelConfig { ep_size, tp_size, sequence_parallel, grid, tier };
        Self::ask(slf, Arc::new(of_operator(operator, inputs, outputs, keywords, parallel)?))
    }

    /// What a question costs: a Query, or a dictionary as in a manifest of query-database.
    fn ask_query(slf: &Bound<'_, Self>, query: &Bound<'_, PyAny>) -> PyResult<Answer> {
        Self::ask(slf, question(query)?)
    }

    /// Answers many questions: Query objects or dictionaries in any iterable, or what is an Arrow table (of pyarrow, pandas ≥ 2.2,
    /// polars, DuckDB, or rows() of a database) with the text columns kernel_type, input_shapes and input_data_types (or data_types),
    /// each as in a table. A row with a null or a malformed cell has no duration; its reason says which cell.
    fn lookup_batch(slf: &Bound<'_, Self>, queries: &Bound<'_, PyAny>) -> PyResult<Answers> {
        let py = slf.py();
        let queries = if queries.hasattr("__arrow_c_stream__")? || queries.hasattr("__arrow_c_array__")? {
            let reader = queries.extract::<AnyRecordBatch>()?.into_reader()?;
            let mut asked = Vec::new();
            for batch in reader {
                py.check_signals()?;
                let batch = batch.map_err(|failure| error(&failure))?;
                of_batch(&batch, &mut asked)?;
            }
            asked
        } else if !queries.is_instance_of::<PyString>()
            && !queries.is_instance_of::<PyDict>()
            && let Ok(items) = queries.try_iter()
        {
            items.map(|query| Ok(Ok(question(&query?)?))).collect::<PyResult<Vec<Asked>>>()?
        } else {
            let kind = queries.get_type().name()?.to_string();
            return Err(PyTypeError::new_err(format!("questions are an iterable or an Arrow table, not {kind}")));
        };
        Self::ask_all(slf, queries)
    }

    /// The rows of a kernel type that can answer, as an Arrow table: kernel_type, line, input_shapes, input_data_types, input_formats, output_shapes,
    /// output_data_types, output_formats (texts as in the file), duration_us and ep_size.
    fn rows(&self, py: Python<'_>, kernel_type: &str) -> PyResult<ArrowTable> {
        let found = py.detach(|| self.database.rows(kernel_type));
        let found = found.map_err(|miss| unreadable(&miss).unwrap_or_else(|| errors::error(&miss)))?;
        let rows = found.ok_or_else(|| PyKeyError::new_err(format!("table {kernel_type}.csv does not exist")))?;
        py.detach(|| kernel_rows::table(&rows)).map_err(|failure| error(&failure))
    }

    /// The input shapes of the row of a kernel type on this line; None where no row that can answer begins there.
    fn row_shapes(&self, py: Python<'_>, kernel_type: &str, line: u64) -> PyResult<Option<Vec<Vec<i64>>>> {
        let found = py.detach(|| self.database.rows(kernel_type));
        let found = found.map_err(|miss| unreadable(&miss).unwrap_or_else(|| errors::error(&miss)))?;
        let row = found.as_ref().and_then(|rows| rows.iter().find(|row| row.line() == line));
        Ok(row.map(|row| row.inputs().iter().map(|shape| shape.to_vec()).collect()))
    }

    /// The kernel types that have a table.
    fn kernel_types(&self) -> Vec<String> {
        self.database.kernel_types().iter().map(|name| name.to_string()).collect()
    }

    /// The operators of the mapping.
    fn operators(&self) -> Vec<String> {
        self.database.operators()
    }

    /// Reads all tables now, on all cores.
    fn load(&self, py: Python<'_>) {
        py.detach(|| self.database.load_all());
    }

    /// Looks whether files were replaced, added or removed, and forgets those that were; whether there were any. Answers that were given stay.
    fn reopen(&self, py: Python<'_>) -> PyResult<bool> {
        let changed = py.detach(|| self.database.reopen()).map_err(|failure| error(&failure))?;
        if changed {
            let reader = self.database.reader(self.semantics, self.layer);
            *self.reader.write().unwrap_or_else(PoisonError::into_inner) = reader;
        }
        Ok(changed)
    }

    fn __repr__(&self) -> String {
        format!("Database({:?}, semantics={:?})", self.path, self.semantics.name())
    }
}

/// A question, or why it is none.
pub(crate) type Asked = Result<Arc<Query>, String>;

/// The questions of a batch of an Arrow table.
fn of_batch(batch: &RecordBatch, asked: &mut Vec<Asked>) -> PyResult<()> {
    let own_name = if batch.column_by_name("data_types").is_some() { "data_types" } else { "input_data_types" };
    let names = ["kernel_type", "input_shapes", own_name];
    let [kernels, shapes, types] = names.map(|name| column(batch, name));
    let (kernels, shapes, types) = (kernels?, shapes?, types?);
    asked.reserve(batch.num_rows());
    for row in 0..batch.num_rows() {
        let cells = [kernels.get(row), shapes.get(row), types.get(row)];
        asked.push(match cells {
            [Some(kernel), Some(shape), Some(dtype)] => of_cells(kernel, shape, dtype).map(Arc::new),
            _ => {
                let null = names.iter().zip(cells).find(|(_, cell)| cell.is_none()).map_or("", |(name, _)| name);
                Err(format!("{null} is null"))
            }
        });
    }
    Ok(())
}

/// A column of texts, in any of Arrow's layouts.
enum Texts<'b> {
    Small(&'b arrow_array::StringArray),
    Large(&'b arrow_array::LargeStringArray),
    View(&'b arrow_array::StringViewArray),
    /// Categories, and the place of each row's among them.
    Categories(Box<Texts<'b>>, Vec<Option<usize>>),
}

impl<'b> Texts<'b> {
    fn get(&self, row: usize) -> Option<&'b str> {
        match self {
            Texts::Small(texts) => (!texts.is_null(row)).then(|| texts.value(row)),
            Texts::Large(texts) => (!texts.is_null(row)).then(|| texts.value(row)),
            Texts::View(texts) => (!texts.is_null(row)).then(|| texts.value(row)),
            Texts::Categories(texts, places) => texts.get((*places.get(row)?)?),
        }
    }

    fn of(name: &str, column: &'b ArrayRef) -> PyResult<Texts<'b>> {
        match column.data_type() {
            DataType::Utf8 => Ok(Texts::Small(column.as_string())),
            DataType::LargeUtf8 => Ok(Texts::Large(column.as_string())),
            DataType::Utf8View => Ok(Texts::View(column.as_string_view())),
            DataType::Dictionary(..) => {
                macro_rules! categories {
                    ($($key:ty),*) => {
                        $(if let Some(dictionary) = column.as_dictionary_opt::<$key>() {
                            let place = |key: Option<_>| key.and_then(|key| usize::try_from(key).ok());
                            let places = dictionary.keys().iter().map(place).collect();
                            return Ok(Texts::Categories(Box::new(Texts::of(name, dictionary.values())?), places));
                        })*
                    };
                }
                categories!(Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type);
                Err(PyTypeError::new_err(format!("column {name} has categories that are not read")))
            }
            other => Err(PyTypeError::new_err(format!("column {name} has type {other}, not text"))),
        }
    }
}

fn column<'b>(batch: &'b RecordBatch, name: &str) -> PyResult<Texts<'b>> {
    let column = batch.column_by_name(name);
    Texts::of(name, column.ok_or_else(|| PyValueError::new_err(format!("column {name} does not exist")))?)
}
