//! Some columns of a CSV stream, record by record.
//!
//! The dialect is that of [`records`](crate::records). Cells of other columns are counted and not looked at, and of the stream no more is held
//! than a window of whole records.
//!
//! ```
//! use perfdb_trace::selected::SelectedRecords;
//!
//! # fn main() -> std::io::Result<()> {
//! let mut records = SelectedRecords::new(&b"a,b,c\n1,\"2,5\",3\n"[..], 4096);
//! let header = records.next_record()?.expect("a header");
//! assert_eq!((header.cell_count(), header.written(1)), (3, &b"b"[..]));
//! records.select([1]);
//! let row = records.next_record()?.expect("a row");
//! assert_eq!((row.line(), row.written(0)), (2, &b"\"2,5\""[..]));
//! # Ok(()) }
//! ```

use crate::records::Cell;
use crate::source::{LARGEST_VALUE_BYTES, too_long};
use crate::split::{Bound, Split, split};
use std::io::{self, Read};

/// The selected columns of a stream of records.
#[derive(Debug)]
pub struct SelectedRecords<R> {
    input: R,
    /// What is in view, up to `filled`.
    window: Vec<u8>,
    filled: usize,
    /// Where the next record starts.
    at: usize,
    /// Position in the stream of the first byte in view.
    base: u64,
    line: u64,
    ended: bool,
    is_ascii: bool,
    bounds: SelectedBounds,
}

impl<R: Read> SelectedRecords<R> {
    /// Reads `input` through a window of this many bytes, which grows where a record is longer. All columns are selected.
    pub fn new(input: R, window_bytes: usize) -> Self {
        SelectedRecords {
            input,
            window: vec![0; window_bytes.max(1)],
            filled: 0,
            at: 0,
            base: 0,
            line: 1,
            ended: false,
            is_ascii: true,
            bounds: SelectedBounds { is_all: true, ..SelectedBounds::default() },
        }
    }

    /// The first bytes of what was not read yet: as many as fit the window, or all of them.
    ///
    /// # Errors
    /// What the stream refuses.
    pub fn peek(&mut self) -> io::Result<&[u8]> {
        if self.at == self.filled && !self.ended {
            self.refill()?;
        }
        Ok(&self.window[self.at..self.filled])
    }

    /// Skips bytes that were peeked at.
    pub fn skip(&mut self, count: usize) {
        self.at = (self.at + count).min(self.filled);
    }

    /// Selects these columns, which rise, for the records that follow.
    pub fn select(&mut self, columns: impl IntoIterator<Item = usize>) {
        self.bounds.wanted.clear();
        for column in columns {
            if self.bounds.wanted.last() != Some(&column) {
                self.bounds.wanted.push(column);
            }
            self.bounds.wanted.push(column + 1);
        }
        self.bounds.is_all = false;
    }

    /// The next record. Completely empty lines are none.
    ///
    /// # Errors
    /// What the stream refuses, and a record of more than 64 MiB.
    #[inline]
    pub fn next_record(&mut self) -> io::Result<Option<SelectedRecord<'_>>> {
        let (start, line, open_quote) = loop {
            let (start, line) = (self.at, self.line);
            match split(&self.window[..self.filled], start, self.ended, &mut self.bounds) {
                Split::Record { next, lines } => {
                    self.at = next;
                    self.line += lines;
                    if self.bounds.count > 1 {
                        break (start, line, None);
                    }
                }
                Split::OpenQuote { lines_to_quote, lines } => {
                    self.at = self.filled;
                    self.line += lines;
                    break (start, line, Some(line + lines_to_quote));
                }
                Split::End => return Ok(None),
                Split::Cut => self.refill()?,
            }
        };
        Ok(Some(SelectedRecord {
            window: &self.window[..self.filled],
            start,
            end: self.at,
            offset: self.base + start as u64,
            line,
            is_ascii: self.is_ascii,
            open_quote,
            bounds: &self.bounds,
        }))
    }

    /// Moves on to the record that is not whole yet, and fills the window.
    #[cold]
    fn refill(&mut self) -> io::Result<()> {
        self.window.copy_within(self.at..self.filled, 0);
        self.base += self.at as u64;
        self.filled -= self.at;
        self.at = 0;
        if self.filled >= LARGEST_VALUE_BYTES {
            return Err(too_long(self.base));
        }
        if self.filled * 2 > self.window.len() {
            self.window.resize(self.window.len() * 2, 0);
        }
        while self.filled < self.window.len() {
            match self.input.read(&mut self.window[self.filled..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.is_ascii = self.window[..self.filled].is_ascii();
        Ok(())
    }
}

/// A record of [`SelectedRecords`].
#[derive(Debug, Clone, Copy)]
pub struct SelectedRecord<'w> {
    window: &'w [u8],
    start: usize,
    end: usize,
    offset: u64,
    line: u64,
    is_ascii: bool,
    open_quote: Option<u64>,
    bounds: &'w SelectedBounds,
}

impl<'w> SelectedRecord<'w> {
    /// The line on which it starts, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The position of its first byte in the stream.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The line on which its last quote opens, if that is still open at the end of the stream.
    pub fn open_quote(&self) -> Option<u64> {
        self.open_quote
    }

    /// Its bytes, line end included.
    pub fn bytes(&self) -> &'w [u8] {
        &self.window[self.start..self.end]
    }

    /// Whether everything around it is ASCII. If not, it may be none itself.
    pub fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    /// The number of its cells, selected or not.
    #[inline]
    pub fn cell_count(&self) -> usize {
        self.bounds.count - 1
    }

    /// The text in which [`Self::cell`] lies.
    #[inline]
    pub fn window(&self) -> &'w [u8] {
        self.window
    }

    /// A cell as it stands in the stream, quotes included. `bound` is its place among the bounds of selected cells; empty where the record is
    /// too short.
    #[inline]
    pub fn written(&self, bound: usize) -> &'w [u8] {
        match self.bounds.kept.get(bound..bound + 2) {
            Some(&[start, end]) => &self.window[start..end - 1],
            _ => &[],
        }
    }

    /// The same, as the place of its text in the [`Self::window`].
    #[inline]
    pub fn cell(&self, bound: usize) -> Option<Cell> {
        match self.bounds.kept.get(bound..bound + 2) {
            Some(&[start, end]) => Some(Cell::written(self.window, start..end - 1)),
            _ => None,
        }
    }
}

/// The bounds of some cells of a record.
#[derive(Debug, Clone, Default)]
struct SelectedBounds {
    is_all: bool,
    /// Which bounds are kept, rising.
    wanted: Vec<usize>,
    /// Where those are that were met so far.
    kept: Vec<usize>,
    /// How many bounds were met.
    count: usize,
    /// Which one is kept next.
    next: usize,
    last: usize,
}

impl Bound for SelectedBounds {
    #[inline(always)]
    fn clear(&mut self) {
        self.kept.clear();
        self.count = 0;
        self.next = self.wanted.first().copied().unwrap_or(usize::MAX);
        self.last = usize::MAX;
    }

    #[inline(always)]
    fn push(&mut self, place: usize) {
        if self.count == self.next || self.is_all {
            self.kept.push(place);
            self.next = self.wanted.get(self.kept.len()).copied().unwrap_or(usize::MAX);
        }
        self.count += 1;
        self.last = place;
    }

    #[inline(always)]
    fn push_commas(&mut self, at: usize, mut commas: u32) {
        let count = commas.count_ones() as usize;
        if count == 0 {
            return;
        }
        if self.count + count > self.next || self.is_all {
            while commas != 0 {
                self.push(at + commas.trailing_zeros() as usize + 1);
                commas &= commas - 1;
            }
            return;
        }
        self.count += count;
        self.last = at + (u32::BITS - commas.leading_zeros()) as usize;
    }

    #[inline(always)]
    fn last(&self) -> usize {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Splitter;
    use proptest::prelude::*;

    type Rows = Vec<(u64, usize, Vec<Option<Vec<u8>>>)>;

    fn selected(text: &[u8], columns: &[usize], window: usize) -> (Rows, Option<u64>) {
        let mut records = SelectedRecords::new(text, window);
        records.select(columns.iter().copied());
        // Where the bound of each column is among those that are kept.
        let mut bounds: Vec<usize> = columns.iter().flat_map(|column| [*column, column + 1]).collect();
        bounds.dedup();
        let (mut rows, mut buffer, mut open_quote) = (Vec::new(), Vec::new(), None);
        while let Some(record) = records.next_record().expect("in memory") {
            let cells = columns.iter().map(|column| {
                let bound = bounds.iter().position(|bound| bound == column)?;
                record.cell(bound).map(|cell| cell.decode(record.window(), &mut buffer).to_vec())
            });
            let cells = cells.collect();
            rows.push((record.line(), record.cell_count(), cells));
            open_quote = record.open_quote();
        }
        (rows, open_quote)
    }

    fn all(text: &[u8], columns: &[usize]) -> (Rows, Option<u64>) {
        let mut splitter = Splitter::new(text);
        let (mut cells, mut rows, mut buffer) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(record) = splitter.next_record(&mut cells) {
            let own =
                columns.iter().map(|column| cells.get(*column).map(|cell| cell.decode(text, &mut buffer).to_vec()));
            rows.push((record.line, cells.len(), own.collect()));
        }
        (rows, splitter.open_quote())
    }

    #[test]
    fn a_record_without_end_is_refused() {
        let mut records = SelectedRecords::new(io::repeat(0), 4096);
        let error = records.next_record().map(|record| record.is_some()).map_err(|error| error.to_string());
        assert!(error.as_ref().is_err_and(|line| line.contains("64 MiB")), "{error:?}");
    }

    proptest! {
        #[test]
        fn cells_are_those_of_the_whole_text(
            text in "([ab,\"\r\n ]{0,12}|,{0,40}[ab]{0,40}){0,6}",
            columns in prop::collection::btree_set(0usize..40, 0..4),
            window in 1usize..80,
        ) {
            let columns: Vec<usize> = columns.into_iter().collect();
            prop_assert_eq!(selected(text.as_bytes(), &columns, window), all(text.as_bytes(), &columns));
        }
    }
}
