//! Microseconds as they are written, in integer picoseconds.

use perfdb_pycompat::float;
use perfdb_pycompat::text::trim;

/// Picoseconds in a microsecond.
pub(crate) const PS_PER_US: i64 = 1_000_000;

/// The largest time that is read, in picoseconds: 53 days. Two of them still add up without overflow.
const LARGEST_PS: i128 = i64::MAX as i128 / 2;

/// Picoseconds of the decimal text of a number of microseconds, halves to even; of any size that 128 bits hold. `None`:
/// it is no finite number, or too large.
///
/// ```text
/// "12.5" → 12_500_000    "0.0000005" → 0    "1774512345000000.123" → 1_774_512_345_000_000_123_000
/// ```
#[inline]
pub(crate) fn parse_us(text: &str) -> Option<i128> {
    plain(text.as_bytes()).map(i128::from).or_else(|| any_decimal(trim(text)))
}

/// [`parse_us`] of a duration, which has to fit 64 bits with room to add.
#[inline]
pub(crate) fn parse_duration_us(text: &str) -> Option<i64> {
    parse_us(text).filter(|ps| ps.abs() <= LARGEST_PS).and_then(|ps| i64::try_from(ps).ok())
}

/// Picoseconds of a double of microseconds, by its shortest decimal form.
pub(crate) fn of_double_us(us: f64) -> Option<i64> {
    // Up to 15 digits a decimal is the shortest form of its nearest double.
    let ps = (us * PS_PER_US as f64).round();
    if ps.abs() < 1e15 && ps / PS_PER_US as f64 == us {
        return Some(ps as i64);
    }
    parse_duration_us(&float::repr(us))
}

/// Up to 18 digits with at most six behind the point, which is what nearly all cells and fields hold.
#[inline]
fn plain(text: &[u8]) -> Option<i64> {
    const TENS: [i64; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    let text = text.strip_suffix(b"\t").unwrap_or(text);
    let (mut value, mut digits, mut point) = (0i64, 0, None);
    if text.len() > 13 {
        return None;
    }
    for &byte in text {
        match byte {
            b'0'..=b'9' => {
                value = value * 10 + i64::from(byte - b'0');
                digits += 1;
            }
            b'.' if point.is_none() => point = Some(digits),
            _ => return None,
        }
    }
    if digits == 0 {
        return None;
    }
    value.checked_mul(*TENS.get(point.map_or(0, |point| digits - point))?)
}

fn any_decimal(text: &str) -> Option<i128> {
    let (negative, text) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if whole.len() + fraction.len() == 0 || !digits().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // value = digits · 10^(exponent − decimals + 6) picoseconds
    let shift = i64::from(exponent) - fraction.len() as i64 + 6;
    let kept = usize::try_from((whole.len() + fraction.len()) as i64 + shift.min(0)).unwrap_or(0);
    let mut value = 0i128;
    for digit in digits().take(kept) {
        value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    if shift > 0 && value != 0 {
        value = value.checked_mul(10i128.checked_pow(u32::try_from(shift).ok()?)?)?;
    }
    let cut_before_all = (whole.len() + fraction.len()) as i64 + shift.min(0) < 0;
    let mut rest = digits().skip(kept);
    let first = if cut_before_all { b'0' } else { rest.next().unwrap_or(b'0') };
    let more = rest.any(|digit| digit != b'0');
    if first > b'5' || first == b'5' && (more || value % 2 == 1) {
        value += 1;
    }
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_are_exact() {
        for (text, ps) in [
            ("12.5", 12_500_000),
            (" 12.5\t", 12_500_000),
            ("0.0000005", 0),
            ("0.0000015", 2),
            ("0.00000050001", 1),
            ("0.0000025", 2),
            ("-1.0000015", -1_000_002),
            ("1e3", 1_000_000_000),
            ("1.5e-7", 0),
            ("5e-8", 0),
            ("9e-7", 1),
            ("+2.", 2_000_000),
            (".5", 500_000),
            ("0e99999", 0),
            ("1774512345000000.123", 1_774_512_345_000_000_123_000),
            ("000000000000000000000000000000000000000000007", 7_000_000),
        ] {
            assert_eq!(parse_us(text), Some(ps), "{text}");
        }
        for text in ["", ".", "nan", "inf", "-", "1e", "1,5", "0x1", "1e400", "1 2", "e5"] {
            assert_eq!(parse_us(text), None, "{text}");
        }
        assert_eq!(parse_duration_us("9e12"), None);
    }

    proptest! {
        #[test]
        fn the_short_way_agrees_with_the_long_one(text in "[0-9]{0,7}\\.?[0-9]{0,6}\t?") {
            if let Some(ps) = plain(text.as_bytes()) {
                prop_assert_eq!(any_decimal(trim(&text)), Some(i128::from(ps)));
            }
        }

        #[test]
        fn doubles_by_their_shortest_form(mantissa in 0i64..1_000_000_000_000, decimals in 0usize..9) {
            let us = mantissa as f64 / 10f64.powi(decimals as i32);
            prop_assert_eq!(of_double_us(us), parse_duration_us(&float::repr(us)));
        }
    }
}
