//! Temporaries: their names, who still wants one, and removing those that nobody does.

use crate::lock::is_same_file;
use crate::paths::parent_of;
use crate::system;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The name of a process's temporary for a target: `.<name>.tmp-<pid>`.
pub(super) fn temporary_name(target: &Path, process: u32) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".tmp-{process}"));
    Ok(target.with_file_name(temporary))
}

/// The name of the second link to a target's old file, while a set is being renamed.
pub(super) fn backup_name(target: &Path) -> io::Result<PathBuf> {
    let mut name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
    name.push(".old");
    temporary_name(&target.with_file_name(name), std::process::id())
}

/// Makes a temporary, and locks it: whoever cleans up sees that it is still wanted.
pub(super) fn create_temporary(temporary: &Path) -> io::Result<File> {
    let create = || system::create_new(temporary);
    loop {
        let file = match create() {
            Ok(file) => file,
            // A dead process had this number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_locked(temporary)?;
                continue;
            }
            Err(error) => return Err(error),
        };
        // Without locks it counts as left behind for those who hold the directory's lock, which there is none of then either.
        let is_locked = file.lock().is_ok();
        // Whoever cleans up may have found it before it was locked.
        if !is_locked || is_same_file(temporary, &file)? {
            return Ok(file);
        }
    }
}

/// A staged file that is open. Systems allow a process some hundred.
#[derive(Debug)]
pub(super) struct OpenSlot {
    number: usize,
}

static OPEN: AtomicUsize = AtomicUsize::new(0);
/// Files that stay open: a quarter of what the system allows.
static MOST_OPEN: LazyLock<usize> = LazyLock::new(|| {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let allowed = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    allowed.map_or(256, |allowed| (allowed / 4).min(256))
});

impl OpenSlot {
    pub(super) fn take() -> OpenSlot {
        OpenSlot { number: OPEN.fetch_add(1, Ordering::Relaxed) }
    }

    pub(super) fn is_beyond_limit(&self) -> bool {
        self.number >= *MOST_OPEN
    }
}

impl Drop for OpenSlot {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Removes what ended runs have left in `folder`; temporaries that a live process still wants stay. Only for the holder of the folder's
/// lock, or of the lock of the directory that it belongs to.
pub fn remove_leftovers(folder: &Path) -> io::Result<()> {
    let ours = format!(".tmp-{}", std::process::id());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_leftover_name(&name) && !name.ends_with(&ours) && entry.file_type()?.is_file() {
            remove_unless_wanted(&entry.path());
        }
    }
    Ok(())
}

/// Removes what ended runs have left of this target. The folder is listed once per process.
pub(super) fn remove_own_leftovers(target: &Path) {
    static LISTED: Mutex<BTreeMap<PathBuf, Vec<OsString>>> = Mutex::new(BTreeMap::new());
    let folder = parent_of(target);
    let mut listed = LISTED.lock().unwrap_or_else(PoisonError::into_inner);
    let names = listed.entry(folder.clone()).or_insert_with(|| leftover_names(&folder));
    let ours = format!(".tmp-{}", std::process::id());
    let is_of_target = |name: &OsStr| -> bool {
        let target = target.file_name().unwrap_or_default().as_bytes();
        let rest = name.as_bytes().strip_prefix(b".").and_then(|rest| rest.strip_prefix(target));
        rest.is_some_and(|rest| match rest.strip_prefix(b".old") {
            // Second names are not locked: whoever has given one may still want it.
            Some(rest) => rest.strip_prefix(b".tmp-").is_some_and(has_ended),
            None => rest.starts_with(b".tmp-") && rest != ours.as_bytes(),
        })
    };
    names.retain(|name| {
        let is_found = is_of_target(name);
        if is_found {
            remove_unless_wanted(&folder.join(name));
        }
        !is_found
    });
}

/// Whether the process of that number is gone.
fn has_ended(process: &[u8]) -> bool {
    let number = std::str::from_utf8(process).ok().and_then(|digits| digits.parse().ok());
    number.is_some_and(|number| kill(Pid::from_raw(number), None) == Err(Errno::ESRCH))
}

fn leftover_names(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.file_name());
    names.filter(|name| is_leftover_name(&name.to_string_lossy())).collect()
}

/// Removes what a dead process has left, whose number this one has.
fn remove_locked(temporary: &Path) -> io::Result<()> {
    let file = open(temporary);
    if file.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    // Whoever cleans up has it for a moment.
    let is_locked = file.as_ref().is_ok_and(|file| file.lock().is_ok());
    if is_locked && file.as_ref().is_ok_and(|file| !is_same_file(temporary, file).unwrap_or(true)) {
        return Ok(());
    }
    match fs::remove_file(temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn open(temporary: &Path) -> io::Result<File> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    OpenOptions::new().read(true).custom_flags(flags).open(temporary)
}

/// Only who has locked a temporary removes it: its name may be that of another one by then.
fn remove_unless_wanted(temporary: &Path) {
    // One that cannot be opened cannot be asked either.
    let file = open(temporary);
    match file.as_ref().map(File::try_lock) {
        Ok(Err(TryLockError::WouldBlock)) => return,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Ok(Ok(())) if file.as_ref().is_ok_and(|file| !is_same_file(temporary, file).unwrap_or(true)) => return,
        _ => {}
    }
    if fs::remove_file(temporary).is_ok() {
        tracing::info!("removed {}, left by a run that has ended", crate::escape::shown(temporary));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::names;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

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

    #[test]
    fn a_temporary_that_is_removed_before_it_is_locked_is_made_again() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(".a.json.tmp-999999999");
        let is_done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    let _ = remove_leftovers(folder.path());
                }
            });
            for _ in 0..2000 {
                let made = create_temporary(&path);
                let is_there = made.as_ref().is_ok_and(|file| is_same_file(&path, file).unwrap_or(false));
                if !is_there {
                    is_done.store(true, Ordering::Relaxed);
                }
                assert!(is_there, "{made:?}");
            }
            is_done.store(true, Ordering::Relaxed);
        });
        Ok(())
    }

    #[test]
    fn a_temporary_that_somebody_still_writes_stays() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(".a.json.tmp-999999999");
        let wanted = create_temporary(&path)?;
        remove_leftovers(folder.path())?;
        assert!(path.exists());
        drop(wanted);
        remove_leftovers(folder.path())?;
        assert!(!path.exists());
        Ok(())
    }

    #[test]
    fn outside_databases_a_new_run_removes_what_was_left_of_its_own_output() -> TestResult {
        let folder = tempfile::tempdir()?;
        for name in [".a.csv.tmp-999999999", ".b.csv.tmp-999999999"] {
            fs::write(folder.path().join(name), "half")?;
        }
        remove_own_leftovers(&folder.path().join("a.csv"));
        assert_eq!(names(folder.path())?, [".b.csv.tmp-999999999"]);
        Ok(())
    }

    #[test]
    fn outside_databases_a_second_name_stays_while_whoever_has_given_it_lives() -> TestResult {
        let folder = tempfile::tempdir()?;
        let living = format!(".a.csv.old.tmp-{}", std::os::unix::process::parent_id());
        for name in [".a.csv.old.tmp-999999999", &living] {
            fs::write(folder.path().join(name), "old")?;
        }
        remove_own_leftovers(&folder.path().join("a.csv"));
        assert_eq!(names(folder.path())?, [living]);
        Ok(())
    }
}
