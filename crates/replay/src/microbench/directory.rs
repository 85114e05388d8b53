//! The folder of a measuring run: `msprof_run_` and random letters, in the database.

use std::fs;
use std::path::{Path, PathBuf};

use crate::microbench::error::Error;
use perfdb_files::paths::within;

/// How names of such folders begin.
pub(crate) const PREFIX: &str = "msprof_run_";

/// How names of folders in it begin that hold the profile of one operator.
pub(crate) const OF_OPERATOR: &str = "per_op_";

/// The folder of a run. It stays on the disk until it is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunDirectory {
    path: PathBuf,
    made_database: bool,
}

impl RunDirectory {
    /// A fresh folder; the database folder is made where it is absent.
    pub(crate) fn fresh(database: &Path) -> Result<RunDirectory, Error> {
        let made_database = !database.is_dir();
        fs::create_dir_all(database).map_err(|source| Error::io(database, source))?;
        let path = tempfile::Builder::new()
            .prefix(PREFIX)
            .rand_bytes(8)
            .tempdir_in(database)
            .map_err(|source| Error::io(database, source))?
            .keep();
        // Below the database as that was given: a relative one stays relative in what is printed.
        let path = path.file_name().map_or_else(|| path.clone(), |name| within(database, name));
        Ok(RunDirectory { path, made_database })
    }

    /// A folder that is there, of a run that leaves the database as it is.
    pub(crate) fn at(folder: &Path) -> RunDirectory {
        RunDirectory { path: folder.to_owned(), made_database: false }
    }

    /// The newest folder that an earlier run has left in the database.
    pub(crate) fn newest(database: &Path) -> Result<Option<RunDirectory>, Error> {
        let failed = |source| Error::io(database, source);
        let mut newest: Option<(std::time::SystemTime, PathBuf)> = None;
        let entries = match fs::read_dir(database) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let is_run = entry.file_name().to_string_lossy().starts_with(PREFIX);
            if !is_run || !entry.file_type().map_err(failed)?.is_dir() {
                continue;
            }
            let changed = entry.metadata().and_then(|metadata| metadata.modified()).map_err(failed)?;
            let candidate = (changed, within(database, entry.file_name()));
            if newest.as_ref().is_none_or(|newest| candidate > *newest) {
                newest = Some(candidate);
            }
        }
        Ok(newest.map(|(_, path)| RunDirectory { path, made_database: false }))
    }

    /// The newest folder of a database, if its run was written back and ended before it removed the folder.
    pub(crate) fn newest_written_back(database: &Path) -> Result<Option<RunDirectory>, Error> {
        Ok(RunDirectory::newest(database)?.filter(RunDirectory::is_written_back))
    }

    /// The folder, below the database as that was given.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The line with the place of a failed run's data.
    pub(crate) fn preserved(&self) -> String {
        format!("[PRESERVE] profiling data kept for debugging: {}", self.path.display())
    }

    /// The status file of the run.
    pub(crate) fn status_file(&self) -> PathBuf {
        status_file(&self.path)
    }

    /// The journal of the run.
    pub(crate) fn journal(&self) -> PathBuf {
        journal(&self.path)
    }

    /// The file that marks the measurements as written into the tables. It is made in the same step as they are changed.
    pub(crate) fn written_back_file(&self) -> PathBuf {
        self.path.join("written_back")
    }

    /// Whether an earlier run has written everything back, and was ended before it removed the folder.
    pub(crate) fn is_written_back(&self) -> bool {
        self.written_back_file().exists()
    }

    /// Removes the folder and what is in it.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        let failed = |source| Error::io(&self.path, source);
        // The marker goes last: what is left by a kill is still known to have been written back.
        let marker = self.written_back_file();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            if entry.file_type().map_err(failed)?.is_dir() {
                fs::remove_dir_all(&path).map_err(failed)?;
            } else if path != marker {
                fs::remove_file(&path).map_err(failed)?;
            }
        }
        fs::remove_dir_all(&self.path).map_err(failed)?;
        if self.made_database {
            // Only where nothing was written into it.
            let _ = self.path.parent().map(fs::remove_dir);
        }
        Ok(())
    }
}

/// The status file below a profiler's output folder.
pub(crate) fn status_file(output: &Path) -> PathBuf {
    output.join("run_all_op_status.json")
}

/// The journal below a profiler's output folder.
pub(crate) fn journal(output: &Path) -> PathBuf {
    output.join("replay_journal.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_folder_is_found_again() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let database = folder.path().join("db");
        assert_eq!(RunDirectory::newest(&database)?, None);
        let first = RunDirectory::fresh(&database)?;
        assert_eq!(first.path().file_name().map(|name| name.len()), Some(PREFIX.len() + 8));
        let second = RunDirectory::fresh(&database)?;
        let now = std::time::SystemTime::now();
        fs::File::open(first.path())?.set_modified(now - std::time::Duration::from_secs(60))?;
        fs::File::open(second.path())?.set_modified(now)?;
        let newest = RunDirectory::newest(&database)?.ok_or("a folder")?;
        assert_eq!(newest.path(), second.path());
        fs::write(second.written_back_file(), "")?;
        fs::create_dir(second.path().join("PROF_1"))?;
        assert!(second.is_written_back() && !first.is_written_back());
        assert_eq!(RunDirectory::newest_written_back(&database)?, Some(second.clone()));
        second.remove()?;
        first.remove()?;
        assert!(!database.exists());
        Ok(())
    }
}
