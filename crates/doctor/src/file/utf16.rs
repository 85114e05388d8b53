//! UTF-16 as UTF-8.

use std::io::{self, Read};

use super::pieces::{PieceReader, Pieces};

/// Order of the two bytes of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ByteOrder::Little => "little-endian",
            ByteOrder::Big => "big-endian",
        }
    }

    fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        }
    }
}

/// UTF-16 as UTF-8; what is not UTF-16 becomes U+FFFD. A byte order mark is kept.
pub(super) struct Recoded<R> {
    input: R,
    order: ByteOrder,
    /// Bytes that are not decoded yet: half a unit, or the first half of a pair.
    rest: Vec<u8>,
}

impl<R: Read> Recoded<R> {
    pub(super) fn reader(input: R, order: ByteOrder) -> PieceReader<Recoded<R>> {
        PieceReader::new(Recoded { input, order, rest: Vec::new() })
    }
}

impl<R: Read> Pieces for Recoded<R> {
    fn next_piece(&mut self, text: &mut Vec<u8>) -> io::Result<bool> {
        let got = (&mut self.input).take(1 << 16).read_to_end(&mut self.rest)?;
        let (pairs, _) = self.rest.as_chunks::<2>();
        let mut units: Vec<u16> = pairs.iter().map(|pair| self.order.unit(*pair)).collect();
        let mut done = units.len() * 2;
        if got > 0 && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            units.pop();
            done -= 2;
        }
        for unit in char::decode_utf16(units) {
            let character = unit.unwrap_or(char::REPLACEMENT_CHARACTER);
            text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        self.rest.drain(..done);
        if got == 0 && !self.rest.is_empty() {
            self.rest.clear();
            text.extend_from_slice("\u{fffd}".as_bytes());
        }
        Ok(got > 0 || !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_and_pairs() {
        let text = "a\u{e9}\u{1f600}\"";
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let bytes: Vec<u8> = text
                .encode_utf16()
                .flat_map(|unit| if order == ByteOrder::Little { unit.to_le_bytes() } else { unit.to_be_bytes() })
                .collect();
            let mut recoded = String::new();
            Recoded::reader(&bytes[..], order).read_to_string(&mut recoded).expect("text");
            assert_eq!(recoded, text);
        }
        let mut recoded = String::new();
        Recoded::reader(&b"a\0\0"[..], ByteOrder::Little).read_to_string(&mut recoded).expect("text");
        assert_eq!(recoded, "a\u{fffd}");
    }
}
