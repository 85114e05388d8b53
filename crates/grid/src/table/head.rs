//! The header and the first row of a table, and the reasons to leave a table alone.

use std::fs;
use std::path::Path;

use perfdb_store::columns::INPUT_SHAPES;
use perfdb_store::registry::parts::ATTENTION;
use perfdb_store::table::RowStream;
use perfdb_store::{CsvFault, Error as StoreError};

use crate::error::Error;
use crate::generators::RUNTIME_COLUMNS;
use crate::summary::Reason;

/// The header and the first row of a table that can grow.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// The columns as they will be written.
    pub(crate) columns: Vec<String>,
    /// How many of them the file has already.
    pub(crate) existing_columns: usize,
    /// The cells of the first row.
    pub(crate) template: Vec<String>,
}

/// Reads a table's head; a table that is left alone gives the reason.
pub(crate) fn read(path: &Path, kernel: &str) -> Result<Result<Head, Reason>, Error> {
    let bytes = fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let mut rows = match RowStream::new(path, &bytes) {
        Ok(rows) => rows,
        Err(StoreError::Csv { fault: CsvFault::NoHeader, .. }) => return Ok(Err(Reason::NoHeader)),
        Err(StoreError::Csv { fault: CsvFault::LfsPointer, .. }) => return Ok(Err(Reason::LfsPointer)),
        Err(error) => return Err(error.into()),
    };
    let mut columns = rows.columns().to_vec();
    if matches!(columns.as_slice(), [only] if only.trim().is_empty()) {
        return Ok(Err(Reason::NoHeader));
    }
    if !columns.iter().any(|column| column == INPUT_SHAPES) {
        return Ok(Err(Reason::NoInputShapes));
    }
    let Some(first) = rows.next_row()? else {
        return Ok(Err(Reason::NoRows));
    };
    let mut template: Vec<String> = first.cells().map(str::to_owned).collect();
    let existing_columns = columns.len();
    if kernel == ATTENTION {
        for column in RUNTIME_COLUMNS {
            if !columns.iter().any(|known| known == column) {
                columns.push(column.to_owned());
                template.push(String::new());
            }
        }
    }
    Ok(Ok(Head { columns, existing_columns, template }))
}

impl Head {
    /// The position of a column; of equal names the last one.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().rposition(|column| column == name)
    }

    /// The first row's cell in a column; empty where the column is missing.
    pub(crate) fn cell(&self, name: &str) -> &str {
        self.column(name).map_or("", |column| &self.template[column])
    }
}
