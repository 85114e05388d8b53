//! The new content of a table, written as a stream into its temporary.

use super::row::Row;
use crate::error::Error;
use crate::table::{LineEnd, push_csv_row};
use perfdb_files::replace::{Parents, Staged};
use std::io::Write;
use std::path::Path;

/// How much is written at once.
const CHUNK_BYTES: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct TableWriter {
    staged: Staged,
    text: Vec<u8>,
}

impl TableWriter {
    /// Begins the new content of `path` with its header.
    pub(super) fn create(path: &Path, columns: &[String]) -> Result<TableWriter, Error> {
        let staged = Staged::create(path, Parents::MustExist)?;
        let mut text = Vec::with_capacity(CHUNK_BYTES + (CHUNK_BYTES >> 3));
        push_csv_row(&mut text, columns.iter().map(String::as_str), LineEnd::CrLf);
        Ok(TableWriter { staged, text })
    }

    pub(super) fn push(&mut self, row: &Row<'_>) -> Result<(), Error> {
        row.write(&mut self.text);
        if self.text.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let written = self.staged.write_all(&self.text);
        self.text.clear();
        written.map_err(|source| Error::io(self.staged.path(), source))
    }

    /// Writes the rest, and all of it through to the disk.
    pub(super) fn finish(mut self) -> Result<Staged, Error> {
        self.flush()?;
        self.staged.sync()?;
        Ok(self.staged)
    }
}
