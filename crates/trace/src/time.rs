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
/// `None` for `NaN`, infinities and what lies beyond ±1e18 µs.
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

/// The common forms: at most 19 digits in front of the point, at most six decimals, no exponent.
#[inline]
fn plain(number: &[u8], limit: Picoseconds) -> Option<Picoseconds> {
    const SCALE: [u64; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    let (negative, digits) = match number.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, number),
    };
    let (whole, part) = match digits {
        // As most profilers write them.
        [whole @ .., b'.', first, second, third] => {
            let part = [first, second, third].into_iter().try_fold(0, |value, byte| next_digit(value, *byte))?;
            (whole, part * 1000)
        }
        _ => match digits.iter().rev().take(SCALE.len()).position(|byte| *byte == b'.') {
            Some(decimals) => {
                let (whole, part) = digits.split_at(digits.len() - decimals - 1);
                (whole, integer(part.get(1..)?)? * SCALE.get(decimals)?)
            }
            None => (digits, 0),
        },
    };
    if !(1..=19).contains(&whole.len()) {
        return None;
    }
    let whole = first_digits(digits, whole.len())?;
    let time = i128::from(whole) * MICROSECOND + i128::from(part);
    (time <= limit).then_some(if negative { -time } else { time })
}

/// The value of the first `count` bytes of a text, at most 19 digits.
#[inline]
fn first_digits(text: &[u8], count: usize) -> Option<u64> {
    match (text.first_chunk(), count) {
        (Some(first), 1..8) => eight_digits(behind_zeros(u64::from_le_bytes(*first), count)),
        _ => integer(text.get(..count)?),
    }
}

/// The first `count` bytes of eight, of which there is at least one, behind as many zeros as are missing.
#[inline(always)]
fn behind_zeros(bytes: u64, count: usize) -> u64 {
    let missing = u64::BITS - 8 * count as u32;
    bytes << missing | ZEROS.checked_shr(u64::BITS - missing).unwrap_or_default()
}

/// The value of up to 19 digits, which fits; 0 of none.
#[inline]
fn integer(digits: &[u8]) -> Option<u64> {
    let (Some(first), Some(last), 8..=16) = (digits.first_chunk(), digits.last_chunk(), digits.len()) else {
        return few_or_many(digits);
    };
    let last_eight = eight_digits(u64::from_le_bytes(*last))?;
    if digits.len() == 8 {
        return Some(last_eight);
    }
    let others = eight_digits(behind_zeros(u64::from_le_bytes(*first), digits.len() - 8))?;
    Some(others * 100_000_000 + last_eight)
}

#[inline]
fn few_or_many(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |value, byte| next_digit(value, *byte))
}

#[inline(always)]
fn next_digit(value: u64, byte: u8) -> Option<u64> {
    let digit = byte.wrapping_sub(b'0');
    (digit < 10).then(|| value * 10 + u64::from(digit))
}

/// Eight zeros as text.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The value of eight digits, the first one lowest, all at once: neighbours are joined to numbers of two digits, those to numbers of four, and those to one.
#[inline(always)]
fn eight_digits(digits: u64) -> Option<u64> {
    let digits = digits ^ ZEROS;
    if (digits | digits.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let twos = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos * 100 + (twos >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
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
        fn digits_are_read_in_blocks(value in any::<u64>(), length in 1_usize..20, at in 0_usize..20, byte in any::<u8>()) {
            let digits = format!("{value:020}");
            let mut digits = digits.as_bytes()[20 - length..].to_vec();
            let expected: u64 = std::str::from_utf8(&digits)?.parse()?;
            prop_assert_eq!(integer(&digits), Some(expected));
            digits[at % length] = byte;
            prop_assert_eq!(integer(&digits).is_some(), byte.is_ascii_digit());
        }

        #[test]
        fn both_ways_of_reading_agree(whole in 0_u64..2_000_000_000_000_000, decimals in 0_usize..7, part in 0_u64..1_000_000) {
            let part = format!("{part:06}");
            let text = if decimals == 0 { whole.to_string() } else { format!("{whole}.{}", &part[..decimals]) };
            let slow = general(text.as_bytes(), LIMIT);
            let expected = i128::from(whole) * MICROSECOND
                + part[..decimals].parse::<i128>().unwrap_or(0) * 10_i128.pow(6 - decimals as u32);
            prop_assert_eq!(slow, Some(expected));
            prop_assert_eq!(plain(text.as_bytes(), LIMIT), slow);
            let exponent = format!("{text}E0");
            prop_assert_eq!(picoseconds(exponent.as_bytes()), slow);
        }
    }
}
