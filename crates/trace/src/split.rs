//! Where the records of a CSV text end, and its cells: the state machine behind both readers of CSV, [`records`](crate::records) for text
//! that is at hand and [`kernels`](crate::kernels) for a window on it.

use crate::marks::{BLOCK, Marks, marks};
use std::ops::Range;

/// The cells of a record: where the first one starts, and behind each one where the next one would.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounds(Vec<usize>);

impl Bounds {
    /// Number of cells.
    pub(crate) fn len(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// Whether the record is an empty line.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the cell at a position of the record is written.
    #[inline]
    pub(crate) fn cell(&self, position: usize) -> Option<Range<usize>> {
        Some(*self.0.get(position)?..*self.0.get(position + 1)? - 1)
    }

    /// Where the cells of the record are written.
    #[inline]
    pub(crate) fn cells(&self) -> impl Iterator<Item = Range<usize>> {
        self.0.windows(2).map(|bounds| bounds[0]..bounds[1] - 1)
    }
}

/// What [`split`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    /// A record that ends in front of `next`, over so many line ends.
    Record { next: usize, lines: u64 },
    /// A record whose last cell's quote, opened so many lines below the record's first, is open when the text ends, over so many
    /// line ends.
    OpenQuote { lines_to_quote: u64, lines: u64 },
    /// The text ends in front of a record.
    End,
    /// More text is needed to tell.
    Cut,
}

/// Takes the record that starts at `start`; `ended` when no more text can follow.
pub(crate) fn split(bytes: &[u8], start: usize, ended: bool, bounds: &mut Bounds) -> Split {
    let bounds = &mut bounds.0;
    bounds.clear();
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
            Split::OpenQuote { lines_to_quote: record.quote, lines: record.lines }
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
