//! Two databases, row by row.
//!
//! Tables are read side by side through a window and compared one at a time, so that memory does not grow with the databases; what is found
//! in each is handed on and dropped. Sums are added in the order of rows and tables: the same digits on any number of threads.

mod range;
mod rows;
mod side;
mod table;
mod tally;
mod verdict;

pub use range::{Bound, SlowerRange};
pub use rows::RowDiff;
pub use side::Side;
pub use table::TableDiff;
pub use tally::{Slowest, Tally};
pub use verdict::{Doubt, Outcome};

use crate::versions::{Error, Place, kernel_types};
use perfdb_store::lint::Kind;
use perfdb_store::provenance::Difference;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How durations are judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Ratios up to 1 + this, or down to its inverse, are the same duration.
    pub tolerance: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { tolerance: 0.03 }
    }
}

/// A table that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub path: PathBuf,
    /// What check-database calls it.
    pub kind: Kind,
    /// The error, which begins with the file.
    pub message: String,
}

/// What two databases have and do not have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Diff {
    /// Device and versions that both state and that differ.
    pub differences: Vec<Difference>,
    /// The tables, by kernel type.
    pub tables: Vec<TableSummary>,
    /// Tables that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// All tables together.
    pub total: Tally,
}

/// A table's figures without its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSummary {
    /// The kernel type.
    pub kernel_type: String,
    /// Its figures.
    pub tally: Tally,
    /// Sizes to which a slow-down is confined.
    pub slower_range: Option<SlowerRange>,
    /// Columns that only one of the tables has: of the first, of the second.
    pub own_columns: [Vec<String>; 2],
}

/// Compares two databases. `each` gets the rows of every table, by kernel type.
///
/// # Errors
/// When the databases are one, when the system refuses to read, and what `each` returns. A table that no tool can use is among the findings.
pub fn compare<E: From<Error>>(
    a: &Place,
    b: &Place,
    options: &Options,
    mut each: impl FnMut(&TableDiff) -> Result<(), E>,
) -> Result<Diff, E> {
    a.check_other_than(b)?;
    let names: BTreeSet<&str> = a.tables().chain(b.tables()).map(|(name, _)| name).collect();
    let paths = |name: &str| [a, b].map(|place| place.tables.get(name).map(PathBuf::as_path));
    let mut found = Diff {
        differences: a.statement.differences(&b.statement),
        tables: Vec::new(),
        unreadable: Vec::new(),
        total: Tally::default(),
    };
    kernel_types::each(
        names,
        |name| table::compare(name, paths(name), options),
        |outcome: Result<TableDiff, perfdb_store::Error>| {
            match outcome {
                Ok(table) => {
                    found.total.add(&table.summary.tally);
                    each(&table)?;
                    found.tables.push(table.summary);
                }
                Err(error) => found.unreadable.push(unreadable(error)?),
            }
            Ok::<_, E>(())
        },
    )?;
    Ok(found)
}

/// An error that concerns one table alone.
fn unreadable(error: perfdb_store::Error) -> Result<Unreadable, Error> {
    use perfdb_store::{CsvFault, Error as StoreError};
    let of = |path: &Path, kind: Kind| Unreadable { path: path.to_owned(), kind, message: error.to_string() };
    match &error {
        StoreError::Csv { path, fault: CsvFault::LfsPointer, .. } => Ok(of(path, Kind::LfsPointer)),
        StoreError::Csv { path, .. } | StoreError::Files(perfdb_files::Error::Io { path, .. }) => {
            Ok(of(path, Kind::Unreadable))
        }
        _ => Err(error.into()),
    }
}
