//! Fixed-point formats and padding, as Python's format specifications have them.

use crate::float::non_finite;
use std::fmt::Write;

/// `format(x, ".{decimals}f")`: the exact binary value rounded, exact halves to even, never an exponent.
///
/// ```
/// assert_eq!(perfdb_pycompat::format::fixed(0.0078125, 6), "0.007812");
/// ```
pub fn fixed(x: f64, decimals: usize) -> String {
    let mut out = String::new();
    push_fixed(&mut out, x, decimals);
    out
}

/// Appends what [`fixed`] gives.
pub fn push_fixed(out: &mut String, x: f64, decimals: usize) {
    if !x.is_finite() {
        out.push_str(non_finite(x));
    } else if !push_short(out, x, decimals) {
        let _ = write!(out, "{x:.decimals$}");
    }
}

/// The usual case in integers, several times faster than the general one: the value scaled by the power of ten is exact in 128 bits.
/// False, and nothing appended, if the number is too large or has too many decimals.
fn push_short(out: &mut String, x: f64, decimals: usize) -> bool {
    if !(1..=9).contains(&decimals) || x.abs() >= 1e9 {
        return false;
    }
    let bits = x.to_bits();
    // Below 1e9 the exponent of the integer mantissa is negative.
    let (mantissa, exponent) = match (bits >> 52) & 0x7ff {
        0 => (bits & ((1 << 52) - 1), -1074),
        biased => ((bits & ((1 << 52) - 1)) | (1 << 52), biased as i32 - 1075),
    };
    let scale = 10_u64.pow(decimals as u32);
    let scaled = u128::from(mantissa) * u128::from(scale);
    let shift = exponent.unsigned_abs();
    let rounded = if shift > 126 {
        0
    } else {
        let (whole, rest, half) = (scaled >> shift, scaled & ((1 << shift) - 1), 1_u128 << (shift - 1));
        whole + u128::from(rest > half || (rest == half && whole & 1 == 1))
    } as u64;
    // A sign, ten digits, the point and nine more are the most there can be.
    let mut text = [b'0'; 24];
    let mut at = text.len();
    let mut push = |byte: u8| {
        at -= 1;
        text[at] = byte;
    };
    let (mut whole, mut decimal) = (rounded / scale, rounded % scale);
    for _ in 0..decimals {
        push(b'0' + (decimal % 10) as u8);
        decimal /= 10;
    }
    push(b'.');
    loop {
        push(b'0' + (whole % 10) as u8);
        whole /= 10;
        if whole == 0 {
            break;
        }
    }
    if x.is_sign_negative() {
        push(b'-');
    }
    out.push_str(std::str::from_utf8(&text[at..]).unwrap_or_default());
    true
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

/// `format(text, ">{width}")`: spaces in front up to `width` code points; a longer text is not cut.
pub fn pad_left(text: &str, width: usize) -> String {
    let mut out = " ".repeat(width.saturating_sub(text.chars().count()));
    out.push_str(text);
    out
}

/// `format(text, "<{width}")`: spaces behind up to `width` code points; a longer text is not cut.
pub fn pad_right(text: &str, width: usize) -> String {
    let mut out = text.to_owned();
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(text.chars().count())));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_may_be_wider_than_rust_formats() {
        assert_eq!((pad_left("é", 3), pad_right("é", 3)), ("  é".to_owned(), "é  ".to_owned()));
        assert_eq!((pad_left("long", 3), pad_right("long", 3)), ("long".to_owned(), "long".to_owned()));
        let wide = usize::from(u16::MAX) + 2;
        assert_eq!((pad_left("a", wide).len(), pad_right("a", wide).len()), (wide, wide));
    }

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

    #[test]
    fn the_short_way_covers_the_edges() {
        for (x, text) in [
            (0.0078125, "0.007812"),
            (0.0234375, "0.023438"),
            (-0.0, "-0.000000"),
            (5e-324, "0.000000"),
            (999_999_999.999_999_9, "1000000000.000000"),
            (1e9, "1000000000.000000"),
            (4.0, "4.000000"),
        ] {
            assert_eq!(fixed(x, 6), text);
        }
    }

    proptest! {
        #[test]
        fn the_short_way_agrees_with_the_general_one(x in any::<f64>(), small in -2e9..2e9, thousandths in 0u64..4_000_000_000, decimals in 1usize..10) {
            for x in [x, small, thousandths as f64 / 1024.0] {
                let mut out = String::new();
                if x.is_finite() && push_short(&mut out, x, decimals) {
                    prop_assert_eq!(out, format!("{x:.decimals$}"));
                }
            }
        }

        #[test]
        fn grouping_only_adds_commas(x in -1e15..1e15f64, decimals in 0usize..4) {
            prop_assert_eq!(fixed_grouped(x, decimals).replace(',', ""), fixed(x, decimals));
        }
    }
}
