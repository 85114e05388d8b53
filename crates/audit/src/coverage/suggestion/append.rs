//! Suggested rows at the ends of their tables.

use super::{Suggestion, Suggestions, suggest};
use crate::coverage::audit::{Audit, Options, of_one_reading};
use crate::coverage::{Error, Workload};
use indexmap::IndexMap;
use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::replace::{Parents, Staged};
use perfdb_query::Database;
use perfdb_store::table::{ReadOptions, Table};
use std::path::Path;

/// An audit with its suggestions, which hold as long as its locks are held.
#[derive(Debug)]
pub struct Settled {
    /// The locks of the database.
    pub locks: DirectoryLocks,
    pub audit: Audit,
    /// The rows to measure next.
    pub suggestions: Suggestions,
}

/// Audits a database and chooses the rows to measure next, then takes its lock. Where others have written meanwhile, the database is asked again,
/// under the lock: no row is suggested that another run has just appended or measured.
///
/// # Errors
/// As [`suggest`]; when the lock cannot be had, or somebody without it writes to the database.
pub fn settle(
    database: &Database,
    workloads: Vec<Workload>,
    options: &Options,
    count: usize,
    lock: &LockOptions<'_>,
) -> Result<Settled, Error> {
    let suggest = |audit: &Audit| suggest(database, &options.directory, &options.mapping, audit, count);
    let audit = of_one_reading(database, workloads, options);
    let suggestions = suggest(&audit);
    let locks = DirectoryLocks::acquire([&options.directory], lock)?;
    if !database.reopen()? {
        return Ok(Settled { locks, audit, suggestions: suggestions? });
    }
    let audit = of_one_reading(database, audit.into_workloads(), options);
    let suggestions = suggest(&audit)?;
    if database.reopen()? {
        return Err(Error::Changed { path: options.directory.clone() });
    }
    Ok(Settled { locks, audit, suggestions })
}

/// The files of tables with suggested rows at their ends; every other byte stays.
///
/// # Errors
/// When a table cannot be read, or somebody without the lock has given it other columns.
pub fn append(rows: &[Suggestion]) -> Result<Vec<Staged>, Error> {
    let mut by_table: IndexMap<&Path, Vec<&Suggestion>> = IndexMap::new();
    rows.iter().for_each(|row| by_table.entry(&row.path).or_default().push(row));
    let mut staged = Vec::new();
    for (path, rows) in by_table {
        let table = Table::read(path, &ReadOptions::database())?;
        if rows.iter().any(|row| !row.cells.iter().map(|(name, _)| name).eq(table.columns())) {
            return Err(Error::Changed { path: path.to_owned() });
        }
        let content = table.source_with(rows.iter().map(|row| row.cells.iter().map(|(_, cell)| cell.as_str())));
        staged.push(Staged::with(path, &content, Parents::MustExist)?);
    }
    Ok(staged)
}
