//! Where the records of a CSV text end, and its cells: the state machine behind both readers of CSV, [`records`](crate::records) for text
//! that is at hand and [`kernels`](crate::kernels) for a window on it.

use crate::marks::{BLOCK, Marks, marks};
use std::ops::Range;

/// Takes the bounds of the cells of a record as they are met: where the first one starts, and behind each one where the next one would.
pub(crate) trait Bound {
    /// Forgets the record before.
    fn clear(&mut self);
    /// Takes a bound.
    fn push(&mut self, place: usize);
    /// Takes the bounds behind the commas of a block that begins at `at`; there may be none.
    fn push_commas(&mut self, at: usize, commas: u32);
    /// The last bound: where the open cell starts.
    fn last(&self) -> usize;
}

/// The bounds of all cells of a record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounds(Vec<usize>);

impl Bound for Bounds {
    fn clear(&mut self) {
        self.0.clear();
    }

    #[inline(always)]
    fn push(&mut self, place: usize) {
        self.0.push(place);
    }

    #[inline(always)]
    fn push_commas(&mut self, at: usize, mut commas: u32) {
        while commas != 0 {
            self.0.push(at + commas.trailing_zeros() as usize + 1);
            commas &= commas - 1;
        }
    }

    #[inline(always)]
    fn last(&self) -> usize {
        self.0.last().copied().unwrap_or(usize::MAX)
    }
}

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
    /// A record that ends in front of `next`, over this many line ends.
    Record { next: usize, lines: u64 },
    /// A record whose last cell's quote, opened this many lines below the record's first, is open when the text ends, over this many
    /// line ends.
    OpenQuote { lines_to_quote: u64, lines: u64 },
    /// The text ends in front of a record.
    End,
    /// More text is needed to decide.
    Cut,
}

/// Takes the record that starts at `start`; `ended` when no more text can follow.
pub(crate) fn split(bytes: &[u8], start: usize, ended: bool, bounds: &mut impl Bound) -> Split {
    bounds.clear();
    if start >= bytes.len() {
        return if ended { Split::End } else { Split::Cut };
    }
    bounds.push(start);
    let mut record = Open { bytes, start, ended, open: false, reopens: 0, lines: 0, quote: 0 };
    let mut at = start;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let Marks { commas, quotes, line_ends } = marks(block);
        if quotes == 0 && (record.open || line_ends == 0) {
            // Nothing begins or ends here but cells.
            if !record.open {
                bounds.push_commas(at, commas);
            } else if line_ends != 0 {
                record.line_ends_in_quotes(at, line_ends);
            }
            at += BLOCK;
            continue;
        }
        if quotes == 0 {
            let end = line_ends.trailing_zeros();
            bounds.push_commas(at, commas & ((1 << end) - 1));
            return record.end(at + end as usize, bounds);
        }
        let mut left = commas | quotes | line_ends;
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
    if !ended {
        return Split::Cut;
    }
    if record.open {
        bounds.push(at + 1);
        return Split::OpenQuote { lines_to_quote: record.quote, lines: record.lines };
    }
    record.end(at, bounds)
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
    fn mark(&mut self, at: usize, byte: u8, bounds: &mut impl Bound) -> Option<Split> {
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
    fn quote(&mut self, at: usize, bounds: &impl Bound) {
        if self.open {
            self.open = false;
            self.reopens = at + 1;
        } else if at == self.reopens {
            self.open = true;
        } else if bounds.last() == at {
            self.open = true;
            self.quote = self.lines;
        }
    }

    #[cold]
    fn line_ends_in_quotes(&mut self, at: usize, mut line_ends: u32) {
        while line_ends != 0 {
            let place = at + line_ends.trailing_zeros() as usize;
            self.line_end_in_quotes(place, self.bytes[place]);
            line_ends &= line_ends - 1;
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
    fn end(&mut self, end: usize, bounds: &mut impl Bound) -> Split {
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
