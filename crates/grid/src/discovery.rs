//! Finding the tables of a folder.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A CSV file and the kernel whose shapes it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableFile {
    /// The file, below the folder as that was given.
    pub(crate) path: PathBuf,
    /// The kernel: the file's name without `.csv`.
    pub(crate) kernel: String,
}

/// All tables below `folder`, ordered part by part of their paths. Folders that are links are not entered.
///
/// # Errors
///
/// A folder that does not exist, cannot be listed or holds no table.
pub(crate) fn tables(folder: &Path) -> Result<Vec<TableFile>, Error> {
    if !folder.is_dir() {
        return Err(Error::NoDirectory(folder.to_owned()));
    }
    let mut found = Vec::new();
    let mut folders = vec![Vec::new()];
    while let Some(parts) = folders.pop() {
        let current = parts.iter().fold(folder.to_owned(), |path: PathBuf, part: &OsString| path.join(part));
        let failed = |source| Error::Read { path: current.clone(), source };
        for entry in fs::read_dir(&current).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let mut parts = parts.clone();
            parts.push(entry.file_name());
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push(parts);
            } else if is_table(&entry.file_name().to_string_lossy()) && entry.path().is_file() {
                found.push(parts);
            }
        }
    }
    if found.is_empty() {
        return Err(Error::NoTables(folder.to_owned()));
    }
    // The order of UTF-8 bytes is that of code points.
    found.sort();
    Ok(found.into_iter().map(|parts| table(folder, &parts)).collect())
}

fn is_table(name: &str) -> bool {
    let is_kept_beside = name.ends_with(".dropped.csv") || name.ends_with(perfdb_store::directory::CONFLICTS);
    name.ends_with(".csv") && !name.contains(".tmp.csv") && !is_kept_beside
}

fn table(folder: &Path, parts: &[OsString]) -> TableFile {
    let path = parts
        .iter()
        .fold(if folder == Path::new(".") { PathBuf::new() } else { folder.to_owned() }, |path, part| path.join(part));
    let name = parts.last().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let kernel = name.strip_suffix(".csv").unwrap_or(&name).to_owned();
    TableFile { path, kernel }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_by_parts_and_only_tables_count() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "a.b", "Z", "x.csv"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let files = [
            "a/x.csv",
            "a.b/x.csv",
            "_y.csv",
            "Z/x.csv",
            ".hidden.csv",
            "b.CSV",
            "c.tmp.csv",
            "d.tmp.csv.csv",
            "e.dropped.csv",
            "e.conflicts.csv",
            "op_mapping.yaml",
            "x.csv/z.csv",
        ];
        for name in files {
            fs::write(folder.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("missing", folder.path().join("broken.csv")).unwrap();
        std::os::unix::fs::symlink("_y.csv", folder.path().join("linked.csv")).unwrap();
        let found = tables(folder.path()).unwrap();
        let names: Vec<_> =
            found.iter().map(|table| table.path.strip_prefix(folder.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, [".hidden.csv", "Z/x.csv", "_y.csv", "a/x.csv", "a.b/x.csv", "linked.csv", "x.csv/z.csv"]);
        assert_eq!(found[0].kernel, ".hidden");
    }

    #[test]
    fn a_missing_folder_and_an_empty_one_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("nowhere");
        let reason = |path: &Path| tables(path).unwrap_err().to_string();
        assert_eq!(reason(&missing), format!("data directory does not exist: {}", missing.display()));
        assert_eq!(reason(folder.path()), format!("no CSV files found under: {}", folder.path().display()));
    }
}
