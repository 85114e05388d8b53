//! A reader of text that is made piece by piece.

use std::io::{self, Read};

/// Makes text from an input, a piece at a time.
pub(crate) trait Pieces {
    /// Appends the next piece to `text`, which is empty; false at the end. A piece may come out empty.
    fn next_piece(&mut self, text: &mut Vec<u8>) -> io::Result<bool>;
}

/// Reads the pieces as one text.
pub(crate) struct PieceReader<P> {
    pieces: P,
    text: Vec<u8>,
    at: usize,
}

impl<P: Pieces> PieceReader<P> {
    pub(crate) fn new(pieces: P) -> PieceReader<P> {
        PieceReader { pieces, text: Vec::new(), at: 0 }
    }
}

impl<P: Pieces> Read for PieceReader<P> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() {
            self.text.clear();
            self.at = 0;
            if !self.pieces.next_piece(&mut self.text)? {
                return Ok(0);
            }
        }
        let count = (&self.text[self.at..]).read(out)?;
        self.at += count;
        Ok(count)
    }
}
