//! Keeping two outputs of one run apart.

use crate::paths::parent_of;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The targets that wait for their commit.
static CLAIMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A target that nobody else in this process may stage: two outputs of one run under the same name are a mistake, and the
/// second would take the first one's temporary for that of a dead process.
#[derive(Debug)]
pub(super) struct Claim(PathBuf);

impl Claim {
    /// Claims a target, whose folder need not exist yet.
    pub(super) fn new(target: &Path) -> io::Result<Claim> {
        // Under a folder that is yet to be made the path as it stands has to do.
        let folder = fs::canonicalize(parent_of(target)).or_else(|_| std::path::absolute(parent_of(target)))?;
        let target = folder.join(target.file_name().unwrap_or_default());
        let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
        if claimed.insert(target.clone()) {
            return Ok(Claim(target));
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "another output of this run goes to the same file"))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}
