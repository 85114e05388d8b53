//! JSON numbers: grammar, and the value on demand.

use super::fault::{Fault, FaultKind, Scan};

/// A number with its digits as they stand in the text; `NaN`, `Infinity` and `-Infinity` are numbers too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number<'a> {
    raw: &'a [u8],
    integer: bool,
}

/// The powers of ten that are doubles without rounding.
const TENS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

impl<'a> Number<'a> {
    #[inline]
    pub(super) fn new(raw: &'a [u8], integer: bool) -> Number<'a> {
        Number { raw, integer }
    }

    /// The digits as written.
    pub fn text(&self) -> &'a str {
        // The grammar lets only ASCII pass.
        std::str::from_utf8(self.raw).unwrap_or_default()
    }

    /// The digits as written, as bytes.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Whether there is neither a point nor an exponent, so that Python reads an `int` of any size.
    pub fn is_integer(&self) -> bool {
        self.integer
    }

    /// The nearest double; an infinity where the number is too large, for integers too.
    #[inline]
    pub fn to_f64(&self) -> f64 {
        self.short().unwrap_or_else(|| self.text().parse().unwrap_or(f64::NAN))
    }

    /// The value of a number of up to 15 digits without sign and exponent. Digits and power of ten are exact doubles then,
    /// so that the one division rounds correctly.
    #[inline]
    fn short(&self) -> Option<f64> {
        if self.raw.len() > 16 {
            return None;
        }
        let mut digits = 0u64;
        let mut count = 0;
        let mut point = None;
        for &byte in self.raw {
            match byte {
                b'0'..=b'9' => {
                    digits = digits * 10 + u64::from(byte - b'0');
                    count += 1;
                }
                b'.' => point = Some(count),
                _ => return None,
            }
        }
        if count > 15 {
            return None;
        }
        Some(digits as f64 / TENS.get(point.map_or(0, |point| count - point))?)
    }

    /// The nearest double for a sum: an integer counts as `0.0` and not `-0.0` when it is `-0`, and gives `None` when it
    /// is too large for a double.
    pub fn to_addend(&self) -> Option<f64> {
        let value = self.to_f64();
        if !self.integer {
            Some(value)
        } else if value.is_infinite() {
            None
        } else {
            Some(value + 0.0)
        }
    }

    /// The integer, if it is one of 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        if self.integer { self.text().parse().ok() } else { None }
    }
}

/// The end of the number that starts at `at` with a digit or `-`, and whether it is an integer.
#[inline]
pub(super) fn number_end(bytes: &[u8], start: usize) -> Scan<(usize, bool)> {
    let mut at = start;
    if bytes.get(at) == Some(&b'-') {
        at += 1;
        match bytes.get(at) {
            Some(b'I') => return word_end(bytes, at, b"Infinity").map(|end| (end, false)),
            Some(byte) if byte.is_ascii_digit() => {}
            Some(_) => return Err(Fault { at: start, kind: FaultKind::Number }),
            None => return Err(Fault { at, kind: FaultKind::End }),
        }
    }
    if bytes.get(at) == Some(&b'0') {
        at += 1;
        if bytes.get(at).is_some_and(u8::is_ascii_digit) {
            return Err(Fault { at: start, kind: FaultKind::Number });
        }
    } else {
        at = digits_end(bytes, at);
    }
    let mut integer = true;
    if bytes.get(at) == Some(&b'.') {
        integer = false;
        at = some_digits(bytes, start, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        integer = false;
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = some_digits(bytes, start, at)?;
    }
    Ok((at, integer))
}

/// The end of `word`, which must stand at `at`.
#[inline]
pub(super) fn word_end(bytes: &[u8], at: usize, word: &[u8]) -> Scan<usize> {
    let there = bytes.get(at..).unwrap_or_default();
    if there.starts_with(word) {
        Ok(at + word.len())
    } else if word.starts_with(there) {
        Err(Fault { at: bytes.len(), kind: FaultKind::End })
    } else {
        Err(Fault { at, kind: FaultKind::ExpectedValue })
    }
}

#[inline]
fn digits_end(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

#[inline]
fn some_digits(bytes: &[u8], start: usize, at: usize) -> Scan<usize> {
    let end = digits_end(bytes, at);
    match bytes.get(end) {
        _ if end > at => Ok(end),
        None => Err(Fault { at: end, kind: FaultKind::End }),
        Some(_) => Err(Fault { at: start, kind: FaultKind::Number }),
    }
}
