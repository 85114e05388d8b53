//! What can go wrong, with the file, the place and the reason.

use perfdb_files::escape::{excerpt, shown};
use std::io;
use std::path::PathBuf;

/// Every error of this crate. The text begins with the file concerned, as it was given, and fits on one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that could not be read, replaced or locked.
    #[error(transparent)]
    Files(#[from] perfdb_files::Error),
    /// A CSV that cannot be used.
    #[error("{}{}: {fault}", shown(.path), line_text(.line))]
    Csv {
        /// The file.
        path: PathBuf,
        /// The line on which the record starts (1 is the header), where there is one.
        line: Option<u64>,
        /// What is wrong.
        fault: CsvFault,
    },
    /// An input that is well-formed but has a value that cannot be used.
    #[error("{}{}: {reason}", shown(.path), line_text(.line))]
    Input {
        /// The file.
        path: PathBuf,
        /// The line, where there is one.
        line: Option<u64>,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A measured time that comes from elsewhere than the times of the database.
    #[error("{}:{line}: this duration was measured on {}, which is not the device of this directory", shown(.path), origin_text(.origin))]
    ForeignTime {
        /// The profile.
        path: PathBuf,
        /// The line.
        line: u64,
        /// Where the time comes from, as the profile has it; may be empty.
        origin: String,
    },
    /// A kernel of a profile whose duration is none. Reading can be told to leave such rows out.
    #[error("{}:{line}: Duration(us) is {}, which is no duration", shown(.path), excerpt(.cell))]
    BadDuration {
        /// The profile.
        path: PathBuf,
        /// The line.
        line: u64,
        /// The cell.
        cell: String,
    },
    /// Versions that name a database directory and could not be found out.
    #[error("could not determine runtime version(s): {}", .missing.join(", "))]
    UnknownVersions {
        /// Names of the parts, of `vLLM-Ascend`, `PyTorch`, `CANN`.
        missing: Vec<&'static str>,
    },
    /// The name of a whole version directory is next to versions.
    #[error("{0} names a whole directory and goes with no other version")]
    VersionsBesideDirectory(String),
    /// A version text that is not accepted.
    #[error("{0}")]
    BadVersion(String),
}

/// What can be wrong with a CSV.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CsvFault {
    /// Bytes that are not UTF-8.
    #[error("not valid UTF-8 (at byte {offset})")]
    NotUtf8 {
        /// Offset of the first bad byte in the (inflated) file.
        offset: u64,
    },
    /// No bytes at all, or an empty first line.
    #[error("no CSV header")]
    NoHeader,
    /// The large-file pointer that stands in for the table in a checkout.
    #[error("Git LFS pointer, run git lfs pull")]
    LfsPointer,
    /// A name that two columns have.
    #[error("duplicate column {}", excerpt(.0))]
    DuplicateColumn(String),
    /// A row with more cells than the header, which a rewrite would lose.
    #[error("row has {cells} cells, header has {columns}")]
    RowTooLong {
        /// Cells of the row.
        cells: usize,
        /// Columns of the header.
        columns: usize,
    },
    /// A cell beyond Python's limit.
    #[error("cell longer than {CELL_LIMIT} characters")]
    CellTooLong,
    /// A quote that nothing closes.
    #[error("unterminated quote")]
    UnterminatedQuote,
    /// Columns that the input lacks, sorted.
    #[error("missing columns: {}", .0.join(", "))]
    MissingColumns(Vec<String>),
}

/// The longest cell, in characters, that Python's `csv` module reads.
pub(crate) const CELL_LIMIT: usize = 131_072;

impl Error {
    /// The system's refusal of `path`.
    pub fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Error::Files(perfdb_files::Error::io(path, source))
    }

    /// A fault of the CSV `path` as a whole.
    pub fn csv(path: impl Into<PathBuf>, fault: CsvFault) -> Self {
        Error::Csv { path: path.into(), line: None, fault }
    }

    /// A fault of the record that starts on `line` of the CSV `path`.
    pub(crate) fn csv_line(path: impl Into<PathBuf>, line: u64, fault: CsvFault) -> Self {
        Error::Csv { path: path.into(), line: Some(line), fault }
    }

    /// Something in `path` that cannot be used.
    pub fn input(path: impl Into<PathBuf>, line: Option<u64>, reason: impl Into<String>) -> Self {
        Error::Input { path: path.into(), line, reason: reason.into() }
    }
}

fn origin_text(origin: &str) -> std::borrow::Cow<'_, str> {
    if origin.is_empty() { "an unknown origin".into() } else { excerpt(origin).into() }
}

fn line_text(line: &Option<u64>) -> String {
    line.map(|line| format!(":{line}")).unwrap_or_default()
}
