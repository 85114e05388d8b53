//! The part of a text file that is in view, checked to be UTF-8.

use crate::Error;
use crate::source::{Buffer, Content, Source};
use std::io;

/// How much is taken into view at once.
const PIECE: usize = 256 * 1024;

/// A window on a text file.
pub(super) struct TextWindow<'s> {
    name: &'s str,
    content: &'s mut Content,
    text: String,
    /// The beginning of a character, or what is none, behind the text in view.
    undecided: Buffer,
    /// Position in the file of the first byte in view.
    base: u64,
    ended: bool,
    bad: bool,
}

impl<'s> TextWindow<'s> {
    pub(super) fn new(source: &'s mut Source) -> TextWindow<'s> {
        let (name, content) = source.parts();
        let (text, undecided) = (String::new(), Buffer::default());
        TextWindow { name, content, text, undecided, base: 0, ended: false, bad: false }
    }

    pub(super) fn name(&self) -> &'s str {
        self.name
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
        self.text.drain(..done);
        let room = PIECE.max(self.text.len());
        let count = self.read(room).map_err(|source| Error::Io { path: self.name.to_owned(), source })?;
        let valid = valid_part(self.undecided.bytes());
        self.text.push_str(valid);
        let valid = valid.len();
        self.undecided.drop_front(valid);
        let rest = self.undecided.bytes();
        self.ended = count == 0 && rest.is_empty();
        self.bad = is_bad(rest, count == 0);
        Ok(())
    }

    fn read(&mut self, room: usize) -> io::Result<usize> {
        match self.content {
            Content::Positioned(bytes) => {
                let position = self.base + (self.text.len() + self.undecided.bytes().len()) as u64;
                self.undecided.read_at(bytes, position, room)
            }
            Content::Stream(reader) => match self.undecided.read_from(reader.as_mut(), room) {
                (count, None) => Ok(count),
                (_, Some(fault)) => Err(fault),
            },
        }
    }
}

/// The longest beginning that is UTF-8.
fn valid_part(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Whether `rest`, which follows valid text, cannot become a character by more bytes.
fn is_bad(rest: &[u8], last: bool) -> bool {
    match std::str::from_utf8(rest) {
        Ok(_) => false,
        Err(error) => last || error.error_len().is_some(),
    }
}
