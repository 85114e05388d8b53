//! Splitting text into records and cells.

use super::options::LineEndsInCells;
use std::borrow::Cow;
use wide::i8x16;

/// A cell as it stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    start: usize,
    end: usize,
    /// Whether it begins with a quote; the quote is part of the range then.
    quoted: bool,
}

impl Cell {
    /// Bytes as written.
    pub(super) fn len(self) -> usize {
        self.end - self.start
    }

    /// The content.
    pub(super) fn decode(self, text: &str, line_ends: LineEndsInCells) -> Cow<'_, str> {
        let raw = text.get(self.start..self.end).unwrap_or_default();
        let Some(inside) = raw.strip_prefix('"').filter(|_| self.quoted) else { return Cow::Borrowed(raw) };
        if let Some(plain) = inside.strip_suffix('"')
            && memchr::memchr2(b'"', b'\r', plain.as_bytes()).is_none()
        {
            return Cow::Borrowed(plain);
        }
        Cow::Owned(unquote(inside, line_ends))
    }
}

/// The content of a cell whose opening quote is gone.
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
pub(super) fn split(text: &str, start: usize, ended: bool, cells: &mut Vec<Cell>) -> Split {
    cells.clear();
    let bytes = text.as_bytes();
    if start >= bytes.len() {
        return if ended { Split::End } else { Split::Cut };
    }
    let mut record =
        Open { bytes, start, ended, cell: start, quoted: false, open: false, closed: 0, lines: 0, quote: 0 };
    let mut at = start;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let mut marks = marks(block);
        while marks != 0 {
            let mark = at + marks.trailing_zeros() as usize;
            marks &= marks - 1;
            if let Some(split) = record.mark(mark, cells) {
                return split;
            }
        }
        at += BLOCK;
    }
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b',' | b'"' | b'\r' | b'\n')
            && let Some(split) = record.mark(at, cells)
        {
            return split;
        }
        at += 1;
    }
    match ended {
        false => Split::Cut,
        true if record.open => {
            cells.push(Cell { start: record.cell, end: at, quoted: true });
            Split::OpenQuote { lines_to_quote: record.quote }
        }
        true => record.end(at, cells),
    }
}

/// A record that is being taken.
struct Open<'t> {
    bytes: &'t [u8],
    start: usize,
    ended: bool,
    /// Where the current cell starts.
    cell: usize,
    /// Whether it begins with a quote.
    quoted: bool,
    /// Whether a quote is open.
    open: bool,
    /// Where the last closing quote of the cell stands.
    closed: usize,
    /// Line ends inside quotes so far.
    lines: u64,
    /// How many of them there were when the last quote was opened.
    quote: u64,
}

impl Open<'_> {
    /// Takes a comma, a quote or a line end.
    #[inline(always)]
    fn mark(&mut self, at: usize, cells: &mut Vec<Cell>) -> Option<Split> {
        let byte = self.bytes.get(at).copied();
        if self.open {
            self.mark_in_quotes(at, byte);
            return None;
        }
        match byte {
            Some(b',') => self.end_cell(at, cells),
            Some(b'"') => self.quote_outside(at),
            _ => return Some(self.end(at, cells)),
        }
        None
    }

    #[inline(always)]
    fn mark_in_quotes(&mut self, at: usize, byte: Option<u8>) {
        match byte {
            Some(b'"') => {
                self.open = false;
                self.closed = at;
            }
            Some(b'\r') => self.lines += 1,
            // The LF of a CRLF has been counted.
            Some(b'\n') if self.bytes.get(at - 1) != Some(&b'\r') => self.lines += 1,
            _ => {}
        }
    }

    /// A quote opens at the start of a cell, and again right behind a closing one: two of them are one letter. All others
    /// are letters.
    #[inline(always)]
    fn quote_outside(&mut self, at: usize) {
        if at == self.cell {
            self.quoted = true;
            self.open = true;
            self.quote = self.lines;
        } else if self.quoted && self.closed + 1 == at {
            self.open = true;
        }
    }

    #[inline(always)]
    fn end_cell(&mut self, end: usize, cells: &mut Vec<Cell>) {
        cells.push(Cell { start: self.cell, end, quoted: self.quoted });
        self.cell = end + 1;
        self.quoted = false;
        self.closed = 0;
    }

    /// The record ends with the line end at `end`, or there with the text.
    #[inline(always)]
    fn end(&mut self, end: usize, cells: &mut Vec<Cell>) -> Split {
        // An empty line is a record without cells.
        if end > self.start {
            self.end_cell(end, cells);
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

/// One bit for each byte, the first one lowest: set for commas, quotes and line ends.
#[inline(always)]
fn marks(block: &[u8; BLOCK]) -> u32 {
    let bytes = i8x16::new(block.map(u8::cast_signed));
    let is = |byte: u8| bytes.simd_eq(i8x16::splat(byte.cast_signed()));
    (is(b',') | is(b'"') | is(b'\n') | is(b'\r')).to_bitmask()
}
