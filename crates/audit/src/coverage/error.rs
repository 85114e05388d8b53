//! Why there is no audit.

use std::path::PathBuf;

/// Why there is no audit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database, or a trace.
    #[error(transparent)]
    Query(#[from] perfdb_query::Error),
    /// A table.
    #[error(transparent)]
    Store(#[from] perfdb_store::Error),
    /// A file of rules or ranges.
    #[error(transparent)]
    Malformed(#[from] crate::coverage::density::Malformed),
    /// A file.
    #[error(transparent)]
    Files(#[from] perfdb_files::Error),
    /// A trace without calls.
    #[error(
        "{}: no calls that were looked up in a profiling database (was it written by the analytic model?)",
        path.display()
    )]
    NoCalls { path: PathBuf },
    /// A manifest without questions.
    #[error("{}: no questions", path.display())]
    NoQuestions {
        /// The manifest.
        path: PathBuf,
    },
    /// A line of a manifest that is no question.
    #[error("{}:{line}: {reason}", path.display())]
    Line {
        /// The manifest.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The field and what is wrong with it.
        reason: String,
    },
    /// The table that would show whether a row answers cannot be read.
    #[error("cannot find out which rows would answer: {reason}")]
    Unproven {
        /// The table and why.
        reason: String,
    },
    /// Files of the database were replaced while it was asked.
    #[error("{}: the database changed while it was read; run again", path.display())]
    Changed { path: PathBuf },
}
