//! What can go wrong while reading a file.

use crate::scan::FaultKind;
use perfdb_files::escape::shown;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Where something stands in a JSON file. Shown as `at byte N (line L, column C)`, with `(event I)` in front inside an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Position in the (inflated) file, in bytes from 0.
    pub byte: u64,
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
    /// Index in `traceEvents`, from 0, where it is inside an event.
    pub event: Option<u64>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(event) = self.event {
            write!(f, "(event {event}) ")?;
        }
        write!(f, "at byte {} (line {}, column {})", self.byte, self.line, self.column)
    }
}

/// Why a file could not be read. Shown as `PATH: reason`, `PATH:LINE: reason` for lines of a CSV; control characters are
/// escaped, so it is always one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened or read, or the gzip stream of a CSV is broken.
    #[error("{}: {source}", shown(path))]
    Io {
        /// File as given.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The gzip stream of a JSON file is broken, breaks off, or is followed by something else.
    #[error("{}: {fault} {location}", shown(path))]
    Gzip {
        /// File as given.
        path: PathBuf,
        /// What is wrong with it. Not named `source`: the location follows it, so the message would have it twice.
        fault: io::Error,
        /// Where the inflated text ends.
        location: Location,
    },
    /// The file is a Git LFS pointer instead of what it should be.
    #[error("{}: Git LFS pointer, run git lfs pull", shown(path))]
    LfsPointer {
        /// File as given.
        path: PathBuf,
    },
    /// The file is not valid JSON, or not of the shape that its format asks for.
    #[error("{}: {kind} {location}", shown(path))]
    Json {
        /// File as given.
        path: PathBuf,
        /// What is wrong.
        kind: FaultKind,
        /// Where.
        location: Location,
    },
    /// `traceEvents` is no list, or one of its elements no object.
    #[error("{}: {} {location}", shown(path), if location.event.is_some() { "not an object" } else { "traceEvents is not a list" })]
    Shape {
        /// File as given.
        path: PathBuf,
        /// Where; the event if it is one.
        location: Location,
    },
    /// A record of a CSV cannot be read.
    #[error("{}:{line}: {reason}", shown(path))]
    Record {
        /// File as given.
        path: PathBuf,
        /// Line on which the record starts, from 1.
        line: u64,
        /// What is wrong.
        reason: RecordFault,
    },
    /// A profile of another form than JSON cannot be read, or must be exported first.
    #[error("{}: {}", shown(path), perfdb_files::escape::one_line(reason))]
    Profile {
        /// File as given.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
}

/// What can be wrong with a record of a CSV.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFault {
    /// Bytes that are not UTF-8.
    #[error("not valid UTF-8 at byte {byte}")]
    Utf8 {
        /// Position in the (inflated) file, from 0.
        byte: u64,
    },
}

impl Error {
    /// The file as given.
    pub fn path(&self) -> &Path {
        match self {
            Error::Io { path, .. }
            | Error::Gzip { path, .. }
            | Error::LfsPointer { path }
            | Error::Json { path, .. }
            | Error::Shape { path, .. }
            | Error::Record { path, .. }
            | Error::Profile { path, .. } => path,
        }
    }

    /// Whether the file, or a folder on the way to it, does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}
