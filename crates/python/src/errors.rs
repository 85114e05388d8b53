//! Errors of the libraries as Python exceptions.

use perfdb_files::with_causes;
use perfdb_query::Miss;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    perfdb,
    Error,
    PyException,
    "A file that cannot be read or holds what cannot be used. The message names the file and, where there is one, the line."
);

/// The exception for an error of a library, its causes included.
pub(crate) fn error(error: &dyn std::error::Error) -> PyErr {
    Error::new_err(with_causes(error))
}

/// A table that cannot be read is an error; that nothing fits is an answer.
pub(crate) fn unreadable(miss: &Miss) -> Option<PyErr> {
    let is_unreadable = miss.is_unreadable();
    is_unreadable.then(|| Error::new_err(miss.detail.clone().unwrap_or_else(|| miss.to_string())))
}
