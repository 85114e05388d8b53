//! One lock per database directory, so that two writers never lose each other's rows.
//!
//! The lock is an exclusive `flock` on `<directory>/.perfdb.lock`. It vanishes with the process that holds it, however that ends, and the file
//! is removed before the lock is given up, so that a finished run leaves nothing behind. Readers need no lock: files are replaced whole.
//!
//! Whoever may write into a directory could have put something else under that name. A link, a pipe or a file that has a second name is not
//! opened for writing, and never removed: it is an error.

use crate::error::Error;
use crate::leftovers::{self, Kind, Registered};
use crate::replace::journal;
use crate::replace::{self, Staged};
use crate::system;
use crate::time::utc_text;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Name of the lock file within a directory.
pub const LOCK_FILE: &str = ".perfdb.lock";

pub use crate::replace::journal::JOURNAL_FILE;

/// How long writers wait unless they are given a limit.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// How to take locks, and who is notified.
#[derive(Clone, Copy)]
pub struct LockOptions<'a> {
    /// Name of the tool, for the line that others see.
    pub tool: &'a str,
    /// How long to wait for other runs in all; zero means not at all.
    pub timeout: Duration,
    /// Called when the run waits or goes on without a lock.
    pub notice: &'a (dyn Fn(&Notice) + Sync),
}

impl std::fmt::Debug for LockOptions<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LockOptions")
            .field("tool", &self.tool)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// What the caller is notified of while locks are taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Notice {
    /// Another run holds the lock; sent once per run.
    #[error("waiting for {}, held by {}", crate::escape::shown(.path), crate::escape::excerpt(.holder))]
    Waiting {
        /// The lock file.
        path: PathBuf,
        /// The line that the holder wrote.
        holder: String,
    },
    /// The file system cannot lock; the run goes on without.
    #[error("{}: this file system cannot lock, going on without: {reason}", crate::escape::shown(.path))]
    NoLocks {
        /// The lock file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
}

/// The locks of some directories, held until dropped.
#[derive(Debug, Default)]
#[must_use = "the locks are given up when this is dropped"]
pub struct DirectoryLocks {
    held: Vec<HeldLock>,
    /// Absolute, also of file systems that cannot lock.
    directories: Vec<PathBuf>,
}

#[derive(Debug)]
struct HeldLock {
    path: PathBuf,
    file: File,
    _registered: Registered,
}

impl DirectoryLocks {
    /// Takes the lock of every directory, in the order of their absolute paths, and removes what killed runs have left there.
    ///
    /// The directories must exist. One named twice, also by way of a link, is locked once.
    pub fn acquire<P: AsRef<Path>>(
        directories: impl IntoIterator<Item = P>,
        options: &LockOptions<'_>,
    ) -> Result<Self, Error> {
        let mut ordered = BTreeMap::new();
        for directory in directories {
            let directory = directory.as_ref();
            let absolute = fs::canonicalize(directory).map_err(|source| Error::io(directory, source))?;
            ordered.entry(absolute).or_insert_with(|| directory.to_owned());
        }
        let now = Instant::now();
        // A time limit beyond what a clock can count is none.
        let deadline = now.checked_add(options.timeout);
        let mut waiter = Waiter { options, started: now, deadline, has_notified: false };
        let mut locks = DirectoryLocks::default();
        for (absolute, directory) in ordered {
            let held = waiter.lock(&directory)?;
            let is_held = held.is_some();
            locks.held.extend(held);
            locks.directories.push(absolute);
            if is_held {
                let journal = directory.join(JOURNAL_FILE);
                journal::complete(&directory).map_err(|source| Error::io(&journal, source))?;
                replace::remove_leftovers(&directory).map_err(|source| Error::io(&directory, source))?;
            }
        }
        Ok(locks)
    }

    /// Gives every staged file its name, as [`replace::commit`] does. Should the process be killed meanwhile, the next run that takes these locks
    /// finishes the part of the set in their directories.
    pub fn commit(&self, set: Vec<Staged>) -> Result<(), Error> {
        replace::commit_in(set, &self.directories)
    }
}

/// Finishes the sets of files that killed runs have begun to replace in these directories, under their locks; takes none where nothing is
/// pending. For tools that read tables and may find nothing to write.
pub fn finish_pending<P: AsRef<Path>>(
    directories: impl IntoIterator<Item = P>,
    options: &LockOptions<'_>,
) -> Result<(), Error> {
    let pending: Vec<P> = directories.into_iter().filter(|directory| is_half_replaced(directory.as_ref())).collect();
    DirectoryLocks::acquire(pending, options).map(drop)
}

/// Whether a killed run has left a set of files of this directory half replaced. Taking its lock completes the set.
pub fn is_half_replaced(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join(JOURNAL_FILE)).is_ok()
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        if is_same_file(&self.path, &self.file).unwrap_or(false) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

struct Waiter<'a> {
    options: &'a LockOptions<'a>,
    started: Instant,
    deadline: Option<Instant>,
    has_notified: bool,
}

impl Waiter<'_> {
    fn lock(&mut self, directory: &Path) -> Result<Option<HeldLock>, Error> {
        let path = directory.join(LOCK_FILE);
        let failed = |source| Error::io(&path, source);
        let mut pause = Duration::from_millis(1);
        loop {
            match leftovers::make(Kind::File, || try_lock(&path)) {
                Ok((registered, file)) => {
                    let mut held = HeldLock { path: path.clone(), file, _registered: registered };
                    held.sign(self.options.tool).map_err(failed)?;
                    tracing::info!(
                        "locked {} after {:.3} s",
                        crate::escape::shown(&path),
                        self.started.elapsed().as_secs_f64()
                    );
                    return Ok(Some(held));
                }
                Err(NotLocked::Held) => {}
                Err(NotLocked::Again) => continue,
                Err(NotLocked::Unsupported(error)) => {
                    (self.options.notice)(&Notice::NoLocks { path, reason: error.to_string() });
                    return Ok(None);
                }
                Err(NotLocked::Failed(error)) => return Err(failed(error)),
            }
            let left =
                self.deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(Error::Locked { path: path.clone(), holder: holder_of(&path) });
            }
            if !self.has_notified {
                self.has_notified = true;
                tracing::info!("waiting for {}", crate::escape::shown(&path));
                (self.options.notice)(&Notice::Waiting { path: path.clone(), holder: holder_of(&path) });
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

impl HeldLock {
    /// Writes the line by which others know who holds the lock.
    fn sign(&mut self, tool: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        writeln!(self.file, "{} {tool} {}", std::process::id(), utc_text(SystemTime::now()))
    }
}

/// Why a lock file is not locked.
enum NotLocked {
    /// Somebody else has it.
    Held,
    /// Its holder has just removed it, or a signal came between: to be tried again.
    Again,
    /// The file system cannot lock.
    Unsupported(io::Error),
    Failed(io::Error),
}

/// Opens and locks the lock file, without waiting.
fn try_lock(path: &Path) -> Result<(PathBuf, File), NotLocked> {
    let (file, is_new) = open_lock_file(path).map_err(NotLocked::Failed)?;
    match system::try_lock(&file) {
        // The holder before us may have removed the file between our opening and our locking it.
        Ok(()) => {
            let is_same = is_same_file(path, &file).map_err(NotLocked::Failed)?;
            if is_same { Ok((path.to_owned(), file)) } else { Err(NotLocked::Again) }
        }
        Err(TryLockError::WouldBlock) => Err(NotLocked::Held),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => Err(NotLocked::Again),
        Err(TryLockError::Error(error)) => {
            if is_new {
                let _ = fs::remove_file(path);
            }
            Err(if cannot_lock(&error) { NotLocked::Unsupported(error) } else { NotLocked::Failed(error) })
        }
    }
}

/// Opens the lock file; true if it was made by that.
fn open_lock_file(path: &Path) -> io::Result<(File, bool)> {
    loop {
        // Opening a pipe would wait for its other end, opening a link would change what it leads to.
        let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
        let open = |options: &mut OpenOptions| options.read(true).write(true).custom_flags(flags).open(path);
        match open(OpenOptions::new().create_new(true)) {
            Ok(file) => return Ok((file, true)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        match open(&mut OpenOptions::new()) {
            Ok(file) => {
                let metadata = file.metadata()?;
                return if metadata.is_file() && metadata.nlink() <= 1 {
                    Ok((file, false))
                } else {
                    Err(no_lock_file())
                };
            }
            // Its holder has just removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // What a link, a socket and a device without a driver answer.
            Err(error) if is_one_of(&error, &[Errno::ELOOP, Errno::ENXIO, Errno::ENODEV]) => return Err(no_lock_file()),
            Err(error) => return Err(error),
        }
    }
}

fn no_lock_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "is not a lock file but a link or something else; remove it")
}

/// Whether the file system, or the system, has no locks to give.
fn cannot_lock(error: &io::Error) -> bool {
    is_one_of(error, &[Errno::ENOLCK, Errno::ENOSYS, Errno::EOPNOTSUPP, Errno::EINVAL])
}

fn is_one_of(error: &io::Error, numbers: &[Errno]) -> bool {
    error.raw_os_error().is_some_and(|found| numbers.iter().any(|number| *number as i32 == found))
}

/// Whether a path names the file that is open.
pub(crate) fn is_same_file(path: &Path, file: &File) -> io::Result<bool> {
    let held = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn holder_of(path: &Path) -> String {
    let mut bytes = Vec::new();
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let read = file.and_then(|file| file.take(200).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    match text.lines().next() {
        Some(line) if read.is_ok() && !line.is_empty() => line.to_owned(),
        _ => "another run".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::names;
    use std::sync::Mutex;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    fn options(timeout: Duration) -> LockOptions<'static> {
        LockOptions { tool: "some-tool", timeout, notice: &|_| {} }
    }

    #[test]
    fn the_file_names_its_holder_and_is_gone_afterwards() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(LOCK_FILE);
        let locks = DirectoryLocks::acquire([folder.path()], &options(Duration::ZERO))?;
        let line = fs::read_to_string(&path)?;
        assert!(line.starts_with(&format!("{} some-tool 2", std::process::id())), "{line}");
        let Err(refused) = DirectoryLocks::acquire([folder.path()], &options(Duration::ZERO)) else {
            return Err("the lock was given twice".into());
        };
        assert_eq!(refused.to_string(), format!("{}: held by {}", path.display(), line.trim_end()));
        drop(locks);
        assert!(!path.exists());
        Ok(())
    }

    #[test]
    fn a_file_left_by_a_dead_process_is_taken_over_and_its_temporaries_removed() -> TestResult {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join(LOCK_FILE), "999999999 start-microbench 2020-01-01T00:00:00Z\n")?;
        fs::write(folder.path().join(".Add.csv.tmp-999999999"), "half")?;
        drop(DirectoryLocks::acquire([folder.path()], &options(Duration::ZERO))?);
        assert_eq!(fs::read_dir(folder.path())?.count(), 0);
        Ok(())
    }

    /// What is in a lock file's place is neither followed, nor waited for, nor written, nor removed.
    fn refused(put: impl FnOnce(&Path) -> io::Result<()>) -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(LOCK_FILE);
        put(&path)?;
        let before = names(folder.path())?;
        let kind = fs::symlink_metadata(&path)?.file_type();
        let Err(error) = DirectoryLocks::acquire([folder.path()], &options(Duration::ZERO)) else {
            return Err("a lock was given".into());
        };
        assert!(error.to_string().contains("is not a lock file"), "{error}");
        assert_eq!((names(folder.path())?, fs::symlink_metadata(&path)?.file_type()), (before, kind));
        Ok(())
    }

    #[test]
    fn a_link_is_not_followed_and_its_target_stays_as_it_is() -> TestResult {
        let elsewhere = tempfile::tempdir()?;
        let victim = elsewhere.path().join("victim");
        fs::write(&victim, "precious")?;
        refused(|path| std::os::unix::fs::symlink(&victim, path))?;
        refused(|path| fs::hard_link(&victim, path))?;
        assert_eq!(fs::read_to_string(&victim)?, "precious");
        refused(|path| std::os::unix::fs::symlink(elsewhere.path().join("absent"), path))?;
        assert_eq!(names(elsewhere.path())?, ["victim"]);
        Ok(())
    }

    #[test]
    fn a_pipe_and_a_socket_are_no_lock_files() -> TestResult {
        refused(|path| Ok(nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU)?))?;
        refused(|path| std::os::unix::net::UnixListener::bind(path).map(drop))
    }

    #[test]
    fn a_waiting_run_notifies_once_and_gets_the_lock() -> TestResult {
        let folder = tempfile::tempdir()?;
        let first = DirectoryLocks::acquire([folder.path()], &options(Duration::ZERO))?;
        let (sender, notices) = std::sync::mpsc::channel();
        let sender = Mutex::new(sender);
        let directory = folder.path().to_owned();
        let second = std::thread::spawn(move || {
            let notice = |notice: &Notice| {
                let _ = sender.lock().map(|sender| sender.send(notice.clone()));
            };
            let options = LockOptions { tool: "second", timeout: Duration::from_secs(60), notice: &notice };
            DirectoryLocks::acquire([directory], &options).map(drop)
        });
        let notice = notices.recv()?;
        assert!(notice.to_string().contains("some-tool"), "{notice}");
        drop(first);
        second.join().map_err(|_| "the second run panicked")??;
        assert!(notices.try_recv().is_err(), "notified more than once");
        Ok(())
    }

    #[test]
    fn a_directory_named_twice_is_locked_once() -> TestResult {
        let folder = tempfile::tempdir()?;
        let link = folder.path().join("link");
        fs::create_dir(folder.path().join("a"))?;
        std::os::unix::fs::symlink("a", &link)?;
        let locks = DirectoryLocks::acquire([folder.path().join("a"), link], &options(Duration::ZERO))?;
        assert_eq!(locks.held.len(), 1);
        Ok(())
    }

    #[test]
    fn a_lock_makes_no_folder() -> TestResult {
        let folder = tempfile::tempdir()?;
        let absent = folder.path().join("absent");
        assert!(DirectoryLocks::acquire([&absent], &options(Duration::ZERO)).is_err());
        assert!(!absent.exists());
        Ok(())
    }
}
