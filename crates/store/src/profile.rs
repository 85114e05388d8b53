//! Profiler output (`kernel_details`, `op_summary`) as blocks of rows that several threads can work on.

use crate::duration::{number, short_decimal_in};
use crate::error::{CsvFault, Error};
use crate::table::has_long_cell;
use perfdb_trace::blocks::{BLOCK_BYTES, Block, Blocks};
use perfdb_trace::records::{Cell, Form, Record, Splitter, unescape};
use perfdb_trace::source::Source;
use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The columns that a tool wants of a file: those it needs, then those it uses when present.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) required: &'a [&'a str],
    pub(crate) optional: &'a [&'a str],
}

/// Where a file has the wanted columns: the required ones, then the optional ones.
pub(crate) type Columns = Arc<[Option<usize>]>;

/// Reads several files one after the other, block by block.
pub(crate) struct ProfileFiles<'a> {
    paths: &'a [PathBuf],
    wanted: Wanted<'a>,
    /// The file that is being read is the one before this one.
    next_file: usize,
    current: Option<Current>,
}

struct Current {
    blocks: Blocks<Box<dyn Read + Send>>,
    columns: Columns,
    first: Option<(Block, usize, u64)>,
}

/// Some whole rows of one file.
pub(crate) struct Piece {
    pub(crate) file: usize,
    pub(crate) columns: Columns,
    pub(crate) text: Vec<u8>,
    /// Where the rows begin in `text`, and on which line counted from the beginning of `text`.
    start: usize,
    line: u64,
    offset: u64,
}

impl<'a> ProfileFiles<'a> {
    pub(crate) fn new(paths: &'a [PathBuf], wanted: Wanted<'a>) -> Self {
        ProfileFiles { paths, wanted, next_file: 0, current: None }
    }

    /// The next piece, in `buffer`'s memory.
    pub(crate) fn next_piece(&mut self, mut buffer: Vec<u8>) -> Result<Option<Piece>, Error> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(path) = self.paths.get(self.next_file) else { return Ok(None) };
                self.current = Some(open(path, self.wanted, buffer)?);
                self.next_file += 1;
                buffer = Vec::new();
                continue;
            };
            let file = self.next_file - 1;
            let columns = current.columns.clone();
            if let Some((block, start, line)) = current.first.take() {
                return Ok(Some(Piece { file, columns, text: block.text, start, line, offset: block.offset }));
            }
            let next = current.blocks.next_block(buffer).map_err(|source| Error::io(&self.paths[file], source))?;
            match next {
                Some(Block { text, offset }) => {
                    return Ok(Some(Piece { file, columns, text, start: 0, line: 1, offset }));
                }
                None => self.current = None,
            }
            buffer = Vec::new();
        }
    }
}

/// Opens a file and checks its header, without reading further.
pub(crate) fn check_header(path: &Path, wanted: Wanted<'_>) -> Result<(), Error> {
    open(path, wanted, Vec::new()).map(drop)
}

/// A file, decompressed where it is gzip.
pub(crate) fn opened(path: &Path) -> Result<Source, Error> {
    let failed = |source| Error::io(path, source);
    let file = File::open(path).map_err(failed)?;
    Source::from_reader(path, file).map_err(|error| match error {
        perfdb_trace::Error::Io { source, .. } => failed(source),
        _ => Error::csv(path, CsvFault::LfsPointer),
    })
}

fn open(path: &Path, wanted: Wanted<'_>, buffer: Vec<u8>) -> Result<Current, Error> {
    let failed = |source| Error::io(path, source);
    let source = opened(path)?;
    let mut blocks = Blocks::new(source.into_reader(), BLOCK_BYTES);
    let no_header = || Error::csv(path, CsvFault::NoHeader);
    let first = blocks.next_block(buffer).map_err(failed)?.ok_or_else(no_header)?;
    let text = utf8(path, &first.text, first.offset)?;
    let begin = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    if matches!(text.as_bytes().get(begin), None | Some(b'\n' | b'\r')) {
        return Err(no_header());
    }
    let mut splitter = Splitter::starting_at(text.as_bytes(), begin, 1);
    let mut cells = Vec::new();
    splitter.next_record(&mut cells);
    let names: Vec<Cow<'_, str>> = cells.iter().map(|cell| cell_text(text, cell)).collect();
    let columns = find_columns(path, &names, wanted)?;
    let (start, line) = (splitter.position(), splitter.line());
    Ok(Current { blocks, columns, first: Some((first, start, line)) })
}

fn find_columns(path: &Path, names: &[Cow<'_, str>], wanted: Wanted<'_>) -> Result<Columns, Error> {
    let position = |name: &str| {
        let mut found = names.iter().enumerate().filter(|(_, column)| *column == name).map(|(at, _)| at);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(Error::csv_line(path, 1, CsvFault::DuplicateColumn(name.to_owned()))),
            (position, None) => Ok(position),
        }
    };
    let required: Vec<Option<usize>> = wanted.required.iter().map(|name| position(name)).collect::<Result<_, _>>()?;
    let absent = wanted.required.iter().zip(&required).filter(|(_, position)| position.is_none());
    let mut missing: Vec<String> = absent.map(|(name, _)| (*name).to_owned()).collect();
    if !missing.is_empty() {
        missing.sort();
        return Err(Error::csv(path, CsvFault::MissingColumns(missing)));
    }
    let optional: Vec<Option<usize>> = wanted.optional.iter().map(|name| position(name)).collect::<Result<_, _>>()?;
    Ok(required.into_iter().chain(optional).collect())
}

pub(crate) fn utf8<'t>(path: &Path, text: &'t [u8], offset: u64) -> Result<&'t str, Error> {
    std::str::from_utf8(text).map_err(|error| {
        let offset = offset + error.valid_up_to() as u64;
        Error::csv(path, CsvFault::NotUtf8 { offset })
    })
}

/// The text of a cell. A cell begins and ends beside ASCII, so the slice is whole characters.
pub(crate) fn cell_text<'t>(text: &'t str, cell: &Cell) -> Cow<'t, str> {
    match cell.form {
        Form::Plain => Cow::Borrowed(text.get(cell.start..cell.end).unwrap_or_default()),
        Form::Escaped => {
            let mut decoded = Vec::with_capacity(cell.end - cell.start);
            unescape(cell.raw(text.as_bytes()), &mut decoded);
            Cow::Owned(String::from_utf8(decoded).unwrap_or_default())
        }
    }
}

/// One row of a [`Piece`]. Lines count from the piece's beginning.
pub(crate) struct ProfileRow<'r> {
    text: &'r str,
    cells: &'r [Cell],
    columns: &'r [Option<usize>],
    pub(crate) line: u64,
    record: Record,
}

impl<'r> ProfileRow<'r> {
    fn cell(&self, wanted: usize) -> Option<&'r Cell> {
        self.columns[wanted].and_then(|column| self.cells.get(column))
    }

    /// The bytes of a wanted cell as they stand in the file; empty where the row or the file lacks it. Equal bytes mean equal texts.
    pub(crate) fn raw(&self, wanted: usize) -> &'r [u8] {
        self.cell(wanted).map_or(b"", |cell| cell.raw(self.text.as_bytes()))
    }

    /// The bytes of several wanted cells as they stand in the file, quotes and commas included, if they stand side by side in the wanted order.
    pub(crate) fn raw_run(&self, wanted: Range<usize>) -> Option<&'r [u8]> {
        let columns = &self.columns[wanted];
        let first = (*columns.first()?)?;
        if (first..).zip(columns).any(|(place, column)| *column != Some(place)) {
            return None;
        }
        let text = self.text.as_bytes();
        let (start, end) = (self.cells.get(first)?.start, self.cells.get(first + columns.len() - 1)?.end);
        let opening = start.checked_sub(1).filter(|&before| text[before] == b'"');
        let closing = usize::from(text.get(end) == Some(&b'"'));
        text.get(opening.unwrap_or(start)..end + closing)
    }

    /// The text of a wanted cell; empty where the row or the file lacks it.
    pub(crate) fn text(&self, wanted: usize) -> Cow<'r, str> {
        self.cell(wanted).map_or(Cow::Borrowed(""), |cell| cell_text(self.text, cell))
    }

    /// The number in a wanted cell as [`number`] reads it.
    #[inline]
    pub(crate) fn number(&self, wanted: usize) -> f64 {
        let short = |cell: &Cell| match cell.form {
            Form::Plain => short_decimal_in(self.text.as_bytes(), cell.start, cell.end),
            Form::Escaped => None,
        };
        self.cell(wanted).and_then(short).unwrap_or_else(|| number(&self.text(wanted)))
    }

    /// Whether a cell has more characters than Python reads.
    pub(crate) fn has_long_cell(&self) -> bool {
        has_long_cell(self.text, self.record, self.cells)
    }
}

/// What was found while walking over the rows of a piece.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PieceEnd {
    /// Number of line ends in the piece.
    pub(crate) lines: u64,
    /// The line, from the piece's beginning, on which a quote opens that is never closed.
    pub(crate) open_quote: Option<u64>,
}

impl Piece {
    /// Calls `each` for every row until it says stop.
    pub(crate) fn for_each_row(
        &self,
        path: &Path,
        mut each: impl FnMut(&ProfileRow<'_>) -> bool,
    ) -> Result<PieceEnd, Error> {
        let text = utf8(path, &self.text, self.offset)?;
        let mut splitter = Splitter::starting_at(text.as_bytes(), self.start, self.line);
        let mut cells = Vec::with_capacity(64);
        while let Some(record) = splitter.next_record(&mut cells) {
            let row = ProfileRow { text, cells: &cells, columns: &self.columns, line: record.line, record };
            if !each(&row) {
                break;
            }
        }
        Ok(PieceEnd { lines: splitter.line() - 1, open_quote: splitter.open_quote() })
    }
}
