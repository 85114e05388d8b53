//! Why traces of ranks are of no use.

use std::path::PathBuf;

use perfdb_files::escape::shown;

/// Why traces of ranks are of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] crate::Error),
    /// A file or folder that was given is not there, or cannot be read.
    #[error("{}: {source}", shown(path))]
    Given {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// There are not enough traces.
    #[error("{given}: traces of two ranks or more are needed, there is {count}")]
    TooFew {
        /// What was given.
        given: String,
        /// How many traces that is.
        count: usize,
    },
    /// Two traces are of the same rank.
    #[error("{} and {}: both are of rank {rank}", shown(first), shown(second))]
    SameRank {
        /// The rank.
        rank: u32,
        /// A trace of it.
        first: PathBuf,
        /// Another one.
        second: PathBuf,
    },
    /// A trace has no collective.
    #[error("{}: no collective kernels, so there is nothing to align it with other ranks by", shown(path))]
    NoCollectives {
        /// The trace.
        path: PathBuf,
    },
    /// No collective is in the traces of two ranks.
    #[error(
        "no collective is in the traces of two ranks: they are of different runs, or record different process groups"
    )]
    NothingInCommon,
}
