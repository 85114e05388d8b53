//! Rows that leave a table because they cannot be replayed: they are kept beside it.

use std::path::{Path, PathBuf};

use perfdb_files::lock::{LockOptions, finish_pending};
use perfdb_files::replace::{Parents, Staged};
use perfdb_store::table::Table;

use crate::error::Error;
use crate::plan::PlannedRow;

/// Which rows may leave a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InvalidRows {
    /// Drop on `npu`, keep elsewhere.
    #[default]
    Auto,
    /// Rows whose own fault it is leave their table.
    Drop,
    /// All rows stay.
    Keep,
}

/// Rows that leave their table when a run ends.
#[derive(Debug)]
pub(crate) struct Removal {
    /// The table, as it was planned.
    pub(crate) table: Table,
    /// Positions of the rows, from 0.
    pub(crate) positions: Vec<usize>,
    pub(crate) rows: Vec<PlannedRow>,
}

/// The file beside a table that keeps the rows that left it.
pub(crate) fn dropped_path(table: &Path) -> PathBuf {
    let mut name = table.as_os_str().to_owned();
    name.push(".dropped.csv");
    name.into()
}

/// Finishes removals of earlier runs that were killed on the way, in the folder of a table.
pub(crate) fn finish_earlier(table: &Path, lock: &LockOptions<'_>) -> Result<(), Error> {
    Ok(finish_pending([folder_of(table)], lock)?)
}

pub(crate) fn folder_of(table: &Path) -> &Path {
    match table.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Stages the table's file without the rows at these positions (from 0), and the file that keeps them. To be called under the lock of the
/// table's folder; taking that has finished a removal that was killed: the table is another one then, and its rows are not kept twice.
/// `None` where the table has changed since it was read.
pub(crate) fn stage_removal(table: &Table, rows: &[usize]) -> Result<Option<[Staged; 2]>, Error> {
    let path = table.path();
    if std::fs::read(path).map_err(|source| Error::io(path, source))? != table.source() {
        return Ok(None);
    }
    let kept_in = dropped_path(path);
    let mut dropped = match std::fs::read(&kept_in) {
        Ok(existing) if !existing.is_empty() => existing,
        Ok(_) => table.source_header().to_vec(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => table.source_header().to_vec(),
        Err(source) => return Err(Error::io(&kept_in, source)),
    };
    let line_end = table.header_line_end().as_str().as_bytes();
    for &row in rows {
        end_line(&mut dropped, line_end);
        dropped.extend_from_slice(table.source_record(row));
    }
    end_line(&mut dropped, line_end);
    let stays = table.source_without(|row| rows.contains(&row.index()));
    let dropped = Staged::with(&kept_in, &dropped, Parents::MustExist)?;
    let stays = Staged::with(path, &stays, Parents::MustExist)?;
    Ok(Some([dropped, stays]))
}

fn end_line(bytes: &mut Vec<u8>, line_end: &[u8]) {
    if !bytes.ends_with(b"\n") && !bytes.ends_with(b"\r") {
        bytes.extend_from_slice(line_end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_files::lock::DirectoryLocks;
    use perfdb_store::table::ReadOptions;
    use std::time::Duration;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    /// Takes rows out under the lock; false where the table has changed.
    fn remove_rows(table: &Table, rows: &[usize], lock: &LockOptions<'_>) -> Result<bool, Error> {
        let locks = DirectoryLocks::acquire([folder_of(table.path())], lock)?;
        let Some(files) = stage_removal(table, rows)? else { return Ok(false) };
        locks.commit(files.into())?;
        Ok(true)
    }

    const LOCK: LockOptions<'static> = LockOptions { tool: "test", timeout: Duration::ZERO, notice: &|_| {} };

    #[test]
    fn rows_leave_with_their_bytes_and_join_earlier_ones() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("Add.csv");
        std::fs::write(&path, "\u{feff}a,b\r\n1,\"x\r\ny\"\r\n\r\n2,3\n4,5")?;
        let table = Table::read(&path, &ReadOptions::database())?;
        assert!(remove_rows(&table, &[0, 2], &LOCK)?);
        assert_eq!(std::fs::read_to_string(&path)?, "\u{feff}a,b\r\n\r\n2,3\n");
        assert_eq!(std::fs::read_to_string(dropped_path(&path))?, "\u{feff}a,b\r\n1,\"x\r\ny\"\r\n4,5\r\n");

        assert!(!remove_rows(&table, &[0], &LOCK)?);
        let table = Table::read(&path, &ReadOptions::database())?;
        remove_rows(&table, &[0], &LOCK)?;
        assert_eq!(std::fs::read_to_string(dropped_path(&path))?, "\u{feff}a,b\r\n1,\"x\r\ny\"\r\n4,5\r\n2,3\n");
        Ok(())
    }

    /// What a run leaves that is killed after this number of renames of a removal.
    fn killed_after(renames: usize, folder: &Path) -> std::io::Result<()> {
        let (stays, dropped) = ("a\n2\n", "a\n1\n");
        let place = |name: &str, content: &str, is_renamed: bool| {
            let name = if is_renamed { name.to_owned() } else { format!(".{name}.tmp-1") };
            std::fs::write(folder.join(name), content)
        };
        std::fs::write(folder.join("Add.csv"), "a\n1\n2\n")?;
        place("Add.csv", stays, renames > 0)?;
        place("Add.csv.dropped.csv", dropped, renames > 1)?;
        let journal = "perfdb: files of a set that is being replaced\n1\nAdd.csv\0Add.csv.dropped.csv\0";
        std::fs::write(folder.join(".perfdb.journal"), journal)
    }

    #[test]
    fn a_removal_that_was_killed_is_finished_and_keeps_no_row_twice() -> TestResult {
        for renames in 0..=2 {
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("Add.csv");
            killed_after(renames, folder.path())?;
            // A run that has planned before it can take the lock, and one that looks first.
            let table = Table::read(&path, &ReadOptions::database())?;
            if renames == 0 {
                assert!(!remove_rows(&table, &[0], &LOCK)?);
            } else {
                finish_earlier(&path, &LOCK)?;
            }
            assert_eq!(std::fs::read_to_string(&path)?, "a\n2\n", "{renames}");
            assert_eq!(std::fs::read_to_string(dropped_path(&path))?, "a\n1\n", "{renames}");
            assert_eq!(std::fs::read_dir(folder.path())?.count(), 2, "nothing else is left after {renames}");
        }
        Ok(())
    }
}
