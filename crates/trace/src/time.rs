//! Times as exact integers.
//!
//! Trace times are decimal microseconds. At epoch microseconds a double has steps of a quarter microsecond, so times
//! are taken from their text as integer picoseconds; sums of those depend on no order.

/// Integer picoseconds. Epoch microseconds in picoseconds are beyond 64 bits.
pub type Picoseconds = i128;

/// Picoseconds of one microsecond.
pub const MICROSECOND: Picoseconds = 1_000_000;

/// Largest magnitude of a usable time: 1e18 microseconds.
const LIMIT: Picoseconds = 1_000_000_000_000_000_000 * MICROSECOND;

/// Microseconds, for output.
pub fn microseconds(time: Picoseconds) -> f64 {
    time as f64 / 1e6
}

/// Milliseconds, for output.
pub fn milliseconds(time: Picoseconds) -> f64 {
    time as f64 / 1e9
}

/// Average in microseconds, for output; 0 of nothing.
pub fn average_microseconds(total: Picoseconds, count: u64) -> f64 {
    if count == 0 { 0.0 } else { total as f64 / (count as f64 * 1e6) }
}

/// The picoseconds of a JSON number of microseconds: exact up to the sixth decimal, further ones rounded half to even.
///
/// `None` for `NaN`, infinities and whatever lies beyond ±1e18 µs.
///
/// ```
/// use perfdb_trace::time::picoseconds;
/// assert_eq!(picoseconds(b"1700000000000000.123"), Some(1_700_000_000_000_000_123_000));
/// assert_eq!(picoseconds(b"2.5E1"), Some(25_000_000));
/// assert_eq!(picoseconds(b"NaN"), None);
/// ```
pub fn picoseconds(number: &[u8]) -> Option<Picoseconds> {
    picoseconds_up_to(number, LIMIT)
}

/// [`picoseconds`] up to another magnitude, in picoseconds; at most 1e33.
#[inline]
pub fn picoseconds_up_to(number: &[u8], limit: Picoseconds) -> Option<Picoseconds> {
    plain(number, limit).or_else(|| general(number, limit))
}

/// The common forms: at most 19 digits, at most six decimals, no exponent.
#[inline]
fn plain(number: &[u8], limit: Picoseconds) -> Option<Picoseconds> {
    const SCALE: [u64; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    let (negative, digits) = match number.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, number),
    };
    if digits.len() > 20 {
        return None;
    }
    let mut mantissa: u64 = 0;
    let mut point = None;
    for (at, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        } else if byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return None;
        }
    }
    // 19 digits are less than 2⁶⁴; with 20 the mantissa may have wrapped around.
    let count = digits.len() - usize::from(point.is_some());
    if !(1..=19).contains(&count) {
        return None;
    }
    let decimals = point.map_or(0, |at| digits.len() - at - 1);
    let scale = *SCALE.get(decimals)?;
    let time = i128::from(mantissa) * i128::from(scale);
    (time <= limit).then_some(if negative { -time } else { time })
}

/// Every form of a number: many digits, exponents.
fn general(number: &[u8], limit: Picoseconds) -> Option<Picoseconds> {
    let decimal = Decimal::parse(number)?;
    // Position of the decimal point of the value in picoseconds, counted from the first digit.
    let integer_digits = decimal.exponent.saturating_add(decimal.digits.len() as i64).saturating_add(6);
    if decimal.digits.is_empty() || integer_digits < 0 {
        return Some(0);
    }
    if integer_digits > 34 {
        return None;
    }
    let kept = integer_digits as usize;
    let mut time: i128 = 0;
    for at in 0..kept {
        time = time * 10 + i128::from(decimal.digits.get(at).map_or(0, |digit| digit - b'0'));
    }
    let rest = decimal.digits.get(kept..).unwrap_or_default();
    let exact = time <= limit && (time < limit || rest.is_empty());
    if let Some((&first, others)) = rest.split_first() {
        // Trailing zeros are gone, so a rest of `5` alone is an exact half.
        let up = first > b'5' || (first == b'5' && (!others.is_empty() || time % 2 == 1));
        time += i128::from(up);
    }
    exact.then_some(if decimal.negative { -time } else { time })
}

/// A number as sign, significant digits and power of ten.
pub(crate) struct Decimal {
    /// Sign.
    pub(crate) negative: bool,
    /// Digits without leading and trailing zeros; empty for zero.
    pub(crate) digits: Vec<u8>,
    /// Power of ten behind the last digit.
    pub(crate) exponent: i64,
}

impl Decimal {
    /// Reads a JSON number; `None` for `NaN` and the infinities.
    pub(crate) fn parse(number: &[u8]) -> Option<Decimal> {
        let (negative, rest) = match number.split_first()? {
            (b'-', rest) => (true, rest),
            _ => (false, number),
        };
        let (mantissa, power) = match rest.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => (&rest[..at], power_of_ten(&rest[at + 1..])?),
            None => (rest, 0),
        };
        let mut digits = Vec::with_capacity(mantissa.len());
        let mut exponent = power;
        let mut behind_point = false;
        if !mantissa.iter().any(u8::is_ascii_digit) {
            return None;
        }
        for &byte in mantissa {
            match byte {
                b'.' if !behind_point => behind_point = true,
                b'0'..=b'9' => {
                    exponent = exponent.saturating_sub(i64::from(behind_point));
                    if byte != b'0' || !digits.is_empty() {
                        digits.push(byte);
                    }
                }
                _ => return None,
            }
        }
        while digits.last() == Some(&b'0') {
            digits.pop();
            exponent = exponent.saturating_add(1);
        }
        Some(Decimal { negative: negative && !digits.is_empty(), digits, exponent })
    }
}

/// The exponent of a number, saturating: further out everything is zero or too large anyway.
fn power_of_ten(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    let mut power: i64 = 0;
    for byte in digits {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        power = power.saturating_mul(10).saturating_add(i64::from(digit)).min(1 << 40);
    }
    Some(if negative { -power } else { power })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_become_exact_picoseconds() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-0.0", Some(0)),
            ("10.125", Some(10_125_000)),
            ("-3", Some(-3_000_000)),
            ("1.7000000000001e15", Some(1_700_000_000_000_100_000_000)),
            ("40.000001", Some(40_000_001)),
            ("0.0000005", Some(0)),
            ("0.0000015", Some(2)),
            ("0.0000025", Some(2)),
            ("0.00000250000000000000000000001", Some(3)),
            ("0.00000049999", Some(0)),
            ("0.0000009", Some(1)),
            ("1e-7", Some(0)),
            ("9e-7", Some(1)),
            ("1e-400", Some(0)),
            ("0e999999999999", Some(0)),
            ("1e18", Some(LIMIT)),
            ("-1000000000000000000", Some(-LIMIT)),
            ("1000000000000000000.0000001", None),
            ("1e19", None),
            ("1e999999999999999999999", None),
            ("123456789012345678901234567890", None),
            ("0.000000000000000000000000000000001e33", Some(MICROSECOND)),
            ("NaN", None),
            ("Infinity", None),
            ("-Infinity", None),
        ] {
            assert_eq!(picoseconds(text.as_bytes()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn both_ways_of_reading_agree(whole in 0_u64..2_000_000_000_000_000, decimals in 0_usize..7, part in 0_u64..1_000_000) {
            let part = format!("{part:06}");
            let text = if decimals == 0 { whole.to_string() } else { format!("{whole}.{}", &part[..decimals]) };
            let slow = general(text.as_bytes(), LIMIT);
            let expected = i128::from(whole) * MICROSECOND
                + part[..decimals].parse::<i128>().unwrap_or(0) * 10_i128.pow(6 - decimals as u32);
            prop_assert_eq!(slow, Some(expected));
            // Up to 19 digits the common way must do.
            let fast = plain(text.as_bytes(), LIMIT);
            prop_assert!(fast == slow || (fast.is_none() && text.len() > 20), "{}", text);
            let exponent = format!("{text}E0");
            prop_assert_eq!(picoseconds(exponent.as_bytes()), slow);
        }
    }
}
