//! What this process must not leave behind when it is ended: its temporaries, its lock files, its private folders.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static REGISTERED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A path that is removed when the process is ended by a signal, until this is dropped.
#[derive(Debug)]
pub(crate) struct Registered(PathBuf);

/// Registers a file or folder. To be called before it is made: what is made first could be left.
pub(crate) fn register(path: &Path) -> Registered {
    registered().insert(path.to_owned());
    Registered(path.to_owned())
}

impl Drop for Registered {
    fn drop(&mut self) {
        registered().remove(&self.0);
    }
}

/// While this is held no signal ends the process.
#[derive(Debug)]
pub(crate) struct HeldOff {
    guard: MutexGuard<'static, BTreeSet<PathBuf>>,
}

/// Keeps signals from ending the process between renames that belong together. Whoever holds it must neither register nor drop a
/// registered path.
pub(crate) fn hold_off() -> HeldOff {
    HeldOff { guard: registered() }
}

/// Removes everything that is registered. The process must end while the result is held: nothing new can be registered meanwhile.
pub(crate) fn remove_all() -> HeldOff {
    let held = hold_off();
    for path in held.guard.iter() {
        if fs::remove_file(path).is_err() && path.is_dir() {
            let _ = fs::remove_dir_all(path);
        }
    }
    held
}

fn registered() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}
