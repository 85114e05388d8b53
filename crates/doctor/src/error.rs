//! What can go wrong apart from what is a finding.

use std::io;

/// Why a file could not be looked at, or a repaired copy not be written. Shown as `PATH: reason`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{file}: {source}")]
    Io {
        /// File as given.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A repaired copy cannot be written.
    #[error("cannot write the repaired copy: {0}")]
    Write(io::Error),
    /// There is nothing to repair.
    #[error("{file}: nothing to repair: {reason}")]
    NoData {
        /// File as given.
        file: String,
        /// The text of the finding.
        reason: &'static str,
    },
}
