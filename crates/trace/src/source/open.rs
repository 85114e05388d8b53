//! Opening what a path names.

use super::bound::{LARGEST_DOCUMENT_BYTES, read_document};
use super::gzip::{MAGIC, inflated};
use super::positioned::{Buffer, InOrder, Positioned};
use super::progress::{Counted, add_opened};
use crate::Error;
use crate::error::RecordFault;
use perfdb_files::escape::shown;
use perfdb_files::lfs::{POINTER_START, is_pointer};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

/// EISDIR, so that the message is the system's.
const IS_A_DIRECTORY: i32 = 21;

/// The bytes of one input, with the path it was given.
pub struct Source {
    path: PathBuf,
    content: Content,
}

/// Bytes that can be read anywhere, or one after the other.
pub(crate) enum Content {
    Positioned(Positioned),
    Stream(Box<dyn Read + Send>),
}

impl Source {
    /// Opens a file, a gzip file or a pipe.
    pub fn open(path: impl AsRef<Path>) -> Result<Source, Error> {
        let path = path.as_ref().to_owned();
        match content_of(&path) {
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

    /// Reads the whole rest into memory; for small files. A stream of more than [`LARGEST_DOCUMENT_BYTES`] is an error.
    pub fn read_all(&mut self) -> Result<Vec<u8>, Error> {
        let mut bytes = Buffer::default();
        let result = match &mut self.content {
            Content::Positioned(from) => bytes.read_at(from, 0, usize::MAX).map(|_| bytes.bytes().to_vec()),
            Content::Stream(reader) => read_document(reader, LARGEST_DOCUMENT_BYTES),
        };
        result.map_err(|source| Error::Io { path: self.path.clone(), source })
    }

    /// [`Source::read_all`] as text.
    pub fn read_text(&mut self) -> Result<String, Error> {
        String::from_utf8(self.read_all()?).map_err(|error| {
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
            Content::Stream(reader) => reader,
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
            Content::Stream(reader) => {
                let (first, broken) = first_bytes(reader, POINTER_START.len());
                let pointer = is_pointer(&first);
                let rest = std::mem::replace(reader, Box::new(io::empty()));
                // A fault in the first bytes is reported by whoever reads them, like one further on.
                *reader = match broken {
                    Some(error) => Box::new(Cursor::new(first).chain(Broken(Some(error)))),
                    None => Box::new(Cursor::new(first).chain(rest)),
                };
                pointer
            }
        };
        if pointer { Err(Error::LfsPointer { path: self.path }) } else { Ok(self) }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("path", &self.path).field("size", &self.size()).finish_non_exhaustive()
    }
}

fn content_of(path: &Path) -> io::Result<Content> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from_raw_os_error(IS_A_DIRECTORY));
    }
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

fn stream(mut reader: impl Read + Send + 'static) -> io::Result<Content> {
    let (first, broken) = first_bytes(&mut reader, MAGIC.len());
    if let Some(error) = broken {
        return Err(error);
    }
    let gzip = first == MAGIC;
    let reader = Cursor::new(first).chain(reader);
    Ok(Content::Stream(if gzip { inflated(BufReader::with_capacity(64 * 1024, reader)) } else { Box::new(reader) }))
}

/// Up to `count` first bytes, and the error that ended them early.
fn first_bytes(reader: &mut impl Read, count: usize) -> (Vec<u8>, Option<io::Error>) {
    let mut first = Vec::with_capacity(count);
    let error = reader.take(count as u64).read_to_end(&mut first).err();
    (first, error)
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

struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
