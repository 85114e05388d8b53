//! Errors of the libraries as Python exceptions.

use perfdb_files::with_causes;
use perfdb_query::LookupError;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyFileNotFoundError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::io;
use std::path::Path;

create_exception!(
    perfdb,
    Error,
    PyException,
    "A file that cannot be read or holds what cannot be used. The message names the file and, where there is one, the line; so do path and line."
);

static MISSING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The class of errors about files that are not there: an Error that is a FileNotFoundError as well.
pub(crate) fn missing_file_error(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let class = MISSING.get_or_try_init(py, || {
        let bases =
            PyTuple::new(py, [py.get_type::<Error>().into_any(), py.get_type::<PyFileNotFoundError>().into_any()])?;
        let members = PyDict::new(py);
        members.set_item("__module__", "perfdb")?;
        members.set_item("__doc__", "A file that is not there: an Error and a FileNotFoundError.")?;
        Ok::<_, PyErr>(py.get_type::<PyType>().call1(("MissingFileError", bases, members))?.unbind())
    })?;
    Ok(class.bind(py).clone())
}

/// The exception for an error of a library, its causes included.
pub(crate) fn error(error: &(dyn std::error::Error + 'static)) -> PyErr {
    let mut is_missing = false;
    let mut cause = Some(error);
    while let Some(inner) = cause {
        is_missing |= inner.downcast_ref::<io::Error>().is_some_and(|own| own.kind() == io::ErrorKind::NotFound);
        cause = inner.source();
    }
    of_message(&with_causes(error), is_missing)
}

/// A table that cannot be read is an error; that nothing fits is an answer.
pub(crate) fn unreadable(miss: &LookupError) -> Option<PyErr> {
    let is_unreadable = miss.is_unreadable();
    is_unreadable.then(|| of_message(&miss.detail.clone().unwrap_or_else(|| miss.to_string()), false))
}

/// The exception with this message, which begins with the file that it is about.
pub(crate) fn of_message(message: &str, is_missing: bool) -> PyErr {
    Python::attach(|py| {
        let raised = || -> PyResult<PyErr> {
            let class = if is_missing { missing_file_error(py)? } else { py.get_type::<Error>().into_any() };
            let error = class.call1((message,))?;
            let (path, line) = place(message);
            error.setattr("path", path)?;
            error.setattr("line", line)?;
            Ok(PyErr::from_value(error))
        };
        raised().unwrap_or_else(|failure| failure)
    })
}

/// The file and the line that a message of the libraries begins with: `FILE: …`, `FILE: line 7: …`, `FILE:7: …`.
fn place(message: &str) -> (Option<String>, Option<u64>) {
    let Some((file, rest)) = message.split_once(": ") else { return (None, None) };
    if let Some((path, line)) = file.rsplit_once(':')
        && let Ok(line) = line.parse()
        && !Path::new(file).exists()
    {
        return (Some(path.to_owned()), Some(line));
    }
    let after =
        rest.split("line ").nth(1).map(|text| text.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default());
    (Some(file.to_owned()), after.and_then(|digits| digits.parse().ok()))
}
