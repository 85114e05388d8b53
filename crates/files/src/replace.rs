//! Replacing files whole: a temporary beside the target, synced, renamed over it.
//!
//! A file is [staged](Staged) first, which leaves the target as it is, and [committed](commit) then; a set of files is committed together, so that
//! an error while staging leaves every file of the set as it was. A killed process can leave temporaries (`.<name>.tmp-<pid>`), never half a file.
//!
//! ```
//! # fn main() -> Result<(), perfdb_files::Error> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let (first, second) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
//! use perfdb_files::replace::{self, Parents, Staged};
//!
//! replace::replace(&first, b"alone", Parents::MustExist)?;
//!
//! let set = vec![Staged::with(&first, b"one", Parents::MustExist)?, Staged::with(&second, b"two", Parents::MustExist)?];
//! replace::commit(set)?;
//! # assert_eq!(std::fs::read(&first).unwrap(), b"one");
//! # Ok(()) }
//! ```

mod claim;
mod direct;

use self::claim::Claim;
use self::direct::{names_descriptor, write_directly};
use crate::error::Error;
use crate::escape::shown;
use crate::folders::MadeFolders;
use crate::leftovers::{self, Registered, register};
use crate::paths::parent_of;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What to do about a folder that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parents {
    /// It is an error.
    MustExist,
    /// It is made, and removed again if the file is never committed.
    Create,
}

/// Replaces one file by `content`.
pub fn replace(path: &Path, content: &[u8], parents: Parents) -> Result<(), Error> {
    commit(vec![Staged::with(path, content, parents)?])
}

/// A finished new content that waits for its [`commit`]. Dropped without, it leaves nothing behind.
///
/// While it is written it is an [`io::Write`]; wrap it in a `BufWriter` for small pieces.
#[derive(Debug)]
pub struct Staged {
    path: PathBuf,
    spool: Spool,
    made_folders: MadeFolders,
}

#[derive(Debug)]
enum Spool {
    /// A regular or new file: `temporary` will be renamed to `target` (the path with links followed).
    Beside { file: Option<File>, temporary: PathBuf, target: PathBuf, _claim: Claim, _registered: Registered },
    /// Pipes, terminals and other devices get the finished content directly.
    Direct(File),
}

impl Staged {
    /// Opens the temporary for `path`, empty.
    pub fn create(path: &Path, parents: Parents) -> Result<Self, Error> {
        let failed = |source| Error::io(path, source);
        if path.as_os_str().is_empty() {
            return Err(failed(io::Error::new(io::ErrorKind::NotFound, "empty file name")));
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
        let temporary = temporary_name(&target).map_err(failed)?;
        let _claim = Claim::new(&target).map_err(failed)?;
        if parents == Parents::Create && !folder.is_dir() {
            made_folders = MadeFolders::make(&folder)
                .map_err(|source| failed(io::Error::new(source.kind(), format!("{}: {source}", shown(&folder)))))?;
        }
        let mut staged = Staged {
            path: path.to_owned(),
            spool: Spool::Beside {
                file: None,
                _registered: register(&temporary),
                temporary: temporary.clone(),
                target,
                _claim,
            },
            made_folders,
        };
        let file = create_new(&temporary).map_err(failed)?;
        if let Some(existing) = existing {
            keep_ownership(&file, &existing);
            file.set_permissions(existing.permissions()).map_err(failed)?;
        }
        if let Spool::Beside { file: slot, .. } = &mut staged.spool {
            *slot = Some(file);
        }
        Ok(staged)
    }

    /// Stages `content` for `path` and syncs it to the disk.
    pub fn with(path: &Path, content: &[u8], parents: Parents) -> Result<Self, Error> {
        let mut staged = Staged::create(path, parents)?;
        staged.write_all(content).map_err(|source| Error::io(path, source))?;
        staged.sync()?;
        Ok(staged)
    }

    /// The file that will be replaced, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what is staged through to the disk, and closes it. [`commit`] does it for those that were not.
    pub fn sync(&mut self) -> Result<(), Error> {
        if let Spool::Beside { file, .. } = &mut self.spool
            && let Some(file) = file.take()
        {
            file.sync_all().map_err(|source| Error::io(&self.path, source))?;
        }
        Ok(())
    }
}

impl Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.spool {
            Spool::Beside { file: Some(file), .. } | Spool::Direct(file) => file.write(bytes),
            Spool::Beside { file: None, .. } => Err(io::Error::other("already synced")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Spool::Beside { temporary, .. } = &self.spool
            && !temporary.as_os_str().is_empty()
        {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Gives every staged file its name, in the order of the paths' components, and syncs the folders.
///
/// Every file is on the disk before the first is renamed, and what goes to a pipe or a device is written before: what most often fails does so
/// while nothing has changed. No signal ends the process between two renames. When a rename fails, the error names the files that are
/// already new.
pub fn commit(mut set: Vec<Staged>) -> Result<(), Error> {
    sync_all(&mut set)?;
    set.sort_by(|a, b| a.path.components().cmp(b.path.components()));
    for staged in &mut set {
        if let Spool::Direct(spool) = &mut staged.spool {
            write_directly(&staged.path, spool).map_err(|source| Error::io(&staged.path, source))?;
            tracing::info!("wrote {}", shown(&staged.path));
        }
    }
    let held_off = leftovers::hold_off();
    let renamed = rename_all(&mut set);
    drop(held_off);
    drop(set);
    for folder in renamed? {
        // Some file systems cannot sync a directory; the files themselves are safe.
        let _ = File::open(&folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

/// Renames the files of a set; returns their folders.
fn rename_all(set: &mut [Staged]) -> Result<Vec<PathBuf>, Error> {
    let mut done: Vec<PathBuf> = Vec::new();
    let mut folders: Vec<PathBuf> = Vec::new();
    for staged in set {
        let Spool::Beside { temporary, target, .. } = &mut staged.spool else { continue };
        if let Err(source) = fs::rename(&*temporary, &*target) {
            let path = staged.path.clone();
            let error =
                if done.is_empty() { Error::Io { path, source } } else { Error::PartlyReplaced { path, source, done } };
            return Err(error);
        }
        // Without a name it has been renamed.
        temporary.clear();
        let folder = parent_of(target);
        if !folders.contains(&folder) {
            folders.push(folder);
        }
        std::mem::take(&mut staged.made_folders).keep();
        tracing::info!("wrote {}", shown(&staged.path));
        done.push(staged.path.clone());
    }
    Ok(folders)
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

/// Removes what killed runs have left in `folder`; this process's own files stay. Only for the holder of the folder's lock.
pub fn remove_leftovers(folder: &Path) -> io::Result<()> {
    let ours = format!(".tmp-{}", std::process::id());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_leftover_name(&name) && !name.ends_with(&ours) && entry.file_type()?.is_file() {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Whether a file name is that of a temporary: `.<name>.tmp-<digits>`.
pub fn is_leftover_name(name: &str) -> bool {
    let ends_in_digits = |name: &str| {
        name.rsplit_once(".tmp-").is_some_and(|(stem, digits)| {
            !stem.is_empty() && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    name.strip_prefix('.').is_some_and(ends_in_digits)
}

fn temporary_name(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".tmp-{}", std::process::id()));
    Ok(target.with_file_name(temporary))
}

fn create_new(temporary: &Path) -> io::Result<File> {
    let create = || OpenOptions::new().write(true).create_new(true).open(temporary);
    create().or_else(|error| match error.kind() {
        // A dead process had this number.
        io::ErrorKind::AlreadyExists => fs::remove_file(temporary).and_then(|()| create()),
        _ => Err(error),
    })
}

/// A file of another user stays theirs when root replaces it. Others may not change owners, and need not.
fn keep_ownership(file: &File, existing: &fs::Metadata) {
    if file.metadata().is_ok_and(|new| (new.uid(), new.gid()) != (existing.uid(), existing.gid())) {
        let _ = std::os::unix::fs::fchown(file, Some(existing.uid()), Some(existing.gid()));
    }
}

/// Where a path leads: the link's target if it is a symbolic link, also when that does not exist yet.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(target) => path = parent_of(&path).join(target),
            // Not a link, or not there.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    fn names(folder: &Path) -> io::Result<Vec<String>> {
        let mut names: Vec<_> = fs::read_dir(folder)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<_>>()?;
        names.sort();
        Ok(names)
    }

    #[test]
    fn a_mode_is_kept_and_nothing_else_is_left() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.csv");
        fs::write(&path, "old")?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
        replace(&path, b"new", Parents::MustExist)?;
        assert_eq!(fs::read(&path)?, b"new");
        assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o640);
        assert_eq!(names(folder.path())?, ["a.csv"]);
        Ok(())
    }

    #[test]
    fn a_new_file_gets_the_mode_of_the_umask() -> TestResult {
        let folder = tempfile::tempdir()?;
        let (ours, usual) = (folder.path().join("ours"), folder.path().join("usual"));
        replace(&ours, b"", Parents::MustExist)?;
        fs::write(&usual, "")?;
        assert_eq!(fs::metadata(ours)?.permissions(), fs::metadata(usual)?.permissions());
        Ok(())
    }

    #[test]
    fn a_link_stays_and_its_target_is_replaced() -> TestResult {
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("inner"))?;
        let (link, target) = (folder.path().join("link"), folder.path().join("inner/target"));
        symlink("inner/target", &link)?;
        replace(&link, b"made through a dangling link", Parents::MustExist)?;
        replace(&link, b"new", Parents::MustExist)?;
        assert!(fs::symlink_metadata(&link)?.is_symlink());
        assert_eq!(fs::read(target)?, b"new");
        assert_eq!(names(folder.path())?, ["inner", "link"]);
        Ok(())
    }

    #[test]
    fn a_set_that_fails_while_staging_changes_nothing() -> TestResult {
        let folder = tempfile::tempdir()?;
        let (good, bad) = (folder.path().join("good"), folder.path().join("none/bad"));
        fs::write(&good, "old")?;
        let staged = Staged::with(&good, b"new", Parents::MustExist)?;
        assert!(Staged::with(&bad, b"new", Parents::MustExist).is_err());
        drop(staged);
        assert_eq!(fs::read(&good)?, b"old");
        assert_eq!(names(folder.path())?, ["good"]);
        Ok(())
    }

    #[test]
    fn a_rename_that_fails_names_what_is_already_new() -> TestResult {
        let folder = tempfile::tempdir()?;
        let (a, b) = (folder.path().join("a"), folder.path().join("gone/b"));
        fs::create_dir(folder.path().join("gone"))?;
        let set = vec![Staged::with(&b, b"new", Parents::MustExist)?, Staged::with(&a, b"new", Parents::MustExist)?];
        fs::remove_dir_all(folder.path().join("gone"))?;
        match commit(set) {
            Err(Error::PartlyReplaced { path, done, .. }) => assert_eq!((path, done), (b, vec![a])),
            other => panic!("expected a partly replaced set, found {other:?}"),
        }
        Ok(())
    }

    #[test]
    fn folders_are_made_on_request_and_vanish_with_the_staged_file() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x/y/z.csv");
        drop(Staged::with(&path, b"1", Parents::Create)?);
        assert_eq!(names(folder.path())?, Vec::<String>::new());
        replace(&path, b"2", Parents::Create)?;
        assert_eq!(fs::read(path)?, b"2");
        Ok(())
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named_behind_the_file() {
        // Nobody makes folders there.
        let error = replace(Path::new("/proc/none/m6.json"), b"", Parents::Create).unwrap_err().to_string();
        assert!(error.starts_with("/proc/none/m6.json: /proc/none: "), "{error}");
    }

    #[test]
    fn one_name_is_staged_once_at_a_time() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a");
        let first = Staged::with(&path, b"first", Parents::MustExist)?;
        let other_spelling = folder.path().join("./a");
        assert!(Staged::with(&other_spelling, b"second", Parents::MustExist).is_err());
        commit(vec![first])?;
        assert_eq!(fs::read(&path)?, b"first");
        replace(&other_spelling, b"third", Parents::MustExist)?;
        assert_eq!((fs::read(&path)?, names(folder.path())?), (b"third".to_vec(), vec!["a".to_owned()]));
        Ok(())
    }

    #[test]
    fn a_folder_is_not_made_for_what_is_no_file_name() -> TestResult {
        let folder = tempfile::tempdir()?;
        assert!(replace(&folder.path().join("new/.."), b"", Parents::Create).is_err());
        assert_eq!(names(folder.path())?, Vec::<String>::new());
        Ok(())
    }

    #[test]
    fn a_pipe_is_written_to_directly() -> TestResult {
        let folder = tempfile::tempdir()?;
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU)?;
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe)
        });
        replace(&pipe, b"through", Parents::MustExist)?;
        assert_eq!(reader.join().map_err(|_| "the reader panicked")??, b"through");
        assert_eq!(names(folder.path())?, ["pipe"]);
        Ok(())
    }

    #[test]
    fn a_directory_is_no_file() -> TestResult {
        let folder = tempfile::tempdir()?;
        assert!(replace(folder.path(), b"", Parents::MustExist).is_err());
        Ok(())
    }

    #[test]
    fn only_names_of_temporaries_are_leftovers() -> TestResult {
        let folder = tempfile::tempdir()?;
        for name in [".Add.csv.tmp-123", "Add.csv.tmp-9", ".Add.csv.tmp-", ".tmp-5", ".Add.csv.tmp-1x", "X.tmp.csv"] {
            fs::write(folder.path().join(name), "")?;
        }
        remove_leftovers(folder.path())?;
        assert_eq!(names(folder.path())?, [".Add.csv.tmp-", ".Add.csv.tmp-1x", ".tmp-5", "Add.csv.tmp-9", "X.tmp.csv"]);
        Ok(())
    }
}
