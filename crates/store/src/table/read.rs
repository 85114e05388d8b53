//! Reading a table: the dialect of `perfdb_trace::records`, and what a database refuses.

use super::{LineEnd, Origin, Span, Table};
use crate::error::{CELL_LIMIT, CsvFault, Error};
use perfdb_files::input::{self, Kind, LARGEST_DOCUMENT_BYTES};
use perfdb_trace::records::{Cell, Form, Record, Splitter, unescape};
use perfdb_trace::source::Counted;
use std::io;
use std::path::Path;

/// What a reader accepts. The two presets are what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    lenient: bool,
}

impl ReadOptions {
    /// Tables of a database: a repeated column, an open quote or a cell over Python's limit is an error, because a rewrite would lose something.
    pub fn database() -> Self {
        ReadOptions { lenient: false }
    }

    /// Tables as the shape grid reads them: an open quote ends with the file, cells have any length, a repeated column is kept.
    pub fn shape_grid() -> Self {
        ReadOptions { lenient: true }
    }
}

/// The bytes of a file, which count as read.
fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let file = input::open(path, Kind::Stream)?;
    let size = file.metadata()?.len();
    input::read_all(Counted::of_file(file)?, size, LARGEST_DOCUMENT_BYTES)
}

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Table {
    /// Reads a table from its file.
    pub fn read(path: &Path, options: &ReadOptions) -> Result<Table, Error> {
        let bytes = whole(path).map_err(|source| Error::io(path, source))?;
        let table = Table::parse(path, bytes, options)?;
        let (rows, bytes) = (table.row_count(), table.source_length);
        tracing::debug!("read {}: {rows} rows, {bytes} bytes", perfdb_files::escape::shown(path));
        Ok(table)
    }

    /// Reads a table from the bytes of its file; `path` is for messages.
    pub fn parse(path: &Path, bytes: Vec<u8>, options: &ReadOptions) -> Result<Table, Error> {
        let text = String::from_utf8(bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to() as u64;
            Error::csv(path, CsvFault::NotUtf8 { offset })
        })?;
        let begin = header_start(path, text.as_bytes())?;
        let source_length = text.len();
        let mut table = Table::new(path, [""; 0]);
        table.byte_order_mark = begin > 0;
        Reader { options, table, decoded: Vec::new(), source_length }.read(text, begin)
    }
}

/// Where the header of a table begins: behind the byte order mark, if there is one. Refuses a Git LFS pointer and a text without a header.
pub(super) fn header_start(path: &Path, bytes: &[u8]) -> Result<usize, Error> {
    if perfdb_files::lfs::is_pointer(bytes) {
        return Err(Error::csv(path, CsvFault::LfsPointer));
    }
    let begin = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    match bytes.get(begin) {
        None | Some(b'\n' | b'\r') => Err(Error::csv(path, CsvFault::NoHeader)),
        Some(_) => Ok(begin),
    }
}

/// Whether a cell has more characters than Python reads.
pub(crate) fn has_long_cell(text: &str, record: Record, cells: &[Cell]) -> bool {
    if record.end - record.start <= CELL_LIMIT {
        return false;
    }
    let mut buffer = Vec::new();
    cells.iter().any(|cell| {
        let decoded = cell.decode(text.as_bytes(), &mut buffer);
        // Characters, not bytes: what begins a character is no continuation byte.
        let characters = || decoded.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        decoded.len() > CELL_LIMIT && characters() > CELL_LIMIT
    })
}

struct Reader<'o> {
    options: &'o ReadOptions,
    table: Table,
    /// Cells whose quotes were taken out. They stand behind the file in the table's text.
    decoded: Vec<u8>,
    source_length: usize,
}

impl Reader<'_> {
    fn read(mut self, text: String, begin: usize) -> Result<Table, Error> {
        let mut splitter = Splitter::starting_at(text.as_bytes(), begin, 1);
        let mut cells = Vec::new();
        let mut number = 0;
        while let Some(record) = splitter.next_record(&mut cells) {
            number += 1;
            if !self.options.lenient && has_long_cell(&text, record, &cells) {
                return Err(self.error(record.line, CsvFault::CellTooLong));
            }
            match number {
                1 => self.header(&text, record, &cells)?,
                _ => self.row(&text, record, number, &cells)?,
            }
        }
        if let Some(line) = splitter.open_quote().filter(|_| !self.options.lenient) {
            return Err(self.error(line, CsvFault::UnterminatedQuote));
        }
        let mut table = self.table;
        table.source_length = self.source_length;
        table.text = text;
        // Taking ASCII quotes out of UTF-8 leaves UTF-8.
        table.text.push_str(&String::from_utf8_lossy(&self.decoded));
        Ok(table)
    }

    fn error(&self, line: u64, fault: CsvFault) -> Error {
        Error::csv_line(&self.table.path, line, fault)
    }

    fn header(&mut self, text: &str, record: Record, cells: &[Cell]) -> Result<(), Error> {
        for cell in cells {
            let span = self.span(text, cell);
            let name = match cell.form {
                Form::Plain => text[span.start..span.end].to_owned(),
                Form::Escaped => String::from_utf8_lossy(&self.decoded[span.start - self.source_length..]).into_owned(),
            };
            if !self.options.lenient && self.table.columns.contains(&name) {
                return Err(self.error(record.line, CsvFault::DuplicateColumn(name)));
            }
            self.table.columns.push(name);
        }
        let line = &text.as_bytes()[record.start..record.end];
        self.table.header_line_end = match line {
            [.., b'\r', b'\n'] => LineEnd::CrLf,
            [.., b'\r'] => LineEnd::Cr,
            [.., b'\n'] => LineEnd::Lf,
            _ => LineEnd::CrLf,
        };
        Ok(())
    }

    fn row(&mut self, text: &str, record: Record, number: u64, cells: &[Cell]) -> Result<(), Error> {
        let columns = self.table.columns.len();
        if cells.len() > columns {
            return Err(self.error(record.line, CsvFault::RowTooLong { cells: cells.len(), columns }));
        }
        const ABSENT: Span = Span { start: 0, end: 0 };
        for cell in cells {
            let span = self.span(text, cell);
            self.table.cells.push(span);
        }
        let filled = self.table.cells.len() + columns - cells.len();
        self.table.cells.resize(filled, ABSENT);
        self.table.rows.push(Origin { line: record.line, record: number, start: record.start, end: record.end });
        Ok(())
    }

    fn span(&mut self, text: &str, cell: &Cell) -> Span {
        match cell.form {
            Form::Plain => Span { start: cell.start, end: cell.end },
            Form::Escaped => {
                let start = self.source_length + self.decoded.len();
                unescape(cell.raw(text.as_bytes()), &mut self.decoded);
                Span { start, end: self.source_length + self.decoded.len() }
            }
        }
    }
}
