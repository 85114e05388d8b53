//! Parquet: a damaged file is an error, an import is whole or not there, and what came in goes out and in again unchanged.

use perfdb_files::lock::LockOptions;
use perfdb_store::parquet::{ParquetFile, export, import};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Nobody else is at work here.
const LOCK: LockOptions<'static> = LockOptions { tool: "test", timeout: Duration::ZERO, notice: &|_| {} };

pub(crate) const WORDS: &[&str] =
    &["PAR1", "\0\0\0\0", "perfdb.csv", "as_written", "{\"format_version\":1", "Input Shapes"];

/// A file may claim any number of rows; more than this are not read here.
const MOST_ROWS: usize = 1 << 16;

pub(crate) fn check(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [tables, database, again, twice] =
        ["tables", "database", "again", "twice"].map(|name| folder.path().join(name));
    let file = tables.join("MatMulV2.parquet");
    fs::create_dir(&tables).and_then(|()| fs::write(&file, bytes)).expect("a file in a temporary folder");
    if let Ok(parquet) = ParquetFile::open(&file) {
        let rows = parquet.row_count();
        if rows.as_ref().is_ok_and(|rows| *rows > MOST_ROWS) {
            return;
        }
        for name in parquet.column_names() {
            if let (Ok(Some(values)), Ok(rows)) = (parquet.read_column(&name), &rows) {
                assert_eq!(values.len(), *rows, "rows of {name}");
            }
        }
    }
    match import(&tables, &database, &LOCK) {
        Err(_) => assert_eq!(tables_of(&database), [], "an import that failed has written a table"),
        Ok(imported) => {
            let written = tables_of(&database);
            assert_eq!(written.len(), imported.tables, "tables that were written");
            let exported = export(&database, &again).unwrap_or_else(|error| panic!("it cannot be exported: {error}"));
            assert_eq!((exported.tables, exported.rows), (imported.tables, imported.rows));
            import(&again, &twice, &LOCK).unwrap_or_else(|error| panic!("it cannot be imported again: {error}"));
            assert_eq!(tables_of(&twice), written);
        }
    }
}

/// The tables in a folder and their bytes, by name. Where a file does not say that a database wrote it, its rows name their tables.
fn tables_of(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut tables: Vec<_> = entries
        .map(|entry| entry.expect("an entry of a temporary folder").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "csv"))
        .map(|path| (path.file_name().expect("the name of an entry").into(), fs::read(&path).expect("a table")))
        .collect();
    tables.sort();
    tables
}
