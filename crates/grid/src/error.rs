//! What can go wrong, with the file, the place and the reason.

use std::io;
use std::path::PathBuf;

use perfdb_files::escape::{excerpt, one_line, shown};
use perfdb_store::CsvFault;

use crate::template::EnumerationError;

/// Every error of this crate. The text names the file concerned, as it was given, and fits on one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A table or folder that cannot be read.
    #[error("{}: {source}", shown(.path))]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A rule file, an op mapping or a model description that cannot be used.
    #[error("{}: {}", shown(.path), one_line(.reason))]
    Malformed {
        path: PathBuf,
        /// The place and what is wrong there.
        reason: String,
    },
    /// The folder of tables does not exist, or is no folder.
    #[error("data directory does not exist: {}", shown(.0))]
    NoDirectory(PathBuf),
    /// The folder holds no table.
    #[error("no CSV files found under: {}", shown(.0))]
    NoTables(PathBuf),
    /// A name that is neither a built-in model nor a description.
    #[error("unknown model '{}' (known: {known}; or a path to a config.json){}", excerpt(.name), suggested(.suggestion))]
    UnknownModel {
        /// The name as given.
        name: String,
        /// All names that are known.
        known: String,
        /// The known name nearest to it, if one is near.
        suggestion: Option<String>,
    },
    /// A short name of a built-in model, where only hub ids are taken.
    #[error("'{}' is a short name; use the hub id '{hub_id}'", excerpt(.name))]
    ShortModelName {
        /// The name as given.
        name: String,
        /// The id of the model on the hub.
        hub_id: String,
    },
    /// A rule whose expressions have no value at some point.
    #[error("{}: patterns.{pattern}: {reason}, for {}", shown(.rules), shown(.table))]
    Enumeration {
        /// The rule file.
        rules: PathBuf,
        /// The rule.
        pattern: String,
        /// The expression, the values of its variables and what went wrong.
        reason: Box<EnumerationError>,
        /// The table whose rows were made.
        table: PathBuf,
    },
    /// A shape of the first row that is none.
    #[error("{}: row 1: {column}: '{}' is not a shape", shown(.path), excerpt(.piece))]
    NotAShape {
        path: PathBuf,
        column: &'static str,
        /// The slot.
        piece: String,
    },
    /// A column that the rule of a table sets and the table lacks.
    #[error("{}: column '{column}' is missing", shown(.path))]
    MissingColumn { path: PathBuf, column: String },
    /// A rule file, an op mapping or a model description that cannot be read.
    #[error(transparent)]
    Source(#[from] perfdb_trace::Error),
    /// A table with a row that a rewrite would cut.
    #[error("{}: line {line}: {cells} cells, header has {columns}", shown(.path))]
    RowTooLong {
        path: PathBuf,
        /// The line on which the row starts, the header is 1.
        line: u64,
        /// Cells of the row.
        cells: usize,
        /// Columns of the header.
        columns: usize,
    },
    /// A table that is no text.
    #[error("{}: not UTF-8 (at byte {offset})", shown(.path))]
    NotUtf8 {
        path: PathBuf,
        /// Offset of the first bad byte.
        offset: u64,
    },
    /// A table, a lock or a replacement that failed.
    #[error(transparent)]
    Store(perfdb_store::Error),
    /// A file that could not be replaced or locked.
    #[error(transparent)]
    Files(#[from] perfdb_files::Error),
}

impl From<perfdb_store::Error> for Error {
    fn from(error: perfdb_store::Error) -> Self {
        match error {
            perfdb_store::Error::Csv { path, line: Some(line), fault: CsvFault::RowTooLong { cells, columns } } => {
                Error::RowTooLong { path, line, cells, columns }
            }
            perfdb_store::Error::Csv { path, fault: CsvFault::NotUtf8 { offset }, .. } => {
                Error::NotUtf8 { path, offset }
            }
            other => Error::Store(other),
        }
    }
}

fn suggested(name: &Option<String>) -> String {
    name.as_ref().map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}
