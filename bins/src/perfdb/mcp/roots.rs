//! The folders that a server reads, and whether a path lies in one of them.

use perfdb_files::escape::{excerpt, shown};
use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Files of a folder that are looked at before it is handed on.
const MOST_FILES: usize = 100_000;
/// Names of files that an error lists.
const LISTED: usize = 20;

/// Why a path is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum RootError {
    /// A folder of the command line cannot be served.
    #[error("{path}: cannot be served")]
    Folder { path: String, source: io::Error },
    /// A path of a call leads out of the folders.
    #[error("{path}: outside the folders that this server reads ({roots})")]
    Outside { path: String, roots: String },
    /// A path in the folders that cannot be read.
    #[error("{path}")]
    Unreadable { path: String, source: io::Error },
    /// A folder where a file is needed.
    #[error("{path}: is a folder, a file is needed; in it: {files}")]
    NeedsFile { path: String, files: String },
    /// A file where a folder is needed.
    #[error("{path}: is a file, a folder is needed")]
    NeedsFolder { path: String },
    /// A pipe or device, which may have no end.
    #[error("{path}: is neither a file nor a folder")]
    Special { path: String },
    /// A folder with more files than a database has.
    #[error("{path}: has more than {MOST_FILES} files; name the folder of one database")]
    TooMany { path: String },
}

/// What a path of a call is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    File,
    Folder,
    Either,
}

/// The folders, with links resolved.
#[derive(Debug, Clone)]
pub(super) struct Roots(Vec<PathBuf>);

/// What a call reads of a path: the path with links resolved, and the state of its files, by which a kept answer is known to be stale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allowed {
    pub(super) path: PathBuf,
    pub(super) state: Vec<FileState>,
}

/// A file with its size and its time of change in nanoseconds.
type FileState = (PathBuf, u64, i128);

impl Roots {
    pub(super) fn open(folders: &[PathBuf]) -> Result<Roots, RootError> {
        let resolved = folders.iter().map(|folder| {
            let error = |source| RootError::Folder { path: shown(folder).to_string(), source };
            let path = folder.canonicalize().map_err(error)?;
            if path.is_dir() { Ok(path) } else { Err(error(io::ErrorKind::NotADirectory.into())) }
        });
        Ok(Roots(resolved.collect::<Result<_, _>>()?))
    }

    pub(super) fn names(&self) -> String {
        self.0.iter().map(|root| shown(root).to_string()).collect::<Vec<_>>().join(", ")
    }

    fn holds(&self, resolved: &Path) -> bool {
        self.0.iter().any(|root| resolved.starts_with(root))
    }

    /// The file or folder that a call names, if it and all that it leads to lie in the folders. A relative path is looked for in each folder.
    pub(super) fn allow(&self, text: &str, wanted: Wanted) -> Result<Allowed, RootError> {
        let outside = || RootError::Outside { path: excerpt(text).to_string(), roots: self.names() };
        let places = self.0.iter().map(|root| root.join(text));
        let mut missing = None;
        for place in places {
            match place.canonicalize() {
                Ok(resolved) if self.holds(&resolved) => return self.checked(resolved, wanted),
                Ok(_) => {}
                // Whether there is a file outside is not told.
                Err(source) if self.holds(&existing_part(&place)) => missing = Some(source),
                Err(_) => {}
            }
        }
        Err(missing
            .map(|source| RootError::Unreadable { path: excerpt(text).to_string(), source })
            .unwrap_or_else(outside))
    }

    fn checked(&self, path: PathBuf, wanted: Wanted) -> Result<Allowed, RootError> {
        let name = || shown(&path).to_string();
        let metadata = path.metadata().map_err(|source| RootError::Unreadable { path: name(), source })?;
        match (metadata.is_dir(), wanted) {
            (true, Wanted::File) => return Err(RootError::NeedsFile { path: name(), files: files_in(&path) }),
            (false, Wanted::Folder) => return Err(RootError::NeedsFolder { path: name() }),
            (false, _) if !metadata.is_file() => return Err(RootError::Special { path: name() }),
            _ => {}
        }
        let mut state = Vec::new();
        if metadata.is_dir() {
            self.walk(&path, &mut state)?
        } else {
            state.push(state_of(path.clone(), &metadata))
        }
        Ok(Allowed { path, state })
    }

    /// Takes note of all files below a folder; one that a link takes out of the served folders is an error.
    fn walk(&self, top: &Path, state: &mut Vec<FileState>) -> Result<(), RootError> {
        let unreadable = |path: &Path| {
            let path = shown(path).to_string();
            move |source| RootError::Unreadable { path, source }
        };
        let mut folders = vec![top.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).map_err(unreadable(&folder))? {
                let path = entry.map_err(unreadable(&folder))?.path();
                let link = path.symlink_metadata().map_err(unreadable(&path))?.is_symlink();
                if link && path.canonicalize().is_ok_and(|resolved| !self.holds(&resolved)) {
                    return Err(RootError::Outside { path: shown(&path).to_string(), roots: self.names() });
                }
                let Ok(metadata) = path.metadata() else { continue };
                if metadata.is_file() {
                    state.push(state_of(path, &metadata));
                } else if !metadata.is_dir() {
                    return Err(RootError::Special { path: shown(&path).to_string() });
                } else if !link {
                    // A linked folder may be one of those above.
                    folders.push(path);
                }
                if state.len() + folders.len() > MOST_FILES {
                    return Err(RootError::TooMany { path: shown(top).to_string() });
                }
            }
        }
        state.sort();
        Ok(())
    }
}

/// The part of a path that exists, with links resolved, and what follows it by its names.
fn existing_part(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut known = path;
    loop {
        if let Ok(resolved) = known.canonicalize() {
            // A name that leads up is not followed through what does not exist.
            let leads_up = rest.contains(&Component::ParentDir);
            return if leads_up { PathBuf::new() } else { resolved };
        }
        rest.extend(known.components().next_back());
        match known.parent() {
            Some(parent) => known = parent,
            None => return PathBuf::new(),
        }
    }
}

fn state_of(path: PathBuf, metadata: &Metadata) -> FileState {
    use std::os::unix::fs::MetadataExt as _;
    (path, metadata.len(), i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()))
}

fn files_in(folder: &Path) -> String {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| {
            let name = excerpt(&entry.file_name().to_string_lossy()).to_string();
            if entry.path().is_dir() { name + "/" } else { name }
        })
        .collect();
    names.sort();
    match names.len() {
        0 => "nothing".to_owned(),
        count if count > LISTED => format!("{} and {} more", names[..LISTED].join(", "), count - LISTED),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_and_dots_are_resolved_before_the_check() {
        let folder = tempfile::tempdir().unwrap();
        let [root, other] = ["root", "other"].map(|name| folder.path().join(name));
        for path in [&root, &other] {
            fs::create_dir_all(path.join("in")).unwrap();
            fs::write(path.join("in/a.json"), "{}").unwrap();
        }
        symlink(&other, root.join("out")).unwrap();
        symlink(root.join("in/a.json"), root.join("b.json")).unwrap();
        let roots = Roots::open(std::slice::from_ref(&root)).unwrap();
        let allow = |text: &str| roots.allow(text, Wanted::File).map_err(|error| perfdb_files::with_causes(&error));
        for inside in ["in/a.json", "b.json", "in/../in/a.json", &root.join("in/a.json").display().to_string()] {
            assert!(allow(inside).unwrap().path.ends_with("in/a.json"), "{inside}");
        }
        let absolute = other.join("in/a.json").display().to_string();
        let missing = other.join("x").display().to_string();
        for outside in ["out/in/a.json", "../other/in/a.json", "x/../../other/in/a.json", "../no", &absolute, &missing]
        {
            assert!(allow(outside).unwrap_err().contains("outside the folders"), "{outside}");
        }
        assert!(allow("no.json").unwrap_err().contains("No such file"));
        assert!(allow("").unwrap_err().contains("is a folder, a file is needed; in it: b.json, in/, out/"));
        assert!(allow("a\0b").is_err());
        assert!(roots.allow("", Wanted::Folder).unwrap_err().to_string().contains("outside"));
        assert!(roots.allow("in", Wanted::Folder).is_ok());
        assert!(roots.allow("b.json", Wanted::Folder).is_err());
    }

    #[test]
    fn a_changed_file_has_another_state() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::open(&[folder.path().to_owned()]).unwrap();
        fs::write(folder.path().join("a"), "1").unwrap();
        let before = roots.allow("", Wanted::Folder).unwrap();
        assert_eq!(before, roots.allow("", Wanted::Folder).unwrap());
        fs::write(folder.path().join("a"), "12").unwrap();
        assert_ne!(before, roots.allow("", Wanted::Folder).unwrap());
    }
}
