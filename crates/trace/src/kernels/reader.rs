//! Reading a CSV record by record.

use super::options::{ByteOrderMark, Options};
use super::text_window::TextWindow;
use crate::error::{Error, RecordFault};
use crate::records::{Cell, Form, unescape};
use crate::source::Source;
use crate::split::{Bounds, Split, split};
use perfdb_files::escape::shown;
use std::borrow::Cow;
use std::ops::Range;
use std::time::Instant;

/// Reads a CSV record by record.
///
/// ```
/// use perfdb_trace::kernels::{Options, Reader, number};
/// use perfdb_trace::source::Source;
///
/// let mut source = Source::from_bytes("prof.csv", "Type,Duration(us)\r\nMatMulV2,12.5\r\n\r\nAdd,0.5")?;
/// let mut reader = Reader::new(&mut source, Options::comparison())?;
/// let duration = reader.column("Duration(us)").unwrap();
/// let mut total_us = 0.0;
/// while let Some(record) = reader.next_record()? {
///     total_us += record.get(duration).and_then(|cell| number(&cell)).unwrap_or(0.0);
/// }
/// assert_eq!(total_us, 13.0);
/// # Ok::<(), perfdb_trace::Error>(())
/// ```
pub struct Reader<'s> {
    window: TextWindow<'s>,
    options: Options,
    header: Vec<String>,
    cells: Bounds,
    /// Where the next record starts in the window.
    at: usize,
    /// Line on which the next record starts.
    line: u64,
    started: Instant,
}

impl<'s> Reader<'s> {
    /// Reads the header.
    pub fn new(source: &'s mut Source, options: Options) -> Result<Reader<'s>, Error> {
        let mut reader = Reader {
            window: TextWindow::new(source),
            options,
            header: Vec::new(),
            cells: Bounds::default(),
            at: 0,
            line: 1,
            started: Instant::now(),
        };
        reader.read_header()?;
        Ok(reader)
    }

    fn read_header(&mut self) -> Result<(), Error> {
        self.window.refill(0)?;
        if self.options.byte_order_mark == ByteOrderMark::Dropped && self.window.text().starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        if !self.split_record()? {
            return Ok(());
        }
        let header = contents(&self.cells, self.window.text()).map(Cow::into_owned).collect();
        self.header = header;
        Ok(())
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// Position of a column; of columns of one name the last one.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().rposition(|column| column == name)
    }

    /// The next record; empty lines are none.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, Error> {
        loop {
            let line = self.line;
            if !self.split_record()? {
                return Ok(None);
            }
            if self.cells.is_empty() {
                continue;
            }
            return Ok(Some(Record { text: self.window.text(), cells: &self.cells, line }));
        }
    }

    /// Splits the next record into `cells`; false at the end of the file.
    #[inline]
    fn split_record(&mut self) -> Result<bool, Error> {
        loop {
            match split(self.window.text().as_bytes(), self.at, self.window.ended(), &mut self.cells) {
                Split::Record { next, lines } => {
                    self.at = next;
                    self.line += lines;
                    return Ok(true);
                }
                Split::OpenQuote { .. } => {
                    self.at = self.window.text().len();
                    return Ok(true);
                }
                Split::End => {
                    let (lines, seconds) = (self.line - 1, self.started.elapsed().as_secs_f64());
                    tracing::info!("{}: {lines} lines read in {seconds:.3} s", shown(self.window.path()));
                    return Ok(false);
                }
                Split::Cut => {
                    if let Some(byte) = self.window.bad_byte() {
                        return Err(self.fault(self.line, RecordFault::Utf8 { byte }));
                    }
                    self.window.refill(self.at)?;
                    self.at = 0;
                }
            }
        }
    }

    fn fault(&self, line: u64, reason: RecordFault) -> Error {
        Error::Record { path: self.window.path().to_owned(), line, reason }
    }
}

/// One record of a CSV.
#[derive(Debug, Clone, Copy)]
pub struct Record<'r> {
    text: &'r str,
    cells: &'r Bounds,
    line: u64,
}

impl<'r> Record<'r> {
    /// The cell of a column; `None` where the record is too short for it.
    #[inline]
    pub fn get(&self, column: usize) -> Option<Cow<'r, str>> {
        Some(content(self.cells.cell(column)?, self.text))
    }

    /// The cell of a column as it stands in the file, quotes and all; equal ones have equal contents.
    #[inline]
    pub fn written(&self, column: usize) -> Option<&'r str> {
        Some(&self.text[self.cells.cell(column)?])
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Never: empty lines are not records.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// All cells.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'r, str>> + use<'r> {
        contents(self.cells, self.text)
    }

    /// Line of the file on which the record starts, from 1; lines inside quoted cells count.
    pub fn line(&self) -> u64 {
        self.line
    }
}

/// The contents of all cells.
fn contents<'r>(cells: &'r Bounds, text: &'r str) -> impl Iterator<Item = Cow<'r, str>> {
    cells.cells().map(move |place| content(place, text))
}

/// The content of the cell that is written at a place. Most cells have no quotes, and without them they hold no line end.
#[inline]
fn content(place: Range<usize>, text: &str) -> Cow<'_, str> {
    let written = &text[place.clone()];
    match written.as_bytes().first() {
        Some(b'"') => quoted(place, text),
        _ => Cow::Borrowed(written),
    }
}

fn quoted(place: Range<usize>, text: &str) -> Cow<'_, str> {
    let cell = Cell::written(text.as_bytes(), place);
    let raw = &text[cell.start..cell.end];
    if cell.form == Form::Plain {
        return with_line_feeds(Cow::Borrowed(raw));
    }
    let mut content = Vec::with_capacity(raw.len());
    unescape(raw.as_bytes(), &mut content);
    let content = String::from_utf8(content).expect("UTF-8 less some ASCII quotes is UTF-8");
    with_line_feeds(Cow::Owned(content))
}

/// Each CRLF and CR as one LF.
fn with_line_feeds(content: Cow<'_, str>) -> Cow<'_, str> {
    if content.contains('\r') { Cow::Owned(content.replace("\r\n", "\n").replace('\r', "\n")) } else { content }
}
