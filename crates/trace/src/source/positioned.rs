//! Bytes that can be read at any position: those of a regular file, and those in memory.

use super::progress::add_read;
use perfdb_files::input;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// A regular file, or memory.
#[derive(Debug)]
pub(crate) struct Positioned {
    bytes: Bytes,
    size: u64,
}

#[derive(Debug)]
enum Bytes {
    File(File),
    Memory(Vec<u8>),
}

impl Positioned {
    /// The first `size` bytes of a file.
    pub(super) fn file(file: File, size: u64) -> Positioned {
        Positioned { bytes: Bytes::File(file), size }
    }

    /// All of some bytes.
    pub(super) fn memory(bytes: Vec<u8>) -> Positioned {
        Positioned { size: bytes.len() as u64, bytes: Bytes::Memory(bytes) }
    }

    /// How many bytes there are: for a file, when it was opened.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// All bytes, if they are at most `limit`.
    pub(super) fn read_all(&mut self, limit: u64) -> io::Result<Vec<u8>> {
        match &mut self.bytes {
            Bytes::File(file) => {
                file.rewind()?;
                let bytes = input::read_all(file.take(self.size), self.size, limit)?;
                if bytes.len() as u64 != self.size {
                    return Err(shortened());
                }
                add_read(self.size);
                Ok(bytes)
            }
            Bytes::Memory(bytes) => input::read_all(bytes.as_slice(), self.size, limit),
        }
    }

    /// Reads all of `out` from `position` on, where that many bytes are known to be.
    pub(super) fn read_exact(&self, position: u64, out: &mut [u8]) -> io::Result<()> {
        match &self.bytes {
            Bytes::File(file) => {
                read_file(file, position, out)?;
                add_read(out.len() as u64);
                Ok(())
            }
            Bytes::Memory(bytes) => {
                let start = usize::try_from(position).unwrap_or(usize::MAX);
                match bytes.get(start..).and_then(|rest| rest.get(..out.len())) {
                    Some(part) => out.copy_from_slice(part),
                    None => return Err(shortened()),
                }
                Ok(())
            }
        }
    }

    /// Adds up to `count` bytes from `position` on, fewer only at the end; returns how many.
    pub(crate) fn append_to(&self, out: &mut Vec<u8>, position: u64, count: usize) -> io::Result<usize> {
        let count = self.size.saturating_sub(position).min(count as u64);
        match &self.bytes {
            Bytes::File(file) => {
                // Unlike a read at a position, this needs no bytes that are written first.
                let mut file: &File = file;
                file.seek(SeekFrom::Start(position))?;
                if file.take(count).read_to_end(out)? as u64 != count {
                    return Err(shortened());
                }
                add_read(count);
            }
            Bytes::Memory(bytes) => {
                let rest = usize::try_from(position).ok().and_then(|position| bytes.get(position..));
                out.extend_from_slice(&rest.unwrap_or_default()[..count as usize]);
            }
        }
        Ok(count as usize)
    }
}

/// `UnexpectedEof` would be taken for a fault of a gzip stream.
fn shortened() -> io::Error {
    io::Error::other("the file was shortened while it was read")
}

#[cfg(unix)]
fn read_file(file: &File, position: u64, out: &mut [u8]) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    file.read_exact_at(out, position)
        .map_err(|error| if error.kind() == io::ErrorKind::UnexpectedEof { shortened() } else { error })
}

#[cfg(not(unix))]
fn read_file(file: &File, position: u64, out: &mut [u8]) -> io::Result<()> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(position))?;
    file.read_exact(out).map_err(|error| if error.kind() == io::ErrorKind::UnexpectedEof { shortened() } else { error })
}

/// The bytes from the first to the last.
#[derive(Debug)]
pub(super) struct InOrder {
    from: Positioned,
    position: u64,
}

impl InOrder {
    pub(super) fn new(from: Positioned) -> InOrder {
        InOrder { from, position: 0 }
    }
}

impl Read for InOrder {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.from.size() - self.position).unwrap_or(usize::MAX);
        let count = out.len().min(left);
        self.from.read_exact(self.position, &mut out[..count])?;
        self.position += count as u64;
        Ok(count)
    }
}
