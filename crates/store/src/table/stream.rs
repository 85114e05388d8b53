//! A table row by row, for tools that rewrite files as streams and need no cell twice.

use super::read::{BYTE_ORDER_MARK, header_start};
use crate::error::{CsvFault, Error};
use crate::profile::utf8;
use perfdb_trace::records::{Cell, Form, Splitter, unescape};
use std::path::Path;

/// The rows of a table, one after the other, read as the shape grid reads them.
///
/// ```
/// use perfdb_store::table::RowStream;
///
/// # fn main() -> Result<(), perfdb_store::Error> {
/// let mut rows = RowStream::new("Add.csv".as_ref(), b"Input Shapes,OP State\n\"1,2\"\n")?;
/// assert_eq!(rows.columns(), ["Input Shapes", "OP State"]);
/// let row = rows.next_row()?.unwrap();
/// assert_eq!(row.cells().collect::<Vec<_>>(), ["1,2", ""]);
/// assert!(rows.next_row()?.is_none());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct RowStream<'t> {
    path: &'t Path,
    text: &'t str,
    splitter: Splitter<'t>,
    record: Vec<Cell>,
    columns: Vec<String>,
    row: StreamedRow,
}

/// The cells of one row of a [`RowStream`], as many as the header has.
#[derive(Debug, Default)]
pub struct StreamedRow {
    text: String,
    ends: Vec<usize>,
    scratch: Vec<u8>,
}

impl<'t> RowStream<'t> {
    /// Starts on the bytes of a file; `path` is for messages.
    ///
    /// # Errors
    /// Bytes that are not UTF-8, a file without a header and a Git LFS pointer.
    pub fn new(path: &'t Path, bytes: &'t [u8]) -> Result<Self, Error> {
        let text = utf8(path, bytes, 0)?;
        let begin = header_start(path, bytes)?;
        let mut stream = RowStream {
            path,
            text,
            splitter: Splitter::starting_at(bytes, begin, 1),
            record: Vec::new(),
            columns: Vec::new(),
            row: StreamedRow::default(),
        };
        stream.splitter.next_record(&mut stream.record);
        stream.row.fill(text, &stream.record);
        stream.columns = stream.row.cells().map(str::to_owned).collect();
        Ok(stream)
    }

    /// The names of the columns, in order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Whether the file begins with a byte order mark.
    pub fn has_byte_order_mark(&self) -> bool {
        self.text.as_bytes().starts_with(BYTE_ORDER_MARK)
    }

    /// The next row; a row that is shorter than the header is filled up with empty cells.
    ///
    /// # Errors
    /// A row with more cells than the header.
    pub fn next_row(&mut self) -> Result<Option<&StreamedRow>, Error> {
        let Some(record) = self.splitter.next_record(&mut self.record) else {
            return Ok(None);
        };
        let (cells, columns) = (self.record.len(), self.columns.len());
        if cells > columns {
            return Err(Error::csv_line(self.path, record.line, CsvFault::RowTooLong { cells, columns }));
        }
        self.row.fill(self.text, &self.record);
        self.row.ends.resize(columns, self.row.text.len());
        Ok(Some(&self.row))
    }
}

impl StreamedRow {
    fn fill(&mut self, text: &str, cells: &[Cell]) {
        self.text.clear();
        self.ends.clear();
        for cell in cells {
            match cell.form {
                Form::Plain => self.text.push_str(&text[cell.start..cell.end]),
                Form::Escaped => {
                    self.scratch.clear();
                    unescape(cell.raw(text.as_bytes()), &mut self.scratch);
                    // Taking ASCII quotes out of UTF-8 leaves UTF-8.
                    self.text.push_str(&String::from_utf8_lossy(&self.scratch));
                }
            }
            self.ends.push(self.text.len());
        }
    }

    /// The cell at a position.
    ///
    /// # Panics
    /// When the column is missing, as for a slice.
    pub fn cell(&self, column: usize) -> &str {
        let start = if column == 0 { 0 } else { self.ends[column - 1] };
        &self.text[start..self.ends[column]]
    }

    /// All cells in column order.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.ends.len()).map(|column| self.cell(column))
    }
}
