//! Numbers and lists of small integers, found by looking at blocks of bytes.

use crate::scan::Kind;
use crate::scan::text_end::{BLOCK, no_digits, places_of};

/// Length of the list that `rest` begins with, if it is one of integers, has up to sixteen bytes and no more than one space behind each
/// comma.
///
/// With bits for bytes it says all that the grammar does: there are digits first and last, a comma stands behind a digit, a space behind
/// a comma, a digit behind either, and no zero in front of other digits.
#[inline(always)]
pub(crate) fn short_list_of_integers(rest: &[u8]) -> Option<usize> {
    let inside = rest.strip_prefix(b"[")?;
    let block = inside.first_chunk::<BLOCK>()?;
    let end = places_of(block, b']').trailing_zeros();
    let inner = 1_u32.checked_shl(end)?.wrapping_sub(1);
    let (digits, commas, spaces) =
        (!no_digits(block) & inner, places_of(block, b',') & inner, places_of(block, b' ') & inner);
    let first_digits = digits & !(digits << 1);
    let zeros_in_front = places_of(block, b'0') & first_digits & digits >> 1;
    let in_place = digits | commas | spaces == inner
        && commas & !(digits << 1) == 0
        && spaces & !(commas << 1) == 0
        && commas << 1 & !(digits | spaces) == 0
        && spaces << 1 & !digits == 0
        && zeros_in_front == 0
        && digits & 1 == 1;
    in_place.then_some(end as usize + 2)
}

/// What stands behind a list of small integers, such as the shape of a kernel's grid, whose `[` has been taken; `None` for all
/// other lists, good or bad.
#[inline]
pub(super) fn behind_integers(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let [first @ b'0'..=b'9', behind @ ..] = rest else { return None };
        let leading_zero = *first == b'0';
        rest = behind;
        while let [b'0'..=b'9', behind @ ..] = rest {
            if leading_zero {
                return None;
            }
            rest = behind;
        }
        rest = match rest {
            [b']', behind @ ..] => return Some(behind),
            [b',', b' ', behind @ ..] | [b',', behind @ ..] => behind,
            _ => return None,
        };
    }
}

/// Length and kind of the number that `rest` begins with, if it is one of up to fifteen bytes without sign and exponent.
#[inline(always)]
pub(crate) fn short_number(rest: &[u8]) -> Option<(usize, Kind)> {
    let block = rest.first_chunk::<BLOCK>()?;
    number_before(block, no_digits(block))
}

/// [`short_number`] of up to 31 bytes: microseconds since 1970 have three decimals.
#[inline(never)]
pub(crate) fn longer_number(rest: &[u8]) -> Option<(usize, Kind)> {
    let bytes = rest.first_chunk::<{ 2 * BLOCK }>()?;
    let (first, second) = bytes.split_first_chunk::<BLOCK>()?;
    number_before(bytes, no_digits(first) | no_digits(second.first_chunk()?) << BLOCK)
}

/// A number at the beginning of `bytes`, in which the bits of `no_digits` say where no digits are.
#[inline(always)]
fn number_before(bytes: &[u8], no_digits: u32) -> Option<(usize, Kind)> {
    let whole = no_digits.trailing_zeros() as usize;
    if whole == 0 || (bytes.first() == Some(&b'0') && whole > 1) {
        return None;
    }
    match bytes.get(whole)? {
        b'.' => {
            // The bit of the point is the lowest that is set.
            let behind = no_digits & (no_digits - 1);
            let end = behind.trailing_zeros() as usize;
            if end == whole + 1 || bytes.get(end)? | 0x20 == b'e' {
                return None;
            }
            Some((end, Kind::Real))
        }
        b'e' | b'E' => None,
        _ => Some((whole, Kind::Integer)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_of_integers_are_taken_at_once(inside in "[0-3, ]{0,12}|[0-3]{1,2}(, ?[0-3]{1,2}){0,4}|[0-9a\\[\\]]{0,9}") {
            let text = format!("[{inside}], and more that follows");
            let slowly = behind_integers(&text.as_bytes()[1..]).map(|rest| text.len() - rest.len());
            let at_once = short_list_of_integers(text.as_bytes());
            prop_assert_eq!(at_once, slowly.filter(|length| *length <= 17), "{}", text);
        }
    }
}
