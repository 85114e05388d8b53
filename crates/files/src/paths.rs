//! Paths as they are printed and compared. Nothing is looked up in the file system.

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
