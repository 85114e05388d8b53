//! Numbers in texts, as Python's `float()` reads them.

use crate::text::trim;
use std::borrow::Cow;

/// Reads what `float(text)` reads: surrounding white space, a sign, ASCII digits with single `_` between them, a point, an
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
    short_decimal(text.as_bytes()).or_else(|| parse_any_float(text))
}

/// The value of up to 15 digits with at most one point, which is what most cells hold. Digits and power of ten are exact
/// doubles, so the one division rounds correctly. `None` for everything else.
#[inline]
fn short_decimal(text: &[u8]) -> Option<f64> {
    const TENS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    if text.len() > 16 {
        return None;
    }
    let (mut value, mut digits, mut point) = (0u64, 0, None);
    for &byte in text {
        match byte {
            b'0'..=b'9' => {
                value = value * 10 + u64::from(byte - b'0');
                digits += 1;
            }
            b'.' if point.is_none() => point = Some(digits),
            _ => return None,
        }
    }
    if digits == 0 || digits > 15 {
        return None;
    }
    Some(value as f64 / TENS.get(point.map_or(0, |point| digits - point))?)
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
        fn short_decimals_are_the_nearest_doubles(text in "[0-9.]{1,17}") {
            if let Some(value) = short_decimal(text.as_bytes()) {
                prop_assert_eq!(Some(value), parse_any_float(&text));
            }
        }

        #[test]
        fn reads_its_own_repr(x in any::<f64>().prop_filter("a number", |x| !x.is_nan())) {
            prop_assert_eq!(parse_float(&crate::float::repr(x)), Some(x));
        }
    }
}
