//! `repr` and `round` of floats.

use std::fmt::Write as _;

/// The shortest text that reads back as the same double, as CPython's `repr(float)` writes it.
///
/// ```
/// use perfdb_pycompat::float::repr;
/// assert_eq!([repr(12.0), repr(1e-5), repr(1e16), repr(-0.0)], ["12.0", "1e-05", "1e+16", "-0.0"]);
/// assert_eq!([repr(f64::NAN), repr(f64::NEG_INFINITY)], ["nan", "-inf"]);
/// ```
pub fn repr(x: f64) -> String {
    let mut out = String::with_capacity(24);
    push_repr(&mut out, x);
    out
}

/// [`repr`] appended to `out`.
pub fn push_repr(out: &mut String, x: f64) {
    if !x.is_finite() {
        out.push_str(non_finite(x));
        return;
    }
    // Rust's own formats give the same number of digits, but of two texts equally near they take the upper one, where
    // CPython takes the even one (visible in epoch microseconds, whose doubles are 0.25 apart).
    let mut buffer = zmij::Buffer::new();
    let shortest = buffer.format_finite(x);
    let magnitude = x.abs();
    if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) && !shortest.contains('e') {
        out.push_str(shortest);
        return;
    }
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |digits| ("-", digits));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    let leading_zeros = (digits.len() - significant.len()) as i32;
    // The value is 0.d1d2… × 10^point.
    let point = whole.len() as i32 + exponent - leading_zeros;
    out.push_str(sign);
    push_digits(out, significant.trim_end_matches('0'), point);
}

/// The value `0.digits × 10^point` in the form that CPython chooses.
fn push_digits(out: &mut String, digits: &str, point: i32) {
    // Writing to a String cannot fail.
    if point <= -4 || point > 16 {
        out.push_str(&digits[..1]);
        if digits.len() > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        let exponent = point - 1;
        let _ = write!(out, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    } else if point <= 0 {
        let _ = write!(out, "0.{:0<zeros$}{digits}", "", zeros = -point as usize);
    } else {
        let point = point as usize;
        let _ = write!(out, "{digits:0<point$}");
        if digits.len() > point { out.insert(out.len() - (digits.len() - point), '.') } else { out.push_str(".0") }
    }
}

/// `inf`, `-inf` or `nan`, as Python's console texts have them.
pub(crate) fn non_finite(x: f64) -> &'static str {
    if x.is_nan() {
        "nan"
    } else if x > 0.0 {
        "inf"
    } else {
        "-inf"
    }
}

/// Python's `round(x, decimals)`: the double nearest to the exact binary value rounded to that many decimals, exact
/// halves to even. Infinities and not-a-number pass through; small negative values become `-0.0`.
///
/// ```
/// use perfdb_pycompat::float::round;
/// assert_eq!([round(0.125, 2), round(0.375, 2), round(2.675, 2)], [0.12, 0.38, 2.67]);
/// ```
pub fn round(x: f64, decimals: usize) -> f64 {
    if !x.is_finite() {
        return x;
    }
    // Rust's fixed format rounds the exact binary value, halves to even, so reading it back is CPython's algorithm.
    format!("{x:.decimals$}").parse().unwrap_or(x)
}

/// Python's `round(x)` without a number of decimals: the nearest integer, halves to even.
pub fn round_to_integer(x: f64) -> f64 {
    x.round_ties_even()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms_change_over_where_python_does() {
        for (x, text) in [
            (0.0, "0.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.00012345, "0.00012345"),
            (9.9999e-5, "9.9999e-05"),
            (9999999999999998.0, "9999999999999998.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (-2.5e-7, "-2.5e-07"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1742968801234567.0 + 0.25, "1742968801234567.2"),
            (1700057558574223.0 + 0.75, "1700057558574223.8"),
            (1e22, "1e+22"),
            (123456789012345680000.0, "1.2345678901234568e+20"),
        ] {
            assert_eq!(repr(x), text);
        }
    }

    #[test]
    fn rounding_is_exact() {
        assert_eq!(round(1.005, 2), 1.0);
        assert_eq!(round(0.5, 0), 0.0);
        assert_eq!(round(1.5, 0), 2.0);
        assert!(round(-0.04, 1).is_sign_negative());
        assert_eq!(round(f64::INFINITY, 2), f64::INFINITY);
        assert!(round(f64::NAN, 2).is_nan());
        assert_eq!(round(1.7976931348623157e308, 2), f64::MAX);
        assert_eq!([round_to_integer(2.5), round_to_integer(3.5)], [2.0, 4.0]);
    }

    proptest! {
        #[test]
        fn repr_reads_back(bits in any::<u64>()) {
            let x = f64::from_bits(bits);
            prop_assume!(x.is_finite());
            let text = repr(x);
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), x.to_bits());
            prop_assert!(text.contains('.') || text.contains('e'));
        }

        #[test]
        fn rounding_twice_changes_nothing(x in -1e9..1e9f64, decimals in 0usize..6) {
            prop_assert_eq!(round(round(x, decimals), decimals), round(x, decimals));
        }
    }
}
