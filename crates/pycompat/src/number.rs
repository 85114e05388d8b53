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
    Decimal::parse(text).and_then(Decimal::to_float).or_else(|| parse_any_float(text))
}

/// Up to 19 digits with a point or without, which is what nearly all cells hold: durations, and times since 1970 with a tab
/// behind them.
///
/// ```
/// use perfdb_pycompat::number::Decimal;
/// let start_us = Decimal::parse("1742968801234567.123\t").unwrap();
/// assert_eq!((start_us.digits, start_us.decimals), (1742968801234567123, 3));
/// assert_eq!(start_us.to_float(), Some(1742968801234567.123));
/// assert_eq!(Decimal::parse("1e3"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    /// All digits as one integer.
    pub digits: u64,
    /// How many of them stand behind the point.
    pub decimals: usize,
}

impl Decimal {
    /// Reads digits with at most one point, and at most one tab behind them. `None` for everything else.
    #[inline]
    pub fn parse(text: &str) -> Option<Decimal> {
        let text = text.as_bytes();
        let text = text.strip_suffix(b"\t").unwrap_or(text);
        // 20 digits may wrap around.
        if text.len() > 20 {
            return None;
        }
        let (whole, rest) = leading_digits(text, 0);
        let (digits, rest, count, decimals) = match rest {
            [b'.', fraction @ ..] => {
                let (digits, rest) = leading_digits(fraction, whole);
                (digits, rest, text.len() - 1, fraction.len())
            }
            _ => (whole, rest, text.len(), 0),
        };
        (rest.is_empty() && (1..20).contains(&count)).then_some(Decimal { digits, decimals })
    }

    /// The nearest double, as Python's `float()` rounds. `None` for some unusual texts.
    #[inline]
    pub fn to_float(self) -> Option<f64> {
        const EXACT: u64 = 1_000_000_000_000_000;
        if self.digits < EXACT {
            short_quotient(self.digits, self.decimals)
        } else {
            long_quotient(self.digits, self.decimals)
        }
    }
}

/// The digits that a text begins with, behind those of a value, and the rest of the text.
#[inline]
fn leading_digits(mut text: &[u8], mut value: u64) -> (u64, &[u8]) {
    while let Some((chunk, rest)) = text.split_first_chunk()
        && let Some(eight) = eight_digits(*chunk)
    {
        value = value.wrapping_mul(100_000_000).wrapping_add(eight);
        text = rest;
    }
    while let [byte @ b'0'..=b'9', rest @ ..] = text {
        value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        text = rest;
    }
    (value, text)
}

/// The value of eight digits, which are added up pairwise in one word.
#[inline]
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    const HIGH: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    let word = u64::from_le_bytes(text);
    // 0x30 to 0x39 have the high half 3 and keep it when 6 is added, which carries nothing into the next byte.
    if word & HIGH != ZEROS || (word + 0x0606_0606_0606_0606) & HIGH != ZEROS {
        return None;
    }
    let ones = word - ZEROS;
    let pairs = (ones * 10 + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
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

    #[test]
    fn decimals_of_up_to_nineteen_digits() {
        for (text, digits, decimals) in [
            ("0", 0, 0),
            ("12345678", 12_345_678, 0),
            ("123456789.", 123_456_789, 0),
            (".00000001", 1, 8),
            ("1742968801234567.120\t", 1_742_968_801_234_567_120, 3),
            ("9999999999999999999", 9_999_999_999_999_999_999, 0),
        ] {
            assert_eq!(Decimal::parse(text), Some(Decimal { digits, decimals }), "{text}");
        }
        for text in
            ["", ".", "\t", "1\t\t", "-1", "1.2.3", "1234567:", "1234567/", "1234567\u{b1}", "12345678901234567890"]
        {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn eight_digits_and_nothing_else(text in any::<[u8; 8]>(), number in 0u64..100_000_000) {
            prop_assert_eq!(eight_digits(format!("{number:08}").into_bytes().try_into().unwrap()), Some(number));
            prop_assert_eq!(eight_digits(text).is_some(), text.iter().all(u8::is_ascii_digit));
        }

        #[test]
        fn never_panics(text in "\\PC*") {
            let _ = parse_float(&text);
        }

        #[test]
        fn plain_decimals_are_the_nearest_doubles(text in "([0-9.]{1,21}|[0-9]{7,19}\\.?[0-9]{0,7})\t?") {
            if let Some(value) = Decimal::parse(&text).and_then(Decimal::to_float) {
                prop_assert_eq!(Some(value), parse_any_float(&text));
            }
        }

        #[test]
        fn halves_between_doubles_are_rounded_to_even(whole in 1u64 << 50..1 << 51, eighths in 0u64..8, thousandths in 0u64..3) {
            // Doubles of this size are quarters.
            let text = format!("{}.{:03}", whole, eighths * 125 + thousandths);
            prop_assert_eq!(Decimal::parse(&text).and_then(Decimal::to_float), text.parse().ok());
        }

        #[test]
        fn reads_its_own_repr(x in any::<f64>().prop_filter("a number", |x| !x.is_nan())) {
            prop_assert_eq!(parse_float(&crate::float::repr(x)), Some(x));
        }
    }
}
