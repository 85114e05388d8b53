//! `--parquet FILE`: a result as a table with typed columns.
//!
//! The form of these files is much larger than any tool, so only `perfdb` has it; it hands it over here before a tool starts.

use crate::Failure;
use perfdb_files::Error;
use perfdb_files::replace::{Parents, Staged};
use perfdb_files::tables::{Batch, Open, Schema, Writer};
use perfdb_report::tables::Table;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static PARQUET: OnceLock<Open> = OnceLock::new();

/// Notes that this program writes Parquet.
#[cfg_attr(not(feature = "parquet"), expect(dead_code))]
pub(crate) fn set_parquet(open: Open) {
    // A second run in one process has the same.
    let _ = PARQUET.set(open);
}

static LACKS: AtomicBool = AtomicBool::new(false);

/// Notes that this program does not write Parquet.
pub(crate) fn lacks_parquet() {
    LACKS.store(true, Ordering::Relaxed);
}

/// Whether this program has been found not to write Parquet.
pub(crate) fn is_without_parquet() -> bool {
    LACKS.load(Ordering::Relaxed)
}

/// A Parquet file that was asked for.
#[derive(Debug)]
pub(crate) struct TableFile {
    path: PathBuf,
    open: Open,
    parents: Parents,
}

impl TableFile {
    /// The file that was asked for, if any: [`of`](TableFile::of).
    pub(crate) fn asked(tool: &str, path: Option<&Path>) -> Result<Option<TableFile>, Failure> {
        path.map(|path| TableFile::of(tool, path)).transpose()
    }

    /// A program that cannot write the file refuses, before there is any work.
    pub(crate) fn of(tool: &str, path: &Path) -> Result<TableFile, Failure> {
        let Some(open) = PARQUET.get().copied() else {
            let elsewhere = "this program does not write Parquet";
            return Err(Failure::usage(if crate::program::has_all_tools() {
                format!("--parquet: {elsewhere}; `pip install perfdb` and `cargo install` give one that does")
            } else {
                format!("--parquet: {elsewhere}; use `perfdb {tool}`")
            }));
        };
        Ok(TableFile { path: path.to_owned(), open, parents: Parents::MustExist })
    }

    /// The same file, whose folder is made if it is not there.
    pub(crate) fn making_folders(self) -> TableFile {
        TableFile { parents: Parents::Create, ..self }
    }

    /// Checks before the work that the file can be written.
    pub(crate) fn check(&self) -> Result<(), Error> {
        Staged::create(&self.path, self.parents).map(drop)
    }

    /// Begins the file.
    pub(crate) fn begin(&self, schema: &Schema) -> Result<OpenTable, Error> {
        let staged = Staged::create(&self.path, self.parents)?;
        let writer = (self.open)(staged, schema).map_err(|source| Error::io(&self.path, source))?;
        Ok(OpenTable { path: self.path.clone(), writer })
    }

    /// Stages a whole table.
    pub(crate) fn stage(&self, table: Table) -> Result<Staged, Error> {
        let mut open = self.begin(&table.schema)?;
        open.write(table.rows)?;
        open.finish()
    }
}

/// A Parquet file that is being written.
pub(crate) struct OpenTable {
    path: PathBuf,
    writer: Box<dyn Writer>,
}

impl OpenTable {
    /// The file, for messages and checks.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds rows.
    pub(crate) fn write(&mut self, rows: Batch) -> Result<(), Error> {
        self.writer.write(rows).map_err(|source| Error::io(&self.path, source))
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<Staged, Error> {
        let mut staged = self.writer.finish().map_err(|source| Error::io(&self.path, source))?;
        staged.sync()?;
        Ok(staged)
    }
}
