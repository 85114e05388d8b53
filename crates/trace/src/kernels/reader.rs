//! Reading a CSV record by record.

use super::options::{ByteOrderMark, EmptyHeader, LineEndsInCells, Options, RepeatedColumns, SurplusCells};
use super::text_window::TextWindow;
use crate::error::{Error, RecordFault};
use crate::records::{Cell, Form, unescape};
use crate::source::Source;
use crate::split::{Bounds, Split, split};
use std::borrow::Cow;
use std::ops::Range;

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
    had_byte_order_mark: bool,
    cells: Bounds,
    /// Where the next record starts in the window.
    at: usize,
    /// Line on which the next record starts.
    line: u64,
    open_quote: Option<u64>,
}

impl<'s> Reader<'s> {
    /// Reads the header.
    pub fn new(source: &'s mut Source, options: Options) -> Result<Reader<'s>, Error> {
        let mut reader = Reader {
            window: TextWindow::new(source),
            options,
            header: Vec::new(),
            had_byte_order_mark: false,
            cells: Bounds::default(),
            at: 0,
            line: 1,
            open_quote: None,
        };
        reader.read_header()?;
        Ok(reader)
    }

    fn read_header(&mut self) -> Result<(), Error> {
        self.window.refill(0)?;
        self.had_byte_order_mark = self.window.text().starts_with('\u{feff}');
        if self.had_byte_order_mark && self.options.byte_order_mark == ByteOrderMark::Dropped {
            self.at = '\u{feff}'.len_utf8();
        }
        let found = self.split_record()?;
        if (!found || self.cells.is_empty()) && self.options.empty_header == EmptyHeader::Refused {
            return Err(self.fault(1, RecordFault::NoHeader));
        }
        if !found {
            return Ok(());
        }
        let (text, line_ends) = (self.window.text(), self.options.line_ends_in_cells);
        let header: Vec<String> = contents(&self.cells, text, line_ends).map(Cow::into_owned).collect();
        if self.options.repeated_columns == RepeatedColumns::Refused {
            let repeated = (0..header.len()).find(|&at| header[..at].contains(&header[at]));
            if let Some(at) = repeated {
                return Err(self.fault(1, RecordFault::RepeatedColumn { name: header[at].clone() }));
            }
        }
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

    /// Position of a column that is used: fails where the preset refuses that it stands there twice.
    pub fn used_column(&self, name: &str) -> Result<Option<usize>, Error> {
        let column = self.column(name);
        if self.options.repeated_columns != RepeatedColumns::LastCounts
            && self.header.iter().position(|other| other == name) != column
        {
            return Err(self.fault(1, RecordFault::RepeatedColumn { name: name.to_owned() }));
        }
        Ok(column)
    }

    /// Position of a column without which the file is of no use.
    pub fn required_column(&self, name: &str) -> Result<usize, Error> {
        self.used_column(name)?.ok_or_else(|| self.fault(1, RecordFault::MissingColumn { name: name.to_owned() }))
    }

    /// Whether the file starts with a byte order mark, dropped or not.
    pub fn had_byte_order_mark(&self) -> bool {
        self.had_byte_order_mark
    }

    /// After the last record: the line of a quote that is still open there, so that the last cell holds the rest of the file.
    pub fn open_quote(&self) -> Option<u64> {
        self.open_quote
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
            if self.options.surplus_cells == SurplusCells::Refused && self.cells.len() > self.header.len() {
                let (cells, columns) = (self.cells.len(), self.header.len());
                return Err(self.fault(line, RecordFault::TooManyCells { cells, columns }));
            }
            let line_ends = self.options.line_ends_in_cells;
            return Ok(Some(Record { text: self.window.text(), cells: &self.cells, line, line_ends }));
        }
    }

    /// Splits the next record into `cells`; false at the end of the file.
    #[inline]
    fn split_record(&mut self) -> Result<bool, Error> {
        loop {
            match split(self.window.text().as_bytes(), self.at, self.window.ended(), &mut self.cells) {
                Split::Record { next, lines } => {
                    self.check_limit()?;
                    self.at = next;
                    self.line += lines;
                    return Ok(true);
                }
                Split::OpenQuote { lines_to_quote, .. } => {
                    self.check_limit()?;
                    let line = self.line + lines_to_quote;
                    if self.options.open_quote_refused {
                        return Err(self.fault(line, RecordFault::OpenQuote));
                    }
                    self.open_quote = Some(line);
                    self.at = self.window.text().len();
                    return Ok(true);
                }
                Split::End => return Ok(false),
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

    #[inline]
    fn check_limit(&self) -> Result<(), Error> {
        match self.options.cell_limit {
            Some(limit) if self.cells.cells().any(|place| place.len() > limit) => self.check_long_cells(limit),
            _ => Ok(()),
        }
    }

    #[cold]
    fn check_long_cells(&self, limit: usize) -> Result<(), Error> {
        let (text, line_ends) = (self.window.text(), self.options.line_ends_in_cells);
        if contents(&self.cells, text, line_ends).any(|content| content.chars().count() > limit) {
            return Err(self.fault(self.line, RecordFault::LongCell { limit }));
        }
        Ok(())
    }

    fn fault(&self, line: u64, reason: RecordFault) -> Error {
        Error::Record { path: self.window.name().to_owned(), line, reason }
    }
}

/// One record of a CSV.
#[derive(Debug, Clone, Copy)]
pub struct Record<'r> {
    text: &'r str,
    cells: &'r Bounds,
    line: u64,
    line_ends: LineEndsInCells,
}

impl<'r> Record<'r> {
    /// The cell of a column; `None` where the record is too short for it.
    #[inline]
    pub fn get(&self, column: usize) -> Option<Cow<'r, str>> {
        Some(content(self.cells.cell(column)?, self.text, self.line_ends))
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Never: empty lines are no records.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// All cells.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'r, str>> + use<'r> {
        contents(self.cells, self.text, self.line_ends)
    }

    /// Line of the file on which the record starts, from 1; lines inside quoted cells count.
    pub fn line(&self) -> u64 {
        self.line
    }
}

/// The contents of all cells.
fn contents<'r>(cells: &'r Bounds, text: &'r str, line_ends: LineEndsInCells) -> impl Iterator<Item = Cow<'r, str>> {
    cells.cells().map(move |place| content(place, text, line_ends))
}

/// The content of the cell that is written at a place. Most cells have no quotes, and without them they hold no line end.
#[inline]
fn content(place: Range<usize>, text: &str, line_ends: LineEndsInCells) -> Cow<'_, str> {
    match text.as_bytes()[place.clone()].first() {
        Some(b'"') => quoted(Cell::written(text.as_bytes(), place), text, line_ends),
        _ => Cow::Borrowed(&text[place]),
    }
}

fn quoted(cell: Cell, text: &str, line_ends: LineEndsInCells) -> Cow<'_, str> {
    let raw = &text[cell.start..cell.end];
    if cell.form == Form::Plain {
        return with_line_ends(Cow::Borrowed(raw), line_ends);
    }
    let mut content = Vec::with_capacity(raw.len());
    unescape(raw.as_bytes(), &mut content);
    let content = String::from_utf8(content).expect("UTF-8 less some ASCII quotes is UTF-8");
    with_line_ends(Cow::Owned(content), line_ends)
}

fn with_line_ends(content: Cow<'_, str>, line_ends: LineEndsInCells) -> Cow<'_, str> {
    match line_ends {
        LineEndsInCells::LineFeed if content.contains('\r') => {
            Cow::Owned(content.replace("\r\n", "\n").replace('\r', "\n"))
        }
        _ => content,
    }
}
