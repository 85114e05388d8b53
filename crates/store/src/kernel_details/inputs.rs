//! Which files a profile consists of.

use crate::error::Error;
use perfdb_files::paths::within;
use perfdb_files::walk::walk;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a profile: a file as it is; of a directory every `*kernel_details*.csv` below it, gzip or not, in the order of the paths' components.
pub fn files_of(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let metadata = fs::metadata(path).map_err(|source| Error::io(path, source))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    walk(
        path,
        |_| true,
        |entry| {
            let file = within(path, entry.below);
            if is_kernel_details(entry.name) && !entry.is_folder && file.is_file() {
                found.push(file);
            }
        },
    )?;
    if found.is_empty() {
        return Err(Error::input(path, None, "no kernel_details*.csv file found below this directory"));
    }
    found.sort();
    Ok(found)
}

fn is_kernel_details(name: &str) -> bool {
    // The stem of `.csv` itself is empty for Python, too.
    name.strip_suffix(".gz")
        .unwrap_or(name)
        .strip_suffix(".csv")
        .is_some_and(|stem| stem.to_lowercase().contains("kernel_details"))
}
