//! A database from what [`export`](super::export) wrote.

use super::files::{File, check_apart, files_below, is_parquet};
use super::target::Target;
use super::{AS_WRITTEN, CSV, FORMAT_VERSION, Written};
use crate::parquet::error::Error;
use crate::parquet::read::ParquetFile;
use crate::table::{LineEnd, ReadOptions, Table, push_csv_row};
use perfdb_files::lock::LockOptions;
use perfdb_files::tables::Values;
use std::path::Path;

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    /// Tables.
    pub tables: usize,
    /// Their rows.
    pub rows: usize,
    /// Files that are not tables, copied as they are.
    pub copied: usize,
}

/// Writes every table of an export below `database`, and copies the other files. Cells that were changed since, by any program, are
/// what is written; where none was, the bytes are those that were exported. All or nothing, under the lock of the database; what a killed
/// import has begun is finished by the next one.
///
/// # Errors
/// When a file is not a table of an export, and when a file with another content is there already: nothing is replaced.
pub fn import(source: &Path, database: &Path, lock: &LockOptions<'_>) -> Result<Imported, Error> {
    check_apart(source, database)?;
    if source.is_file() {
        return Err(Error::unfit(source, "is a file; name the folder that export-database has written"));
    }
    let files = files_below(source)?;
    if !files.iter().any(|file| is_parquet(&file.below)) {
        return Err(Error::unfit(source, "no table (*.parquet) is here; is this what export-database wrote?"));
    }
    let mut imported = Imported::default();
    let mut target = Target::open(database, lock)?;
    for File { below, .. } in files {
        let from = source.join(&below);
        if is_parquet(&below) {
            let (bytes, rows) = table(&ParquetFile::open(&from)?)?;
            imported.tables += 1;
            imported.rows += rows;
            target.add(&database.join(below).with_extension("csv"), &bytes)?;
        } else {
            imported.copied += 1;
            target.copy(&from, &database.join(below))?;
        }
    }
    target.commit()?;
    Ok(imported)
}

/// The bytes of a table, and how many rows it has.
fn table(file: &ParquetFile) -> Result<(Vec<u8>, usize), Error> {
    let path = file.path();
    let foreign = "was not written by export-database: its metadata does not say how the table was written";
    let note = file.note(CSV).ok_or_else(|| Error::unfit(path, foreign))?;
    let written: Written =
        serde_json::from_str(note).map_err(|error| Error::unfit(path, format!("metadata {CSV}: {error}")))?;
    if written.format_version > FORMAT_VERSION {
        let reason =
            format!("form {} is newer than this program, which knows {FORMAT_VERSION}", written.format_version);
        return Err(Error::unfit(path, reason));
    }
    let line_end = [LineEnd::CrLf, LineEnd::Lf, LineEnd::Cr].into_iter().find(|end| end.as_str() == written.line_end);
    let line_end = line_end.ok_or_else(|| Error::unfit(path, "metadata: no line end"))?;
    let texts = |name: &str| match file.read_column(name)? {
        Some(Values::Text(cells)) => Ok(cells),
        Some(_) => Err(Error::column(path, name, "is not text any more")),
        None => Err(Error::column(path, name, "is missing")),
    };
    let columns = written.columns.iter().map(|(_, name)| texts(name)).collect::<Result<Vec<_>, _>>()?;
    let as_written = texts(AS_WRITTEN)?;
    let rows = columns.first().map_or(0, Vec::len);
    let cells = |row: usize| columns.iter().map(move |cells| cells[row].as_deref().unwrap_or_default());
    check_header(path, &written)?;
    let mut out = written.header.clone().into_bytes();
    for (row, record) in as_written.iter().enumerate() {
        // The last row of a file may end without a line end, and may not be the last one any more.
        if !matches!(out.last(), None | Some(b'\n' | b'\r')) {
            out.extend_from_slice(line_end.as_str().as_bytes());
        }
        match record {
            Some(record) if says(&written.header, record, cells(row)) => out.extend_from_slice(record.as_bytes()),
            _ => push_csv_row(&mut out, cells(row), line_end),
        }
    }
    Ok((out, rows))
}

/// Whether a record has these cells and nothing else.
fn says<'c>(header: &str, record: &str, cells: impl Iterator<Item = &'c str>) -> bool {
    let text = [header, record].concat();
    match Table::parse(Path::new(""), text.into_bytes(), &ReadOptions::database()) {
        Ok(table) => table.row_count() == 1 && table.row(0).cells().eq(cells),
        Err(_) => false,
    }
}

/// Refuses a header that names other columns than the metadata lists.
fn check_header(path: &Path, written: &Written) -> Result<(), Error> {
    let table = Table::parse(path, written.header.clone().into_bytes(), &ReadOptions::database())?;
    if table.row_count() > 0 || !table.columns().iter().eq(written.columns.iter().map(|(column, _)| column)) {
        return Err(Error::unfit(path, "metadata: the header has other columns than are listed"));
    }
    Ok(())
}
