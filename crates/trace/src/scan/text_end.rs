//! Finds the bytes at which the inside of a JSON text is not plain ASCII, sixteen at a time.

use wide::i8x16;

/// Bytes that are looked at together.
pub(crate) const BLOCK: usize = 16;

/// The bytes from `at` on, if there are enough of them.
#[inline(always)]
pub(super) fn block_at(bytes: &[u8], at: usize) -> Option<&[u8; BLOCK]> {
    bytes.get(at..).and_then(<[u8]>::first_chunk)
}

/// One bit for each byte, the first one lowest: set for a quote, a backslash, a control character and everything that is not
/// ASCII. As signed numbers the last two are those below 0x20.
#[inline(always)]
pub(super) fn stops(block: &[u8; BLOCK]) -> u32 {
    let bytes = i8x16::new(block.map(u8::cast_signed));
    let stops = bytes.simd_lt(i8x16::splat(0x20))
        | bytes.simd_eq(i8x16::splat(b'"'.cast_signed()))
        | bytes.simd_eq(i8x16::splat(b'\\'.cast_signed()));
    stops.to_bitmask()
}

/// One bit for each byte, the first one lowest: set for everything but ASCII digits.
#[inline(always)]
pub(super) fn no_digits(block: &[u8; BLOCK]) -> u32 {
    let bytes = i8x16::new(block.map(u8::cast_signed));
    (bytes.simd_lt(i8x16::splat(b'0'.cast_signed())) | bytes.simd_gt(i8x16::splat(b'9'.cast_signed()))).to_bitmask()
}

/// Where `byte` stands: one bit for each of the others, the first one lowest.
#[inline(always)]
pub(super) fn places_of(block: &[u8; BLOCK], byte: u8) -> u32 {
    i8x16::new(block.map(u8::cast_signed)).simd_eq(i8x16::splat(byte.cast_signed())).to_bitmask()
}

/// Whether any of three bytes stands in a part of the text; parts are short mostly.
#[inline(always)]
pub(crate) fn has_any_of(bytes: &[u8], part: std::ops::Range<usize>, wanted: [u8; 3]) -> bool {
    let mut at = part.start;
    while let Some(block) = block_at(bytes, at) {
        let bytes = i8x16::new(block.map(u8::cast_signed));
        let [first, second, third] = wanted.map(|byte| bytes.simd_eq(i8x16::splat(byte.cast_signed())));
        let found = (first | second | third).to_bitmask();
        let left = part.end.saturating_sub(at);
        if left <= BLOCK {
            return found.trailing_zeros() < left as u32;
        }
        if found != 0 {
            return true;
        }
        at += BLOCK;
    }
    bytes.get(at..part.end).is_some_and(|rest| rest.iter().any(|byte| wanted.contains(byte)))
}

/// Whether the only backslashes in the inside of a text are those in front of quotes. A quote never stands there without one,
/// so it is enough that a quote follows each.
pub(super) fn only_quotes_escaped(raw: &[u8]) -> bool {
    let (blocks, rest) = raw.as_chunks::<BLOCK>();
    // Whether the byte in front of the block is a backslash.
    let mut behind = 0;
    for block in blocks {
        let bytes = i8x16::new(block.map(u8::cast_signed));
        let backslashes = bytes.simd_eq(i8x16::splat(b'\\'.cast_signed())).to_bitmask();
        let quotes = bytes.simd_eq(i8x16::splat(b'"'.cast_signed())).to_bitmask();
        if (backslashes << 1 | behind) & 0xffff != quotes {
            return false;
        }
        behind = backslashes >> (BLOCK - 1);
    }
    let mut escaped = behind == 1;
    for &byte in rest {
        if (byte == b'"') != escaped {
            return false;
        }
        escaped = byte == b'\\';
    }
    true
}

/// One bit for each byte, the first one lowest: set where both are the same.
#[inline(always)]
pub(crate) fn equal_bytes(one: &[u8; BLOCK], other: &[u8; BLOCK]) -> u32 {
    equal(one, other).to_bitmask()
}

/// How many bytes `left` and `right` have in common at their beginnings.
#[inline(always)]
pub(crate) fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    let shorter = left.len().min(right.len());
    let (left, right) = (&left[..shorter], &right[..shorter]);
    let mut at = 0;
    // Four blocks at a time as long as all of them are equal.
    while let (Some(one), Some(other)) = (blocks_at(left, at), blocks_at(right, at)) {
        let equal = equal(&one[0], &other[0])
            & equal(&one[1], &other[1])
            & equal(&one[2], &other[2])
            & equal(&one[3], &other[3]);
        if equal.to_bitmask() != 0xffff {
            break;
        }
        at += 4 * BLOCK;
    }
    while let (Some(one), Some(other)) = (block_at(left, at), block_at(right, at)) {
        let equal = equal(one, other).to_bitmask();
        if equal != 0xffff {
            return at + equal.trailing_ones() as usize;
        }
        at += BLOCK;
    }
    at + left[at..].iter().zip(&right[at..]).take_while(|(one, other)| one == other).count()
}

#[inline(always)]
fn blocks_at(bytes: &[u8], at: usize) -> Option<&[[u8; BLOCK]]> {
    Some(bytes.get(at..)?.first_chunk::<{ 4 * BLOCK }>()?.as_chunks().0)
}

#[inline(always)]
fn equal(one: &[u8; BLOCK], other: &[u8; BLOCK]) -> i8x16 {
    i8x16::new(one.map(u8::cast_signed)).simd_eq(i8x16::new(other.map(u8::cast_signed)))
}

/// The position of the first byte at or behind `at` that is a quote, a backslash, a control character or not ASCII; the
/// length of `bytes` where there is none.
#[inline(always)]
pub(super) fn text_stop(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = block_at(bytes, at) {
        let stops = stops(block);
        if stops != 0 {
            return at + stops.trailing_zeros() as usize;
        }
        at += BLOCK;
    }
    last_bytes(bytes, at)
}

#[cold]
fn last_bytes(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|&byte| is_stop(byte)).map_or(bytes.len(), |stop| at + stop)
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
        fn equals_the_plain_search(bytes in proptest::collection::vec(prop_oneof![20 => 0x20u8..0x80, 1 => any::<u8>()], 0..80), at in 0usize..80) {
            let at = at.min(bytes.len());
            let plain = bytes[at..].iter().position(|&b| is_stop(b)).map_or(bytes.len(), |i| at + i);
            prop_assert_eq!(text_stop(&bytes, at), plain);
        }
    }

    proptest! {
        #[test]
        fn common_prefixes(mut bytes in proptest::collection::vec(any::<u8>(), 1..100), at in 0usize..100, cut in 0usize..100) {
            let left = bytes.clone();
            let at = at % bytes.len();
            bytes[at] ^= 1;
            prop_assert_eq!(common_prefix(&left, &bytes), at);
            prop_assert_eq!(common_prefix(&left, &left[..cut.min(left.len())]), cut.min(left.len()));
        }
    }

    proptest! {
        #[test]
        fn any_of_three(bytes in proptest::collection::vec(b'a'..=b'z', 0..80), from in 0usize..80, to in 0usize..80) {
            let (to, wanted) = (to.min(bytes.len()), [b'c', b'q', b'x']);
            let from = from.min(to);
            let plain = bytes[from..to].iter().any(|byte| wanted.contains(byte));
            prop_assert_eq!(has_any_of(&bytes, from..to, wanted), plain);
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
