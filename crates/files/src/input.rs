//! Opening inputs. What a path leads to, and how large it is, is checked before anything is read, and again while it is read.
//!
//! ```
//! use perfdb_files::input::{self, Kind};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("database.toml");
//! std::fs::write(&path, "format_version = 1\n")?;
//! assert_eq!(input::read_text(&path, Kind::RegularFile, input::LARGEST_TEXT_BYTES)?, "format_version = 1\n");
//! let error = input::read(&path, Kind::RegularFile, 4).unwrap_err();
//! assert_eq!(error.to_string(), "is longer than 4 bytes");
//! # Ok::<(), std::io::Error>(())
//! ```

use nix::fcntl::OFlag;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// The largest file that is read as a whole, such as a result of an earlier run: 1 GiB.
pub const LARGEST_DOCUMENT_BYTES: u64 = 1 << 30;

/// The largest file that people write, such as rules and lists in YAML or TOML: 64 MiB.
pub const LARGEST_TEXT_BYTES: u64 = 64 << 20;

/// What an input may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file, or a link to one. Anything else is an error at once: opening a pipe would wait for its other end.
    RegularFile,
    /// Also a pipe or a device, for what a command line names.
    Stream,
}

/// Opens an input that is of that kind.
///
/// # Errors
/// When the system refuses it, or it is something else: a folder, or a pipe in the place of a regular file.
pub fn open(path: &Path, kind: Kind) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    if kind == Kind::RegularFile {
        options.custom_flags(OFlag::O_NONBLOCK.bits());
    }
    let file = options.open(path)?;
    let found = file.metadata()?.file_type();
    if found.is_dir() {
        // The message is the system's.
        return Err(nix::errno::Errno::EISDIR.into());
    }
    if kind == Kind::RegularFile && !found.is_file() {
        return Err(not_a_regular_file(found));
    }
    Ok(file)
}

/// The error for what is there in the place of a regular file.
pub fn not_a_regular_file(found: fs::FileType) -> io::Error {
    let what = if found.is_fifo() {
        "a pipe"
    } else if found.is_socket() {
        "a socket"
    } else if found.is_symlink() {
        "a link"
    } else if found.is_dir() {
        "a folder"
    } else {
        "a device"
    };
    io::Error::new(io::ErrorKind::InvalidInput, format!("is {what}, not a regular file"))
}

/// Reads a whole input of at most `limit` bytes.
///
/// # Errors
/// As [`open`], when the input is longer, and when memory runs out.
pub fn read(path: &Path, kind: Kind, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path, kind)?;
    let size = file.metadata()?.len();
    read_all(file, size, limit)
}

/// [`read`] for a text.
///
/// # Errors
/// Also when the bytes are not UTF-8.
pub fn read_text(path: &Path, kind: Kind, limit: u64) -> io::Result<String> {
    let bytes = read(path, kind, limit)?;
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("is not UTF-8 (at byte {byte})"))
    })
}

/// Reads all of an open input of at most `limit` bytes. `size` is what it is said to have, 0 where nobody knows.
///
/// # Errors
/// When it has more than the limit, and when memory runs out.
pub fn read_all(reader: impl Read, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    if size > limit {
        return Err(longer_than(limit));
    }
    let mut bytes = Vec::new();
    // One more, so that the end is found without growing.
    bytes.try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1))?;
    reader.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(longer_than(limit)) } else { Ok(bytes) }
}

fn longer_than(limit: u64) -> io::Error {
    let limit = if limit >= 1 << 20 { format!("{} MiB", limit >> 20) } else { format!("{limit} bytes") };
    io::Error::new(io::ErrorKind::FileTooLarge, format!("is longer than {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    fn reason<T>(result: io::Result<T>) -> String {
        result.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_sparse_file_beyond_the_limit_is_refused_before_it_is_read() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("large.yaml");
        File::create(&path)?.set_len(5 << 30)?;
        assert_eq!(reason(read(&path, Kind::RegularFile, LARGEST_DOCUMENT_BYTES)), "is longer than 1024 MiB");
        assert_eq!(reason(read_text(&path, Kind::Stream, LARGEST_TEXT_BYTES)), "is longer than 64 MiB");
        Ok(())
    }

    #[test]
    fn what_grows_while_it_is_read_ends_at_the_limit() {
        assert_eq!(reason(read_all(io::repeat(0), 0, 3 << 20)), "is longer than 3 MiB");
        assert_eq!(read_all(io::repeat(0).take(9), 0, 9).map(|bytes| bytes.len()).ok(), Some(9));
        assert_eq!(read_all(io::repeat(0).take(9), 4, 9).map(|bytes| bytes.len()).ok(), Some(9));
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_refused_at_once() -> TestResult {
        let folder = tempfile::tempdir()?;
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU)?;
        std::os::unix::fs::symlink(&pipe, &link)?;
        for path in [&pipe, &link] {
            assert_eq!(reason(read(path, Kind::RegularFile, 9)), "is a pipe, not a regular file");
        }
        let device = Path::new("/dev/null");
        assert_eq!(reason(read(device, Kind::RegularFile, 9)), "is a device, not a regular file");
        assert_eq!(read(device, Kind::Stream, 9)?, b"");
        Ok(())
    }

    #[test]
    fn a_pipe_that_a_command_line_names_is_read() -> TestResult {
        let folder = tempfile::tempdir()?;
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU)?;
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::write(pipe, "through")
        });
        assert_eq!(read(&pipe, Kind::Stream, 9)?, b"through");
        Ok(writer.join().map_err(|_| "the writer panicked")??)
    }

    #[test]
    fn a_folder_and_what_is_not_there_are_the_systems_errors() -> TestResult {
        let folder = tempfile::tempdir()?;
        for kind in [Kind::RegularFile, Kind::Stream] {
            let error = read(folder.path(), kind, 9).map_err(|error| error.kind());
            assert_eq!(error, Err(io::ErrorKind::IsADirectory));
            let error = read(&folder.path().join("absent"), kind, 9).map_err(|error| error.kind());
            assert_eq!(error, Err(io::ErrorKind::NotFound));
        }
        let bytes = folder.path().join("bytes");
        fs::write(&bytes, b"ab\xff")?;
        assert_eq!(reason(read_text(&bytes, Kind::Stream, 9)), "is not UTF-8 (at byte 2)");
        // Files of the system say that they are empty.
        assert!(!read(Path::new("/proc/self/status"), Kind::RegularFile, 1 << 20)?.is_empty());
        Ok(())
    }
}
