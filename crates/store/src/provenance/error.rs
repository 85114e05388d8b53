//! What can be wrong with a record.

use perfdb_files::escape::shown;
use std::path::PathBuf;

/// What can be wrong with a record. The text begins with the file and fits on one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that could not be read.
    #[error(transparent)]
    Files(#[from] perfdb_files::Error),
    /// A text that is no record.
    #[error("{}:{line}: {reason}", shown(.path))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// A record of a later version of perfdb.
    #[error("{}: format_version {found} is not known to this version of perfdb, which knows 1", shown(.path))]
    FormatVersion {
        /// The file.
        path: PathBuf,
        /// The version that the file names.
        found: u32,
    },
    /// A record that cannot be written.
    #[error("a record that cannot be written: {0}")]
    Unwritable(String),
}
