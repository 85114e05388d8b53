//! Writing a table.

use super::{Row, Span, Table};
use perfdb_pycompat::csv_text::push_cell_bytes;

/// What ends a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnd {
    /// CR LF, what Python's writer and most tools here write.
    CrLf,
    /// LF.
    Lf,
    /// A lone CR.
    Cr,
}

impl LineEnd {
    /// The bytes.
    pub fn as_str(self) -> &'static str {
        match self {
            LineEnd::CrLf => "\r\n",
            LineEnd::Lf => "\n",
            LineEnd::Cr => "\r",
        }
    }
}

/// The form in which a table is written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Whether the file begins with a byte order mark.
    pub byte_order_mark: bool,
    /// What ends every record.
    pub line_end: LineEnd,
}

impl Written {
    /// CRLF and no byte order mark: what most tools write.
    pub const PLAIN: Written = Written { byte_order_mark: false, line_end: LineEnd::CrLf };
}

/// Appends a record: a cell is quoted if it contains a comma, a quote, CR or LF, or if it is empty and alone.
pub fn push_csv_row<'a>(out: &mut Vec<u8>, cells: impl IntoIterator<Item = &'a str>, line_end: LineEnd) {
    let begin = out.len();
    let mut count = 0;
    for cell in cells {
        if count > 0 {
            out.push(b',');
        }
        count += 1;
        push_cell_bytes(out, cell.as_bytes());
    }
    if count == 1 && out.len() == begin {
        out.extend_from_slice(b"\"\"");
    }
    out.extend_from_slice(line_end.as_str().as_bytes());
}

impl Table {
    /// The whole table, header first, in the form that is asked for.
    pub fn to_csv(&self, written: Written) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.source_length + self.source_length / 8 + 256);
        if written.byte_order_mark {
            out.extend_from_slice("\u{feff}".as_bytes());
        }
        push_csv_row(&mut out, self.columns.iter().map(String::as_str), written.line_end);
        for row in self.cells.chunks(self.columns.len().max(1)) {
            self.write_row(&mut out, row, written.line_end);
        }
        out
    }

    /// Appends a row as [`push_csv_row`] does. Unquoted cells that stand side by side in the file are taken together.
    fn write_row(&self, out: &mut Vec<u8>, row: &[Span], line_end: LineEnd) {
        let text = self.text.as_bytes();
        let begin = out.len();
        let mut at = 0;
        while at < row.len() {
            let Span { start, mut end } = row[at];
            let first = at;
            while let Some(next) = row.get(at + 1)
                && next.start == end + 1
                && end < self.source_length
                && text[end] == b','
            {
                at += 1;
                end = next.end;
            }
            if first > 0 {
                out.push(b',');
            }
            at += 1;
            // Of all that needs quoting, a file's unquoted cells can only have quotes.
            if at > first + 1 && memchr::memchr(b'"', &text[start..end]).is_none() {
                out.extend_from_slice(&text[start..end]);
                continue;
            }
            for (offset, cell) in row[first..at].iter().enumerate() {
                if offset > 0 {
                    out.push(b',');
                }
                push_cell_bytes(out, &text[cell.start..cell.end]);
            }
        }
        if row.len() == 1 && out.len() == begin {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(line_end.as_str().as_bytes());
    }

    /// The file as it was read with further rows at its end, each a list of cells in the order of the columns; every other byte stays.
    pub fn source_with<'c, R: IntoIterator<Item = &'c str>>(&self, rows: impl IntoIterator<Item = R>) -> Vec<u8> {
        let line_end = self.header_line_end();
        let mut content = self.source().to_vec();
        if !matches!(content.last(), Some(b'\n' | b'\r') | None) {
            content.extend_from_slice(line_end.as_str().as_bytes());
        }
        rows.into_iter().for_each(|cells| push_csv_row(&mut content, cells, line_end));
        content
    }

    /// The file as it was read without some of its rows; every other byte stays.
    ///
    /// `leaves` is asked for each row that was read; added rows and changed cells are not looked at.
    pub fn source_without(&self, mut leaves: impl FnMut(Row<'_>) -> bool) -> Vec<u8> {
        let source = self.source();
        let mut out = Vec::with_capacity(source.len());
        let mut at = 0;
        for row in self.rows() {
            let origin = self.rows[row.index()];
            if origin.record > 0 && leaves(row) {
                out.extend_from_slice(&source[at..origin.start]);
                at = origin.end;
            }
        }
        out.extend_from_slice(&source[at..]);
        out
    }

    /// The bytes of the header's record as they were read, byte order mark and line end included (the line end of the last line may be missing).
    pub fn source_header(&self) -> &[u8] {
        let end = self.rows.iter().find(|row| row.record > 0).map_or(self.source_length, |row| row.start);
        &self.source()[..end]
    }

    /// The bytes of a row's record as they were read, line end included; empty for an added row.
    pub fn source_record(&self, row: usize) -> &[u8] {
        let origin = self.rows[row];
        &self.source()[origin.start..origin.end]
    }

    /// [`source_record`](Table::source_record) and the blank lines behind it: all bytes up to the record of the row that was read next, or to
    /// the end of the file.
    pub fn source_to_next_record(&self, row: usize) -> &[u8] {
        let next = self.rows[row + 1..].iter().find(|next| next.record > 0);
        &self.source()[self.rows[row].start..next.map_or(self.source_length, |next| next.start)]
    }
}
