//! The files of a database.

use crate::error::Error;
use perfdb_files::lock::LOCK_FILE;
use perfdb_files::paths::absolute;
use perfdb_files::replace::is_leftover_name;
use perfdb_files::walk::walk;
use perfdb_store::directory::{is_side_folder, is_table};
use std::fs;
use std::path::{Path, PathBuf};

/// A file of a database.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct File {
    /// Its path below the database.
    pub(super) below: PathBuf,
    /// Whether it is a table; mappings and descriptions are none.
    pub(super) is_table: bool,
}

/// All files below a folder in the order of their paths. What tools keep beside a database (reports, profiles of runs, leftovers) is passed
/// over, and folders that are links are not entered, as everywhere.
pub(super) fn files_below(folder: &Path) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    walk(
        folder,
        |name| !is_side_folder(name),
        |entry| {
            let path = folder.join(entry.below);
            let is_table = !entry.is_folder && is_table(&path);
            let is_other = || entry.name != LOCK_FILE && !is_leftover_name(entry.name) && path.is_file();
            if is_table || is_other() {
                files.push(File { below: entry.below.to_owned(), is_table });
            }
        },
    )?;
    files.sort();
    Ok(files)
}

/// Refuses two folders of which one lies in the other: what is written would be read.
pub(super) fn check_apart(from: &Path, to: &Path) -> Result<(), Error> {
    // Of a folder that is not there yet, the part that is there may be a link.
    let place = |path: &Path| {
        let real = |above: &Path| Some(fs::canonicalize(above).ok()?.join(path.strip_prefix(above).ok()?));
        absolute(&path.ancestors().find_map(real).unwrap_or_else(|| path.to_owned()))
    };
    let (source, target) = (place(from), place(to));
    if source.starts_with(&target) || target.starts_with(&source) {
        return Err(Error::unfit(
            to,
            format!("lies in {}, or the other way round; name another folder", from.display()),
        ));
    }
    Ok(())
}

/// Whether a path ends in `.parquet`.
pub(super) fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "parquet")
}
