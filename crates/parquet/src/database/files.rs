//! The files of a database.

use crate::error::Error;
use perfdb_files::lock::LOCK_FILE;
use perfdb_files::replace::is_leftover_name;
use perfdb_store::directory::{is_in_side_folder, tables_in};
use std::fs;
use std::path::{Path, PathBuf};

/// A file of a database, by its path below the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum File {
    /// A table.
    Table(PathBuf),
    /// Anything else: mappings, descriptions.
    Other(PathBuf),
}

/// All files below a folder in the order of their paths. What tools keep beside a database (reports, profiles of runs, leftovers) is passed
/// over, and folders that are links are not entered, as everywhere.
pub(super) fn files_below(folder: &Path) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        let here = folder.join(&below);
        let tables = tables_in(&here)?;
        let failed = |source| Error::io(&here, source);
        for entry in fs::read_dir(&here).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (name, path) = (entry.file_name(), below.join(entry.file_name()));
            if entry.file_type().map_err(failed)?.is_dir() {
                if !is_in_side_folder(&path.join("file")) {
                    folders.push(path);
                }
                continue;
            }
            let text = name.to_string_lossy();
            if tables.iter().any(|table| table.file_name() == Some(&name)) {
                files.push(File::Table(path));
            } else if text != LOCK_FILE && !is_leftover_name(&text) && here.join(&name).is_file() {
                files.push(File::Other(path));
            }
        }
    }
    files.sort_by(|a, b| path_of(a).cmp(path_of(b)));
    Ok(files)
}

pub(super) fn path_of(file: &File) -> &Path {
    match file {
        File::Table(path) | File::Other(path) => path,
    }
}

/// Refuses two folders of which one lies in the other: what is written would be read.
pub(super) fn check_apart(from: &Path, to: &Path) -> Result<(), Error> {
    let place =
        |path: &Path| perfdb_files::paths::absolute(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
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
