//! Folders of rows to measure: tables without durations for start-microbench, beside what is in the folder already.

use crate::Failure;
use crate::database::lock_options;
use perfdb_files::escape::one_line;
use perfdb_files::folders::MadeFolders;
use perfdb_files::lock::DirectoryLocks;
use perfdb_files::paths::absolute;
use perfdb_files::replace::{Parents, Staged, commit};
use perfdb_store::columns::is_measurement;
use perfdb_store::table::{ReadOptions, Table};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

/// How long another run that writes to the same folder is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// A table of rows to measure.
pub(crate) struct RowsToMeasure {
    /// The name of its file.
    pub(crate) name: String,
    /// Header and rows as CSV.
    pub(crate) csv: Vec<u8>,
}

/// Refuses a folder that is one of the databases that a run reads, under any name, or lies in one.
pub(crate) fn refuse_database<'d>(
    folder: &Path,
    option: &str,
    databases: impl IntoIterator<Item = &'d Path>,
) -> Result<(), Failure> {
    let identity = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    // A folder on the way that is still to be made leads where its name says.
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| absolute(folder));
    let above: Vec<_> = real.ancestors().map(identity).collect();
    let is_above = |database: &Path| identity(database).is_some_and(|database| above.contains(&Some(database)));
    let Some(database) = databases.into_iter().find(|database| is_above(database)) else { return Ok(()) };
    let what = if above.first() == Some(&identity(database)) {
        "is a database".to_owned()
    } else {
        format!("lies in {}, a database", one_line(&database.display().to_string()))
    };
    let folder = one_line(&folder.display().to_string());
    Err(Failure::lines(vec![format!("{folder}: {what} that this run reads; give {option} another folder")]))
}

/// Writes tables to a folder, together with other files. Rows that a table there has already, measured or not, stay as they are; others follow
/// them. Returns how many rows are new.
pub(crate) fn write(
    tool: &str,
    folder: &Path,
    tables: &[RowsToMeasure],
    mut files: Vec<Staged>,
) -> Result<usize, Failure> {
    if tables.is_empty() {
        commit(files)?;
        return Ok(0);
    }
    let made = MadeFolders::make(folder).map_err(|error| perfdb_files::Error::io(folder, error))?;
    let locks = DirectoryLocks::acquire([folder], &lock_options(tool, LOCK_TIMEOUT))?;
    let mut rows = 0;
    for table in tables {
        let path = folder.join(&table.name);
        let new = Table::parse(&path, table.csv.clone(), &ReadOptions::database())?;
        let (content, added) = match path.symlink_metadata() {
            Ok(_) => appended(&Table::read(&path, &ReadOptions::database())?, &new)?,
            Err(_) => (table.csv.clone(), new.row_count()),
        };
        rows += added;
        if added > 0 {
            files.push(Staged::with(&path, &content, Parents::MustExist)?);
        }
    }
    locks.commit(files)?;
    made.keep();
    Ok(rows)
}

/// A table with the rows behind its own that it does not have, and how many these are; every other byte stays.
fn appended(table: &Table, new: &Table) -> Result<(Vec<u8>, usize), Failure> {
    let described: Vec<(usize, &String)> =
        new.columns().iter().enumerate().filter(|(_, name)| !is_measurement(name)).collect();
    let lacks = |name: &str, column: usize| {
        table.column(name).is_none() && (0..new.row_count()).any(|row| !new.cell(row, column).is_empty())
    };
    if let Some((_, name)) = described.iter().find(|(column, name)| lacks(name, *column)) {
        let path = one_line(&table.path().display().to_string());
        return Err(Failure::lines(vec![format!("{path}: has no column {}; give another folder", one_line(name))]));
    }
    let own = |text: &str| text.trim_matches('"').to_owned();
    let key = |of: &Table, row: usize| -> Vec<String> {
        let cell = |(_, name): &(usize, &String)| of.column(name).map(|at| own(of.cell(row, at))).unwrap_or_default();
        described.iter().map(cell).collect()
    };
    // What a new row leaves open, its table may have been given since.
    let has = |known: &[String], wanted: &[String]| {
        wanted.iter().zip(known).all(|(wanted, known)| wanted.is_empty() || wanted == known)
    };
    let mut known: Vec<Vec<String>> = (0..table.row_count()).map(|row| key(table, row)).collect();
    let mut added = Vec::new();
    for row in 0..new.row_count() {
        let wanted = key(new, row);
        if known.iter().any(|known| has(known, &wanted)) {
            continue;
        }
        known.push(wanted);
        added.push(row);
    }
    let columns: Vec<Option<usize>> = table.columns().iter().map(|name| new.column(name)).collect();
    let cells = |row: &usize| {
        let row = *row;
        columns.iter().map(move |column| column.map_or("", |at| new.cell(row, at)))
    };
    Ok((table.source_with(added.iter().map(cells)), added.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    fn rows(csv: &str) -> [RowsToMeasure; 1] {
        [RowsToMeasure { name: "Add.csv".to_owned(), csv: csv.as_bytes().to_vec() }]
    }

    #[test]
    fn rows_that_are_there_keep_their_durations_and_others_follow() -> TestResult {
        let folder = tempfile::tempdir()?;
        let output = folder.path().join("to_measure");
        let header = "OP State,Input Shapes,Average Duration(us)\r\n";
        let written = |csv: &str| write("test", &output, &rows(csv), Vec::new()).map_err(|error| format!("{error:?}"));
        assert_eq!(written(&format!("{header},\"1,2\",\r\n,3,\r\n"))?, 2);
        // start-microbench fills in what is measured, and may add columns.
        let measured = "OP State,Input Shapes,Average Duration(us),Extra\n0,\"1,2\",5.5,x\n,3,,";
        std::fs::write(output.join("Add.csv"), measured)?;
        assert_eq!(written(&format!("{header},\"1,2\",\r\n,4,\r\n,4,\r\n,3,\r\n"))?, 1);
        assert_eq!(std::fs::read_to_string(output.join("Add.csv"))?, format!("{measured}\n,4,,\n"));
        assert_eq!(written(&format!("{header},\"1,2\",\r\n"))?, 0);
        let other = written("Input Shapes,Runtime batch_size,Average Duration(us)\r\n4,8,\r\n");
        assert!(other.is_err_and(|error| error.contains("has no column Runtime batch_size")));
        Ok(())
    }

    #[test]
    fn a_database_is_refused_by_whatever_name() -> TestResult {
        let folder = tempfile::tempdir()?;
        let (database, link) = (folder.path().join("db"), folder.path().join("link"));
        std::fs::create_dir(&database)?;
        std::os::unix::fs::symlink("db", &link)?;
        let made = database.join("made");
        std::fs::create_dir(&made)?;
        let below = [made, database.join("new/deeper"), link.join("new"), link.join("made")];
        for other in [&link, &folder.path().join("not/there/../../db")].into_iter().chain(&below) {
            assert!(refuse_database(other, "--suggest", [database.as_path()]).is_err(), "{}", other.display());
        }
        assert!(refuse_database(&folder.path().join("new"), "--suggest", [database.as_path()]).is_ok());
        assert!(refuse_database(folder.path(), "--suggest", [database.as_path()]).is_ok());
        Ok(())
    }
}
