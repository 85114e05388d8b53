//! Fixed-point formats and padding, as Python's format specifications have them.

use crate::float::non_finite;

/// `format(x, ".{decimals}f")`: the exact binary value rounded, exact halves to even, never an exponent.
///
/// ```
/// assert_eq!(perfdb_pycompat::format::fixed(0.0078125, 6), "0.007812");
/// ```
pub fn fixed(x: f64, decimals: usize) -> String {
    if x.is_finite() { format!("{x:.decimals$}") } else { non_finite(x).to_owned() }
}

/// `format(x, ",.{decimals}f")`: as [`fixed`], the whole part grouped by three.
///
/// ```
/// assert_eq!(perfdb_pycompat::format::fixed_grouped(-1234.5, 1), "-1,234.5");
/// ```
pub fn fixed_grouped(x: f64, decimals: usize) -> String {
    let plain = fixed(x, decimals);
    if !x.is_finite() {
        return plain;
    }
    let whole_end = plain.find('.').unwrap_or(plain.len());
    let digits_start = usize::from(plain.starts_with('-'));
    let mut out = String::with_capacity(plain.len() + whole_end / 3);
    for (at, character) in plain.char_indices() {
        if at > digits_start && at < whole_end && (whole_end - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(character);
    }
    out
}

/// `format(text, ">{width}")`: blanks in front up to `width` code points; a longer text is not cut.
pub fn pad_left(text: &str, width: usize) -> String {
    format!("{text:>width$}")
}

/// `format(text, "<{width}")`: blanks behind up to `width` code points; a longer text is not cut.
pub fn pad_right(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_by_three() {
        for (x, text) in [
            (0.0, "0.0"),
            (999.94, "999.9"),
            (999.95, "1,000.0"),
            (1e6, "1,000,000.0"),
            (-123456.0, "-123,456.0"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(fixed_grouped(x, 1), text);
        }
        assert_eq!(fixed_grouped(1234567.0, 0), "1,234,567");
        assert_eq!(fixed(1e22, 1), "10000000000000000000000.0");
    }

    #[test]
    fn pads_by_code_points() {
        assert_eq!(pad_right("次数", 4), "次数  ");
        assert_eq!(pad_left("ab", 1), "ab");
    }

    proptest! {
        #[test]
        fn grouping_only_adds_commas(x in -1e15..1e15f64, decimals in 0usize..4) {
            prop_assert_eq!(fixed_grouped(x, decimals).replace(',', ""), fixed(x, decimals));
        }
    }
}
