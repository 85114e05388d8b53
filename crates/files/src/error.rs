//! What can go wrong, with the file and the system's reason.

use crate::escape::{excerpt, shown};
use std::io;
use std::path::PathBuf;

/// Every error of this crate. The text begins with the file concerned, as it was given, and fits on one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to read or write.
    #[error("{}: {source}", shown(.path))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A lock that another run holds.
    #[error("{}: held by {}", shown(.path), excerpt(.holder))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The line that the holder wrote: process, tool, start time.
        holder: String,
    },
    /// A set of files was replaced only in part.
    #[error("{}: replaced only in part, already new: {}; here: {source}", shown(.path), path_list(.done))]
    PartlyReplaced {
        /// The file that could not be replaced.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
        /// The files that hold their new content.
        done: Vec<PathBuf>,
    },
}

impl Error {
    /// The system's refusal of `path`.
    pub fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Error::Io { path: path.into(), source }
    }
}

fn path_list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| shown(path)).collect::<Vec<_>>().join(", ")
}

/// An error and its causes, joined by `: `. A cause that the text already ends in is not said again.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let reason = inner.to_string();
        if !text.ends_with(&reason) {
            text.push_str(": ");
            text.push_str(&reason);
        }
        cause = inner.source();
    }
    text
}
