//! CSV tables that keep what they do not understand.
//!
//! A [`Table`] keeps unknown columns, the order of columns and rows and the text of every cell. As long as nothing is changed, its file can be
//! written back byte for byte ([`Table::source`]), with any byte order mark, quoting and line ends; written again ([`Table::to_csv`]) it has the form
//! that the tools of a database write.
//!
//! ```
//! use perfdb_store::table::{LineEnd, ReadOptions, Table, Written};
//!
//! # fn main() -> Result<(), perfdb_store::Error> {
//! let text = b"Input Shapes,Average Duration(us),my note\n\"16,512\",5.0,keep me\n".to_vec();
//! let mut table = Table::parse("MatMulV2.csv".as_ref(), text, &ReadOptions::database())?;
//! let duration = table.column("Average Duration(us)").unwrap();
//! assert_eq!(table.cell(0, duration), "5.0");
//!
//! table.set(0, duration, "4.5");
//! let written = table.to_csv(Written { byte_order_mark: false, line_end: LineEnd::CrLf });
//! assert_eq!(written, b"Input Shapes,Average Duration(us),my note\r\n\"16,512\",4.5,keep me\r\n");
//! # Ok(()) }
//! ```

mod change;
mod passes;
mod read;
mod scan;
mod stream;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use passes::{FileRow, Pass, TableFile};
pub use read::ReadOptions;
pub(crate) use read::has_long_cell;
pub use scan::{Scan, ScannedRow};
pub use stream::{RowStream, StreamedRow};
pub use write::{LineEnd, Written, push_csv_row};

use std::path::{Path, PathBuf};

/// A CSV file in memory: its bytes once, and where each cell lies in them.
#[derive(Debug, Clone)]
pub struct Table {
    path: PathBuf,
    /// The file as it was read, then the decoded and the changed cells.
    text: String,
    /// How much of `text` is the file.
    source_length: usize,
    byte_order_mark: bool,
    header_line_end: LineEnd,
    columns: Vec<String>,
    /// Row after row, `columns.len()` each.
    cells: Vec<Span>,
    rows: Vec<Origin>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
}

/// Where a row comes from; all zero for one that was added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Origin {
    line: u64,
    record: u64,
    start: usize,
    end: usize,
}

impl Table {
    /// A table without rows that no file holds yet.
    pub fn new(path: &Path, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Table {
            path: path.to_owned(),
            text: String::new(),
            source_length: 0,
            byte_order_mark: false,
            header_line_end: LineEnd::CrLf,
            columns: columns.into_iter().map(Into::into).collect(),
            cells: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// The file, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the columns, in order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The position of a column; of equal names the last one.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().rposition(|column| column == name)
    }

    /// Number of rows, the header not counted.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// The text of a cell. Rows and columns count from 0; a cell that its record lacks is empty.
    ///
    /// # Panics
    /// When the row or column is missing, as for a slice.
    pub fn cell(&self, row: usize, column: usize) -> &str {
        assert!(column < self.columns.len(), "column {column} of {}", self.columns.len());
        let span = self.cells[row * self.columns.len() + column];
        &self.text[span.start..span.end]
    }

    /// One row, for access by column name or position.
    pub fn row(&self, row: usize) -> Row<'_> {
        Row { table: self, row }
    }

    /// All rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.row_count()).map(|row| self.row(row))
    }

    /// The physical line on which a row starts (the header is on line 1); `None` for an added row.
    pub fn line(&self, row: usize) -> Option<u64> {
        Some(self.rows[row].line).filter(|&line| line > 0)
    }

    /// The number of a row's record in the file (the header is 1); `None` for an added row.
    pub fn record_number(&self, row: usize) -> Option<u64> {
        Some(self.rows[row].record).filter(|&record| record > 0)
    }

    /// The bytes of the file as they were read, byte order mark included.
    pub fn source(&self) -> &[u8] {
        &self.text.as_bytes()[..self.source_length]
    }

    /// Whether the file began with a byte order mark.
    pub fn has_byte_order_mark(&self) -> bool {
        self.byte_order_mark
    }

    /// The line end of the header's line.
    pub fn header_line_end(&self) -> LineEnd {
        self.header_line_end
    }
}

/// A row of a [`Table`].
#[derive(Debug, Clone, Copy)]
pub struct Row<'t> {
    table: &'t Table,
    row: usize,
}

impl<'t> Row<'t> {
    /// The row's position, from 0.
    pub fn index(&self) -> usize {
        self.row
    }

    /// The physical line on which the row starts; `None` for an added one.
    pub fn line(&self) -> Option<u64> {
        self.table.line(self.row)
    }

    /// The cell at a position.
    pub fn cell(&self, column: usize) -> &'t str {
        self.table.cell(self.row, column)
    }

    /// The cell of a named column, if the table has it.
    pub fn get(&self, name: &str) -> Option<&'t str> {
        self.table.column(name).map(|column| self.cell(column))
    }

    /// All cells in column order.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = &'t str> + use<'t> {
        let Row { table, row } = *self;
        let width = table.columns.len();
        table.cells[row * width..(row + 1) * width].iter().map(|span| &table.text[span.start..span.end])
    }
}
