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
    let magnitude = x.abs();
    let start = out.len();
    // Both of Rust's forms print the same shortest digits as CPython; they differ only in where the forms change over.
    // Writing to a String cannot fail.
    if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        let _ = write!(out, "{x}");
        if !out[start..].contains('.') {
            out.push_str(".0");
        }
        return;
    }
    let _ = write!(out, "{x:e}");
    let Some(e) = out[start..].find('e').map(|at| start + at) else { return };
    let exponent = out.split_off(e + 1);
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent.as_str()),
    };
    out.push(sign);
    if digits.len() < 2 {
        out.push('0');
    }
    out.push_str(digits);
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

/// Python's `round(x)` without a number of decimals: the nearest whole number, halves to even.
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
            (1742968801234567.25, "1742968801234567.2"),
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
