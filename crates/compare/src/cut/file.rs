//! The kernel_details of a profiler's output folder.

use crate::error::Error;
use std::path::{Path, PathBuf};

/// Folders below the given one that are looked into.
const DEEPEST: usize = 3;

/// The file itself, or the one `kernel_details*.csv` in a folder such as `PROF_…` or `ASCEND_PROFILER_OUTPUT`.
///
/// # Errors
/// When a folder holds none, or several.
pub fn profile_in(path: &Path) -> Result<PathBuf, Error> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let mut found = Vec::new();
    collect(path, DEEPEST, &mut found)?;
    found.sort();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(refused(path, "no kernel_details*.csv in this folder".to_owned())),
        [first, second, ..] => Err(refused(
            path,
            format!(
                "{} files kernel_details*.csv in this folder ({}, {}, …): name one",
                found.len(),
                first.display(),
                second.display()
            ),
        )),
    }
}

fn collect(folder: &Path, deeper: usize, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let unreadable = |source| perfdb_trace::Error::Io { path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            if deeper > 0 {
                collect(&path, deeper - 1, found)?;
            }
        } else if name.starts_with("kernel_details") && (name.ends_with(".csv") || name.ends_with(".csv.gz")) {
            found.push(path);
        }
    }
    Ok(())
}

fn refused(path: &Path, reason: String) -> Error {
    Error::Profile { path: path.to_owned(), reason }
}
