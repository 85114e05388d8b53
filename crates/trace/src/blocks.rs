//! Reads a CSV stream as blocks of whole records.
//!
//! A block ends at the end of a record, with any quoted line breaks, so that each can be split by a
//! [`Splitter`](crate::records::Splitter) of its own. Nothing is mapped: the memory in use is a few blocks, however large the file.
//!
//! ```
//! use perfdb_trace::blocks::Blocks;
//!
//! # fn main() -> std::io::Result<()> {
//! let mut blocks = Blocks::new(&b"a,b\n1,\"x\ny\"\n2,z\n"[..], 13);
//! let mut texts = Vec::new();
//! while let Some(block) = blocks.next_block(Vec::new())? {
//!     texts.push(String::from_utf8_lossy(&block.text).into_owned());
//! }
//! assert_eq!(texts, ["a,b\n1,\"x\ny\"\n", "2,z\n"]);
//! # Ok(()) }
//! ```

use crate::marks::quotes;
use crate::source::{LARGEST_VALUE_BYTES, too_long};
use std::io::{self, Read};

/// Block size that keeps two cores busy and the memory small.
pub const BLOCK_BYTES: usize = 1 << 19;

/// Cuts a stream into blocks.
#[derive(Debug)]
pub struct Blocks<R> {
    input: R,
    block_bytes: usize,
    /// What was read behind the last cut.
    rest: Vec<u8>,
    offset: u64,
    at_end: bool,
}

/// Some whole records of a stream. The last block of a stream may end without a line end, or inside an open quote.
#[derive(Debug)]
pub struct Block {
    /// The bytes.
    pub text: Vec<u8>,
    /// Where they stand in the stream.
    pub offset: u64,
}

impl<R: Read> Blocks<R> {
    /// Cuts `input` into blocks of about `block_bytes`; more where a record is longer.
    pub fn new(input: R, block_bytes: usize) -> Self {
        Blocks { input, block_bytes: block_bytes.max(1), rest: Vec::new(), offset: 0, at_end: false }
    }

    /// The next block, in `buffer`'s memory; `None` at the end. A record of more than [`LARGEST_VALUE_BYTES`] is an error.
    pub fn next_block(&mut self, mut buffer: Vec<u8>) -> io::Result<Option<Block>> {
        buffer.clear();
        let mut text = std::mem::replace(&mut self.rest, buffer);
        let mut wanted = self.block_bytes;
        let cut = loop {
            self.at_end = self.at_end || !fill(&mut self.input, &mut text, wanted)?;
            if self.at_end {
                break text.len();
            }
            match last_boundary(&text) {
                Some(cut) => break cut,
                None if text.len() >= LARGEST_VALUE_BYTES => return Err(too_long(self.offset)),
                None => wanted = (text.len() * 2).min(LARGEST_VALUE_BYTES),
            }
        };
        self.rest.extend_from_slice(&text[cut..]);
        text.truncate(cut);
        let offset = self.offset;
        self.offset += cut as u64;
        Ok((cut > 0).then_some(Block { text, offset }))
    }
}

/// Reads until `text` has `wanted` bytes; false at the end of the input.
fn fill(input: &mut impl Read, text: &mut Vec<u8>, wanted: usize) -> io::Result<bool> {
    let missing = wanted.saturating_sub(text.len());
    Ok(input.take(missing as u64).read_to_end(text)? == missing)
}

/// One past the last line end that ends a record, if the text starts at a record and has one. A CR as the very last byte does not count: its LF
/// may follow.
fn last_boundary(text: &[u8]) -> Option<usize> {
    // Where cells are quoted is only known from the beginning; but the search for line ends can be left to the last part of the text.
    let near_end = text.len().saturating_sub(1 << 15);
    boundary_behind(text, near_end).or_else(|| boundary_behind(text, 0))
}

fn boundary_behind(text: &[u8], from: usize) -> Option<usize> {
    let mut found = None;
    let mut look = |start: usize, end: usize| {
        let start = start.max(from);
        if start < end {
            let part = &text[start..end];
            let part = part.strip_suffix(b"\r").filter(|_| end == text.len()).unwrap_or(part);
            found = memchr::memrchr2(b'\n', b'\r', part).map(|at| start + at + 1).or(found);
        }
    };
    // `outside` is where the text outside of quotes goes on; in front of it stands the last closing quote.
    let (mut outside, mut in_quotes, mut closed) = (0, false, None);
    for quote in quotes(text) {
        if in_quotes {
            in_quotes = false;
            closed = Some(quote);
            outside = quote + 1;
        } else if quote == 0 || matches!(text[quote - 1], b',' | b'\n' | b'\r') {
            look(outside, quote);
            in_quotes = true;
        } else if closed == Some(quote - 1) {
            // A doubled quote.
            in_quotes = true;
        }
    }
    if !in_quotes {
        look(outside, text.len());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Splitter;
    use proptest::prelude::*;

    type Rows = Vec<Vec<Vec<u8>>>;

    fn rows(text: &[u8]) -> Rows {
        let mut splitter = Splitter::new(text);
        let (mut cells, mut buffer, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        while splitter.next_record(&mut cells).is_some() {
            rows.push(cells.iter().map(|cell| cell.decode(text, &mut buffer).to_vec()).collect());
        }
        rows
    }

    fn in_blocks(text: &[u8], size: usize) -> io::Result<(Rows, u64)> {
        let mut blocks = Blocks::new(text, size);
        let (mut all, mut lines) = (Vec::new(), 0);
        while let Some(block) = blocks.next_block(Vec::new())? {
            all.append(&mut rows(&block.text));
            lines += crate::records::line_ends(&block.text);
        }
        Ok((all, lines))
    }

    proptest! {
        #[test]
        fn blocks_hold_the_same_records_and_lines_as_the_whole(text in "[ab,\"\r\n]{0,80}", size in 1usize..20) {
            let (found, lines) = in_blocks(text.as_bytes(), size)?;
            prop_assert_eq!(found, rows(text.as_bytes()));
            prop_assert_eq!(lines, crate::records::line_ends(text.as_bytes()));
        }
    }
}
