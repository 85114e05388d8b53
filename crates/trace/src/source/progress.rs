//! How far this program is with reading files, for whoever shows it.

use std::sync::atomic::{AtomicU64, Ordering};

static READ: AtomicU64 = AtomicU64::new(0);
static OPENED: AtomicU64 = AtomicU64::new(0);

/// Bytes of the files that were opened, and how many of them were read, since the program began. A gzip file counts as it lies on the disk; what
/// is read twice counts twice; pipes are in none of the two.
pub fn progress() -> Progress {
    Progress { read_bytes: READ.load(Ordering::Relaxed), opened_bytes: OPENED.load(Ordering::Relaxed) }
}

/// How far reading is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes of all files that were opened.
    pub opened_bytes: u64,
}

pub(super) fn add_opened(bytes: u64) {
    OPENED.fetch_add(bytes, Ordering::Relaxed);
}

pub(super) fn add_read(bytes: u64) {
    READ.fetch_add(bytes, Ordering::Relaxed);
}

/// A file that is read as a stream, whose bytes count.
#[derive(Debug)]
pub struct Counted<R>(pub(super) R);

impl Counted<std::fs::File> {
    /// A file that was just opened, or is read once more from its beginning.
    ///
    /// # Errors
    /// When the system does not report its length.
    pub fn of_file(file: std::fs::File) -> std::io::Result<Self> {
        add_opened(file.metadata()?.len());
        Ok(Counted(file))
    }
}

impl<'f> Counted<&'f std::fs::File> {
    /// [`Counted::of_file`] for one that is read again later.
    ///
    /// # Errors
    /// When the system does not report its length.
    pub fn of_pass(file: &'f std::fs::File) -> std::io::Result<Self> {
        add_opened(file.metadata()?.len());
        Ok(Counted(file))
    }
}

impl<R: std::io::Read> std::io::Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(out)?;
        add_read(count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn files_count_when_they_are_opened_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain.json");
        std::fs::write(&plain, vec![b' '; 10_000]).unwrap();
        let before = progress();
        let mut source = Source::open(&plain).unwrap();
        source.read_all().unwrap();
        let after = progress();
        // Other tests read meanwhile.
        assert!(after.opened_bytes >= before.opened_bytes + 10_000 && after.read_bytes >= before.read_bytes + 10_000);
    }
}
