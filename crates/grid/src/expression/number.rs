//! Exact integers and binary fractions, with the arithmetic of the expression language.

use std::cmp::Ordering;

use num_bigint::BigUint;

/// A value of the expression language. Truth values are the integers 1 and 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An exact integer of at most 127 bits.
    Integer(i128),
    /// A binary floating-point number. Only `/` and negative or fractional exponents make one.
    Fraction(f64),
}

/// Why an expression has no value for some variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArithmeticError {
    /// A division, remainder or alignment by zero, or zero to a negative power.
    #[error("division by zero")]
    DivisionByZero,
    /// Beyond 127 bits, or beyond what a fraction can hold.
    #[error("value out of range")]
    OutOfRange,
    /// An infinite or undefined fraction used as a dimension, or the root of a negative number.
    #[error("not a number")]
    NotANumber,
}

type Result<T> = std::result::Result<T, ArithmeticError>;

impl From<bool> for Number {
    fn from(truth: bool) -> Self {
        Self::Integer(i128::from(truth))
    }
}

impl Number {
    /// Everything but zero is true.
    #[must_use]
    pub fn is_true(self) -> bool {
        match self {
            Self::Integer(integer) => integer != 0,
            Self::Fraction(fraction) => fraction != 0.0,
        }
    }

    /// The value as a dimension: the fraction is cut off towards zero.
    ///
    /// # Errors
    ///
    /// Infinite and undefined fractions, and those beyond 127 bits.
    pub fn to_dimension(self) -> Result<i128> {
        match self {
            Self::Integer(integer) => Ok(integer),
            Self::Fraction(fraction) if !fraction.is_finite() => Err(ArithmeticError::NotANumber),
            Self::Fraction(fraction) => to_integer(fraction.trunc()).ok_or(ArithmeticError::OutOfRange),
        }
    }

    fn to_fraction(self) -> f64 {
        match self {
            // Rounds to nearest, ties to even.
            Self::Integer(integer) => integer as f64,
            Self::Fraction(fraction) => fraction,
        }
    }

    /// By value, for all kinds. Nothing compares with an undefined fraction.
    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => Some(left.cmp(&right)),
            (Self::Fraction(left), Self::Fraction(right)) => left.partial_cmp(&right),
            (Self::Integer(left), Self::Fraction(right)) => compare_mixed(left, right),
            (Self::Fraction(left), Self::Integer(right)) => compare_mixed(right, left).map(Ordering::reverse),
        }
    }

    pub(super) fn negate(self) -> Result<Self> {
        match self {
            Self::Integer(integer) => integer.checked_neg().map(Self::Integer).ok_or(ArithmeticError::OutOfRange),
            Self::Fraction(fraction) => Ok(Self::Fraction(-fraction)),
        }
    }

    pub(super) fn absolute(self) -> Result<Self> {
        match self {
            Self::Integer(integer) => integer.checked_abs().map(Self::Integer).ok_or(ArithmeticError::OutOfRange),
            Self::Fraction(fraction) => Ok(Self::Fraction(fraction.abs())),
        }
    }

    pub(super) fn add(self, other: Self) -> Result<Self> {
        self.combine(other, i128::checked_add, |left, right| left + right)
    }

    pub(super) fn subtract(self, other: Self) -> Result<Self> {
        self.combine(other, i128::checked_sub, |left, right| left - right)
    }

    pub(super) fn multiply(self, other: Self) -> Result<Self> {
        self.combine(other, i128::checked_mul, |left, right| left * right)
    }

    fn combine(
        self,
        other: Self,
        integers: impl Fn(i128, i128) -> Option<i128>,
        fractions: impl Fn(f64, f64) -> f64,
    ) -> Result<Self> {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => {
                integers(left, right).map(Self::Integer).ok_or(ArithmeticError::OutOfRange)
            }
            _ => Ok(Self::Fraction(fractions(self.to_fraction(), other.to_fraction()))),
        }
    }

    /// `/`: always a fraction.
    pub(super) fn divide(self, other: Self) -> Result<Self> {
        if !other.is_true() {
            return Err(ArithmeticError::DivisionByZero);
        }
        let quotient = match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => quotient_of_integers(left, right),
            _ => self.to_fraction() / other.to_fraction(),
        };
        Ok(Self::Fraction(quotient))
    }

    /// `//`: rounded towards minus infinity.
    pub(super) fn floor_divide(self, other: Self) -> Result<Self> {
        match (self, other) {
            (_, Self::Integer(0)) => Err(ArithmeticError::DivisionByZero),
            (Self::Integer(left), Self::Integer(right)) => {
                let quotient = left.checked_div(right).ok_or(ArithmeticError::OutOfRange)?;
                // The remainder follows from the quotient; a second 128-bit division would cost more.
                let remainder = left - quotient * right;
                let rounded_up = remainder != 0 && (remainder < 0) != (right < 0);
                Ok(Self::Integer(quotient - i128::from(rounded_up)))
            }
            _ => floored(self.to_fraction(), other.to_fraction()).map(|(quotient, _)| Self::Fraction(quotient)),
        }
    }

    /// `%`: what `//` leaves, with the sign of the divisor.
    pub(super) fn remainder(self, other: Self) -> Result<Self> {
        match (self, other) {
            (_, Self::Integer(0)) => Err(ArithmeticError::DivisionByZero),
            (Self::Integer(left), Self::Integer(right)) => {
                let remainder = left.checked_rem(right).unwrap_or(0);
                let other_sign = remainder != 0 && (remainder < 0) != (right < 0);
                Ok(Self::Integer(if other_sign { remainder + right } else { remainder }))
            }
            _ => floored(self.to_fraction(), other.to_fraction()).map(|(_, remainder)| Self::Fraction(remainder)),
        }
    }

    /// `**`: an integer for an integer to a power that is not negative, else a fraction.
    pub(super) fn power(self, exponent: Self) -> Result<Self> {
        match (self, exponent) {
            (Self::Integer(base), Self::Integer(exponent)) if exponent >= 0 => {
                integer_power(base, exponent).map(Self::Integer).ok_or(ArithmeticError::OutOfRange)
            }
            _ => fraction_power(self.to_fraction(), exponent.to_fraction()).map(Self::Fraction),
        }
    }

    /// `align(x, a)`: the multiple of `a` that is not below `x`.
    pub(super) fn align(self, multiple: Self) -> Result<Self> {
        self.add(multiple)?.subtract(Self::Integer(1))?.floor_divide(multiple)?.multiply(multiple)
    }
}

/// At once, also for huge exponents: only 0, 1 and -1 can be raised beyond the 127th power.
fn integer_power(base: i128, exponent: i128) -> Option<i128> {
    match base {
        0 => Some(i128::from(exponent == 0)),
        1 => Some(1),
        -1 => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        _ => base.checked_pow(u32::try_from(exponent).ok()?),
    }
}

fn fraction_power(base: f64, exponent: f64) -> Result<f64> {
    if base == 0.0 && exponent < 0.0 {
        return Err(ArithmeticError::DivisionByZero);
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        return Err(ArithmeticError::NotANumber);
    }
    let power = base.powf(exponent);
    if power.is_infinite() && base.is_finite() && exponent.is_finite() {
        return Err(ArithmeticError::OutOfRange);
    }
    Ok(power)
}

/// Quotient rounded towards minus infinity and remainder, such that the remainder is exact.
fn floored(left: f64, right: f64) -> Result<(f64, f64)> {
    if right == 0.0 {
        return Err(ArithmeticError::DivisionByZero);
    }
    let mut remainder = left % right;
    let mut quotient = (left - remainder) / right;
    if remainder == 0.0 {
        remainder = 0.0_f64.copysign(right);
    } else if (right < 0.0) != (remainder < 0.0) {
        remainder += right;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return Ok((0.0_f64.copysign(left / right), remainder));
    }
    let whole = quotient.floor();
    Ok((if quotient - whole > 0.5 { whole + 1.0 } else { whole }, remainder))
}

/// The fraction nearest to the exact quotient. Dividing the rounded integers would round twice beyond 2⁵³.
fn quotient_of_integers(left: i128, right: i128) -> f64 {
    const EXACT: u128 = 1 << 53;
    let (dividend, divisor) = (left.unsigned_abs(), right.unsigned_abs());
    if dividend <= EXACT && divisor <= EXACT {
        return left as f64 / right as f64;
    }
    // Scale so that the whole quotient has 65 bits or 66: the 53 that count, and enough to round by.
    let bits = |integer: u128| i64::from(u128::BITS - integer.leading_zeros());
    let shift = 65 - (bits(dividend) - bits(divisor));
    let (mut dividend, mut divisor) = (BigUint::from(dividend), BigUint::from(divisor));
    if shift >= 0 {
        dividend <<= shift
    } else {
        divisor <<= -shift
    }
    let mut quotient = u128::try_from(&dividend / &divisor).unwrap_or(u128::MAX);
    // A sticky bit stands for everything that was cut off.
    quotient |= u128::from(&dividend % &divisor != BigUint::ZERO);
    let scale = i32::try_from(-shift).unwrap_or(0);
    let magnitude = quotient as f64 * 2.0_f64.powi(scale);
    if (left < 0) == (right < 0) { magnitude } else { -magnitude }
}

/// A fraction without digits behind the point as an integer, if it has at most 127 bits.
fn to_integer(whole: f64) -> Option<i128> {
    const LIMIT: f64 = 1.701_411_834_604_692_3e38; // 2^127
    (-LIMIT..LIMIT).contains(&whole).then_some(whole as i128)
}

fn compare_mixed(integer: i128, fraction: f64) -> Option<Ordering> {
    if fraction.is_nan() {
        return None;
    }
    let whole = fraction.trunc();
    match to_integer(whole) {
        None => Some(if fraction > 0.0 { Ordering::Less } else { Ordering::Greater }),
        Some(truncated) => Some(integer.cmp(&truncated).then_with(|| {
            // Equal so far: the digits behind the point decide.
            0.0_f64.partial_cmp(&(fraction - whole)).unwrap_or(Ordering::Equal)
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_beyond_double_precision_are_rounded_once() {
        // int / int in CPython 3.11.
        assert_eq!(quotient_of_integers(10_i128.pow(18) + 1, 3), 3.333_333_333_333_333e17);
        assert_eq!(quotient_of_integers((1 << 62) + 513, 1), 4_611_686_018_427_388_928.0);
        assert_eq!(quotient_of_integers(10_i128.pow(30) + 7, 10_i128.pow(11) + 3), 9.999_999_999_7e18);
        assert_eq!(quotient_of_integers((1 << 100) + 1, (1 << 54) + 1), 70_368_744_177_664.0);
        assert_eq!(quotient_of_integers(-(1 << 126) - 5, 7), -1.215_294_167_574_780_2e37);
        assert_eq!(quotient_of_integers(i128::MAX, (1 << 64) + 1), 9.223_372_036_854_776e18);
        assert_eq!(quotient_of_integers(i128::MAX, i128::MAX), 1.0);
        assert_eq!(quotient_of_integers(-1, i128::MAX), -(2.0_f64.powi(-127)));
        assert_eq!(quotient_of_integers(i128::MIN, 1), -(2.0_f64.powi(127)));
    }

    #[test]
    fn integers_and_fractions_compare_by_value() {
        let below = Number::Fraction(9_007_199_254_740_992.0);
        assert_eq!(Number::Integer(9_007_199_254_740_993).compare(below), Some(Ordering::Greater));
        assert_eq!(Number::Fraction(-0.5).compare(Number::Integer(0)), Some(Ordering::Less));
        assert_eq!(Number::Integer(i128::MAX).compare(Number::Fraction(f64::INFINITY)), Some(Ordering::Less));
        assert_eq!(Number::Integer(1).compare(Number::Fraction(f64::NAN)), None);
    }

    #[test]
    fn the_extremes_are_errors() {
        let least = Number::Integer(i128::MIN);
        assert_eq!(least.negate(), Err(ArithmeticError::OutOfRange));
        assert_eq!(least.absolute(), Err(ArithmeticError::OutOfRange));
        assert_eq!(least.floor_divide(Number::Integer(-1)), Err(ArithmeticError::OutOfRange));
        assert_eq!(least.remainder(Number::Integer(-1)), Ok(Number::Integer(0)));
        assert_eq!(Number::Fraction(1e300).to_dimension(), Err(ArithmeticError::OutOfRange));
        assert_eq!(Number::Fraction(f64::INFINITY).to_dimension(), Err(ArithmeticError::NotANumber));
        assert_eq!(Number::Integer(-8).power(Number::Fraction(0.5)), Err(ArithmeticError::NotANumber));
        assert_eq!(Number::Fraction(0.5).power(Number::Integer(-5000)), Err(ArithmeticError::OutOfRange));
        assert_eq!(Number::Integer(-1).power(Number::Integer(i128::MAX)), Ok(Number::Integer(-1)));
    }
}
