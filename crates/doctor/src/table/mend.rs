//! The text of a table without what no reader of tables takes.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use crate::code::Code;
use crate::file::{PieceReader, Pieces};
use crate::finding::{Evidence, Findings};
use crate::json::Seen;

/// What was odd about the text of a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableTally {
    pub(crate) zeros: Seen,
    pub(crate) bad_utf8: Seen,
}

impl TableTally {
    pub(crate) fn report(&self, found: &mut Findings) {
        if self.zeros.count > 0 {
            let evidence = Evidence::new().with("count", self.zeros.count).with("first_at_byte", self.zeros.first_at);
            found.warning(Code::ControlCharacters, None, evidence);
        }
        if self.bad_utf8.count > 0 {
            let evidence = Evidence::new().with("at_byte", self.bad_utf8.first_at).with("count", self.bad_utf8.count);
            found.error(Code::InvalidUtf8, None, evidence);
        }
    }
}

/// The text of a table: NUL is dropped, what is not UTF-8 becomes U+FFFD.
pub(crate) struct TableMender<R> {
    input: R,
    tally: Arc<Mutex<TableTally>>,
    position: u64,
    /// The beginning of a character that is cut.
    rest: Vec<u8>,
}

impl<R: Read> TableMender<R> {
    /// Reads the fixed text; the tally is complete at its end.
    pub(crate) fn reader(input: R) -> (PieceReader<TableMender<R>>, Arc<Mutex<TableTally>>) {
        let tally = Arc::<Mutex<TableTally>>::default();
        let mender = TableMender { input, tally: Arc::clone(&tally), position: 0, rest: Vec::new() };
        (PieceReader::new(mender), tally)
    }
}

impl<R: Read> Pieces for TableMender<R> {
    fn next_piece(&mut self, text: &mut Vec<u8>) -> io::Result<bool> {
        let got = (&mut self.input).take(1 << 17).read_to_end(&mut self.rest)?;
        if got == 0 && self.rest.is_empty() {
            return Ok(false);
        }
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let mut done = 0;
        for chunk in self.rest.utf8_chunks() {
            let valid = chunk.valid().as_bytes();
            for (offset, byte) in valid.iter().enumerate() {
                if *byte == 0 {
                    tally.zeros.add(self.position + (done + offset) as u64);
                } else {
                    text.push(*byte);
                }
            }
            done += valid.len();
            let bad = chunk.invalid();
            let may_go_on = got > 0
                && done + bad.len() == self.rest.len()
                && std::str::from_utf8(bad).is_err_and(|error| error.error_len().is_none());
            if bad.is_empty() || may_go_on {
                continue;
            }
            tally.bad_utf8.add(self.position + done as u64);
            text.extend_from_slice("\u{fffd}".as_bytes());
            done += bad.len();
        }
        self.rest.drain(..done);
        self.position += done as u64;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_cut_by_pieces_are_whole() {
        struct Bytewise(&'static [u8]);
        impl Read for Bytewise {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let (Some((first, rest)), Some(out)) = (self.0.split_first(), out.first_mut()) else { return Ok(0) };
                *out = *first;
                self.0 = rest;
                Ok(1)
            }
        }
        let (mut mender, tally) = TableMender::reader(Bytewise(b"a\xe2\x82\xac,\0b\xff\xe2\x82"));
        let mut text = String::new();
        mender.read_to_string(&mut text).expect("mended");
        assert_eq!(text, "a\u{20ac},b\u{fffd}\u{fffd}");
        let tally = tally.lock().expect("no panic").clone();
        assert_eq!((tally.zeros.count, tally.zeros.first_at), (1, 5));
        assert_eq!((tally.bad_utf8.count, tally.bad_utf8.first_at), (2, 7));
    }
}
