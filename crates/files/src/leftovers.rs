//! What this process must not leave behind when it is ended: its temporaries, its lock files, its folders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

/// How something goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    /// A folder with all that is in it.
    PrivateFolder,
    /// A folder that goes only if nothing is in it.
    MadeFolder,
}

type Registry = BTreeMap<PathBuf, Kind>;

static REGISTERED: Mutex<Registry> = Mutex::new(Registry::new());

/// A path that is removed when the process is ended by a signal, until this is dropped.
#[derive(Debug)]
pub(crate) struct Registered(PathBuf);

/// Makes a file or folder, whose path `make` returns beside its value, and registers it. For [`remove_all`] the two are one step: what is
/// made first could be left, and what is registered first could be made after everything was removed.
pub(crate) fn make<T, E>(kind: Kind, make: impl FnOnce() -> Result<(PathBuf, T), E>) -> Result<(Registered, T), E> {
    let mut registry = registered();
    let (path, value) = make()?;
    registry.insert(path.clone(), kind);
    Ok((Registered(path), value))
}

impl Drop for Registered {
    fn drop(&mut self) {
        registered().remove(&self.0);
    }
}

/// While this is held no signal ends the process.
#[derive(Debug)]
pub(crate) struct HeldOff {
    guard: MutexGuard<'static, Registry>,
}

/// Keeps signals from ending the process between renames that belong together. Whoever holds it must neither register nor drop a
/// registered path.
pub(crate) fn hold_off() -> HeldOff {
    HeldOff { guard: registered() }
}

/// Removes everything that is registered. The process must end while the result is held: nothing new can be registered meanwhile.
pub(crate) fn remove_all() -> HeldOff {
    let held = hold_off();
    // What is in a folder comes behind it.
    for (path, kind) in held.guard.iter().rev() {
        let _ = match kind {
            Kind::File => fs::remove_file(path),
            Kind::PrivateFolder => remove_folder(path),
            Kind::MadeFolder => fs::remove_dir(path),
        };
    }
    held
}

/// Other threads may still put files into the folder while it is emptied.
fn remove_folder(path: &Path) -> io::Result<()> {
    const ATTEMPTS: usize = 100;
    let is_filled_again =
        |done: &io::Result<()>| matches!(done, Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty);
    let mut attempts = (0..ATTEMPTS).map(|_| fs::remove_dir_all(path));
    attempts.find(|done| !is_filled_again(done)).unwrap_or(Ok(()))
}

fn registered() -> MutexGuard<'static, Registry> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}
