//! The calls that change files, in one place, so that tests can have each of them fail.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::Path;

/// Has a call fail, or ends the process in front of it, where a test asked for it.
#[cfg(feature = "fault-injection")]
fn fault(call: &str) -> io::Result<()> {
    crate::fault::meet(call)
}

#[cfg(not(feature = "fault-injection"))]
#[inline]
fn fault(_call: &str) -> io::Result<()> {
    Ok(())
}

pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    fault("create")?;
    fs::OpenOptions::new().write(true).create_new(true).open(path)
}

pub(crate) fn try_lock(file: &File) -> Result<(), TryLockError> {
    fault("lock").map_err(TryLockError::Error)?;
    file.try_lock()
}

pub(crate) fn write(file: &mut File, bytes: &[u8]) -> io::Result<usize> {
    fault("write")?;
    file.write(bytes)
}

pub(crate) fn sync(file: &File) -> io::Result<()> {
    fault("sync")?;
    file.sync_all()
}

pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    fault("sync folder")?;
    File::open(folder)?.sync_all()
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fault("rename")?;
    fs::rename(from, to)
}

/// Two names change places in one step.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    fault("exchange")?;
    Ok(renameat2(AT_FDCWD, one, AT_FDCWD, other, RenameFlags::RENAME_EXCHANGE)?)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn link(from: &Path, to: &Path) -> io::Result<()> {
    fault("link")?;
    fs::hard_link(from, to)
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fault("remove")?;
    fs::remove_file(path)
}
