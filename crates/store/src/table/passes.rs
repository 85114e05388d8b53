//! A table that is read several times, block by block, and never held in memory.

use super::read::{has_long_cell, header_start};
use crate::error::{CsvFault, Error};
use crate::profile::{cell_text, utf8};
use perfdb_files::input::{self, Kind};
use perfdb_trace::blocks::{BLOCK_BYTES, Block, Blocks};
use perfdb_trace::records::{Cell, Splitter};
use perfdb_trace::source::Counted;
use std::borrow::Cow;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

/// A table's file, opened once: every pass reads the same content, also where another program puts a new file in its place meanwhile.
#[derive(Debug)]
pub(crate) struct TableFile<'p> {
    path: &'p Path,
    file: File,
}

/// One walk over the rows of a [`TableFile`], under the rules of a database.
#[derive(Debug)]
pub(crate) struct Pass<'f> {
    path: &'f Path,
    blocks: Blocks<Counted<&'f File>>,
    columns: Vec<String>,
    /// The block that the header stands in.
    block: Block,
    /// Where the rows begin in it, and on which line.
    start: usize,
    line: u64,
}

/// A row as it stands in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileRow<'r> {
    /// Its position among the rows, from 0.
    pub(crate) index: usize,
    /// The physical line on which it starts (the header is on line 1).
    pub(crate) line: u64,
    text: &'r str,
    cells: &'r [Cell],
}

impl<'p> TableFile<'p> {
    pub(crate) fn open(path: &'p Path) -> Result<Self, Error> {
        let file = input::open(path, Kind::RegularFile).map_err(|source| Error::io(path, source))?;
        Ok(TableFile { path, file })
    }

    /// Starts at the beginning. One pass at a time: they share the file's position.
    pub(crate) fn pass(&mut self) -> Result<Pass<'_>, Error> {
        let path = self.path;
        let failed = |source| Error::io(path, source);
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut blocks = Blocks::new(Counted::of_pass(&self.file).map_err(failed)?, BLOCK_BYTES);
        let no_header = || Error::csv(path, CsvFault::NoHeader);
        let block = blocks.next_block(Vec::new()).map_err(failed)?.ok_or_else(no_header)?;
        let text = utf8(path, &block.text, 0)?;
        let begin = header_start(path, &block.text)?;
        let mut splitter = Splitter::starting_at(&block.text, begin, 1);
        let mut cells = Vec::new();
        let header = splitter.next_record(&mut cells);
        if let Some(line) = splitter.open_quote() {
            return Err(Error::csv_line(path, line, CsvFault::UnterminatedQuote));
        }
        if header.is_some_and(|record| has_long_cell(text, record, &cells)) {
            return Err(Error::csv_line(path, 1, CsvFault::CellTooLong));
        }
        let columns: Vec<String> = cells.iter().map(|cell| cell_text(text, cell).into_owned()).collect();
        if let Some((_, twice)) = columns.iter().enumerate().find(|(at, name)| columns[..*at].contains(name)) {
            return Err(Error::csv_line(path, 1, CsvFault::DuplicateColumn(twice.clone())));
        }
        let (start, line) = (splitter.position(), splitter.line());
        Ok(Pass { path, blocks, columns, block, start, line })
    }
}

impl Pass<'_> {
    /// The names of the columns, in order.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Calls `each` for every row. Returns their number.
    pub(crate) fn for_each(self, mut each: impl FnMut(FileRow<'_>) -> Result<(), Error>) -> Result<usize, Error> {
        let Pass { path, mut blocks, columns, mut block, mut start, mut line } = self;
        let mut cells = Vec::with_capacity(columns.len());
        let mut index = 0;
        loop {
            let text = utf8(path, &block.text, block.offset)?;
            let mut splitter = Splitter::starting_at(&block.text, start, line);
            while let Some(record) = splitter.next_record(&mut cells) {
                let failed = |fault| Err(Error::csv_line(path, record.line, fault));
                if let Some(line) = splitter.open_quote() {
                    return Err(Error::csv_line(path, line, CsvFault::UnterminatedQuote));
                }
                if cells.len() > columns.len() {
                    return failed(CsvFault::RowTooLong { cells: cells.len(), columns: columns.len() });
                }
                if has_long_cell(text, record, &cells) {
                    return failed(CsvFault::CellTooLong);
                }
                each(FileRow { index, line: record.line, text, cells: &cells })?;
                index += 1;
            }
            (start, line) = (0, splitter.line());
            match blocks.next_block(block.text).map_err(|source| Error::io(path, source))? {
                Some(next) => block = next,
                None => return Ok(index),
            }
        }
    }
}

impl<'r> FileRow<'r> {
    /// The text of a column's cell; empty where the row has none.
    pub(crate) fn cell(&self, column: usize) -> Cow<'r, str> {
        self.cells.get(column).map_or(Cow::Borrowed(""), |cell| cell_text(self.text, cell))
    }

    /// The number of its record in the file (the header is 1).
    pub(crate) fn record_number(&self) -> u64 {
        self.index as u64 + 2
    }

    /// Where a column's cell lies in [`FileRow::bytes`].
    pub(crate) fn place(&self, column: usize) -> Option<Cell> {
        self.cells.get(column).copied()
    }

    /// The bytes that the row stands in.
    pub(crate) fn bytes(&self) -> &'r [u8] {
        self.text.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ReadOptions, Table};
    use proptest::prelude::*;

    type Rows = Vec<(u64, Vec<String>)>;

    fn in_passes(path: &Path) -> Result<Rows, Error> {
        let mut file = TableFile::open(path)?;
        let mut found = Vec::new();
        for _ in 0..2 {
            found.clear();
            let pass = file.pass()?;
            let width = pass.columns().len();
            pass.for_each(|row| {
                found.push((row.record_number(), (0..width).map(|column| row.cell(column).into_owned()).collect()));
                Ok(())
            })?;
        }
        Ok(found)
    }

    fn whole(path: &Path) -> Result<Rows, Error> {
        let table = Table::read(path, &ReadOptions::database())?;
        let number = |row: usize| table.record_number(row).unwrap_or_default();
        Ok(table.rows().map(|row| (number(row.index()), row.cells().map(str::to_owned).collect())).collect())
    }

    proptest! {
        #[test]
        fn a_pass_finds_what_the_whole_table_holds(text in "(\u{feff})?[ab,\"\r\n]{0,40}") {
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("t.csv");
            std::fs::write(&path, &text)?;
            match (in_passes(&path), whole(&path)) {
                (Ok(found), Ok(expected)) => prop_assert_eq!(found, expected),
                (Err(_), Err(_)) => {}
                (found, expected) => prop_assert!(false, "{:?} and {:?}", found, expected),
            }
        }
    }

    #[test]
    fn lines_are_counted_over_blocks() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("t.csv");
        let rows = BLOCK_BYTES / 4;
        let text = format!("a,b\r\n{}1,2,3\r\n", "\"1\n\",2\r\n".repeat(rows));
        std::fs::write(&path, text)?;
        let error = in_passes(&path).err().ok_or("a row that is too long")?;
        assert!(error.to_string().ends_with(&format!(":{}: row has 3 cells, header has 2", 2 + 2 * rows)), "{error}");
        Ok(())
    }
}
