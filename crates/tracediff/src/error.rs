//! Everything that can go wrong, each with the file it is about.

use perfdb_files::escape::shown;
use std::path::{Path, PathBuf};

/// Why a trace, a registry or a list of pairs is of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: {source}", shown(path))]
    Io {
        /// File.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file cannot be read, or is not a trace.
    #[error(transparent)]
    Trace(#[from] perfdb_trace::Error),
    /// The text of the file is damaged, and a repair fixes it.
    #[error("{0}")]
    Mendable(#[source] perfdb_trace::Error),
    /// Times are in another unit than microseconds.
    #[error(
        "{}: times are in another unit than microseconds, so all figures would be off by a factor of 1000",
        shown(path)
    )]
    WrongUnit {
        /// File.
        path: PathBuf,
    },
    /// The trace has no kernel with a name and a start.
    #[error("{}: no GPU kernel events", shown(path))]
    NoKernels {
        /// File.
        path: PathBuf,
    },
    /// The trace has no kernel of the phase that was asked for.
    #[error("{}: no {phase} phase (kernels per phase: {found})", shown(path))]
    NoPhase {
        /// File.
        path: PathBuf,
        /// Phase that was asked for.
        phase: &'static str,
        /// Phases that exist, with their number of kernels.
        found: String,
    },
    /// No annotation matches the pattern of steps.
    #[error("{}: no steps match {pattern:?}: {}", shown(path), perfdb_files::escape::one_line(reason))]
    NoSteps {
        /// File.
        path: PathBuf,
        /// The pattern.
        pattern: String,
        /// What is wrong with it, or which annotations there are.
        reason: String,
    },
    /// A YAML file is not what it should be.
    #[error("{}: {reason}", shown(path))]
    Yaml {
        /// File.
        path: PathBuf,
        /// The parser's reason.
        reason: String,
    },
    /// A file is not a result of an earlier comparison.
    #[error("{}: {reason}", shown(path))]
    Baseline {
        /// File.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A trace is given twice as a run of one side.
    #[error("{}: given twice; a copy of a run says nothing about how much runs vary", shown(path))]
    Twice {
        /// The trace.
        path: PathBuf,
    },
    /// A list of pairs contradicts itself.
    #[error("{}: {reason}", shown(path))]
    Pairs {
        /// The list.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl Error {
    pub(crate) fn yaml(path: &Path, source: &perfdb_pycompat::yaml::Error) -> Error {
        Error::Yaml { path: path.to_path_buf(), reason: source.to_string() }
    }

    pub(crate) fn pairs(path: &Path, reason: impl Into<String>) -> Error {
        Error::Pairs { path: path.to_path_buf(), reason: reason.into() }
    }
}
