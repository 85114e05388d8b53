//! Finding the bytes that structure CSV text, a block at a time.

use wide::u8x32;

/// Bytes that are looked at together.
pub(crate) const BLOCK: usize = 32;

/// The block that begins at `at`, filled up with zeros behind the end of the text.
#[inline(always)]
pub(crate) fn block_at(text: &[u8], at: usize) -> [u8; BLOCK] {
    let rest = &text[at..];
    match rest.first_chunk::<BLOCK>() {
        Some(block) => *block,
        None => {
            let mut block = [0; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            block
        }
    }
}

/// One bit for each byte of a block, the first one lowest.
pub(crate) struct Marks {
    pub(crate) commas: u32,
    pub(crate) quotes: u32,
    pub(crate) line_ends: u32,
}

/// The marks of a block.
#[inline(always)]
pub(crate) fn marks(block: &[u8; BLOCK]) -> Marks {
    let bytes = u8x32::new(*block);
    let is = |byte: u8| bytes.simd_eq(u8x32::splat(byte));
    Marks {
        commas: is(b',').to_bitmask(),
        quotes: is(b'"').to_bitmask(),
        line_ends: (is(b'\n') | is(b'\r')).to_bitmask(),
    }
}

/// The places of all quotes in a text.
pub(crate) fn quotes(text: &[u8]) -> impl Iterator<Item = usize> {
    (0..text.len()).step_by(BLOCK).flat_map(move |at| {
        let block = u8x32::new(block_at(text, at));
        let mut marks = block.simd_eq(u8x32::splat(b'"')).to_bitmask();
        std::iter::from_fn(move || {
            let place = (marks != 0).then(|| at + marks.trailing_zeros() as usize)?;
            marks &= marks - 1;
            Some(place)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn marks_are_where_the_bytes_are(text in "[ab,\"\r\n]{0,80}") {
            let text = text.as_bytes();
            let expected: Vec<usize> = (0..text.len()).filter(|&at| text[at] == b'"').collect();
            prop_assert_eq!(quotes(text).collect::<Vec<_>>(), expected);
            for start in 0..text.len() {
                let Marks { commas, quotes, line_ends } = marks(&block_at(text, start));
                for bit in 0..BLOCK {
                    let is_one_of = |bytes: &[u8]| text.get(start + bit).is_some_and(|byte| bytes.contains(byte));
                    prop_assert_eq!(commas >> bit & 1 == 1, is_one_of(b","));
                    prop_assert_eq!(quotes >> bit & 1 == 1, is_one_of(b"\""));
                    prop_assert_eq!(line_ends >> bit & 1 == 1, is_one_of(b"\r\n"));
                }
            }
        }
    }
}
