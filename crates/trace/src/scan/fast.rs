//! The quick way over JSON: passes over valid values and says nothing about others.
//!
//! Everything here takes a position and gives the one behind what stands there, or `None` where the bytes end or are no
//! JSON; [`Scanner`] finds out which, and where exactly. Positions travel in registers, so a value costs few instructions.

use super::number::number_end;
use super::text_end::{BLOCK, block_at, no_digits, stops};
use super::{Kind, Scanner, Span, TextRule};

/// Lists and objects inside each other that are passed over by recursion; deeper ones take the slow way.
const RECURSION: u32 = 32;

/// The quick way over one piece of JSON text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fast<'a> {
    bytes: &'a [u8],
    rule: TextRule,
}

/// A key, and where its value starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    pub(crate) span: Span,
    pub(crate) value: usize,
}

/// What stands behind a member or element.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Behind {
    /// A comma; here goes on what follows it.
    More(usize),
    /// The closing bracket; this is the position behind it.
    Closed(usize),
}

impl<'a> Fast<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], rule: TextRule) -> Fast<'a> {
        Fast { bytes, rule }
    }

    #[inline(always)]
    pub(crate) fn byte(self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    #[inline(always)]
    pub(crate) fn from(self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    #[inline(always)]
    pub(crate) fn raw(self, span: Span) -> &'a [u8] {
        self.bytes.get(span.start..span.end).unwrap_or_default()
    }

    /// The first position at or behind `at` that is no white space.
    #[inline(always)]
    pub(crate) fn space(self, at: usize) -> usize {
        match self.byte(at) {
            Some(..=b' ') => self.more_space(at),
            _ => at,
        }
    }

    #[inline(never)]
    fn more_space(self, mut at: usize) -> usize {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte(at) {
            at += 1;
        }
        at
    }

    /// Takes the key at `at`, its colon, and a blank behind it.
    #[inline(always)]
    pub(crate) fn key(self, at: usize) -> Option<Key> {
        let at = if self.byte(at)? == b'"' { at + 1 } else { self.quote_behind_space(at)? };
        let (end, kind) = match block_at(self.bytes, at) {
            // Nearly all keys are short.
            Some(block) => match stops(block) {
                0 => self.text(at)?,
                stops => self.text_stopped(at, at + stops.trailing_zeros() as usize)?,
            },
            None => self.text(at)?,
        };
        let span = Span { start: at, end, kind };
        if let Some(&[b':', behind]) = self.bytes.get(end + 1..).and_then(<[u8]>::first_chunk::<2>) {
            return Some(Key { span, value: end + 2 + usize::from(behind == b' ') });
        }
        let colon = self.space(end + 1);
        (self.byte(colon)? == b':').then_some(Key { span, value: colon + 1 })
    }

    #[inline(never)]
    fn quote_behind_space(self, at: usize) -> Option<usize> {
        let at = self.more_space(at);
        (self.byte(at)? == b'"').then_some(at + 1)
    }

    /// What stands behind a member or an element that ends at `at`; `close` closes it.
    #[inline(always)]
    pub(crate) fn behind(self, at: usize, close: u8) -> Option<Behind> {
        let at = match self.byte(at)? {
            b',' => return Some(Behind::More(self.behind_comma(at))),
            byte if byte == close => return Some(Behind::Closed(at + 1)),
            _ => self.more_space(at),
        };
        match self.byte(at)? {
            b',' => Some(Behind::More(self.behind_comma(at))),
            byte if byte == close => Some(Behind::Closed(at + 1)),
            _ => None,
        }
    }

    #[inline(always)]
    fn behind_comma(self, comma: usize) -> usize {
        comma + 1 + usize::from(self.byte(comma + 1) == Some(b' '))
    }

    /// The end of a text, which is its closing quote, and whether it is plain; `at` is behind the opening quote.
    #[inline(always)]
    fn text(self, mut at: usize) -> Option<(usize, Kind)> {
        let start = at;
        while let Some(block) = block_at(self.bytes, at) {
            let stops = stops(block);
            if stops != 0 {
                return self.text_stopped(start, at + stops.trailing_zeros() as usize);
            }
            at += BLOCK;
        }
        self.text_with_stops(start, at)
    }

    #[inline(always)]
    fn text_stopped(self, start: usize, at: usize) -> Option<(usize, Kind)> {
        if self.byte(at) == Some(b'"') { Some((at, Kind::PlainText)) } else { self.text_with_stops(start, at) }
    }

    #[inline(never)]
    fn text_with_stops(self, start: usize, at: usize) -> Option<(usize, Kind)> {
        let span = Scanner::starting_at(self.bytes, start, self.rule).text_span_from(start, at).ok()?;
        Some((span.end, span.kind))
    }

    /// The value at `at`, and the position behind it.
    #[inline(always)]
    pub(crate) fn value(self, at: usize) -> Option<(Span, usize)> {
        let at = self.space(at);
        match self.byte(at)? {
            b'"' => {
                let (end, kind) = self.text(at + 1)?;
                Some((Span { start: at + 1, end, kind }, end + 1))
            }
            b'{' => {
                let end = self.object(at + 1, RECURSION)?;
                Some((Span { start: at, end, kind: Kind::Object }, end))
            }
            b'[' => {
                let end = self.list(at + 1, RECURSION)?;
                Some((Span { start: at, end, kind: Kind::List }, end))
            }
            _ => {
                let (end, kind) = self.scalar(at)?;
                Some((Span { start: at, end, kind }, end))
            }
        }
    }

    /// The position behind the value at `at`.
    #[inline(always)]
    fn skip(self, at: usize, depth: u32) -> Option<usize> {
        let at = self.space(at);
        match self.byte(at)? {
            b'"' => Some(self.text(at + 1)?.0 + 1),
            b'{' => self.object(at + 1, depth - 1),
            b'[' => self.list(at + 1, depth - 1),
            _ => Some(self.scalar(at)?.0),
        }
    }

    /// The position behind the list whose `[` stands before `at`.
    #[inline(never)]
    fn list(self, at: usize, depth: u32) -> Option<usize> {
        if depth == 0 {
            return self.deep(at - 1);
        }
        let mut at = self.space(at);
        if self.byte(at)? == b']' {
            return Some(at + 1);
        }
        loop {
            at = self.skip(at, depth)?;
            match self.behind(at, b']')? {
                Behind::More(next) => at = next,
                Behind::Closed(end) => return Some(end),
            }
        }
    }

    /// The position behind the object whose `{` stands before `at`.
    #[inline(never)]
    fn object(self, at: usize, depth: u32) -> Option<usize> {
        if depth == 0 {
            return self.deep(at - 1);
        }
        let mut at = self.space(at);
        if self.byte(at)? == b'}' {
            return Some(at + 1);
        }
        loop {
            let key = self.key(at)?;
            at = self.skip(key.value, depth)?;
            match self.behind(at, b'}')? {
                Behind::More(next) => at = next,
                Behind::Closed(end) => return Some(end),
            }
        }
    }

    #[cold]
    fn deep(self, at: usize) -> Option<usize> {
        let mut scanner = Scanner::starting_at(self.bytes, at, self.rule);
        scanner.value_below(RECURSION as usize).ok()?;
        Some(scanner.at)
    }

    /// The end of a number or word.
    #[inline(always)]
    fn scalar(self, at: usize) -> Option<(usize, Kind)> {
        match block_at(self.bytes, at) {
            Some(block) if block[0].is_ascii_digit() => match short_number(block) {
                Some((length, kind)) => Some((at + length, kind)),
                None => self.other_scalar(at),
            },
            _ => self.other_scalar(at),
        }
    }

    #[inline(never)]
    fn other_scalar(self, at: usize) -> Option<(usize, Kind)> {
        match self.byte(at)? {
            b'-' | b'0'..=b'9' => {
                let (end, integer) = number_end(self.bytes, at).ok()?;
                Some((end, if integer { Kind::Integer } else { Kind::Real }))
            }
            b't' => self.word(at, b"true", Kind::True),
            b'f' => self.word(at, b"false", Kind::False),
            b'n' => self.word(at, b"null", Kind::Null),
            b'N' => self.word(at, b"NaN", Kind::Real),
            b'I' => self.word(at, b"Infinity", Kind::Real),
            _ => None,
        }
    }

    fn word(self, at: usize, word: &[u8], kind: Kind) -> Option<(usize, Kind)> {
        self.bytes.get(at..)?.starts_with(word).then_some((at + word.len(), kind))
    }
}

/// Length and kind of a number without sign and exponent that ends inside the block; `None` for all others, good or bad.
#[inline(always)]
fn short_number(block: &[u8; BLOCK]) -> Option<(usize, Kind)> {
    let no_digits = no_digits(block);
    let whole = no_digits.trailing_zeros() as usize;
    if whole >= BLOCK || (block[0] == b'0' && whole > 1) {
        return None;
    }
    match block[whole] {
        b'.' => {
            // The bit of the point is the lowest that is set.
            let behind = no_digits & (no_digits - 1);
            let end = behind.trailing_zeros() as usize;
            if end >= BLOCK || end == whole + 1 || block[end] | 0x20 == b'e' {
                return None;
            }
            Some((end, Kind::Real))
        }
        b'e' | b'E' => None,
        _ => Some((whole, Kind::Integer)),
    }
}
