//! The part of an input that is in view.

use super::bound::{LARGEST_VALUE_BYTES, too_long};
use super::open::Content;
use super::{Buffer, Positioned, Source, Stream};
use crate::error::{Error, Location};
use std::io;
use std::path::Path;

/// How much a window takes in at once, and bytes of an inflated block.
pub(super) const PIECE: usize = 1 << 20;

/// The bytes in view, and what is known of those that are gone.
pub(crate) struct Window<'s> {
    path: &'s Path,
    input: Input<'s>,
    buffer: Buffer,
    /// Position of the first byte in view.
    base: u64,
}

enum Input<'s> {
    /// What is gone is read again for the location of a fault.
    Positioned(&'s Positioned),
    Stream {
        stream: &'s mut Stream,
        next: Next,
        gone: Gone,
    },
}

/// What is known of bytes that have been looked at.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Gone {
    /// Line ends.
    lines: u64,
    /// Characters behind the last line end.
    characters: u64,
}

impl Gone {
    /// What is known once these bytes have been looked at, too.
    pub(crate) fn with(mut self, bytes: &[u8]) -> Gone {
        self.add(bytes);
        self
    }

    /// What is known of these bytes and of those behind them.
    pub(crate) fn and(self, behind: Gone) -> Gone {
        match behind.lines {
            0 => Gone { lines: self.lines, characters: self.characters + behind.characters },
            lines => Gone { lines: self.lines + lines, characters: behind.characters },
        }
    }

    /// Where the byte behind them stands, which is at this position.
    pub(crate) fn location(self, byte: u64, event: Option<u64>) -> Location {
        Location { byte, line: self.lines + 1, column: self.characters + 1, event }
    }

    fn add(&mut self, bytes: &[u8]) {
        match memchr::memrchr(b'\n', bytes) {
            Some(last) => {
                self.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
                self.characters = characters(&bytes[last + 1..]);
            }
            None => self.characters += characters(bytes),
        }
    }
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
        let (path, content) = source.parts();
        let input = match content {
            Content::Positioned(bytes) => Input::Positioned(bytes),
            Content::Stream(stream) => Input::Stream { stream, next: Next::More, gone: Gone::default() },
        };
        Window { path, input, buffer: Buffer::default(), base: 0 }
    }

    /// The bytes in view.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// The input, where it can be read at any position.
    pub(crate) fn positioned(&self) -> Option<&'s Positioned> {
        match self.input {
            Input::Positioned(bytes) => Some(bytes),
            Input::Stream { .. } => None,
        }
    }

    /// Position of the first byte in view.
    #[inline]
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The file as given.
    pub(crate) fn path(&self) -> &'s Path {
        self.path
    }

    /// Goes on at a position of an input that can be read at any: nothing is in view then.
    pub(crate) fn move_to(&mut self, position: u64) {
        self.buffer.clear();
        self.base = position;
    }

    /// Drops the first `done` bytes from view and takes in more. The window grows where what is in view is not enough,
    /// up to [`LARGEST_VALUE_BYTES`].
    /// `event` is the one that is being read, for the message when that fails.
    pub(crate) fn refill(&mut self, done: usize, event: Option<u64>) -> Result<Refill, Error> {
        let done = done.min(self.bytes().len());
        if self.bytes().len() - done >= LARGEST_VALUE_BYTES {
            let source = too_long(self.base + done as u64);
            return Err(Error::Io { path: self.path.to_owned(), source });
        }
        // What is longer than the limit is never in view as a whole.
        let left = self.bytes().len() - done;
        let room = PIECE.max(left).min(LARGEST_VALUE_BYTES - left);
        let (next, gone) = match &mut self.input {
            Input::Positioned(bytes) => {
                if self.base + self.buffer.bytes().len() as u64 == bytes.size() {
                    return Ok(Refill::Ended);
                }
                self.buffer.drop_front(done);
                self.base += done as u64;
                let position = self.base + self.buffer.bytes().len() as u64;
                return match self.buffer.read_at(bytes, position, room) {
                    Ok(_) => Ok(Refill::Moved),
                    Err(source) => Err(self.unreadable(source, event)),
                };
            }
            Input::Stream { next, gone, .. } => (next, gone),
        };
        match std::mem::replace(next, Next::Nothing) {
            Next::More => *next = Next::More,
            Next::Fault(source) => return Err(self.unreadable(source, event)),
            Next::Nothing => return Ok(Refill::Ended),
        }
        gone.add(&self.buffer.bytes()[..done]);
        self.hand_over(done);
        self.take_in(room);
        Ok(Refill::Moved)
    }

    /// Takes in a number of bytes of a stream, or somewhat more, and drops nothing; false where nothing more can be had, because of a fault
    /// or the end. A fault waits until what came before it has been looked at.
    pub(crate) fn take_in(&mut self, count: usize) -> bool {
        let Input::Stream { stream, next, .. } = &mut self.input else { return false };
        if !matches!(next, Next::More) {
            return false;
        }
        let (count, fault) = stream.read_into(&mut self.buffer, count);
        *next = match fault {
            Some(fault) => Next::Fault(fault),
            None if count > 0 => Next::More,
            None => Next::Nothing,
        };
        count > 0
    }

    /// Drops the first bytes of a stream from view, of which somebody else will know what there is to know.
    pub(crate) fn hand_over(&mut self, count: usize) {
        self.buffer.drop_front(count);
        self.base += count as u64;
    }

    /// [`Window::hand_over`] of the memory, in which one byte more is in view; `spare` takes its place.
    pub(crate) fn hand_over_memory(&mut self, count: usize, spare: Buffer) -> Buffer {
        let mut taken = std::mem::replace(&mut self.buffer, spare);
        self.buffer.clear();
        self.buffer.add(&taken.bytes()[count..]);
        self.base += count as u64;
        taken.drop_back(count + 1);
        taken
    }

    /// What is known of a stream's bytes in front of those in view.
    pub(crate) fn gone(&self) -> Gone {
        match &self.input {
            Input::Stream { gone, .. } => *gone,
            Input::Positioned(_) => Gone::default(),
        }
    }

    /// Puts bytes that were handed over back in front of those in view; what stands before them is now known.
    pub(crate) fn put_back(&mut self, front: &[u8], known: Gone) {
        if let Input::Stream { gone, .. } = &mut self.input {
            *gone = known;
        }
        self.buffer.put_front(front);
        self.base -= front.len() as u64;
    }

    fn unreadable(&self, fault: io::Error, event: Option<u64>) -> Error {
        let path = self.path.to_owned();
        match fault.kind() {
            // Only inflating finds fault with data.
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                Error::Gzip { path, fault, location: self.location(self.bytes().len(), event) }
            }
            _ => Error::Io { path, source: fault },
        }
    }

    /// Where the byte at `at` in view stands.
    pub(crate) fn location(&self, at: usize, event: Option<u64>) -> Location {
        let in_view = self.bytes().get(..at).unwrap_or(self.bytes());
        let mut before = match &self.input {
            Input::Positioned(bytes) => before(bytes, self.base),
            Input::Stream { gone, .. } => *gone,
        };
        before.add(in_view);
        before.location(self.base + at as u64, event)
    }

    /// Where the byte at a position of the input stands, which can be read at any.
    pub(crate) fn location_at(&self, position: u64, event: Option<u64>) -> Location {
        self.positioned().map_or_else(Gone::default, |bytes| before(bytes, position)).location(position, event)
    }

    /// The error for a fault in the JSON at `at` in view.
    pub(crate) fn error(&self, kind: crate::scan::FaultKind, at: usize, event: Option<u64>) -> Error {
        let kind = if self.base == 0 { kind.of_document(self.bytes(), at) } else { kind };
        Error::Json { path: self.path.to_owned(), kind, location: self.location(at, event) }
    }
}

/// What stands in front of a position. Where that cannot be read again, the message has what is known.
fn before(bytes: &Positioned, position: u64) -> Gone {
    let mut gone = Gone::default();
    let mut buffer = Buffer::default();
    let mut at = 0;
    while at < position {
        buffer.clear();
        let count = usize::try_from(position - at).unwrap_or(PIECE).min(PIECE);
        match buffer.read_at(bytes, at, count) {
            Ok(0) | Err(_) => break,
            Ok(count) => at += count as u64,
        }
        gone.add(buffer.bytes());
    }
    gone
}

/// Characters of a UTF-8 text; of bytes that are none, those that are not continuations.
fn characters(bytes: &[u8]) -> u64 {
    // In one byte as long as no sum is larger: that is many times as fast.
    let few = |bytes: &[u8]| bytes.iter().map(|byte| u8::from(byte & 0xc0 != 0x80)).sum::<u8>();
    bytes.chunks(255).map(|bytes| u64::from(few(bytes))).sum()
}
