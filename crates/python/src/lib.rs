//! The compiled part of the Python package `perfdb`: the classes and functions that `python/perfdb/__init__.py` hands on.
#![deny(unsafe_code)]

mod answer;
mod answers;
mod arrow;
mod comparisons;
mod database;
mod errors;
mod kernel_rows;
mod question;
mod readers;
mod tools;

use pyo3::prelude::*;

/// The compiled part of perfdb.
#[pymodule(gil_used = false)]
fn _perfdb(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    let error = module.py().get_type::<errors::Error>();
    // Errors that are not about a file have neither.
    error.setattr("path", module.py().None())?;
    error.setattr("line", module.py().None())?;
    module.add("Error", error)?;
    module.add("MissingFileError", errors::missing_file_error(module.py())?)?;
    module.add_class::<answer::Answer>()?;
    module.add_class::<answer::Row>()?;
    module.add_class::<answers::Answers>()?;
    module.add_class::<answers::AnswersIterator>()?;
    module.add_class::<arrow::ArrowBatches>()?;
    module.add_class::<arrow::ArrowTable>()?;
    module.add_class::<arrow::ArrowStream>()?;
    module.add_class::<comparisons::Outcome>()?;
    module.add_class::<database::Database>()?;
    module.add_class::<question::Query>()?;
    module.add_function(wrap_pyfunction!(readers::read_trace, module)?)?;
    module.add_function(wrap_pyfunction!(readers::read_kernels, module)?)?;
    module.add_function(wrap_pyfunction!(comparisons::compare_traces, module)?)?;
    module.add_function(wrap_pyfunction!(comparisons::explain_prediction, module)?)?;
    module.add_function(wrap_pyfunction!(comparisons::check_trace, module)?)?;
    module.add_function(wrap_pyfunction!(comparisons::forecast, module)?)?;
    module.add_function(wrap_pyfunction!(tools::run, module)?)?;
    module.add_function(wrap_pyfunction!(answer::answer_again, module)?)?;
    module.add_function(wrap_pyfunction!(answers::answers_again, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::table_of_columns, module)?)?;
    Ok(())
}
