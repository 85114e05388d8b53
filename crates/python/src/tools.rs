//! The command-line tools, which the package's commands run in this process.

use perfdb_tools::program::{Launcher, set_launcher};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs a command line, the program's name first, and returns its exit status. launcher: the words that start perfdb in another
/// process; file: the file that runs it.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, arguments: Vec<OsString>, launcher: Vec<OsString>, file: PathBuf) -> u8 {
    py.detach(|| {
        set_launcher(Launcher { words: launcher, file });
        let code = perfdb_tools::perfdb::main(arguments);
        // A program does this when it ends; what cannot be written then is lost there too.
        let _ = std::io::stdout().flush();
        (0..=u8::MAX).find(|status| ExitCode::from(*status) == code).unwrap_or(1)
    })
}
