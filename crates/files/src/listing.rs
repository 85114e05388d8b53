//! What is in a folder, for tests.

use std::fs;
use std::io;
use std::path::Path;

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names: Vec<_> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    names.sort();
    Ok(names)
}
