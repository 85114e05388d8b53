//! The quick way over JSON: passes over valid values and does not explain others.
//!
//! Everything here takes what is left of the text and gives what is left behind the value that stands there, or `None`
//! where the text ends or is no JSON; [`Scanner`] finds out which, and where exactly. What is left travels in registers, and
//! its length is the one thing to check, so a value costs few instructions.

mod numbers;

pub(crate) use numbers::{longer_number, short_list_of_integers, short_number};

use super::number::number_end;
use super::text_end::{BLOCK, stops};
use super::{Kind, Scanner, Span, TextRule};
use numbers::behind_integers;

/// Lists and objects inside each other that are passed over by recursion; deeper ones take the slow way.
const RECURSION: u32 = 32;

/// The quick way over one piece of JSON text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fast<'a> {
    bytes: &'a [u8],
    rule: TextRule,
}

/// A key, and what is left behind its colon.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key<'a> {
    /// The key between its quotes, escapes untouched.
    pub(crate) raw: &'a [u8],
    /// The text from behind the first quote on.
    pub(crate) inside: &'a [u8],
    pub(crate) kind: Kind,
    pub(crate) rest: &'a [u8],
}

/// What stands behind a member or element.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Behind<'a> {
    /// A comma; this is what follows it.
    More(&'a [u8]),
    /// The closing bracket; this is what follows it.
    Closed(&'a [u8]),
}

/// The inside of a text: its length, and whether it is plain.
type Inside = (usize, Kind);

impl<'a> Fast<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], rule: TextRule) -> Fast<'a> {
        Fast { bytes, rule }
    }

    /// All of the text.
    #[inline(always)]
    pub(crate) fn all(self) -> &'a [u8] {
        self.bytes
    }

    /// The text from `at` on.
    #[inline(always)]
    pub(crate) fn from(self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    /// Where `rest` starts.
    #[inline(always)]
    pub(crate) fn position(self, rest: &'a [u8]) -> usize {
        self.bytes.len() - rest.len()
    }

    #[inline(always)]
    pub(crate) fn raw(self, span: Span) -> &'a [u8] {
        self.bytes.get(span.start..span.end).unwrap_or_default()
    }

    /// `rest` without the whitespace it begins with.
    #[inline(always)]
    pub(crate) fn space(self, rest: &'a [u8]) -> &'a [u8] {
        match rest {
            [..=b' ', ..] => more_space(rest),
            _ => rest,
        }
    }

    /// Takes a key, its colon, and a space behind it.
    #[inline(always)]
    pub(crate) fn key(self, rest: &'a [u8]) -> Option<Key<'a>> {
        let inside = match rest {
            [b'"', rest @ ..] => rest,
            _ => quote_behind_space(rest)?,
        };
        // Nearly all keys are plain and short.
        let (length, kind) = match inside.first_chunk::<BLOCK>() {
            Some(block) => {
                let stop = stops(block).trailing_zeros() as usize;
                match block.get(stop) {
                    Some(b'"') => (stop, Kind::PlainText),
                    _ => self.long_text(inside)?,
                }
            }
            None => self.long_text(inside)?,
        };
        let (raw, behind) = inside.split_at_checked(length)?;
        match behind {
            [_, b':', b' ', rest @ ..] | [_, b':', rest @ ..] => Some(Key { raw, inside, kind, rest }),
            [_, rest @ ..] => match more_space(rest) {
                [b':', rest @ ..] => Some(Key { raw, inside, kind, rest }),
                _ => None,
            },
            [] => None,
        }
    }

    /// What stands behind a member or an element; `close` closes it.
    #[inline(always)]
    pub(crate) fn behind(self, rest: &'a [u8], close: u8) -> Option<Behind<'a>> {
        match rest {
            [b',', b' ', rest @ ..] | [b',', rest @ ..] => Some(Behind::More(rest)),
            [byte, rest @ ..] if *byte == close => Some(Behind::Closed(rest)),
            _ => match more_space(rest) {
                [b',', rest @ ..] => Some(Behind::More(rest)),
                [byte, rest @ ..] if *byte == close => Some(Behind::Closed(rest)),
                _ => None,
            },
        }
    }

    /// The inside of a text whose opening quote has been taken.
    #[inline(always)]
    fn text(self, rest: &'a [u8]) -> Option<Inside> {
        let mut left = rest;
        while let Some((block, behind)) = left.split_first_chunk::<BLOCK>() {
            let stops = stops(block);
            if stops != 0 {
                let stop = stops.trailing_zeros() as usize;
                if block.get(stop) == Some(&b'"') {
                    return Some((rest.len() - left.len() + stop, Kind::PlainText));
                }
                break;
            }
            left = behind;
        }
        self.odd_text(rest, left)
    }

    /// The length of the inside of a text, if it is ASCII without escapes.
    #[inline(always)]
    pub(crate) fn ascii_text(self, rest: &'a [u8]) -> Option<usize> {
        let mut left = rest;
        while let Some((block, behind)) = left.split_first_chunk::<BLOCK>() {
            let stops = stops(block);
            if stops != 0 {
                let stop = stops.trailing_zeros() as usize;
                return (block.get(stop) == Some(&b'"')).then_some(rest.len() - left.len() + stop);
            }
            left = behind;
        }
        None
    }

    #[inline(never)]
    pub(crate) fn long_text(self, rest: &'a [u8]) -> Option<Inside> {
        self.text(rest)
    }

    /// The inside of a text that is plain in front of `left`.
    #[inline(never)]
    fn odd_text(self, rest: &'a [u8], left: &'a [u8]) -> Option<Inside> {
        let (start, at) = (self.position(rest), self.position(left));
        let span = Scanner::starting_at(self.bytes, start, self.rule).text_span_from(start, at).ok()?;
        Some((span.end - span.start, span.kind))
    }

    /// Takes a value.
    #[inline(always)]
    pub(crate) fn value(self, rest: &'a [u8]) -> Option<(Span, &'a [u8])> {
        let rest = self.space(rest);
        let start = self.position(rest);
        match rest {
            [b'"', inside @ ..] => {
                let (length, kind) = self.text(inside)?;
                let span = Span { start: start + 1, end: start + 1 + length, kind };
                Some((span, inside.get(length + 1..)?))
            }
            [b'{', inside @ ..] => {
                let rest = self.object(inside, RECURSION)?;
                Some((Span { start, end: self.position(rest), kind: Kind::Object }, rest))
            }
            [b'[', inside @ ..] => {
                let rest = self.list(inside, RECURSION)?;
                Some((Span { start, end: self.position(rest), kind: Kind::List }, rest))
            }
            _ => {
                let (length, kind) = self.scalar(rest)?;
                Some((Span { start, end: start + length, kind }, rest.get(length..)?))
            }
        }
    }

    /// [`Fast::value`], for the less frequent kinds.
    #[inline(never)]
    pub(crate) fn other_value(self, rest: &'a [u8]) -> Option<(Span, &'a [u8])> {
        self.value(rest)
    }

    /// Passes over a value.
    #[inline(always)]
    fn skip(self, rest: &'a [u8], depth: u32) -> Option<&'a [u8]> {
        let rest = self.space(rest);
        match rest {
            [b'"', inside @ ..] => {
                let (length, _) = self.text(inside)?;
                inside.get(length + 1..)
            }
            [b'{', inside @ ..] => self.object(inside, depth - 1),
            [b'[', inside @ ..] => self.list(inside, depth - 1),
            _ => {
                let (length, _) = self.scalar(rest)?;
                rest.get(length..)
            }
        }
    }

    /// Passes over what is left of a list whose `[` has been taken.
    #[inline(never)]
    fn list(self, rest: &'a [u8], depth: u32) -> Option<&'a [u8]> {
        if depth == 0 {
            return self.deep(self.position(rest) - 1);
        }
        if let Some(rest) = behind_integers(rest) {
            return Some(rest);
        }
        let mut rest = self.space(rest);
        if let [b']', rest @ ..] = rest {
            return Some(rest);
        }
        loop {
            rest = self.skip(rest, depth)?;
            match self.behind(rest, b']')? {
                Behind::More(next) => rest = next,
                Behind::Closed(rest) => return Some(rest),
            }
        }
    }

    /// Passes over what is left of an object whose `{` has been taken.
    #[inline(never)]
    fn object(self, rest: &'a [u8], depth: u32) -> Option<&'a [u8]> {
        if depth == 0 {
            return self.deep(self.position(rest) - 1);
        }
        let mut rest = self.space(rest);
        if let [b'}', rest @ ..] = rest {
            return Some(rest);
        }
        loop {
            rest = self.skip(self.key(rest)?.rest, depth)?;
            match self.behind(rest, b'}')? {
                Behind::More(next) => rest = next,
                Behind::Closed(rest) => return Some(rest),
            }
        }
    }

    #[cold]
    fn deep(self, at: usize) -> Option<&'a [u8]> {
        let mut scanner = Scanner::starting_at(self.bytes, at, self.rule);
        scanner.value_below(RECURSION as usize).ok()?;
        Some(self.from(scanner.at))
    }

    /// Length and kind of a number or word.
    #[inline(always)]
    fn scalar(self, rest: &'a [u8]) -> Option<(usize, Kind)> {
        short_number(rest).or_else(|| longer_number(rest)).or_else(|| other_scalar(rest))
    }
}

#[inline(never)]
fn more_space(rest: &[u8]) -> &[u8] {
    let mut rest = rest;
    while let [b' ' | b'\n' | b'\r' | b'\t', behind @ ..] = rest {
        rest = behind;
    }
    rest
}

#[inline(never)]
fn quote_behind_space(rest: &[u8]) -> Option<&[u8]> {
    more_space(rest).strip_prefix(b"\"")
}

#[inline(never)]
fn other_scalar(rest: &[u8]) -> Option<(usize, Kind)> {
    let word = |word: &[u8], kind: Kind| rest.starts_with(word).then_some((word.len(), kind));
    match rest.first()? {
        b'-' | b'0'..=b'9' => {
            let (end, integer) = number_end(rest, 0).ok()?;
            Some((end, if integer { Kind::Integer } else { Kind::Real }))
        }
        b't' => word(b"true", Kind::True),
        b'f' => word(b"false", Kind::False),
        b'n' => word(b"null", Kind::Null),
        b'N' => word(b"NaN", Kind::Real),
        b'I' => word(b"Infinity", Kind::Real),
        _ => None,
    }
}
