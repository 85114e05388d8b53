//! The number of forward passes from an M6 file.

use crate::error::Error;
use perfdb_pycompat::value::Value;
use perfdb_trace::{Source, json};
use std::path::Path;

/// `n_forward_passes`, 1 if the file does not say.
///
/// # Errors
/// When the file can't be read, is no JSON object, or the number is none.
pub(super) fn read_forward_passes(path: &Path) -> Result<f64, Error> {
    let text = Source::open(path)?.read_all()?;
    let fault = |reason: String| Error::M6File { path: path.to_owned(), reason };
    match json::parse(&text).map_err(|error| fault(error.to_string()))? {
        Value::Dict(members) => match members.get("n_forward_passes") {
            None => Ok(1.0),
            Some(number) => number.as_double().ok_or_else(|| fault("n_forward_passes is not a number".to_owned())),
        },
        _ => Err(fault("the top level is not an object".to_owned())),
    }
}
