//! Finds the byte at which the inside of a JSON text stops being plain ASCII.

const LANES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The position of the first byte at or behind `at` that is a quote, a backslash, a control character or not ASCII; the
/// length of `bytes` where there is none.
///
/// Eight bytes at a time: subtracting from all lanes at once borrows out of a lane only behind the first hit, so the lowest
/// bit that is set always belongs to the first hit.
#[inline(always)]
pub(super) fn text_stop(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (LANES * u64::from(b'"'));
        let backslash = word ^ (LANES * u64::from(b'\\'));
        let stops = (quote.wrapping_sub(LANES) & !quote)
            | (backslash.wrapping_sub(LANES) & !backslash)
            | word.wrapping_sub(LANES * 0x20)
            | word;
        let stops = stops & HIGH;
        if stops != 0 {
            return at + (stops.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if is_stop(byte) {
            break;
        }
        at += 1;
    }
    at
}

fn is_stop(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || !(0x20..0x80).contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_plain_search(bytes in proptest::collection::vec(prop_oneof![8 => 0x20u8..0x80, 1 => any::<u8>()], 0..80), at in 0usize..80) {
            let at = at.min(bytes.len());
            let plain = bytes[at..].iter().position(|&b| is_stop(b)).map_or(bytes.len(), |i| at + i);
            prop_assert_eq!(text_stop(&bytes, at), plain);
        }
    }

    #[test]
    fn every_byte_alone() {
        for byte in 0..=255u8 {
            let mut bytes = [b'a'; 24];
            bytes[11] = byte;
            assert_eq!(text_stop(&bytes, 1), if is_stop(byte) { 11 } else { 24 }, "{byte}");
        }
    }
}
