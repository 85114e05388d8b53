//! A stream that comes in small pieces, as from a slow pipe.

use std::io::Read;

/// Bytes, this many at a time.
pub(crate) struct Trickle {
    bytes: Vec<u8>,
    at: usize,
    piece: usize,
}

impl Trickle {
    /// These bytes, `piece` of them with each read.
    pub(crate) fn new(bytes: &[u8], piece: usize) -> Trickle {
        Trickle { bytes: bytes.to_vec(), at: 0, piece }
    }
}

impl Read for Trickle {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let count = rest.len().min(out.len()).min(self.piece);
        out[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}
