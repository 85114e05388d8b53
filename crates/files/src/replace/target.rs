//! Where a path leads.

use crate::paths::parent_of;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where a path leads: the link's target if it is a symbolic link, also when that does not exist yet.
pub(super) fn follow_links(path: &Path) -> io::Result<PathBuf> {
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
