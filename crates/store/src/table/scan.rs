//! Some columns of a table, row by row, for readers that keep values and no texts.

use super::read::{has_long_cell, header_start};
use crate::error::{CsvFault, Error};
use crate::profile::{cell_text, utf8};
use perfdb_trace::records::{Cell, Splitter};
use std::borrow::Cow;
use std::path::Path;

/// The rows of a table under the rules of a database, of which only the wanted columns are looked at. What [`Table::parse`](super::Table::parse)
/// refuses is refused here, too.
#[derive(Debug)]
pub struct Scan<'t> {
    path: &'t Path,
    text: &'t str,
    splitter: Splitter<'t>,
    cells: Vec<Cell>,
    /// Where the wanted columns are.
    columns: Vec<Option<usize>>,
    width: usize,
}

/// A row of a [`Scan`].
#[derive(Debug, Clone, Copy)]
pub struct ScannedRow<'s> {
    text: &'s str,
    cells: &'s [Cell],
    columns: &'s [Option<usize>],
    /// The line on which it starts.
    pub line: u64,
}

impl<'s> ScannedRow<'s> {
    /// The text of a wanted column; empty where the row or the table lacks it.
    pub fn cell(&self, wanted: usize) -> Cow<'s, str> {
        let cell = self.columns[wanted].and_then(|column| self.cells.get(column));
        cell.map_or(Cow::Borrowed(""), |cell| cell_text(self.text, cell))
    }

    /// The text of a wanted column for readers that take off quotes at both ends and blanks around slots anyway: some of these may be missing.
    /// Profilers quote shapes twice; this decodes a cell only if quotes stand inside as well.
    pub fn slot_cell(&self, wanted: usize) -> Cow<'s, str> {
        let Some(cell) = self.columns[wanted].and_then(|column| self.cells.get(column)) else {
            return Cow::Borrowed("");
        };
        let raw = self.text.get(cell.start..cell.end).unwrap_or_default().trim_matches('"');
        if raw.contains('"') { cell_text(self.text, cell) } else { Cow::Borrowed(raw) }
    }
}

impl<'t> Scan<'t> {
    /// Starts on the bytes of a file; `path` is for messages. Rows are asked for their cells by the places of the columns in `wanted`.
    ///
    /// # Errors
    /// When the bytes are no UTF-8, have no header or name a column twice.
    pub fn new(path: &'t Path, bytes: &'t [u8], wanted: &[&str]) -> Result<Self, Error> {
        let text = utf8(path, bytes, 0)?;
        let begin = header_start(path, bytes)?;
        let splitter = Splitter::starting_at(bytes, begin, 1);
        let mut scan = Scan { path, text, splitter, cells: Vec::new(), columns: Vec::new(), width: 0 };
        scan.advance()?;
        let names: Vec<Cow<'_, str>> = scan.cells.iter().map(|cell| cell_text(text, cell)).collect();
        if let Some((_, twice)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(Error::csv_line(path, 1, CsvFault::DuplicateColumn(twice.to_string())));
        }
        scan.columns = wanted.iter().map(|wanted| names.iter().position(|name| name == wanted)).collect();
        scan.width = names.len();
        Ok(scan)
    }

    /// Whether the table has a wanted column.
    pub fn has(&self, wanted: usize) -> bool {
        self.columns[wanted].is_some()
    }

    /// The next row.
    ///
    /// # Errors
    /// When the row is longer than the header, a cell is too long or a quote stays open.
    pub fn next_row(&mut self) -> Result<Option<ScannedRow<'_>>, Error> {
        let Some(line) = self.advance()? else { return Ok(None) };
        let (cells, columns) = (self.cells.len(), self.width);
        if cells > columns {
            return Err(Error::csv_line(self.path, line, CsvFault::RowTooLong { cells, columns }));
        }
        Ok(Some(ScannedRow { text: self.text, cells: &self.cells, columns: &self.columns, line }))
    }

    fn advance(&mut self) -> Result<Option<u64>, Error> {
        let record = self.splitter.next_record(&mut self.cells);
        if let Some(line) = self.splitter.open_quote() {
            return Err(Error::csv_line(self.path, line, CsvFault::UnterminatedQuote));
        }
        let Some(record) = record else { return Ok(None) };
        if has_long_cell(self.text, record, &self.cells) {
            Err(Error::csv_line(self.path, record.line, CsvFault::CellTooLong))
        } else {
            Ok(Some(record.line))
        }
    }
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
        let mut scan = Scan::new("t.csv".as_ref(), bytes, wanted)?;
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
            let Ok(mut scan) = Scan::new("t.csv".as_ref(), text.as_bytes(), &["shapes"]) else { return Ok(()) };
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
