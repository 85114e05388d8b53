//! What is below a folder.

use crate::error::Error;
use crate::paths::within;
use std::fs;
use std::path::{Path, PathBuf};

/// A file or folder that [`walk`] came to.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'e> {
    /// Its path below the folder where the walk began.
    pub below: &'e Path,
    pub name: &'e str,
    /// Whether it is a folder. A link is none, wherever it leads.
    pub is_folder: bool,
}

/// Hands over every file and folder below a folder, in the order in which the system lists them. Folders whose names `enters` does not take
/// are handed over, but not what is in them; the same is true of folders that are links.
///
/// ```
/// use perfdb_files::walk::walk;
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// std::fs::create_dir_all(folder.join("a/b")).unwrap();
/// std::fs::write(folder.join("a/b/c"), "").unwrap();
/// let mut files = Vec::new();
/// walk(folder, |_| true, |entry| {
///     if !entry.is_folder {
///         files.push(entry.below.to_owned());
///     }
/// })?;
/// assert_eq!(files, [std::path::Path::new("a/b/c")]);
/// # Ok::<(), perfdb_files::Error>(())
/// ```
///
/// # Errors
/// When a folder cannot be listed.
pub fn walk(folder: &Path, enters: impl Fn(&str) -> bool, mut each: impl FnMut(Entry<'_>)) -> Result<(), Error> {
    let mut waiting = vec![PathBuf::new()];
    while let Some(above) = waiting.pop() {
        let here = if above.as_os_str().is_empty() { folder.to_owned() } else { within(folder, &above) };
        let failed = |source| Error::io(&here, source);
        for entry in fs::read_dir(&here).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (name, below) = (entry.file_name(), above.join(entry.file_name()));
            let (name, is_folder) = (name.to_string_lossy(), entry.file_type().map_err(failed)?.is_dir());
            each(Entry { below: &below, name: &name, is_folder });
            if is_folder && enters(&name) {
                waiting.push(below);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_folders_that_are_not_entered_are_handed_over() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        for inner in ["x/y", "side/inner"] {
            fs::create_dir_all(folder.path().join(inner))?;
            fs::write(folder.path().join(inner).join("f"), "")?;
        }
        std::os::unix::fs::symlink("x", folder.path().join("link"))?;
        let mut found = Vec::new();
        walk(folder.path(), |name| name != "side", |entry| found.push((entry.below.to_owned(), entry.is_folder)))?;
        found.sort();
        let expected = [("link", false), ("side", true), ("x", true), ("x/y", true), ("x/y/f", false)];
        assert_eq!(found, expected.map(|(below, is_folder)| (PathBuf::from(below), is_folder)));
        let error = walk(&folder.path().join("nowhere"), |_| true, |_| ()).map_err(|error| error.to_string());
        assert!(error.is_err_and(|line| line.contains("nowhere: ")));
        Ok(())
    }
}
