//! Questions from Python values: texts as in tables, dictionaries as in manifests, tensors of any framework.

use perfdb_query::{Argument, DType, Grid, Query as LibraryQuery, Results, Tensor};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::sync::Arc;

/// A question that can be asked any number of times.
///
/// Made once and asked often, it saves the time of reading its arguments.
#[pyclass(frozen, module = "perfdb", eq, from_py_object)]
#[derive(Clone, PartialEq)]
pub(crate) struct Query(pub(crate) Arc<LibraryQuery>);

#[pymethods]
impl Query {
    /// A kernel by its inputs: shapes and data types as in a table ("16,5120;5120,768", "DT_BF16"; one type stands for all) or as sequences.
    #[staticmethod]
    #[pyo3(signature = (kernel_type, input_shapes, data_types = None))]
    fn kernel(
        kernel_type: &str,
        input_shapes: &Bound<'_, PyAny>,
        data_types: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Query> {
        Ok(Query(Arc::new(of_kernel(kernel_type, input_shapes, data_types)?)))
    }

    /// An operator call: its arguments as (shape, type) pairs, tensors, numbers, texts, lists or None.
    #[staticmethod]
    #[pyo3(signature = (operator, arguments, *, outputs = None, keywords = None, ep_size = None, tp_size = None, sequence_parallel = false, grid = None, tier = None))]
    #[allow(clippy::too_many_arguments)] // Python's keywords
    fn operator(
        operator: &str,
        arguments: &Bound<'_, PyAny>,
        outputs: Option<&Bound<'_, PyAny>>,
        keywords: Option<&Bound<'_, PyDict>>,
        ep_size: Option<i64>,
        tp_size: Option<i64>,
        sequence_parallel: bool,
        grid: Option<(Vec<i64>, Vec<i64>)>,
        tier: Option<i64>,
    ) -> PyResult<Query> {
        let parallel = ParallelConfig {
            ep_size,
            tp_size,
            sequence_parallel,
            grid: grid.map(|(shape, tiers)| Grid { shape, tiers }),
            tier,
        };
        Ok(Query(Arc::new(of_operator(operator, arguments, outputs, keywords, parallel)?)))
    }

    /// A question as it stands in a manifest: a dictionary, or its JSON text.
    #[staticmethod]
    fn from_json(question: &Bound<'_, PyAny>) -> PyResult<Query> {
        Ok(Query(Arc::new(of_json(question)?)))
    }

    /// Pickled as its JSON.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Query>().getattr("from_json")?, (self.0.to_json().to_string(),)))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// The operator, or the kernel type.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    fn __repr__(&self) -> String {
        let arguments = self.0.positional().iter().map(shown).collect::<Vec<_>>().join(", ");
        format!("Query({}: {arguments})", self.0.name())
    }
}

fn shown(argument: &Argument) -> String {
    match argument {
        Argument::Tensor(tensor) => {
            let shape: Vec<String> = tensor.shape.iter().map(i64::to_string).collect();
            format!("{}:{}", shape.join(","), tensor.dtype.short_name())
        }
        Argument::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Argument::Integer(number) => number.to_string(),
        Argument::Float(number) => number.to_string(),
        Argument::Boolean(truth) => truth.to_string(),
        Argument::Text(text) => format!("{text:?}"),
        Argument::None => "None".to_owned(),
    }
}

/// What surrounds a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParallelConfig {
    pub(crate) ep_size: Option<i64>,
    pub(crate) tp_size: Option<i64>,
    pub(crate) sequence_parallel: bool,
    pub(crate) grid: Option<Grid>,
    pub(crate) tier: Option<i64>,
}

/// Anything that is a question: a [`Query`], a dictionary or JSON text as in a manifest.
pub(crate) fn question(value: &Bound<'_, PyAny>) -> PyResult<Arc<LibraryQuery>> {
    match value.cast::<Query>() {
        Ok(query) => Ok(query.get().0.clone()),
        Err(_) => of_json(value).map(Arc::new),
    }
}

fn of_json(value: &Bound<'_, PyAny>) -> PyResult<LibraryQuery> {
    let text: String = if value.is_instance_of::<PyDict>() {
        value.py().import("json")?.call_method1("dumps", (value,))?.extract()?
    } else if let Ok(text) = value.cast::<PyString>() {
        text.to_cow()?.into_owned()
    } else {
        let kind = value.get_type().name()?.to_string();
        return Err(PyTypeError::new_err(format!("a question is a Query, a dict or JSON text, not {kind}")));
    };
    let json: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| PyValueError::new_err(format!("no JSON: {error}")))?;
    LibraryQuery::from_json(&json).map_err(|malformed| PyValueError::new_err(malformed.to_string()))
}

/// A kernel by shapes and types, as texts or as sequences.
pub(crate) fn of_kernel(
    kernel_type: &str,
    shapes: &Bound<'_, PyAny>,
    types: Option<&Bound<'_, PyAny>>,
) -> PyResult<LibraryQuery> {
    if let (Ok(shapes), types) = (shapes.cast::<PyString>(), types.map(|types| types.cast::<PyString>())) {
        let types = match types {
            Some(Ok(types)) => types.to_cow()?,
            Some(Err(error)) => return Err(error.into()),
            None => "DT_BF16".into(),
        };
        return of_cells(kernel_type, &shapes.to_cow()?, &types).map_err(PyValueError::new_err);
    }
    let shapes: Vec<Vec<i64>> = shapes.extract()?;
    let types: Vec<DType> = match types {
        None => vec![DType::BFloat16],
        Some(types) if types.is_instance_of::<PyString>() => vec![dtype(types)?],
        Some(types) => types.try_iter()?.map(|name| dtype(&name?)).collect::<PyResult<_>>()?,
    };
    if types.len() != 1 && types.len() != shapes.len() {
        return Err(PyValueError::new_err(type_count(types.len(), shapes.len())));
    }
    let tensors = shapes.into_iter().enumerate();
    let query = LibraryQuery::kernel(kernel_type);
    Ok(tensors.fold(query, |query, (at, shape)| {
        query.input(Tensor::new(shape, types.get(at).or(types.first()).copied().unwrap_or(DType::BFloat16)))
    }))
}

fn type_count(types: usize, shapes: usize) -> String {
    format!("{types} data types for {shapes} shapes: give one, or one for each shape")
}

/// A kernel by the cells of a table.
pub(crate) fn of_cells(kernel_type: &str, shapes: &str, types: &str) -> Result<LibraryQuery, String> {
    let trimmed = |text: &'static str| move |cell: &&str| !cell.trim_matches(|c: char| text.contains(c)).is_empty();
    let shape_cells: Vec<&str> = shapes.trim().trim_matches('"').split(';').filter(trimmed(" ")).collect();
    let type_cells: Vec<&str> = types.split(';').filter(trimmed(" ")).collect();
    if type_cells.len() != 1 && type_cells.len() != shape_cells.len() {
        return Err(type_count(type_cells.len(), shape_cells.len()));
    }
    let mut query = LibraryQuery::kernel(kernel_type);
    for (at, cell) in shape_cells.iter().enumerate() {
        let name = type_cells.get(at).or(type_cells.first()).copied().unwrap_or_default().trim();
        let dtype: DType = name.parse().map_err(|unknown| format!("{unknown}"))?;
        let dimensions = match cell.trim() {
            "()" => Vec::new(),
            cell => {
                let dimension = |text: &str| {
                    text.trim().parse::<i64>().map_err(|_| format!("{cell:?} is no shape: dimensions are 16,5120"))
                };
                cell.split(',').map(dimension).collect::<Result<_, _>>()?
            }
        };
        query = query.input(Tensor::new(dimensions, dtype));
    }
    Ok(query)
}

/// A call of an operator.
pub(crate) fn of_operator(
    operator: &str,
    arguments: &Bound<'_, PyAny>,
    outputs: Option<&Bound<'_, PyAny>>,
    keywords: Option<&Bound<'_, PyDict>>,
    parallel: ParallelConfig,
) -> PyResult<LibraryQuery> {
    let mut query = LibraryQuery::operator(operator)
        .ep_size(parallel.ep_size)
        .tp_size(parallel.tp_size)
        .sequence_parallel(parallel.sequence_parallel)
        .grid(parallel.grid)
        .tier(parallel.tier);
    for value in arguments.try_iter()? {
        query = query.argument(argument(&value?)?);
    }
    for (name, value) in keywords.into_iter().flatten() {
        query = query.keyword(name.extract::<String>()?, argument(&value)?);
    }
    Ok(match outputs {
        None => query,
        Some(value) => query.results(results(value)?),
    })
}

fn results(value: &Bound<'_, PyAny>) -> PyResult<Results> {
    Ok(match argument(value)? {
        Argument::None => Results::Unknown,
        Argument::List(items) => Results::Many(items),
        one => Results::One(one),
    })
}

/// An argument of a call. A pair of a shape and a type is a tensor; so is what has both as attributes.
fn argument(value: &Bound<'_, PyAny>) -> PyResult<Argument> {
    if value.is_none() {
        return Ok(Argument::None);
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Argument::Boolean(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        // Beyond 64 bits there is no size; its text says what it was.
        return Ok(value.extract().map_or_else(|_| Argument::Text(value.to_string()), Argument::Integer));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Argument::Float(value.extract()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Argument::Text(text.to_cow()?.into_owned()));
    }
    if let Ok(pair) = value.cast::<PyTuple>()
        && pair.len() == 2
        && let Ok(shape) = pair.get_item(0)?.extract::<Vec<i64>>()
        && is_type(&pair.get_item(1)?)
    {
        return Ok(Argument::Tensor(Tensor::new(shape, dtype(&pair.get_item(1)?)?)));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| argument(&item?)).collect::<PyResult<_>>()?;
        return Ok(Argument::List(items));
    }
    if let (Ok(shape), Ok(kind)) = (value.getattr("shape"), value.getattr("dtype")) {
        let shape: Vec<i64> = shape.try_iter()?.map(|size| size?.extract()).collect::<PyResult<_>>()?;
        let mut tensor = Tensor::new(shape, dtype(&kind)?);
        tensor.values = contents(value, &tensor)?;
        return Ok(Argument::Tensor(tensor));
    }
    // Devices, data types, memory formats: names.
    Ok(Argument::Text(value.to_string()))
}

fn is_type(value: &Bound<'_, PyAny>) -> bool {
    dtype(value).is_ok()
}

/// A data type by any of its names; a framework's own type objects print theirs.
fn dtype(value: &Bound<'_, PyAny>) -> PyResult<DType> {
    let name = value.str()?;
    let name = name.to_cow()?;
    name.parse().map_err(|unknown| PyValueError::new_err(format!("{unknown}")))
}

/// The contents of a vector of integers, where they are at hand: lengths of sequences. Nothing is fetched from a device for them.
fn contents(value: &Bound<'_, PyAny>, tensor: &Tensor) -> PyResult<Option<Vec<i64>>> {
    let is_vector = tensor.shape.len() == 1 && matches!(tensor.dtype, DType::Int32 | DType::Int64);
    if !is_vector {
        return Ok(None);
    }
    let device =
        value.getattr("device").and_then(|device| device.getattr("type")).and_then(|kind| kind.extract::<String>());
    if device.is_ok_and(|kind| kind != "cpu") {
        return Ok(None);
    }
    match value.call_method0("tolist") {
        Ok(list) => Ok(list.extract().ok()),
        // A tensor without contents, such as a fake one, says so by an error.
        Err(_) => Ok(None),
    }
}
