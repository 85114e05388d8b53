//! The part of a text file that is in view, checked to be UTF-8.

use crate::Error;
use crate::source::{Bytes, Source};
use std::io::Read;

/// How much is taken into view at once.
const PIECE: usize = 256 * 1024;

/// A window on a text file.
pub(super) struct TextWindow<'s> {
    name: &'s str,
    content: Content<'s>,
    /// Position in the file of the first byte in view.
    base: u64,
    ended: bool,
    bad: bool,
}

enum Content<'s> {
    Whole { bytes: &'s [u8], text: &'s str },
    Stream { reader: &'s mut (dyn Read + Send), text: String, undecided: Vec<u8> },
}

impl<'s> TextWindow<'s> {
    pub(super) fn new(source: &'s mut Source) -> TextWindow<'s> {
        let (name, bytes) = source.parts();
        let content = match bytes {
            Bytes::Whole(bytes) => Content::Whole { bytes, text: "" },
            Bytes::Stream(reader) => Content::Stream { reader, text: String::new(), undecided: Vec::new() },
        };
        TextWindow { name, content, base: 0, ended: false, bad: false }
    }

    pub(super) fn name(&self) -> &'s str {
        self.name
    }

    /// The text in view.
    #[inline]
    pub(super) fn text(&self) -> &str {
        match &self.content {
            Content::Whole { text, .. } => text,
            Content::Stream { text, .. } => text,
        }
    }

    /// Whether the text in view reaches to the end of the file.
    #[inline]
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Where the file stops being UTF-8, if the text in view reaches up to there.
    pub(super) fn bad_byte(&self) -> Option<u64> {
        self.bad.then(|| self.base + self.text().len() as u64)
    }

    /// Drops the first `done` bytes from view and takes in more, at least twice what is left.
    pub(super) fn refill(&mut self, done: usize) -> Result<(), Error> {
        self.base += done as u64;
        match &mut self.content {
            Content::Whole { bytes, text } => {
                let left = text.len() - done;
                let start = usize::try_from(self.base).unwrap_or(usize::MAX).min(bytes.len());
                let rest = &bytes[start..];
                let piece = &rest[..rest.len().min(PIECE.max(2 * left))];
                let valid = valid_part(piece);
                *text = valid;
                let last = piece.len() == rest.len();
                self.ended = last && valid.len() == piece.len();
                self.bad = !self.ended && is_bad(&piece[valid.len()..], last);
            }
            Content::Stream { reader, text, undecided } => {
                text.drain(..done);
                let room = PIECE.max(text.len()) as u64;
                let mut fresh = std::mem::take(undecided);
                let count = reader
                    .take(room)
                    .read_to_end(&mut fresh)
                    .map_err(|source| Error::Io { path: self.name.to_owned(), source })?;
                let valid = valid_part(&fresh);
                text.push_str(valid);
                let over = fresh[valid.len()..].to_vec();
                self.ended = count == 0 && over.is_empty();
                self.bad = is_bad(&over, count == 0);
                *undecided = over;
            }
        }
        Ok(())
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
