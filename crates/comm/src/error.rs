//! What can go wrong, with the file or flag and the reason.

use perfdb_files::escape::shown;
use std::io;
use std::path::{Path, PathBuf};

/// Every error of this crate. The text begins with the file or flag concerned and fits on one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A command line, or a variable of the environment, that cannot be right.
    #[error("{flag}: {reason}")]
    Usage {
        /// The flag or variable.
        flag: String,
        /// What is wrong.
        reason: String,
    },
    /// No point is left to measure.
    #[error("nothing to run: no group fits: {groups}")]
    NothingToRun {
        /// The groups that were left out.
        groups: String,
    },
    /// The system refused to read or write.
    #[error("{}: {source}", shown(.path))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file, folder or variable that says something that cannot be used.
    #[error("{place}: {reason}")]
    Input {
        /// The file (with line), folder or variable.
        place: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A database table or lock, as the store reports it.
    #[error(transparent)]
    Store(#[from] perfdb_store::Error),
    /// A file that could not be replaced or locked.
    #[error(transparent)]
    Files(#[from] perfdb_files::Error),
    /// No interpreter that can run the worker.
    #[error("{0}")]
    NoEngine(String),
    /// A run that ended without a single usable point.
    #[error("{0}")]
    RunFailed(String),
}

impl Error {
    /// The system's refusal of `path`.
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// Something in `path` that cannot be used.
    pub(crate) fn input(path: &Path, reason: impl Into<String>) -> Self {
        Self::Input { place: shown(path), reason: reason.into() }
    }

    /// Something on a line of `path` that cannot be used.
    pub(crate) fn line(path: &Path, line: u64, reason: impl Into<String>) -> Self {
        Self::Input { place: format!("{}:{line}", shown(path)), reason: reason.into() }
    }

    /// A flag or variable that cannot be right.
    pub(crate) fn usage(flag: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Usage { flag: flag.into(), reason: reason.into() }
    }

    /// Whether the command line or the environment is at fault.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage { .. })
    }
}
