//! A file that is looked at more than once.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use perfdb_files::folders::{PrivateFolder, private};
use perfdb_files::input::{Kind, open};

use crate::check::{Options, check_opened};
use crate::error::Error;
use crate::repair::{Packing, Repairs, repair_input};
use crate::report::Report;

/// The most that is kept of a pipe: 16 GiB.
const LARGEST_PIPE_BYTES: u64 = 16 << 30;

/// A file to be checked and repaired. What can be read only once, a pipe, is kept in a temporary file meanwhile.
#[derive(Debug)]
pub struct Input {
    pub(crate) path: PathBuf,
    /// The name as given.
    pub(crate) name: String,
    _spool: Option<Spool>,
}

/// What keeps the bytes of a pipe. Both go with the process.
#[derive(Debug)]
enum Spool {
    /// A file that has no name.
    Nameless { _file: File },
    /// Where files without a name cannot be opened again.
    Folder { _folder: PrivateFolder },
}

impl Input {
    /// Opens a file, or reads a pipe to its end.
    ///
    /// # Errors
    /// When it cannot be read, or a pipe has more than 16 GiB.
    pub fn open(path: &Path) -> io::Result<Input> {
        let name = path.to_string_lossy().into_owned();
        let metadata = std::fs::metadata(path)?;
        if metadata.is_file() || metadata.is_dir() {
            return Ok(Input { path: path.to_owned(), name, _spool: None });
        }
        let (path, spool) = keep(open(path, Kind::Stream)?, LARGEST_PIPE_BYTES)?;
        Ok(Input { path, name, _spool: Some(spool) })
    }

    /// [`check`](crate::check()).
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn check(&self, options: &Options) -> Result<Report, Error> {
        check_opened(self, options)
    }

    /// [`repair`](crate::repair()).
    ///
    /// # Errors
    /// When the file cannot be read, or the copy not be written.
    pub fn repair(&self, report: &Report, out: impl Write, packing: Packing) -> Result<Repairs, Error> {
        repair_input(self, report, out, packing)
    }
}

/// Puts up to `limit` bytes of a pipe where they can be read more than once.
fn keep(pipe: impl Read, limit: u64) -> io::Result<(PathBuf, Spool)> {
    let mut file = tempfile::tempfile()?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    if path.exists() {
        copy(pipe, &mut file, limit)?;
        return Ok((path, Spool::Nameless { _file: file }));
    }
    let folder = private("perfdb-pipe-")?;
    let path = folder.path().join("input");
    copy(pipe, &mut File::create_new(&path)?, limit)?;
    Ok((path, Spool::Folder { _folder: folder }))
}

fn copy(pipe: impl Read, to: &mut File, limit: u64) -> io::Result<()> {
    if io::copy(&mut pipe.take(limit + 1), to)? > limit {
        let reason = format!("is longer than {} GiB, which is the most that is kept of a pipe", limit >> 30);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_kept_up_to_its_bound_and_can_be_read_again() -> io::Result<()> {
        let (path, spool) = keep(&b"abc"[..], 3)?;
        for _ in 0..2 {
            assert_eq!(std::fs::read(&path)?, b"abc");
        }
        drop(spool);
        assert!(!path.exists());
        let error = keep(io::repeat(0), 1 << 20).expect_err("it has no end");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        Ok(())
    }
}
