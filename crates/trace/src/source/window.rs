//! The part of an input that is in view: all of it where it is mapped, a window where it comes as a stream.

use super::Source;
use super::open::Bytes;
use crate::error::{Error, Place};
use std::io::{self, Read};

/// How much a window takes in at once.
const PIECE: usize = 1 << 20;

/// The bytes in view, and what is known of those that are gone.
pub(crate) struct Window<'s> {
    name: &'s str,
    bytes: Content<'s>,
    /// Position of the first byte in view.
    base: u64,
    /// Line ends before the first byte in view.
    lines: u64,
    /// Characters between the last line end and the first byte in view.
    characters: u64,
}

enum Content<'s> {
    Whole(&'s [u8]),
    Stream { reader: &'s mut (dyn Read + Send), buffer: Vec<u8>, next: Next },
}

/// What a stream has behind the bytes that are in view.
enum Next {
    More,
    Fault(io::Error),
    Nothing,
}

/// What came of asking for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refill {
    /// The view has moved, and may hold more than before.
    Moved,
    /// All that was left is in view already; nothing has changed.
    Ended,
}

impl<'s> Window<'s> {
    pub(crate) fn new(source: &'s mut Source) -> Window<'s> {
        let (name, bytes) = source.parts();
        let bytes = match bytes {
            Bytes::Whole(bytes) => Content::Whole(bytes),
            Bytes::Stream(reader) => Content::Stream { reader, buffer: Vec::new(), next: Next::More },
        };
        Window { name, bytes, base: 0, lines: 0, characters: 0 }
    }

    /// The bytes in view.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Content::Whole(bytes) => bytes,
            Content::Stream { buffer, .. } => buffer,
        }
    }

    /// All bytes, where they are there at once.
    pub(crate) fn whole(&self) -> Option<&'s [u8]> {
        match &self.bytes {
            Content::Whole(bytes) => Some(bytes),
            Content::Stream { .. } => None,
        }
    }

    /// Position of the first byte in view.
    #[inline]
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The input's name.
    pub(crate) fn name(&self) -> &'s str {
        self.name
    }

    /// Drops the first `done` bytes from view and takes in more. The window grows where what is in view is not enough.
    /// `event` is the one that is being read, for the message when that fails.
    pub(crate) fn refill(&mut self, done: usize, event: Option<u64>) -> Result<Refill, Error> {
        let Content::Stream { reader, buffer, next } = &mut self.bytes else { return Ok(Refill::Ended) };
        match std::mem::replace(next, Next::Nothing) {
            Next::More => {}
            Next::Fault(source) => return Err(self.unreadable(source, event)),
            Next::Nothing => return Ok(Refill::Ended),
        }
        let done = done.min(buffer.len());
        let gone = &buffer[..done];
        self.base += done as u64;
        match memchr::memrchr(b'\n', gone) {
            Some(last) => {
                self.lines += memchr::memchr_iter(b'\n', gone).count() as u64;
                self.characters = characters(&gone[last + 1..]);
            }
            None => self.characters += characters(gone),
        }
        buffer.copy_within(done.., 0);
        buffer.truncate(buffer.len() - done);
        let room = PIECE.max(buffer.len()) as u64;
        let left = buffer.len();
        *next = match read_some(reader, room, buffer) {
            Ok(0) => Next::Nothing,
            Ok(_) => Next::More,
            Err(source) => Next::Fault(source),
        };
        if buffer.len() > left {
            // A fault waits until what came before it has been looked at.
            return Ok(Refill::Moved);
        }
        match std::mem::replace(next, Next::Nothing) {
            Next::Fault(source) => Err(self.unreadable(source, event)),
            _ => Ok(Refill::Moved),
        }
    }

    fn unreadable(&self, fault: io::Error, event: Option<u64>) -> Error {
        let path = self.name.to_owned();
        match fault.kind() {
            // Only inflating finds fault with data.
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                Error::Gzip { path, fault, place: self.place(self.bytes().len(), event) }
            }
            _ => Error::Io { path, source: fault },
        }
    }

    /// The place of the byte at `at` in view.
    pub(crate) fn place(&self, at: usize, event: Option<u64>) -> Place {
        let before = self.bytes().get(..at).unwrap_or(self.bytes());
        let lines = memchr::memchr_iter(b'\n', before).count() as u64;
        let column = match memchr::memrchr(b'\n', before) {
            Some(last) => characters(&before[last + 1..]),
            None => self.characters + characters(before),
        };
        Place { byte: self.base + at as u64, line: self.lines + lines + 1, column: column + 1, event }
    }

    /// The error for a fault in the JSON at `at` in view.
    pub(crate) fn error(&self, kind: crate::scan::FaultKind, at: usize, event: Option<u64>) -> Error {
        let kind = if self.base == 0 { kind.of_document(self.bytes(), at) } else { kind };
        Error::Json { path: self.name.to_owned(), kind, place: self.place(at, event) }
    }
}

/// Reads until `room` bytes have come or the input ends; less only at the end.
fn read_some(reader: &mut dyn Read, room: u64, buffer: &mut Vec<u8>) -> io::Result<usize> {
    reader.take(room).read_to_end(buffer)
}

/// Characters of a UTF-8 text; of bytes that are none, those that are no continuation.
fn characters(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64
}
