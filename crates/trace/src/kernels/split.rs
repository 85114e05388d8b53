//! Splitting text into records and cells.

use super::options::LineEndsInCells;
use std::borrow::Cow;
use wide::i8x16;

/// The cells of a record: where the first one starts, and behind each one where the next one would.
#[derive(Debug, Default)]
pub(super) struct Cells(Vec<usize>);

impl Cells {
    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// Whether the record is an empty line.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(super) fn get(&self, position: usize) -> Option<Cell> {
        let (start, next) = (*self.0.get(position)?, *self.0.get(position + 1)?);
        Some(Cell { start, end: next - 1 })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Cell> + '_ {
        self.0.windows(2).map(|bounds| Cell { start: bounds[0], end: bounds[1] - 1 })
    }
}

/// A cell as it stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    start: usize,
    end: usize,
}

impl Cell {
    /// Bytes as written.
    pub(super) fn len(self) -> usize {
        self.end - self.start
    }

    /// The content. A quote at the beginning always opens.
    #[inline]
    pub(super) fn decode(self, text: &str, line_ends: LineEndsInCells) -> Cow<'_, str> {
        let raw = text.get(self.start..self.end).unwrap_or_default();
        match raw.strip_prefix('"') {
            Some(inside) => content(inside, line_ends),
            None => Cow::Borrowed(raw),
        }
    }
}

/// The content of a cell whose opening quote is gone.
fn content(inside: &str, line_ends: LineEndsInCells) -> Cow<'_, str> {
    match inside.strip_suffix('"') {
        Some(plain) if memchr::memchr2(b'"', b'\r', plain.as_bytes()).is_none() => Cow::Borrowed(plain),
        _ => Cow::Owned(unquote(inside, line_ends)),
    }
}

/// The content where quotes are doubled, or stand behind the closing one.
fn unquote(mut rest: &str, line_ends: LineEndsInCells) -> String {
    let mut content = String::with_capacity(rest.len());
    loop {
        let Some(quote) = memchr::memchr(b'"', rest.as_bytes()) else {
            content.push_str(rest);
            break;
        };
        content.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('"') {
            Some(behind) => {
                content.push('"');
                rest = behind;
            }
            None => {
                content.push_str(rest);
                break;
            }
        }
    }
    match line_ends {
        LineEndsInCells::LineFeed if content.contains('\r') => content.replace("\r\n", "\n").replace('\r', "\n"),
        _ => content,
    }
}

/// What [`split`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    /// A record that ends in front of `next`, over so many line ends.
    Record { next: usize, lines: u64 },
    /// A record whose last cell's quote, opened so many lines below the record's first, is open when the text ends.
    OpenQuote { lines_to_quote: u64 },
    /// The text ends in front of a record.
    End,
    /// More text is needed to tell.
    Cut,
}

/// Takes the record that starts at `start`; `ended` when no more text can follow.
pub(super) fn split(text: &str, start: usize, ended: bool, cells: &mut Cells) -> Split {
    let bounds = &mut cells.0;
    bounds.clear();
    let bytes = text.as_bytes();
    if start >= bytes.len() {
        return if ended { Split::End } else { Split::Cut };
    }
    bounds.push(start);
    let mut record = Open { bytes, start, ended, open: false, reopens: 0, lines: 0, quote: 0 };
    let mut at = start;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let Marks { commas, others } = marks(block);
        if others == 0 {
            // Nothing begins or ends here but cells.
            let mut left = if record.open { 0 } else { commas };
            while left != 0 {
                bounds.push(at + left.trailing_zeros() as usize + 1);
                left &= left - 1;
            }
            at += BLOCK;
            continue;
        }
        let mut left = commas | others;
        while left != 0 {
            let mark = left.trailing_zeros() as usize % BLOCK;
            left &= left - 1;
            if let Some(split) = record.mark(at + mark, block[mark], bounds) {
                return split;
            }
        }
        at += BLOCK;
    }
    while let Some(&byte) = bytes.get(at) {
        if matches!(byte, b',' | b'"' | b'\r' | b'\n')
            && let Some(split) = record.mark(at, byte, bounds)
        {
            return split;
        }
        at += 1;
    }
    match ended {
        false => Split::Cut,
        true if record.open => {
            bounds.push(at + 1);
            Split::OpenQuote { lines_to_quote: record.quote }
        }
        true => record.end(at, bounds),
    }
}

/// A record that is being taken.
struct Open<'t> {
    bytes: &'t [u8],
    start: usize,
    ended: bool,
    /// Whether a quote is open.
    open: bool,
    /// The place behind the last closing quote, where another quote opens again.
    reopens: usize,
    /// Line ends inside quotes so far.
    lines: u64,
    /// How many of them there were when the last quote was opened.
    quote: u64,
}

impl Open<'_> {
    /// Takes a comma, a quote or a line end.
    #[inline(always)]
    fn mark(&mut self, at: usize, byte: u8, bounds: &mut Vec<usize>) -> Option<Split> {
        match byte {
            b',' if self.open => {}
            b',' => bounds.push(at + 1),
            b'"' => self.quote(at, bounds),
            _ if self.open => self.line_end_in_quotes(at, byte),
            _ => return Some(self.end(at, bounds)),
        }
        None
    }

    /// A quote opens at the start of a cell, and again right behind a closing one: two of them are one letter. All others
    /// outside of quotes are letters.
    #[inline(always)]
    fn quote(&mut self, at: usize, bounds: &[usize]) {
        if self.open {
            self.open = false;
            self.reopens = at + 1;
        } else if at == self.reopens {
            self.open = true;
        } else if bounds.last() == Some(&at) {
            self.open = true;
            self.quote = self.lines;
        }
    }

    #[cold]
    fn line_end_in_quotes(&mut self, at: usize, byte: u8) {
        // The LF of a CRLF has been counted.
        if byte == b'\r' || self.bytes.get(at - 1) != Some(&b'\r') {
            self.lines += 1;
        }
    }

    /// The record ends with the line end at `end`, or there with the text.
    #[inline(always)]
    fn end(&mut self, end: usize, bounds: &mut Vec<usize>) -> Split {
        // An empty line is a record without cells.
        if end > self.start {
            bounds.push(end + 1);
        }
        let next = match self.bytes.get(end) {
            None => return Split::Record { next: end, lines: self.lines },
            Some(b'\r') => match self.bytes.get(end + 1) {
                Some(b'\n') => end + 2,
                None if !self.ended => return Split::Cut,
                _ => end + 1,
            },
            Some(_) => end + 1,
        };
        Split::Record { next, lines: self.lines + 1 }
    }
}

/// Bytes that are looked at together.
const BLOCK: usize = 16;

/// One bit for each byte of a block, the first one lowest.
struct Marks {
    commas: u32,
    /// Quotes and line ends.
    others: u32,
}

#[inline(always)]
fn marks(block: &[u8; BLOCK]) -> Marks {
    let bytes = i8x16::new(block.map(u8::cast_signed));
    let is = |byte: u8| bytes.simd_eq(i8x16::splat(byte.cast_signed()));
    Marks { commas: is(b',').to_bitmask(), others: (is(b'"') | is(b'\n') | is(b'\r')).to_bitmask() }
}
