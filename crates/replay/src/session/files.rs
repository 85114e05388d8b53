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

/// The op_summary of a run and the tables that rows leave: staged, and written together with whatever the caller adds. Dropped without
/// [`RunFiles::commit`], they change nothing.
#[derive(Debug, Default)]
pub struct RunFiles {
    staged: Vec<Staged>,
    removed: Vec<Removed>,
    /// Why no rows leave their tables.
    failure: Option<Error>,
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
    /// Stages removals under the locks of their folders, which are held until the files are written. `warn` is told which tables have
    /// changed meanwhile and stay as they are.
    pub(super) fn stage(removals: Vec<Removal>, lock: &LockOptions<'_>, warn: &dyn Fn(&str)) -> RunFiles {
        let mut files = RunFiles::default();
        if let Err(error) = files.stage_removals(removals, lock, warn) {
            // What was measured is written all the same.
            replace::discard(std::mem::take(&mut files.staged));
            files.removed.clear();
            files.failure = Some(error);
        }
        files
    }

    fn stage_removals(
        &mut self,
        removals: Vec<Removal>,
        lock: &LockOptions<'_>,
        warn: &dyn Fn(&str),
    ) -> Result<(), Error> {
        if removals.is_empty() {
            return Ok(());
        }
        self.locks = DirectoryLocks::acquire(removals.iter().map(|removal| folder_of(removal.table.path())), lock)?;
        for Removal { table, positions, rows } in removals {
            match stage_removal(&table, &positions)? {
                Some(staged) => {
                    self.staged.extend(staged);
                    self.removed.push(Removed { table: table.path().to_owned(), rows });
                }
                None => warn(&hand_over::changed(table.path())),
            }
        }
        Ok(())
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
    /// A file that cannot be written; nothing has changed then. Also, with everything else written, that rows could not leave their tables.
    pub fn commit(mut self, notify: &(dyn Fn(Event<'_>) + Sync)) -> Result<(), Error> {
        self.locks.commit(std::mem::take(&mut self.staged))?;
        for Removed { table, rows } in &self.removed {
            rows.iter().for_each(|row| notify(Event::Dropped(row)));
            let kept_in = dropped_path(Path::new(table));
            notify(Event::CleanedUp { table, rows: rows.len(), kept_in: &kept_in });
        }
        self.failure.take().map_or(Ok(()), Err)
    }
}

impl Drop for RunFiles {
    fn drop(&mut self) {
        replace::discard(std::mem::take(&mut self.staged));
    }
}
