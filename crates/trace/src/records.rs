//! Splits CSV text into records and cells without copying it.
//!
//! The dialect is that of Python's `csv` reader: comma, double quote doubled inside quotes, records end at CRLF, LF or a lone CR, a quote
//! inside an unquoted cell is literal, text behind a closing quote is appended. Completely empty lines are not records. What the `csv` crate
//! does not tell is what the tables of a database need: where in the file a record lies, on which line (a lone CR ends a line too), and
//! whether the last quote was left open.
//!
//! ```
//! use perfdb_trace::records::{Cell, Splitter};
//!
//! let text = b"a,\"b \"\"c\"\"\"\r\n\r\nd,e\n";
//! let mut splitter = Splitter::new(text);
//! let mut cells = Vec::new();
//! let first = splitter.next_record(&mut cells).unwrap();
//! assert_eq!((first.line, first.start, first.end), (1, 0, 13));
//! let mut decoded = Vec::new();
//! assert_eq!(cells[1].decode(text, &mut decoded), b"b \"c\"");
//! let second = splitter.next_record(&mut cells).unwrap();
//! assert_eq!((second.line, cells[0].raw(text)), (3, &b"d"[..]));
//! ```

use crate::split::{Bounds, Split, split};
use std::ops::Range;

/// One cell of a record: where it lies, and whether its bytes can be used as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// First byte of the cell's text; behind the opening quote if the cell is `Plain`.
    pub start: usize,
    /// One past the last byte of the cell's text.
    pub end: usize,
    /// How the bytes become the cell's text.
    pub form: Form,
}

/// How the bytes of a [`Cell`] become its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The bytes are the text.
    Plain,
    /// The bytes begin with the opening quote and hold doubled quotes, or text behind the closing quote.
    Escaped,
}

impl Cell {
    /// The cell that is written at a place of `text`. A quote at its beginning always opens.
    #[inline]
    pub(crate) fn written(text: &[u8], Range { start, end }: Range<usize>) -> Cell {
        let plain = |start, end| Cell { start, end, form: Form::Plain };
        if start == end || text[start] != b'"' {
            return plain(start, end);
        }
        let inside = &text[start + 1..end];
        match memchr::memchr(b'"', inside) {
            Some(quote) if quote + 1 == inside.len() => plain(start + 1, end - 1),
            Some(_) => Cell { start, end, form: Form::Escaped },
            // It is open at the end of the text.
            None => plain(start + 1, end),
        }
    }

    /// The bytes of the cell as they lie in `text`, which are its text only for [`Form::Plain`].
    pub fn raw<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        &text[self.start..self.end]
    }

    /// The text of the cell; `buffer` is cleared and used when quotes have to be taken out.
    pub fn decode<'t>(&self, text: &'t [u8], buffer: &'t mut Vec<u8>) -> &'t [u8] {
        match self.form {
            Form::Plain => self.raw(text),
            Form::Escaped => {
                buffer.clear();
                unescape(self.raw(text), buffer);
                buffer
            }
        }
    }
}

/// Appends the text of a cell that begins with a quote.
pub fn unescape(raw: &[u8], out: &mut Vec<u8>) {
    let mut rest = raw.strip_prefix(b"\"").unwrap_or(raw);
    while let Some(quote) = memchr::memchr(b'"', rest) {
        out.extend_from_slice(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.first() {
            Some(b'"') => {
                out.push(b'"');
                rest = &rest[1..];
            }
            // Behind the closing quote everything is literal.
            _ => {
                out.extend_from_slice(rest);
                return;
            }
        }
    }
    out.extend_from_slice(rest);
}

/// Where a record lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// First byte of the record.
    pub start: usize,
    /// One past its last byte, line end included.
    pub end: usize,
    /// Physical line on which it starts, from 1.
    pub line: u64,
}

/// A record whose cells are found when they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Row<'s> {
    text: &'s [u8],
    bounds: &'s Bounds,
    record: Record,
}

impl Row<'_> {
    /// Where the record lies.
    pub fn record(&self) -> Record {
        self.record
    }

    /// The cell of a column; `None` where the record is too short for it.
    #[inline]
    pub fn cell(&self, column: usize) -> Option<Cell> {
        Some(Cell::written(self.text, self.bounds.cell(column)?))
    }
}

/// Walks over the records of a text.
#[derive(Debug, Clone)]
pub struct Splitter<'t> {
    text: &'t [u8],
    at: usize,
    line: u64,
    open_quote: Option<u64>,
    bounds: Bounds,
}

impl<'t> Splitter<'t> {
    /// Starts at the beginning of `text`, which is line 1.
    pub fn new(text: &'t [u8]) -> Self {
        Splitter::starting_at(text, 0, 1)
    }

    /// Starts at byte `at`, the beginning of a record on line `line`.
    pub fn starting_at(text: &'t [u8], at: usize, line: u64) -> Self {
        Splitter { text, at, line, open_quote: None, bounds: Bounds::default() }
    }

    /// The line on which a quote opens that is still open at the end of the text.
    pub fn open_quote(&self) -> Option<u64> {
        self.open_quote
    }

    /// The line on which the next record would start.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The byte at which the next record would start.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Reads the next record's cells into `cells`, which is cleared.
    #[inline]
    pub fn next_record(&mut self, cells: &mut Vec<Cell>) -> Option<Record> {
        cells.clear();
        let text = self.text;
        let row = self.next_row()?;
        cells.extend(row.bounds.cells().map(|place| Cell::written(text, place)));
        Some(row.record)
    }

    /// Reads the next record; for those who look at few of its cells.
    #[inline]
    pub fn next_row(&mut self) -> Option<Row<'_>> {
        loop {
            let (start, line) = (self.at, self.line);
            match split(self.text, start, true, &mut self.bounds) {
                Split::Record { next, lines } => {
                    self.at = next;
                    self.line += lines;
                }
                Split::OpenQuote { lines_to_quote, lines } => {
                    self.at = self.text.len();
                    self.open_quote = Some(line + lines_to_quote);
                    self.line += lines;
                }
                Split::End | Split::Cut => return None,
            }
            if !self.bounds.is_empty() {
                let record = Record { start, end: self.at, line };
                return Some(Row { text: self.text, bounds: &self.bounds, record });
            }
        }
    }
}

/// Number of line ends in `text`: CRLF, LF and a lone CR count once each.
pub fn line_ends(text: &[u8]) -> u64 {
    memchr::memchr2_iter(b'\n', b'\r', text).filter(|&at| text[at] == b'\n' || text.get(at + 1) != Some(&b'\n')).count()
        as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Line and cells.
    type Row = (u64, Vec<Vec<u8>>);

    fn split(text: &[u8]) -> (Vec<Row>, Option<u64>) {
        let mut splitter = Splitter::new(text);
        let (mut cells, mut buffer, mut records) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(record) = splitter.next_record(&mut cells) {
            let row = cells.iter().map(|cell| cell.decode(text, &mut buffer).to_vec()).collect();
            records.push((record.line, row));
        }
        (records, splitter.open_quote())
    }

    fn texts(text: &str) -> Vec<Vec<String>> {
        let rows = split(text.as_bytes()).0;
        rows.into_iter()
            .map(|(_, row)| row.into_iter().map(|cell| String::from_utf8(cell).expect("UTF-8")).collect())
            .collect()
    }

    #[test]
    fn quotes_are_read_as_leniently_as_python_does() {
        assert_eq!(texts("\"ab\"c,d"), [["abc", "d"]]);
        assert_eq!(texts("a\"b,c\"\n"), [["a\"b", "c\""]]);
        assert_eq!(texts("\"\"\"16,512\"\"\",x\n"), [["\"16,512\"", "x"]]);
        assert_eq!(texts("\"ab\"c\"d\"\",e"), [["abc\"d\"\"", "e"]]);
        assert_eq!(texts("\"\",\"\"\"\"\n"), [["", "\""]]);
        assert_eq!(texts("a,\n"), [["a", ""]]);
        assert_eq!(texts(","), [["", ""]]);
    }

    #[test]
    fn every_kind_of_line_end_ends_a_record_and_counts_as_one_line() {
        let (records, open) = split(b"a\rb\r\nc\n\n\r\n \n\"x\r\ny\rz\",q\nlast");
        let lines: Vec<u64> = records.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 2, 3, 6, 7, 10]);
        assert_eq!(records[4].1, [b"x\r\ny\rz".to_vec(), b"q".to_vec()]);
        assert_eq!(open, None);
    }

    #[test]
    fn an_open_quote_swallows_the_rest_and_is_reported_with_its_line() {
        let (records, open) = split(b"a,b\nc,\"d\ne,f\n");
        assert_eq!(records[1].1, [b"c".to_vec(), b"d\ne,f\n".to_vec()]);
        assert_eq!(open, Some(2));
    }

    proptest! {
        #[test]
        fn agrees_with_the_csv_crate(text in "[ab,\"\r\n ]{0,60}") {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
            let expected: Vec<Vec<Vec<u8>>> =
                reader.byte_records().map(|record| record.expect("in memory").iter().map(<[u8]>::to_vec).collect()).collect();
            let found: Vec<Vec<Vec<u8>>> = split(text.as_bytes()).0.into_iter().map(|(_, row)| row).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn records_tile_the_text(text in "[ab,\"\r\n ]{0,60}") {
            let mut splitter = Splitter::new(text.as_bytes());
            let (mut cells, mut end) = (Vec::new(), 0);
            while let Some(record) = splitter.next_record(&mut cells) {
                prop_assert!(text.as_bytes()[end..record.start].iter().all(|byte| matches!(byte, b'\r' | b'\n')));
                prop_assert!(record.start < record.end);
                end = record.end;
            }
        }
    }
}
