//! A file's new content, beside it, until it is committed.

use super::claim::Claim;
use super::direct::names_descriptor;
use super::target::follow_links;
use super::temporary::{OpenSlot, create_temporary, remove_own_leftovers, temporary_name};
use crate::error::Error;
use crate::escape::shown;
use crate::folders::MadeFolders;
use crate::leftovers::{self, Kind, Registered};
use crate::lock::{JOURNAL_FILE, LOCK_FILE};
use crate::paths::parent_of;
use crate::system;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What to do about a folder that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parents {
    /// It is an error.
    MustExist,
    /// It is made, and removed again if the file is never committed.
    Create,
}

/// A finished new content that waits for its [`commit`](super::commit). Dropped without, it leaves nothing behind.
///
/// While it is written it is an [`io::Write`]; wrap it in a `BufWriter` for small pieces.
#[derive(Debug)]
pub struct Staged {
    pub(super) path: PathBuf,
    pub(super) spool: Spool,
    pub(super) made_folders: MadeFolders,
}

#[derive(Debug)]
pub(super) enum Spool {
    /// A regular or new file.
    Beside(Beside),
    /// Pipes, terminals and other devices get the finished content directly.
    Direct(File),
}

/// A temporary that will be renamed to its target.
#[derive(Debug)]
pub(super) struct Beside {
    /// Open, and locked as a sign that somebody will still want it, as long as there are not too many.
    file: Option<(File, OpenSlot)>,
    is_synced: bool,
    /// `None` once it is renamed.
    pub(super) temporary: Option<PathBuf>,
    /// The path with links followed.
    pub(super) target: PathBuf,
    _claim: Claim,
    _registered: Registered,
}

/// What a database says of itself. No output that somebody names replaces it.
const DESCRIPTIONS: [&str; 2] = ["op_mapping.yaml", "database.toml"];

impl Staged {
    /// Opens the temporary for `path`, empty.
    ///
    /// # Errors
    /// When it cannot be made, and for the name of a lock, of a journal or of the [description](Self::description) of a database.
    pub fn create(path: &Path, parents: Parents) -> Result<Self, Error> {
        if path.file_name().is_some_and(|name| DESCRIPTIONS.iter().any(|own| name == *own)) {
            let reason =
                "is an input of this run, or of the next one that reads the database; give the output another name";
            return Err(Error::io(path, io::Error::new(io::ErrorKind::InvalidInput, reason)));
        }
        Staged::description(path, parents)
    }

    /// The same for those that write what a database says of itself: its operator mapping, and who measured it.
    ///
    /// # Errors
    /// When it cannot be made, and for the name of a lock or a journal.
    pub fn description(path: &Path, parents: Parents) -> Result<Self, Error> {
        let failed = |source| Error::io(path, source);
        if path.as_os_str().is_empty() {
            return Err(failed(io::Error::new(io::ErrorKind::NotFound, "empty file name")));
        }
        if path.file_name().is_some_and(|name| name == LOCK_FILE || name == JOURNAL_FILE) {
            let reason = "is a name that perfdb uses for itself; give the output another name";
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, reason)));
        }
        let existing = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        // Behind /dev/stdout there may be a regular file, which must not be replaced under the shell's feet.
        if existing.as_ref().is_some_and(|metadata| !metadata.is_file() || names_descriptor(path)) {
            let spool = Spool::Direct(tempfile::tempfile().map_err(failed)?);
            return Ok(Staged { path: path.to_owned(), spool, made_folders: MadeFolders::default() });
        }
        let target = follow_links(path).map_err(failed)?;
        let mut made_folders = MadeFolders::default();
        let folder = parent_of(&target);
        let temporary = temporary_name(&target, std::process::id()).map_err(failed)?;
        let _claim = Claim::new(&target).map_err(failed)?;
        if parents == Parents::Create && !folder.is_dir() {
            made_folders = MadeFolders::make(&folder)
                .map_err(|source| failed(io::Error::new(source.kind(), format!("{}: {source}", shown(&folder)))))?;
        }
        remove_own_leftovers(&target);
        let create = || create_temporary(&temporary).map(|file| (temporary.clone(), file));
        let (registered, file) = leftovers::make(Kind::File, create).map_err(failed)?;
        let mut beside = Beside {
            file: None,
            is_synced: false,
            _registered: registered,
            temporary: Some(temporary),
            target,
            _claim,
        };
        if let Some(existing) = existing {
            keep_ownership(&file, &existing);
            file.set_permissions(existing.permissions()).map_err(failed)?;
        }
        beside.file = Some((file, OpenSlot::take()));
        Ok(Staged { path: path.to_owned(), spool: Spool::Beside(beside), made_folders })
    }

    /// Stages `content` for `path` and syncs it to the disk.
    pub fn with(path: &Path, content: &[u8], parents: Parents) -> Result<Self, Error> {
        Staged::create(path, parents)?.filled(content)
    }

    /// Writes `content` as all that the file has, and syncs it to the disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn filled(mut self, content: &[u8]) -> Result<Self, Error> {
        self.write_all(content).map_err(|source| Error::io(&self.path, source))?;
        self.sync()?;
        Ok(self)
    }

    /// The file that will be replaced, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what is staged through to the disk, after which it takes no more. [`commit`](super::commit) does it for those that were not.
    pub fn sync(&mut self) -> Result<(), Error> {
        let Spool::Beside(beside) = &mut self.spool else { return Ok(()) };
        let Some((file, slot)) = beside.file.as_ref().filter(|_| !beside.is_synced) else { return Ok(()) };
        system::sync(file).map_err(|source| Error::io(&self.path, source))?;
        beside.is_synced = true;
        if slot.is_beyond_limit() {
            beside.file = None;
        }
        Ok(())
    }
}

impl Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.spool {
            Spool::Beside(Beside { file: Some((file, _)), is_synced: false, .. }) => system::write(file, bytes),
            Spool::Direct(file) => system::write(file, bytes),
            Spool::Beside(_) => Err(io::Error::other("already synced")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// A file of another user stays theirs when root replaces it. Others may not change owners, and need not.
fn keep_ownership(file: &File, existing: &fs::Metadata) {
    if file.metadata().is_ok_and(|new| (new.uid(), new.gid()) != (existing.uid(), existing.gid())) {
        let _ = std::os::unix::fs::fchown(file, Some(existing.uid()), Some(existing.gid()));
    }
}

/// Drops a set that is not committed: first all temporaries, then the folders that were made for them, which are empty only then.
pub fn discard(mut set: Vec<Staged>) {
    let made: Vec<MadeFolders> = set.iter_mut().map(|staged| std::mem::take(&mut staged.made_folders)).collect();
    drop(set);
    drop(made);
}
