//! The folder that an import fills: locked, and all files at once.

use super::MAPPING;
use super::files::copied;
use crate::parquet::error::Error;
use perfdb_files::folders::MadeFolders;
use perfdb_files::input::{self, Kind, LARGEST_TEXT_BYTES};
use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::replace::{Parents, Staged, discard};
use std::io::{self, BufReader, Read};
use std::path::Path;

/// A folder whose lock is held, and the files that it will have.
#[derive(Debug)]
pub(crate) struct Target {
    staged: Vec<Staged>,
    locks: DirectoryLocks,
    /// Those that were not there before. Dropped last, when they are empty.
    made: MadeFolders,
}

impl Target {
    /// Locks a folder, which is made where it is not there.
    pub(crate) fn open(folder: &Path, lock: &LockOptions<'_>) -> Result<Target, Error> {
        let made = MadeFolders::make(folder).map_err(|source| Error::io(folder, source))?;
        let locks = DirectoryLocks::acquire([folder], lock)?;
        Ok(Target { staged: Vec::new(), locks, made })
    }

    /// Adds a file with this content.
    pub(crate) fn add(&mut self, path: &Path, content: &[u8]) -> Result<(), Error> {
        if self.is_new(path, &mut &content[..])? {
            self.staged.push(Staged::description(path, Parents::Create)?.filled(content)?);
        }
        Ok(())
    }

    /// Changes the operator mapping of the folder, or makes it of nothing. What cannot be changed is refused, and what stays as it is not
    /// written.
    pub(crate) fn change_mapping(
        &mut self,
        folder: &Path,
        change: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<(), Error> {
        let path = folder.join(MAPPING);
        if path.is_symlink() {
            return Err(Error::unfit(&path, "is a link, and what is behind it may be another database's"));
        }
        let own = match input::read(&path, Kind::RegularFile, LARGEST_TEXT_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(|source| Error::io(&path, source))?,
        };
        let refused = "no table can be added; it must be YAML, with its kernel_tables as a table a line";
        let content = change(&own).ok_or_else(|| Error::unfit(&path, refused))?;
        if content != own {
            self.staged.push(Staged::description(&path, Parents::Create)?.filled(&content)?);
        }
        Ok(())
    }

    /// Adds a file that is not there yet.
    pub(crate) fn add_staged(&mut self, file: Staged) {
        self.staged.push(file);
    }

    /// Adds a copy of a file, which lies there below the folder that is imported.
    pub(crate) fn copy(&mut self, from: &Path, below: &Path, path: &Path) -> Result<(), Error> {
        let mut file = input::open(from, Kind::RegularFile).map_err(|source| Error::io(from, source))?;
        if self.is_new(path, &mut file)? {
            self.staged.push(copied(from, below, Staged::description(path, Parents::Create)?)?);
        }
        Ok(())
    }

    /// Whether the file is missing yet. One of the same content is that of an import that was killed after it.
    fn is_new(&self, path: &Path, content: &mut dyn Read) -> Result<bool, Error> {
        if path.symlink_metadata().is_err() {
            return Ok(true);
        }
        let is_same = input::open(path, Kind::RegularFile).and_then(|file| are_same(file, content));
        if is_same.map_err(|source| Error::io(path, source))? {
            return Ok(false);
        }
        Err(Error::unfit(path, "is there already, and nothing is replaced; import into another folder"))
    }

    /// Gives the files their names: all of them or none.
    pub(crate) fn commit(mut self) -> Result<(), Error> {
        self.locks.commit(std::mem::take(&mut self.staged))?;
        std::mem::take(&mut self.made).keep();
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        discard(std::mem::take(&mut self.staged));
    }
}

/// Whether two streams have the same bytes.
fn are_same(one: impl Read, other: &mut dyn Read) -> io::Result<bool> {
    let (mut one, mut other) = (BufReader::new(one).bytes(), BufReader::new(other).bytes());
    loop {
        match (one.next().transpose()?, other.next().transpose()?) {
            (None, None) => return Ok(true),
            (one, other) if one == other => {}
            _ => return Ok(false),
        }
    }
}
