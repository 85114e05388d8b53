//! Folders that are made for a run: those of its outputs, which vanish again when there are none, and private ones for its own files.

use crate::leftovers::{self, Kind, Registered};
use crate::paths::parent_of;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Folders that were made and are not wanted any more, but were not empty yet: another output of the same run lay there.
static NOT_YET_EMPTY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The folders that did not exist before. Dropped without [`keep`](MadeFolders::keep) they are removed again, unless somebody has put
/// anything into them.
#[derive(Debug, Default)]
#[must_use = "the folders are removed again when this is dropped"]
pub struct MadeFolders {
    /// Innermost first.
    made: Vec<(PathBuf, Registered)>,
}

impl MadeFolders {
    /// Makes a folder and the missing ones above it.
    pub fn make(folder: &Path) -> io::Result<MadeFolders> {
        let mut folders = MadeFolders::default();
        folders.make_all(folder)?;
        Ok(folders)
    }

    /// Lets the folders stay.
    pub fn keep(mut self) {
        self.made.clear();
    }

    fn make_all(&mut self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        self.make_all(&parent_of(folder))?;
        match leftovers::make(Kind::MadeFolder, || fs::create_dir(folder).map(|()| (folder.to_owned(), ()))) {
            Ok((registered, ())) => self.made.insert(0, (folder.to_owned(), registered)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        let mut waiting = NOT_YET_EMPTY.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(self.made.drain(..).map(|(folder, _)| folder));
        // Those within others first.
        waiting.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        waiting.retain(|folder| {
            fs::remove_dir(folder).is_err_and(|error| error.kind() == io::ErrorKind::DirectoryNotEmpty)
        });
    }
}

/// Makes a folder in the system's place for temporary files that nobody else can look into, at any umask. What lies there
/// is run, or describes what a run does. The name is the prefix and some random characters.
pub fn private(prefix: &str) -> io::Result<PrivateFolder> {
    private_in(&std::env::temp_dir(), prefix)
}

/// [`private`] in another place.
pub(crate) fn private_in(parent: &Path, prefix: &str) -> io::Result<PrivateFolder> {
    let only_ours = fs::Permissions::from_mode(0o700);
    let make = || -> io::Result<_> {
        let folder = tempfile::Builder::new().prefix(prefix).permissions(only_ours.clone()).tempdir_in(parent)?;
        Ok((folder.path().to_owned(), folder))
    };
    let (registered, folder) = leftovers::make(Kind::PrivateFolder, make)?;
    // The umask may take away more than it should.
    fs::set_permissions(folder.path(), only_ours)?;
    Ok(PrivateFolder { folder, _registered: registered })
}

/// A folder that goes, with all that is in it, when this is dropped or a signal ends the process.
#[derive(Debug)]
pub struct PrivateFolder {
    folder: tempfile::TempDir,
    _registered: Registered,
}

impl PrivateFolder {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Lets the folder stay.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_folder_is_ours_alone() -> io::Result<()> {
        let folder = private("perfdb-test-")?;
        assert_eq!(fs::metadata(folder.path())?.permissions().mode() & 0o777, 0o700);
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
        Ok(())
    }

    #[test]
    fn folders_vanish_unless_they_are_kept_or_used() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (outer, inner) = (folder.path().join("a"), folder.path().join("a/b"));
        drop(MadeFolders::make(&inner)?);
        assert!(!outer.exists());
        let made = MadeFolders::make(&inner)?;
        fs::write(outer.join("file"), "")?;
        drop(made);
        assert!(outer.exists() && !inner.exists());
        MadeFolders::make(&inner)?.keep();
        assert!(inner.exists());
        Ok(())
    }

    #[test]
    fn folders_of_outputs_that_are_dropped_one_by_one_vanish_with_the_last() -> Result<(), crate::Error> {
        use crate::replace::{Parents, Staged};
        let folder = tempfile::tempdir().map_err(|source| crate::Error::io(Path::new(""), source))?;
        let outer = folder.path().join("a");
        let names = ["a/b/1.csv", "a/b/2.csv", "a/c/3.csv", "a/4.csv"];
        let staged = names.map(|name| Staged::with(&folder.path().join(name), b"x", Parents::Create));
        let staged: Vec<Staged> = staged.into_iter().collect::<Result<_, _>>()?;
        assert!(outer.join("b").is_dir());
        drop(staged);
        assert!(!outer.exists());
        Ok(())
    }

    #[test]
    fn a_folder_that_cannot_be_made_leaves_none_of_those_above_it() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        assert!(MadeFolders::make(&folder.path().join("new").join("x".repeat(300))).is_err());
        assert_eq!(fs::read_dir(folder.path())?.count(), 0);
        Ok(())
    }
}
