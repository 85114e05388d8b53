//! The status file of a run over several operators.

use std::path::Path;

use perfdb_files::replace::{Parents, replace};
use perfdb_pycompat::json::{Escape, Style, to_string_with};
use serde::{Deserialize, Serialize};

use crate::microbench::error::Error;

/// Which operators ran, failed or had no table, in running order, by the names of the old scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunStatus {
    /// Ran.
    pub success: Vec<String>,
    pub failed: Vec<FailedOperator>,
    /// Had no table.
    pub skipped: Vec<String>,
}

/// An operator that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedOperator {
    /// Name of the old script: `RmsNorm_run.py`.
    pub op: String,
    /// Why.
    pub reason: String,
}

/// The name of the old script of an operator.
pub(crate) fn script_name(op: &str) -> String {
    format!("{op}_run.py")
}

impl RunStatus {
    /// Writes the file whole; its folder is made.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let style = Style { escape: Escape::NonAscii, ..Style::INDENTED };
        let text =
            to_string_with(self, style).map_err(|error| Error::io(path, std::io::Error::other(error.to_string())))?;
        Ok(replace(path, text.as_bytes(), Parents::Create)?)
    }
}
