//! Giving a set of staged files their names: all of them or none.

use super::direct::write_directly;
use super::journal::{self, JOURNAL_FILE};
use super::staged::{Beside, Spool, Staged, discard};
use super::temporary::{backup_name, create_temporary, temporary_name};
use crate::error::Error;
use crate::escape::shown;
use crate::leftovers::{self, Kind, Registered};
use crate::paths::parent_of;
use crate::system;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// [`commit`](super::commit) in directories whose locks are held: for each of them a journal lists what is renamed below it.
pub(crate) fn commit_in(mut set: Vec<Staged>, directories: &[PathBuf]) -> Result<(), Error> {
    let committed = commit_all(&mut set, directories);
    if committed.is_err() {
        discard(set);
    }
    committed
}

fn commit_all(set: &mut [Staged], directories: &[PathBuf]) -> Result<(), Error> {
    sync_all(set)?;
    set.sort_by_cached_key(|staged| rename_order(&staged.path));
    for staged in &mut *set {
        if let Spool::Direct(spool) = &mut staged.spool {
            write_directly(&staged.path, spool).map_err(|source| Error::io(&staged.path, source))?;
            tracing::info!("wrote {}", shown(&staged.path));
        }
    }
    let is_set = set.iter().filter(|staged| matches!(staged.spool, Spool::Beside(_))).nth(1).is_some();
    let backups = if is_set { Backups::make(set)? } else { Backups::default() };
    let journals = if is_set { Journals::stage(set, directories)? } else { Journals::default() };
    let held_off = leftovers::hold_off();
    let renamed = journals.write().and_then(|()| rename_all(set, &backups, &journals));
    if renamed.is_ok() {
        for folder in folders_of(set) {
            // Some file systems cannot sync a directory; the files themselves are safe.
            let _ = system::sync_folder(&folder);
        }
    }
    journals.remove();
    backups.remove();
    drop(held_off);
    if renamed.is_ok() {
        for staged in set {
            std::mem::take(&mut staged.made_folders).keep();
        }
    }
    renamed
}

/// By name, but `x.csv.replaced` before `x.csv`: a copy is there before what it is a copy of goes, also for whoever looks between the two.
fn rename_order(path: &Path) -> Vec<Vec<u8>> {
    let ended = |part: std::path::Component<'_>| [part.as_os_str().as_bytes(), &[u8::MAX]].concat();
    path.components().map(ended).collect()
}

fn besides(set: &[Staged]) -> impl Iterator<Item = (&Staged, &Beside)> {
    set.iter().filter_map(|staged| match &staged.spool {
        Spool::Beside(beside) => Some((staged, beside)),
        Spool::Direct(_) => None,
    })
}

fn folders_of(set: &[Staged]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for (_, beside) in besides(set) {
        let folder = parent_of(&beside.target);
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// Renames the files of a set. When one cannot be, those that have been are put back.
fn rename_all(set: &mut [Staged], backups: &Backups, journals: &Journals) -> Result<(), Error> {
    for at in 0..set.len() {
        let staged = &mut set[at];
        let Spool::Beside(beside) = &mut staged.spool else { continue };
        let Some(temporary) = beside.temporary.as_ref() else { continue };
        if let Err(source) = system::rename(temporary, &beside.target) {
            let path = staged.path.clone();
            // The next run would finish what is taken back here.
            journals.remove();
            let done = put_back(&mut set[..at], backups);
            return Err(if done.is_empty() {
                Error::Io { path, source }
            } else {
                Error::PartlyReplaced { path, source, done }
            });
        }
        beside.temporary = None;
        tracing::info!("wrote {}", shown(&staged.path));
    }
    Ok(())
}

/// Gives the files that were replaced their old content again; returns those where that was not possible.
fn put_back(renamed: &mut [Staged], backups: &Backups) -> Vec<PathBuf> {
    let mut stay_new = Vec::new();
    for staged in renamed.iter_mut().rev() {
        let Spool::Beside(beside) = &staged.spool else { continue };
        let restored = match backups.of(&beside.target) {
            Old::Absent => fs::remove_file(&beside.target),
            Old::Kept(backup) => fs::rename(backup, &beside.target),
            Old::NotKept => Err(io::ErrorKind::Unsupported.into()),
        };
        if restored.is_err() {
            stay_new.push(staged.path.clone());
        }
    }
    stay_new.reverse();
    stay_new
}

/// Second names of the files that a set replaces, so that they can be put back.
#[derive(Debug, Default)]
struct Backups {
    /// Targets that exist, and their second names.
    kept: Vec<(PathBuf, PathBuf, Registered)>,
    /// Targets that exist on a file system that knows no second names.
    not_kept: Vec<PathBuf>,
}

enum Old<'b> {
    Absent,
    Kept(&'b Path),
    NotKept,
}

impl Backups {
    fn make(set: &[Staged]) -> Result<Backups, Error> {
        let mut backups = Backups::default();
        besides(set).try_for_each(|(staged, beside)| {
            backups.keep(&beside.target).map_err(|source| Error::io(&staged.path, source))
        })?;
        Ok(backups)
    }

    fn keep(&mut self, target: &Path) -> io::Result<()> {
        if fs::symlink_metadata(target).is_err() {
            return Ok(());
        }
        let backup = backup_name(target)?;
        let link = || {
            let _ = fs::remove_file(&backup);
            system::link(target, &backup).map(|()| (backup.clone(), ()))
        };
        match leftovers::make(Kind::File, link) {
            Ok((registered, ())) => self.kept.push((target.to_owned(), backup, registered)),
            Err(error) if matches!(error.kind(), io::ErrorKind::StorageFull) || is_input_output(&error) => {
                return Err(error);
            }
            Err(_) => self.not_kept.push(target.to_owned()),
        }
        Ok(())
    }

    fn of(&self, target: &Path) -> Old<'_> {
        if let Some((_, backup, _)) = self.kept.iter().find(|(kept, ..)| kept == target) {
            return Old::Kept(backup);
        }
        if self.not_kept.iter().any(|path| path == target) { Old::NotKept } else { Old::Absent }
    }

    fn remove(&self) {
        for (_, backup, _) in &self.kept {
            let _ = fs::remove_file(backup);
        }
    }
}

impl Drop for Backups {
    fn drop(&mut self) {
        self.remove();
    }
}

fn is_input_output(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::errno::Errno::EIO as i32)
}

/// The journals of a set, one per locked directory.
#[derive(Debug, Default)]
struct Journals {
    journals: Vec<Journal>,
}

#[derive(Debug)]
struct Journal {
    path: PathBuf,
    temporary: PathBuf,
    _registered: Registered,
}

impl Journals {
    /// Writes the journals to the disk, under other names yet.
    fn stage(set: &[Staged], directories: &[PathBuf]) -> Result<Journals, Error> {
        let mut places: Vec<PathBuf> = Vec::new();
        for (staged, _) in besides(set) {
            let folder = parent_of(&staged.path);
            let folder = fs::canonicalize(&folder).map_err(|source| Error::io(&staged.path, source))?;
            places.push(folder.join(staged.path.file_name().unwrap_or_default()));
        }
        let mut staged = Journals::default();
        for directory in directories {
            let below = places.iter().filter_map(|place| place.strip_prefix(directory).ok());
            let below: Vec<PathBuf> = below.map(Path::to_owned).collect();
            if below.is_empty() {
                continue;
            }
            let path = directory.join(JOURNAL_FILE);
            let failed = |source| Error::io(&path, source);
            let process = std::process::id();
            let temporary = temporary_name(&path, process).map_err(failed)?;
            let create = || create_temporary(&temporary).map(|file| (temporary.clone(), file));
            let (registered, mut file) = leftovers::make(Kind::File, create).map_err(failed)?;
            staged.journals.push(Journal { path: path.clone(), temporary, _registered: registered });
            io::Write::write_all(&mut Counted(&mut file), &journal::text(process, &below)).map_err(failed)?;
            system::sync(&file).map_err(failed)?;
        }
        Ok(staged)
    }

    /// Gives the journals their names: from now on the set is finished by somebody.
    fn write(&self) -> Result<(), Error> {
        for journal in &self.journals {
            let result = system::rename(&journal.temporary, &journal.path)
                .and_then(|()| system::sync_folder(&parent_of(&journal.path)).or_else(ignore_unsupported));
            result.map_err(|source| Error::io(&journal.path, source))?;
        }
        Ok(())
    }

    fn remove(&self) {
        for journal in &self.journals {
            let _ = fs::remove_file(&journal.temporary);
            let _ = fs::remove_file(&journal.path);
        }
    }
}

impl Drop for Journals {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Some file systems cannot sync a directory.
fn ignore_unsupported(error: io::Error) -> io::Result<()> {
    let is_fault = matches!(error.kind(), io::ErrorKind::StorageFull) || is_input_output(&error);
    if is_fault { Err(error) } else { Ok(()) }
}

/// A file whose writes go through [`system`].
struct Counted<'f>(&'f mut fs::File);

impl io::Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        system::write(self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Syncs what is not yet synced, many files at once: a file system then writes one journal entry for all that wait. Where no thread can be
/// started, this one does the work.
fn sync_all(set: &mut [Staged]) -> Result<(), Error> {
    const THREADS: usize = 16;
    if set.len() <= 1 {
        return set.iter_mut().try_for_each(Staged::sync);
    }
    let started = Instant::now();
    let files = set.len();
    let share = files.div_ceil(THREADS);
    let results: Mutex<Vec<Result<(), Error>>> = Mutex::default();
    let work = Mutex::new(set.chunks_mut(share));
    let run = || {
        loop {
            let part = work.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(part) = part else { return };
            let result = part.iter_mut().try_for_each(Staged::sync);
            results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..files.min(THREADS) {
            if std::thread::Builder::new().spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
    tracing::debug!("synced {files} files in {:.3} s", started.elapsed().as_secs_f64());
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_renamed_before_what_they_are_copies_of() {
        let mut names = ["b/x.csv", "x.csv", "x.csv.replaced_2", "a.csv", "x.csv.replaced"].map(Path::new);
        names.sort_by_cached_key(|path| rename_order(path));
        assert_eq!(names, ["a.csv", "b/x.csv", "x.csv.replaced_2", "x.csv.replaced", "x.csv"].map(Path::new));
    }
}
