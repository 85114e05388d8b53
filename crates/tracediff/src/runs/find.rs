//! The traces that are given as runs.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::ranks::traces_in;

/// The traces of files and folders before and after a change, each a run: of a folder the traces and profiles in it, by name; where it has
/// none, the profile that the folder is.
///
/// # Errors
/// When a file is not there, a folder has no trace, or a trace is given twice: a copy of a run says nothing about how much runs vary.
pub fn find_runs(given: [&[PathBuf]; 2]) -> Result<[Vec<PathBuf>; 2], Error> {
    let mut found = [Vec::new(), Vec::new()];
    for (paths, found) in given.into_iter().zip(&mut found) {
        for path in paths {
            let traces = traces_in(path).map_err(|source| Error::Io { path: path.clone(), source })?;
            if traces.is_empty() { found.push(perfdb_trace::profile::file_in(path)?) } else { found.extend(traces) }
        }
    }
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut seen = std::collections::BTreeSet::new();
    match found.iter().flatten().find(|path| !seen.insert(real(path))) {
        Some(twice) => Err(Error::Twice { path: twice.clone() }),
        None => Ok(found),
    }
}
