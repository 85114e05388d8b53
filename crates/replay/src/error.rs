//! What can go wrong outside of single rows.

use std::path::PathBuf;

use crate::settings_error::SettingsError;

/// Every error of this crate that concerns a file, an operator or a whole run. The text fits on one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A table that cannot be used. The text is also the reason in a status file.
    #[error("{text}")]
    Table {
        /// The file as given or found.
        path: PathBuf,
        /// Path, place and reason.
        text: String,
    },
    /// An operator has no table below the database folder.
    #[error("no {op}.csv below {}", .database.display())]
    NoTable {
        /// The operator.
        op: String,
        /// The folder that was searched.
        database: PathBuf,
    },
    /// A database folder that is not there.
    #[error("{}: no such database folder", .0.display())]
    NoDatabase(PathBuf),
    /// An operator failed; the reason is that of the status file.
    #[error("{op}: {reason}")]
    OperatorFailed {
        /// The operator.
        op: String,
        /// Why.
        reason: String,
    },
    /// The run cannot start or go on: no executor, wrong protocol, settings that contradict each other.
    #[error("{0}")]
    Run(String),
    /// Options that cannot be, or do not go together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A file of replay cases that cannot be used.
    #[error("{}{}: {reason}", .path.display(), place.map(|index| format!(": case {index}")).unwrap_or_default())]
    Cases {
        path: PathBuf,
        /// Index of the case, from 0.
        place: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// What other processes have measured is not every row once.
    #[error("{op}: {reason}")]
    NotEachOnce {
        /// The operator.
        op: String,
        /// What is missing or too much.
        reason: String,
    },
    /// An error of the database layer.
    #[error(transparent)]
    Store(#[from] perfdb_store::Error),
    /// A file that could not be replaced or locked.
    #[error(transparent)]
    Files(#[from] perfdb_files::Error),
    /// The system refused to read or write.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The run was stopped by a signal.
    #[error("stopped by signal {0}")]
    Interrupted(i32),
}

impl Error {
    /// The system's refusal of `path`.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Error {
        Error::Io { path: path.into(), source }
    }
}
