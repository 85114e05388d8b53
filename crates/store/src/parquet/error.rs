//! What can go wrong, with the file.

use parquet::errors::ParquetError;
use perfdb_files::escape::{excerpt, shown};
use std::io;
use std::path::{Path, PathBuf};

/// Every error of this crate. The text begins with the file concerned and fits on one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of Parquet that is none, is cut short or damaged, or has what perfdb does not read.
    #[error("{}: no readable Parquet: {}", shown(.path), excerpt(&.source.to_string()))]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The reader's reason.
        source: ParquetError,
    },
    /// A column that is not what the table needs.
    #[error("{}: column {}: {reason}", shown(.path), excerpt(.column))]
    Column {
        /// The file.
        path: PathBuf,
        /// The column's name.
        column: String,
        /// What is wrong.
        reason: String,
    },
    /// Something else about a file or folder.
    #[error("{}: {reason}", shown(.path))]
    Unfit {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, and the way out.
        reason: String,
    },
    /// A table that cannot be read.
    #[error(transparent)]
    Table(#[from] crate::Error),
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(#[from] perfdb_files::Error),
}

impl Error {
    pub(crate) fn io(path: &Path, source: io::Error) -> Error {
        Error::File(perfdb_files::Error::io(path, source))
    }

    pub(crate) fn unfit(path: &Path, reason: impl Into<String>) -> Error {
        Error::Unfit { path: path.to_owned(), reason: reason.into() }
    }

    pub(crate) fn column(path: &Path, column: &str, reason: impl Into<String>) -> Error {
        Error::Column { path: path.to_owned(), column: column.to_owned(), reason: reason.into() }
    }
}
