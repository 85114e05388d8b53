//! Targets that cannot be replaced by another file: pipes, devices, and what the shell has opened.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Writes a finished content to a pipe, a device or a file that is open already.
pub(super) fn write_directly(path: &Path, spool: &mut File) -> io::Result<()> {
    spool.rewind()?;
    let mut target = match own_descriptor(path)? {
        Some(descriptor) => descriptor,
        None => OpenOptions::new().append(true).open(path)?,
    };
    match io::copy(spool, &mut target).and_then(|_| target.flush()) {
        // A reader that goes away wanted no more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map(drop),
    }
}

/// Whether a path is one of the names under which a process finds its open files.
pub(super) fn names_descriptor(path: &Path) -> bool {
    let by_number =
        |path: &Path| path.starts_with("/proc") && path.parent().is_some_and(|folder| folder.ends_with("fd"));
    ["/dev/stdin", "/dev/stdout", "/dev/stderr"].iter().any(|name| path == Path::new(name))
        || path.starts_with("/dev/fd")
        || by_number(path)
}

/// The standard output or error behind one of its names. What is printed before and after goes through the same
/// descriptor, and where that is a regular file only one descriptor knows how far it has been written.
fn own_descriptor(path: &Path) -> io::Result<Option<File>> {
    if !names_descriptor(path) {
        return Ok(None);
    }
    let target = fs::metadata(path)?;
    for descriptor in [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()] {
        let Ok(file) = descriptor.map(File::from) else { continue };
        if file.metadata().is_ok_and(|found| (found.dev(), found.ino()) == (target.dev(), target.ino())) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_open_files_are_written_to_in_place() {
        for name in ["/dev/stdout", "/dev/fd/3", "/proc/self/fd/1", "/proc/12/fd/7"] {
            assert!(names_descriptor(Path::new(name)), "{name}");
        }
        for name in ["/dev/shm/m6.json", "/proc/self/cwd/m6.json", "dev/stdout", "/tmp/fd/x"] {
            assert!(!names_descriptor(Path::new(name)), "{name}");
        }
    }
}
