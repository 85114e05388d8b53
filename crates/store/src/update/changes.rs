//! What an update would change, row by row.

use indexmap::IndexMap;
use serde::Serialize;
use std::path::PathBuf;

/// The changes of one table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableChanges {
    /// The table.
    pub path: PathBuf,
    /// Whether the file is new.
    pub created: bool,
    /// Columns that it gets.
    pub columns_added: Vec<String>,
    /// Columns that it loses.
    pub columns_removed: Vec<String>,
    /// Rows that change, appear or disappear.
    pub rows: Vec<RowChange>,
}

/// The changes of one row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowChange {
    /// Number of its record in the file, the header being 1; `None` for an added one.
    pub row: Option<u64>,
    /// What happens to it.
    pub kind: ChangeKind,
    /// The case for people.
    pub shape: String,
    /// The cells concerned, old and new; `None` where the row is not there.
    pub cells: CellChanges,
}

/// Old and new texts of cells by column.
pub(crate) type CellChanges = IndexMap<String, [Option<String>; 2]>;

/// What happens to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Some cells get a new text.
    Updated,
    /// It is new.
    Added,
    /// It vanishes.
    Deleted,
}
