//! The part of a text file that is in view, checked to be UTF-8.

use crate::Error;
use crate::source::{Content, LARGEST_VALUE_BYTES, Source, too_long};
use std::io::{self, Read};
use std::path::Path;

/// How much is taken into view at once.
const PIECE: usize = 256 * 1024;

/// A window on a text file.
pub(super) struct TextWindow<'s> {
    path: &'s Path,
    content: &'s mut Content,
    text: String,
    /// What was read behind the text in view: the beginning of a character, or what is none.
    undecided: Vec<u8>,
    /// Position in the file of the first byte in view.
    base: u64,
    ended: bool,
    bad: bool,
}

impl<'s> TextWindow<'s> {
    pub(super) fn new(source: &'s mut Source) -> TextWindow<'s> {
        let (path, content) = source.parts();
        TextWindow { path, content, text: String::new(), undecided: Vec::new(), base: 0, ended: false, bad: false }
    }

    pub(super) fn path(&self) -> &'s Path {
        self.path
    }

    /// The text in view.
    #[inline]
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the text in view reaches to the end of the file.
    #[inline]
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Where the file stops being UTF-8, if the text in view reaches up to there.
    pub(super) fn bad_byte(&self) -> Option<u64> {
        self.bad.then(|| self.base + self.text.len() as u64)
    }

    /// Drops the first `done` bytes from view and takes in more, at least as much as is left.
    pub(super) fn refill(&mut self, done: usize) -> Result<(), Error> {
        self.base += done as u64;
        if self.text.len() - done >= LARGEST_VALUE_BYTES {
            return Err(Error::Io { path: self.path.to_owned(), source: too_long(self.base) });
        }
        // The memory of the text goes round: what is read need not be copied once more.
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.drain(..done);
        let room = PIECE.max(bytes.len()).min(LARGEST_VALUE_BYTES - bytes.len());
        bytes.append(&mut self.undecided);
        let count = self.read(room, &mut bytes).map_err(|source| Error::Io { path: self.path.to_owned(), source })?;
        self.undecided = bytes.split_off(bytes.len() - unfinished(&bytes));
        match String::from_utf8(bytes) {
            Ok(text) => {
                self.text = text;
                self.ended = count == 0 && self.undecided.is_empty();
                self.bad = count == 0 && !self.undecided.is_empty();
            }
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let mut bytes = error.into_bytes();
                self.undecided.splice(..0, bytes.split_off(valid));
                self.text = String::from_utf8(bytes).unwrap_or_default();
                self.bad = true;
            }
        }
        Ok(())
    }

    fn read(&mut self, room: usize, out: &mut Vec<u8>) -> io::Result<usize> {
        match self.content {
            Content::Positioned(bytes) => bytes.append_to(out, self.base + out.len() as u64, room),
            Content::Stream(stream) => stream.take(room as u64).read_to_end(out),
        }
    }
}

/// Length of the beginning of a character at the end of some bytes that more bytes may complete.
fn unfinished(bytes: &[u8]) -> usize {
    let last = &bytes[bytes.len().saturating_sub(3)..];
    let continuations = last.iter().rev().take_while(|&&byte| byte & 0xc0 == 0x80).count();
    let wanted = match last.iter().rev().nth(continuations) {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xff) => 4,
        _ => 0,
    };
    if continuations + 1 < wanted { continuations + 1 } else { 0 }
}
