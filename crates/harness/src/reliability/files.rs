//! What lies in a folder, before a run and after it.

use crate::reliability::Error;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file and its bytes.
    File(Vec<u8>),
    /// A link and where it leads.
    Link(PathBuf),
    Folder,
}

/// All entries below a folder, by their paths within it.
pub type Files = BTreeMap<PathBuf, Entry>;

/// Reads all that is below a folder.
pub fn read(folder: &Path) -> Result<Files, Error> {
    let mut files = Files::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(at) = waiting.pop() {
        for entry in fs::read_dir(&at)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let found = if kind.is_symlink() {
                Entry::Link(fs::read_link(&path)?)
            } else if kind.is_dir() {
                waiting.push(path.clone());
                Entry::Folder
            } else if kind.is_file() {
                Entry::File(fs::read(&path)?)
            } else {
                continue;
            };
            files.insert(path.strip_prefix(folder)?.to_owned(), found);
        }
    }
    Ok(files)
}

/// Writes them below a folder, which is made.
pub fn write(files: &Files, folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder)?;
    for (path, entry) in files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match entry {
            Entry::File(bytes) => fs::write(&path, bytes)?,
            Entry::Link(target) => symlink(target, &path)?,
            Entry::Folder => fs::create_dir_all(&path)?,
        }
    }
    Ok(())
}

/// The paths that are not as they were: new ones, changed ones, and those that are gone.
pub fn changed<'f>(before: &'f Files, after: &'f Files) -> Vec<&'f Path> {
    let new = after.iter().filter(|(path, entry)| before.get(*path) != Some(entry)).map(|(path, _)| path.as_path());
    let gone = before.keys().filter(|path| !after.contains_key(*path)).map(PathBuf::as_path);
    new.chain(gone).collect()
}

/// Whether it is a temporary, a lock or a journal by its name.
pub fn is_left_over(path: &Path) -> bool {
    path.iter().any(|name| {
        let name = name.to_string_lossy();
        name.starts_with(".perfdb.") || name.starts_with('.') && name.contains(".tmp-") || name.starts_with(".shard-")
    })
}
