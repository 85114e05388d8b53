//! Numbers in texts, as Python's `float()` reads them.

use crate::text::trim;
use std::borrow::Cow;

/// Reads what `float(text)` reads: surrounding whitespace, a sign, ASCII digits with single `_` between them, a point, an
/// exponent, `inf`, `infinity` and `nan` in any case. `None` for everything else (other scripts' digits included, which
/// Python would take).
///
/// ```
/// use perfdb_pycompat::number::parse_float;
/// assert_eq!(parse_float(" 1_000.5\t"), Some(1000.5));
/// assert_eq!([parse_float("0x10"), parse_float(""), parse_float("1__0")], [None; 3]);
/// ```
#[inline]
pub fn parse_float(text: &str) -> Option<f64> {
    plain_decimal(text.as_bytes()).or_else(|| parse_any_float(text))
}

/// The value of up to 19 digits with a point or without, which is what nearly all cells hold: durations, and times since
/// 1970 with a tab behind them. `None` for everything else.
#[inline]
fn plain_decimal(text: &[u8]) -> Option<f64> {
    let text = text.strip_suffix(b"\t").unwrap_or(text);
    if text.len() > 20 {
        return None;
    }
    let (mut value, mut digits, mut point) = (0u64, 0, None);
    for &byte in text {
        match byte {
            b'0'..=b'9' => {
                // With 20 digits it may wrap around, but is not used.
                value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                digits += 1;
            }
            b'.' if point.is_none() => point = Some(digits),
            _ => return None,
        }
    }
    let decimals = point.map_or(0, |point| digits - point);
    match digits {
        1..16 => short_quotient(value, decimals),
        16..20 => long_quotient(value, decimals),
        _ => None,
    }
}

/// `value / 10^decimals` for up to 15 digits. Value and power of ten are exact doubles, so the one division rounds correctly.
#[inline]
fn short_quotient(value: u64, decimals: usize) -> Option<f64> {
    const TENS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    Some(value as f64 / TENS.get(decimals)?)
}

/// `value / 10^decimals` where the whole part is large and the fraction short.
///
/// The quotient is taken in integers, shifted so far that it has more than the 53 bits of a double, its last bit set where
/// something is left over: converting that rounds once, and correctly. The shift is undone exactly.
#[inline]
fn long_quotient(value: u64, decimals: usize) -> Option<f64> {
    const TENS: [u64; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];
    let ten = *TENS.get(decimals)?;
    let (whole, rest) = (value / ten, value % ten);
    // 16 digits or more without 6 of them leave a whole part of at least 30 bits in all but a few texts with leading zeros.
    let shift = whole.leading_zeros().checked_sub(8)?;
    if shift > 32 {
        return None;
    }
    let shifted = rest << shift;
    let quotient = (whole << shift) | (shifted / ten);
    let left_over = u64::from(!shifted.is_multiple_of(ten));
    Some(((quotient << 1) | left_over) as f64 / (1u64 << (shift + 1)) as f64)
}

fn parse_any_float(text: &str) -> Option<f64> {
    without_underscores(trim(text))?.parse().ok()
}

/// The digits without their `_`; `None` where one does not stand between two digits.
pub(crate) fn without_underscores(text: &str) -> Option<Cow<'_, str>> {
    let bytes = text.as_bytes();
    if !bytes.contains(&b'_') {
        return Some(Cow::Borrowed(text));
    }
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let separates = |at: usize| at > 0 && digit(at - 1) && digit(at + 1);
    let all_separate = (0..bytes.len()).filter(|&at| bytes[at] == b'_').all(separates);
    all_separate.then(|| Cow::Owned(text.replace('_', "")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_grammar_of_float() {
        for (text, number) in [
            ("5", 5.0),
            ("5.", 5.0),
            (".5", 0.5),
            ("+5", 5.0),
            ("-1e3", -1000.0),
            ("1_0e1_0", 1e11),
            ("1e400", f64::INFINITY),
        ] {
            assert_eq!(parse_float(text), Some(number), "{text}");
        }
        assert_eq!(parse_float("-Infinity"), Some(f64::NEG_INFINITY));
        assert!(parse_float("+NaN").is_some_and(f64::is_nan));
        for text in [".", "e5", "1,5", "1 2", "_1", "1_", "1_.5", "--1", "0b1", "٣", "infin", "1e", "nan(1)"] {
            assert_eq!(parse_float(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC*") {
            let _ = parse_float(&text);
        }

        #[test]
        fn plain_decimals_are_the_nearest_doubles(text in "([0-9.]{1,21}|[0-9]{7,19}\\.?[0-9]{0,7})\t?") {
            if let Some(value) = plain_decimal(text.as_bytes()) {
                prop_assert_eq!(Some(value), parse_any_float(&text));
            }
        }

        #[test]
        fn halves_between_doubles_are_rounded_to_even(whole in 1u64 << 50..1 << 51, eighths in 0u64..8, thousandths in 0u64..3) {
            // Doubles of this size are quarters.
            let text = format!("{}.{:03}", whole, eighths * 125 + thousandths);
            prop_assert_eq!(plain_decimal(text.as_bytes()), text.parse().ok());
        }

        #[test]
        fn reads_its_own_repr(x in any::<f64>().prop_filter("a number", |x| !x.is_nan())) {
            prop_assert_eq!(parse_float(&crate::float::repr(x)), Some(x));
        }
    }
}
