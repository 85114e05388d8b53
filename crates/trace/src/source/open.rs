//! Opening what a path names.

use super::bound::{LARGEST_DOCUMENT_BYTES, LARGEST_TEXT_BYTES};
use super::buffer::Buffer;
use super::gzip::{MAGIC, inflated};
use super::positioned::{InOrder, Positioned};
use super::progress::{Counted, add_opened};
use super::stream::{Rest, Stream};
use crate::Error;
use crate::error::RecordFault;
use perfdb_files::escape::shown;
use perfdb_files::input::{self, Kind};
use perfdb_files::lfs::{POINTER_START, is_pointer};
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

/// The bytes of one input, with the path it was given.
pub struct Source {
    path: PathBuf,
    content: Content,
}

/// Bytes that can be read anywhere, or one after the other.
pub(crate) enum Content {
    Positioned(Positioned),
    Stream(Stream),
}

impl Source {
    /// Opens a file, a gzip file or a pipe.
    pub fn open(path: impl AsRef<Path>) -> Result<Source, Error> {
        Source::open_kind(path.as_ref(), Kind::Stream)
    }

    /// Opens a file, gzip or not, where a pipe would wait for nobody: one that no command line names.
    pub fn open_regular(path: impl AsRef<Path>) -> Result<Source, Error> {
        Source::open_kind(path.as_ref(), Kind::RegularFile)
    }

    fn open_kind(path: &Path, kind: Kind) -> Result<Source, Error> {
        let path = path.to_owned();
        match content_of(&path, kind) {
            Ok(content) => {
                let source = Source { path, content };
                match source.size() {
                    Some(bytes) => tracing::info!("reading {} ({bytes} bytes)", shown(&source.path)),
                    None => tracing::info!("reading {} as a stream", shown(&source.path)),
                }
                source.without_pointer()
            }
            Err(source) => Err(Error::Io { path, source }),
        }
    }

    /// Bytes that are there already, gzip or not.
    pub fn from_bytes(path: impl Into<PathBuf>, bytes: impl Into<Vec<u8>>) -> Result<Source, Error> {
        let (path, bytes) = (path.into(), bytes.into());
        if bytes.starts_with(&MAGIC) {
            return Source::from_reader(path, Cursor::new(bytes));
        }
        Source { path, content: Content::Positioned(Positioned::memory(bytes)) }.without_pointer()
    }

    /// Anything that can be read, gzip or not.
    pub fn from_reader(path: impl Into<PathBuf>, reader: impl Read + Send + 'static) -> Result<Source, Error> {
        let path = path.into();
        match stream(reader) {
            Ok(content) => Source { path, content }.without_pointer(),
            Err(source) => Err(Error::Io { path, source }),
        }
    }

    /// The path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of bytes, where it is known before reading: not for pipes and gzip.
    pub fn size(&self) -> Option<u64> {
        match &self.content {
            Content::Positioned(bytes) => Some(bytes.size()),
            Content::Stream(_) => None,
        }
    }

    /// Reads all bytes into memory, for small files. More than [`LARGEST_DOCUMENT_BYTES`] are an error, of a file before it is read.
    pub fn read_all(&mut self) -> Result<Vec<u8>, Error> {
        self.read_within(LARGEST_DOCUMENT_BYTES)
    }

    /// [`Source::read_all`] with a limit of the caller's own.
    pub(crate) fn read_within(&mut self, limit: u64) -> Result<Vec<u8>, Error> {
        let result = match &mut self.content {
            Content::Positioned(from) => from.read_all(limit),
            Content::Stream(stream) => input::read_all(stream, 0, limit),
        };
        result.map_err(|source| Error::Io { path: self.path.clone(), source })
    }

    /// Reads all bytes as text, for files that people write. More than [`LARGEST_TEXT_BYTES`] are an error.
    pub fn read_text(&mut self) -> Result<String, Error> {
        String::from_utf8(self.read_within(LARGEST_TEXT_BYTES)?).map_err(|error| {
            let byte = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..byte).unwrap_or_default();
            let line = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
            let reason = RecordFault::Utf8 { byte: byte as u64 };
            Error::Record { path: self.path.clone(), line, reason }
        })
    }

    /// The bytes as a stream, inflated.
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        match self.content {
            Content::Positioned(bytes) => Box::new(InOrder::new(bytes)),
            Content::Stream(stream) => Box::new(stream),
        }
    }

    /// The path, and what a reader reads.
    pub(crate) fn parts(&mut self) -> (&Path, &mut Content) {
        (&self.path, &mut self.content)
    }

    fn without_pointer(mut self) -> Result<Source, Error> {
        let pointer = match &mut self.content {
            Content::Positioned(bytes) => {
                let mut first = Buffer::default();
                // A fault is reported by whoever reads the file.
                first.read_at(bytes, 0, POINTER_START.len()).is_ok() && is_pointer(first.bytes())
            }
            Content::Stream(stream) => is_pointer(stream.first(POINTER_START.len())),
        };
        if pointer { Err(Error::LfsPointer { path: self.path }) } else { Ok(self) }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("path", &self.path).field("size", &self.size()).finish_non_exhaustive()
    }
}

fn content_of(path: &Path, kind: Kind) -> io::Result<Content> {
    let mut file = input::open(path, kind)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return stream(Counted(file));
    }
    let mut first = [0; 2];
    let count = read_up_to(&mut file, &mut first)?;
    io::Seek::rewind(&mut file)?;
    if count == 2 && first == MAGIC {
        add_opened(metadata.len());
        return Ok(Content::Stream(inflated(BufReader::with_capacity(64 * 1024, Counted(file)))));
    }
    // Files of the system (/proc) have the size 0 and are not empty.
    match metadata.len() {
        0 => stream(Counted(file)),
        size => {
            add_opened(size);
            Ok(Content::Positioned(Positioned::file(file, size)))
        }
    }
}

fn stream(reader: impl Read + Send + 'static) -> io::Result<Content> {
    let mut stream = Stream::from(Rest::Other(Box::new(reader)));
    let gzip = stream.first(MAGIC.len()) == MAGIC;
    match stream.take_fault() {
        Some(fault) => Err(fault),
        None if gzip => Ok(Content::Stream(inflated(BufReader::with_capacity(64 * 1024, stream)))),
        None => Ok(Content::Stream(stream)),
    }
}

fn read_up_to(reader: &mut impl Read, out: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < out.len() {
        match reader.read(&mut out[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}
