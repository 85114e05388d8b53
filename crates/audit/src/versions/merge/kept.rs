//! `<Type>.conflicts.csv`: rows that lost to others.

use crate::versions::Error;
use perfdb_files::paths::within;
use perfdb_files::replace::{Parents, Staged};
use perfdb_store::directory::CONFLICTS;
use perfdb_store::table::{ReadOptions, Table, Written};
use std::collections::HashSet;
use std::path::Path;

/// What a kept row says first: whether it stood in the target or came too late, and the database that it lost to or came from.
const OWN_COLUMNS: [&str; 2] = ["Conflict", "Database"];

/// A row that lost: what became of it, the other database, and its cells by column.
#[derive(Debug)]
pub(super) struct Kept {
    /// `replaced` or `not taken`.
    pub(super) what: &'static str,
    /// Whose row took its place; of a row that was not taken, where it comes from.
    pub(super) database: String,
    pub(super) cells: Vec<(String, String)>,
}

impl Kept {
    fn cell(&self, column: &str) -> &str {
        match column {
            name if name == OWN_COLUMNS[0] => self.what,
            name if name == OWN_COLUMNS[1] => &self.database,
            name => self.cells.iter().find(|(known, _)| known == name).map_or("", |(_, cell)| cell),
        }
    }
}

/// The file of a kernel type with these rows added; `None` if all of them stand there already.
pub(super) fn keep(directory: &Path, kernel_type: &str, rows: &[Kept]) -> Result<Option<Staged>, Error> {
    let path = within(directory, format!("{kernel_type}{CONFLICTS}"));
    if path.is_symlink() {
        return Err(Error::Link { path });
    }
    let mut file =
        if path.exists() { Table::read(&path, &ReadOptions::database())? } else { Table::new(&path, OWN_COLUMNS) };
    for name in
        OWN_COLUMNS.into_iter().chain(rows.iter().flat_map(|row| row.cells.iter().map(|(name, _)| name.as_str())))
    {
        if file.column(name).is_none() {
            file.push_column(name, "");
        }
    }
    let columns = file.columns().to_vec();
    let known: HashSet<Vec<String>> = file.rows().map(|row| row.cells().map(str::to_owned).collect()).collect();
    let mut added = HashSet::new();
    for row in rows {
        let cells: Vec<String> = columns.iter().map(|column| row.cell(column).to_owned()).collect();
        if !known.contains(&cells) && added.insert(cells) {
            file.push_row(|_, column| row.cell(column));
        }
    }
    if added.is_empty() {
        return Ok(None);
    }
    Ok(Some(Staged::with(&path, &file.to_csv(Written::PLAIN), Parents::MustExist)?))
}
