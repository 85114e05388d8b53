//! Paths as they are printed and compared, and those that stand in files.

use std::path::{Component, Path, PathBuf};

/// A path as it is printed: `.` parts and doubled slashes taken out, `.` for an empty one. Nothing is looked up.
///
/// ```
/// use perfdb_files::paths::normalised;
/// assert_eq!(normalised("./db//x/".as_ref()), std::path::Path::new("db/x"));
/// ```
pub fn normalised(path: &Path) -> PathBuf {
    let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path }
}

/// The absolute path, `.` and `..` taken out. Nothing is looked up but the current directory.
///
/// ```
/// use perfdb_files::paths::absolute;
/// assert_eq!(absolute("/data/HOST_CPU/../db/./x".as_ref()), std::path::Path::new("/data/db/x"));
/// ```
pub fn absolute(path: &Path) -> PathBuf {
    let mut absolute = PathBuf::new();
    for part in std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => drop(absolute.pop()),
            part => absolute.push(part),
        }
    }
    absolute
}

/// What is called `name` in a folder, as it is printed: in the current folder its bare name.
///
/// ```
/// use perfdb_files::paths::within;
/// assert_eq!(within(".".as_ref(), "Add.csv"), std::path::Path::new("Add.csv"));
/// assert_eq!(within("db".as_ref(), "Add.csv"), std::path::Path::new("db/Add.csv"));
/// ```
pub fn within(folder: &Path, name: impl AsRef<Path>) -> PathBuf {
    if folder == Path::new(".") { name.as_ref().to_owned() } else { folder.join(name) }
}

/// The folder of a file; `.` for a bare name.
pub fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from(Component::CurDir.as_os_str()),
    }
}

/// A path that stands in a file, as it leads from the current folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Led {
    /// The path from the current folder.
    pub path: PathBuf,
    /// Whether nothing is there next to the file, and something is there from the current folder.
    pub is_from_current_folder: bool,
}

/// Follows a path that stands in a file: from the folder of the file, else from the current folder. Where neither is there, the first is meant.
pub fn led_by(file: &Path, path: &Path) -> Led {
    // A list on standard input has no folder.
    let is_stream = file.starts_with("/dev") || file.starts_with("/proc");
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !is_stream);
    let Some(beside) = folder.map(|folder| folder.join(path)) else {
        return Led { path: path.to_owned(), is_from_current_folder: false };
    };
    let is_from_current_folder = beside != path && !beside.exists() && path.exists();
    Led { path: if is_from_current_folder { path.to_owned() } else { beside }, is_from_current_folder }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_files_lead_from_the_file_and_then_from_here() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list.yaml");
        std::fs::write(folder.path().join("a"), "").unwrap();
        let led = |path: &str| led_by(&list, path.as_ref());
        let beside = |name: &str| Led { path: folder.path().join(name), is_from_current_folder: false };
        assert_eq!(led("a"), beside("a"));
        assert_eq!(led("nowhere"), beside("nowhere"));
        assert_eq!(led("Cargo.toml"), Led { path: "Cargo.toml".into(), is_from_current_folder: true });
        assert_eq!(led("/nowhere/x"), Led { path: "/nowhere/x".into(), is_from_current_folder: false });
        assert_eq!(led_by("list.yaml".as_ref(), "x/a".as_ref()).path, Path::new("x/a"));
        assert_eq!(led_by("/dev/stdin".as_ref(), "x".as_ref()).path, Path::new("x"));
    }
}
