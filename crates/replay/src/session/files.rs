//! The files that a run writes when it ends, all of them or none.

mod hand_over;

use std::path::Path;

pub(super) use hand_over::content_beside;

use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::replace::{self, Staged};

use super::Event;
use crate::error::Error;
use crate::plan::PlannedRow;
use crate::removal::{Removal, dropped_path, folder_of, stage_removal};

/// The op_summary of a run and the tables that rows leave: staged, and written together with what the caller adds. Dropped without
/// [`RunFiles::commit`], they change nothing.
#[derive(Debug, Default)]
pub struct RunFiles {
    staged: Vec<Staged>,
    removed: Vec<Removed>,
    // Dropped behind the files.
    locks: DirectoryLocks,
}

/// Rows that have left their table.
#[derive(Debug)]
struct Removed {
    table: std::path::PathBuf,
    rows: Vec<PlannedRow>,
}

impl RunFiles {
    /// Stages removals under the locks of their folders, which are held until the files are written. `warn` gets the tables that have
    /// changed meanwhile and stay as they are.
    ///
    /// # Errors
    /// When a folder cannot be locked or a table not be written. Nothing of the run is written then.
    pub(super) fn stage(
        removals: Vec<Removal>,
        lock: &LockOptions<'_>,
        warn: &dyn Fn(&str),
    ) -> Result<RunFiles, Error> {
        let mut files = RunFiles::default();
        if removals.is_empty() {
            return Ok(files);
        }
        files.locks = DirectoryLocks::acquire(removals.iter().map(|removal| folder_of(removal.table.path())), lock)?;
        for Removal { table, positions, rows } in removals {
            match stage_removal(&table, &positions)? {
                Some(staged) => {
                    files.staged.extend(staged);
                    files.removed.push(Removed { table: table.path().to_owned(), rows });
                }
                None => warn(&hand_over::changed(table.path())),
            }
        }
        Ok(files)
    }

    /// Number of rows that leave their tables.
    pub(super) fn removed_rows(&self) -> usize {
        self.removed.iter().map(|removed| removed.rows.len()).sum()
    }

    /// Number of tables that lose rows.
    pub fn removed_tables(&self) -> usize {
        self.removed.len()
    }

    /// Adds a file.
    pub fn add(&mut self, staged: Staged) {
        self.staged.push(staged);
    }

    /// Writes the files, all of them or none, and says which rows have left their tables.
    ///
    /// # Errors
    /// A file that cannot be written; nothing has changed then.
    pub fn commit(mut self, notify: &(dyn Fn(Event<'_>) + Sync)) -> Result<(), Error> {
        self.locks.commit(std::mem::take(&mut self.staged))?;
        for Removed { table, rows } in &self.removed {
            rows.iter().for_each(|row| notify(Event::Dropped(row)));
            let kept_in = dropped_path(Path::new(table));
            notify(Event::CleanedUp { table, rows: rows.len(), kept_in: &kept_in });
        }
        Ok(())
    }
}

impl Drop for RunFiles {
    fn drop(&mut self) {
        replace::discard(std::mem::take(&mut self.staged));
    }
}
