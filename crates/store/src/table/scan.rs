//! Some columns of a table, row by row, for readers that keep values and no texts.

use super::read::{has_long_cell, header_start};
use crate::duration::{number, short_decimal};
use crate::error::{CELL_LIMIT, CsvFault, Error};
use crate::profile::{cell_text, utf8};
use perfdb_files::input::{self, Kind};
use perfdb_trace::records::{Cell, Form, Splitter};
use perfdb_trace::selected::{SelectedRecord, SelectedRecords};
use perfdb_trace::source::Counted;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// How much of a file is in view at once.
const WINDOW_BYTES: u64 = 64 * 1024;
/// How much is read at once where only the header is wanted.
const HEADER_BYTES: usize = 4 * 1024;

/// The rows of a table under the rules of a database, of which only the wanted columns are looked at. The file is read through a window; what
/// [`Table::parse`](super::Table::parse) refuses is refused here, too.
#[derive(Debug)]
pub struct Scan<'p, R = Counted<File>> {
    path: &'p Path,
    records: SelectedRecords<R>,
    /// Where the wanted columns are among the selected ones.
    places: Vec<Option<usize>>,
    width: usize,
}

/// A row of a [`Scan`].
#[derive(Debug, Clone, Copy)]
pub struct ScannedRow<'s> {
    record: SelectedRecord<'s>,
    places: &'s [Option<usize>],
    /// The line on which it starts.
    pub line: u64,
}

impl<'s> ScannedRow<'s> {
    /// The text of a wanted column; empty where the row or the table lacks it.
    pub fn cell(&self, wanted: usize) -> Cow<'s, str> {
        let Some(cell) = self.places[wanted].and_then(|place| self.record.cell(place)) else {
            return Cow::Borrowed("");
        };
        match cell.form {
            Form::Plain => Cow::Borrowed(text(cell.raw(self.record.window()))),
            Form::Escaped => {
                let mut decoded = Vec::new();
                cell.decode(self.record.window(), &mut decoded);
                Cow::Owned(String::from_utf8(decoded).unwrap_or_default())
            }
        }
    }

    /// A wanted column as it stands in the file, without quotes at both ends. Equal bytes mean equal cells.
    #[inline]
    pub fn bytes(&self, wanted: usize) -> &'s [u8] {
        let mut bytes = self.places[wanted].map_or(&[][..], |place| self.record.written(place));
        while let [b'"', rest @ ..] = bytes {
            bytes = rest;
        }
        while let [rest @ .., b'"'] = bytes {
            bytes = rest;
        }
        bytes
    }

    /// The text of a wanted column for readers that take off quotes at both ends and whitespace around slots anyway: some of these may be missing.
    /// Profilers quote shapes twice; this decodes a cell only if quotes stand inside as well.
    pub fn slot_cell(&self, wanted: usize) -> Cow<'s, str> {
        let raw = self.bytes(wanted);
        if raw.contains(&b'"') { self.cell(wanted) } else { Cow::Borrowed(text(raw)) }
    }

    /// The number in a wanted column; 0 where there is none.
    #[inline]
    pub fn number(&self, wanted: usize) -> f64 {
        match self.places[wanted].map_or(&[][..], |place| self.record.written(place)) {
            [] => 0.0,
            plain => short_decimal(plain).unwrap_or_else(|| number(&self.cell(wanted))),
        }
    }
}

/// Bytes that were found to be UTF-8.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

impl<'p> Scan<'p> {
    /// The names of a table's columns, for which only the beginning of the file is read.
    ///
    /// # Errors
    /// As [`Scan::open`].
    pub fn column_names(path: &'p Path) -> Result<Vec<String>, Error> {
        let file = input::open(path, Kind::RegularFile).map_err(|source| Error::io(path, source))?;
        Ok(Scan::with_names(path, file, HEADER_BYTES, &[])?.1)
    }

    /// Opens a table. Rows are asked for their cells by the places of the columns in `wanted`.
    ///
    /// # Errors
    /// When the file cannot be read, is no UTF-8, has no header or names a column twice.
    pub fn open(path: &'p Path, wanted: &[&str]) -> Result<Self, Error> {
        let io = |source: io::Error| Error::io(path, source);
        let file = input::open(path, Kind::RegularFile).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let file = Counted::of_file(file).map_err(io)?;
        // One byte more than the file has, so that one reading finds its end.
        Scan::new(path, file, length.saturating_add(1).min(WINDOW_BYTES) as usize, wanted)
    }
}

impl<'p, R: Read> Scan<'p, R> {
    /// Starts on the bytes of a file; `path` is for messages.
    fn new(path: &'p Path, input: R, window_bytes: usize, wanted: &[&str]) -> Result<Self, Error> {
        Ok(Scan::with_names(path, input, window_bytes, wanted)?.0)
    }

    /// The same, and the names of all columns.
    fn with_names(
        path: &'p Path,
        input: R,
        window_bytes: usize,
        wanted: &[&str],
    ) -> Result<(Self, Vec<String>), Error> {
        // What is looked at before the first record has to fit.
        let mut records = SelectedRecords::new(input, window_bytes.max(256));
        let begin = header_start(path, records.peek().map_err(|source| Error::io(path, source))?)?;
        records.skip(begin);
        let mut scan = Scan { path, records, places: Vec::new(), width: 0 };
        let Some(header) = scan.advance()? else { return Err(Error::csv(path, CsvFault::NoHeader)) };
        let header_text = header.bytes();
        let mut cells: Vec<Cell> = Vec::new();
        Splitter::new(header_text).next_record(&mut cells);
        let header_text = utf8(path, header_text, begin as u64)?;
        let names: Vec<String> = cells.iter().map(|cell| cell_text(header_text, cell).into_owned()).collect();
        if let Some((_, twice)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(Error::csv_line(path, 1, CsvFault::DuplicateColumn(twice.clone())));
        }
        let columns: Vec<Option<usize>> =
            wanted.iter().map(|wanted| names.iter().position(|name| name == wanted)).collect();
        let mut selected: Vec<usize> = columns.iter().flatten().copied().collect();
        selected.sort_unstable();
        selected.dedup();
        let mut bounds: Vec<usize> = selected.iter().flat_map(|column| [*column, column + 1]).collect();
        bounds.dedup();
        let place = |column: usize| bounds.binary_search(&column).ok();
        scan.places = columns.into_iter().map(|column| column.and_then(place)).collect();
        scan.records.select(selected);
        scan.width = names.len();
        Ok((scan, names))
    }

    /// Whether the table has a wanted column.
    pub fn has(&self, wanted: usize) -> bool {
        self.places[wanted].is_some()
    }

    /// The next row.
    ///
    /// # Errors
    /// When the file cannot be read, the row is no UTF-8 or longer than the header, a cell is too long or a quote stays open.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<ScannedRow<'_>>, Error> {
        let (path, width) = (self.path, self.width);
        let Some(record) = advance(path, &mut self.records)? else { return Ok(None) };
        let line = record.line();
        if record.cell_count() > width {
            let fault = CsvFault::RowTooLong { cells: record.cell_count(), columns: width };
            return Err(Error::csv_line(path, line, fault));
        }
        Ok(Some(ScannedRow { record, places: &self.places, line }))
    }

    fn advance(&mut self) -> Result<Option<SelectedRecord<'_>>, Error> {
        advance(self.path, &mut self.records)
    }
}

/// The next record, if nothing is wrong with it.
#[inline]
fn advance<'r, R: Read>(path: &Path, records: &'r mut SelectedRecords<R>) -> Result<Option<SelectedRecord<'r>>, Error> {
    let Some(record) = records.next_record().map_err(|source| Error::io(path, source))? else { return Ok(None) };
    if let Some(line) = record.open_quote() {
        return Err(Error::csv_line(path, line, CsvFault::UnterminatedQuote));
    }
    if !record.is_ascii() {
        utf8(path, record.bytes(), record.offset())?;
    }
    if record.bytes().len() > CELL_LIMIT && is_too_long(record.bytes()) {
        return Err(Error::csv_line(path, record.line(), CsvFault::CellTooLong));
    }
    Ok(Some(record))
}

/// Whether a record has a cell that is too long.
#[cold]
fn is_too_long(record: &[u8]) -> bool {
    let mut cells = Vec::new();
    let whole = Splitter::new(record).next_record(&mut cells);
    whole.is_some_and(|whole| has_long_cell(text(record), whole, &cells))
}

#[cfg(test)]
mod tests {
    use super::super::{ReadOptions, Table};
    use super::*;
    use crate::slots::unquoted;
    use perfdb_pycompat::text::trim;
    use proptest::prelude::*;

    type Rows = Vec<(u64, Vec<String>)>;

    fn scanned(bytes: &[u8], wanted: &[&str]) -> Result<Rows, Error> {
        let mut scan = Scan::new("t.csv".as_ref(), bytes, 1, wanted)?;
        let mut rows = Vec::new();
        while let Some(row) = scan.next_row()? {
            rows.push((row.line, (0..wanted.len()).map(|at| row.cell(at).into_owned()).collect()));
        }
        Ok(rows)
    }

    fn whole(bytes: &[u8], wanted: &[&str]) -> Result<Rows, Error> {
        let table = Table::parse("t.csv".as_ref(), bytes.to_vec(), &ReadOptions::database())?;
        let cell = |row: super::super::Row<'_>, name: &&str| row.get(name).unwrap_or_default().to_owned();
        let rows =
            table.rows().map(|row| (row.line().unwrap_or(0), wanted.iter().map(|name| cell(row, name)).collect()));
        Ok(rows.collect())
    }

    proptest! {
        #[test]
        fn slots_are_those_of_the_whole_text(cell in "\"?[1,; \"]{0,12}\"?") {
            let text = format!("shapes,b\n{cell}");
            let Ok(mut scan) = Scan::new("t.csv".as_ref(), text.as_bytes(), 1, &["shapes"]) else { return Ok(()) };
            if let Ok(Some(row)) = scan.next_row() {
                let slots = |text: &str| unquoted(text).split(';').map(|slot| trim(slot).to_owned()).collect::<Vec<_>>();
                prop_assert_eq!(slots(&row.slot_cell(0)), slots(&row.cell(0)));
            }
        }

        #[test]
        fn it_reads_what_the_whole_table_holds(text in "(\u{feff})?[ab,\"\r\n]{0,40}") {
            let wanted = ["b", "a", "ab"];
            let (scanned, whole) = (scanned(text.as_bytes(), &wanted), whole(text.as_bytes(), &wanted));
            match (scanned, whole) {
                (Ok(scanned), Ok(whole)) => prop_assert_eq!(scanned, whole),
                (Err(_), Err(_)) => {}
                (scanned, whole) => prop_assert!(false, "{:?} and {:?}", scanned, whole),
            }
        }
    }
}
