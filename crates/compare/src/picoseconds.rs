//! Microseconds as they are written, in integer picoseconds.

use perfdb_pycompat::float;
use perfdb_pycompat::number::Decimal;
use perfdb_pycompat::text::trim;
use perfdb_trace::scan::Number;
use perfdb_trace::time::picoseconds_up_to;

/// Picoseconds in a microsecond.
pub(crate) const PS_PER_US: i64 = 1_000_000;

/// The largest time that is read, in picoseconds: 53 days. Two of them still add up without overflow.
const LARGEST_PS: i128 = i64::MAX as i128 / 2;

/// Starts up to 10²¹ µs are read, far beyond any clock.
const FARTHEST_PS: i128 = 1_000_000_000_000_000_000_000_000_000;

/// Picoseconds of the decimal text of a number of microseconds, halves to even. `None`: it is not a finite number, or too large.
///
/// ```text
/// "12.5" → 12_500_000    "0.0000005" → 0    "1774512345000000.123" → 1_774_512_345_000_000_123_000
/// ```
#[inline]
pub(crate) fn parse_us(text: &str) -> Option<i128> {
    // Profilers put a tab behind the start.
    let plain = text.strip_suffix('\t').unwrap_or(text);
    picoseconds_up_to(plain.as_bytes(), FARTHEST_PS).or_else(|| parse_unusual(text))
}

#[cold]
fn parse_unusual(text: &str) -> Option<i128> {
    let text = trim(text);
    let unsigned = text.strip_prefix('+').filter(|rest| !rest.starts_with('-'));
    picoseconds_up_to(unsigned.unwrap_or(text).as_bytes(), FARTHEST_PS)
}

/// [`parse_us`] of a text whose [`Decimal`] is known; `None` where it has too many decimals to be exact.
#[inline]
pub(crate) fn of_decimal_us(us: Decimal) -> Option<i128> {
    const SCALE: [u32; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    Some(i128::from(us.digits) * i128::from(*SCALE.get(us.decimals)?))
}

/// [`parse_us`] of a duration, which has to fit 64 bits with room to add.
#[inline]
pub(crate) fn parse_duration_us(text: &str) -> Option<i64> {
    parse_us(text).and_then(duration_of_ps)
}

/// A duration that fits 64 bits with room to add.
#[inline]
pub(crate) fn duration_of_ps(ps: i128) -> Option<i64> {
    Some(ps).filter(|ps| ps.abs() <= LARGEST_PS).and_then(|ps| i64::try_from(ps).ok())
}

/// [`parse_us`] of a number of a trace.
#[inline]
pub(crate) fn start_of_number(number: Number<'_>) -> Option<i128> {
    picoseconds_up_to(number.raw(), FARTHEST_PS)
}

/// [`parse_duration_us`] of a number of a trace.
#[inline]
pub(crate) fn duration_of_number(number: Number<'_>) -> Option<i64> {
    picoseconds_up_to(number.raw(), LARGEST_PS).and_then(|ps| i64::try_from(ps).ok())
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
        fn decimals_are_the_same(text in "[0-9]{0,17}([.][0-9]{0,8})?\t?") {
            if let Some(ps) = Decimal::parse(&text).and_then(of_decimal_us) {
                prop_assert_eq!(parse_us(&text), Some(ps));
            }
        }

        #[test]
        fn doubles_by_their_shortest_form(mantissa in 0i64..1_000_000_000_000, decimals in 0usize..9) {
            let us = mantissa as f64 / 10f64.powi(decimals as i32);
            prop_assert_eq!(of_double_us(us), parse_duration_us(&float::repr(us)));
        }
    }
}
