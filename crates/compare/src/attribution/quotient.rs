//! Exact quotients: of integers, rounded once.

use num_bigint::BigInt;
use std::cmp::Ordering;

/// How many forward passes a CSV holds: a positive decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passes {
    numerator: i64,
    denominator: i64,
}

impl Default for Passes {
    fn default() -> Self {
        Passes { numerator: 1, denominator: 1 }
    }
}

impl Passes {
    /// Reads a positive decimal of up to 15 digits, such as `3` or `2.5`.
    pub fn parse(text: &str) -> Option<Passes> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = whole.len() + fraction.len();
        if !(1..=15).contains(&digits) || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let numerator: i64 = format!("{whole}{fraction}").parse().ok()?;
        let denominator = 10i64.pow(fraction.len() as u32);
        let common = greatest_common_divisor(i128::from(numerator), i128::from(denominator)) as i64;
        (numerator > 0).then(|| Passes { numerator: numerator / common, denominator: denominator / common })
    }

    /// The same by the shortest decimal form of a double.
    pub fn of_double(passes: f64) -> Option<Passes> {
        let text = perfdb_pycompat::float::repr(passes);
        Passes::parse(text.strip_suffix(".0").unwrap_or(&text))
    }

    /// As a double.
    pub fn value(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Calls in one pass, in units of which a call of the predicted side has [`Passes::unit`].
    pub(crate) fn measured_calls(self, count: u64) -> i128 {
        i128::from(count) * i128::from(self.denominator)
    }

    /// See [`Passes::measured_calls`].
    pub(crate) fn unit(self) -> i128 {
        i128::from(self.numerator)
    }

    /// A sum over all passes as that of one, rounded to an integer, halves to even.
    pub(crate) fn per_pass(self, sum_ps: i128) -> i128 {
        rounded(&[sum_ps, i128::from(self.denominator)], &[i128::from(self.numerator)])
    }

    pub(crate) fn numerator(self) -> i128 {
        i128::from(self.numerator)
    }

    pub(crate) fn denominator(self) -> i128 {
        i128::from(self.denominator)
    }
}

/// The product of `numerators` over the product of `denominators` (positive), to the nearest integer, halves to even.
pub(crate) fn rounded(numerators: &[i128], denominators: &[i128]) -> i128 {
    let product = |factors: &[i128]| factors.iter().try_fold(1i128, |product, factor| product.checked_mul(*factor));
    match (product(numerators), product(denominators)) {
        // Room to double the remainder.
        (Some(numerator), Some(denominator)) if denominator < i128::MAX / 2 => {
            let (quotient, rest) = (numerator.div_euclid(denominator), numerator.rem_euclid(denominator));
            quotient + i128::from(rounds_up((2 * rest).cmp(&denominator), quotient % 2 != 0))
        }
        _ => rounded_big(numerators, denominators),
    }
}

fn rounds_up(doubled_rest: Ordering, quotient_is_odd: bool) -> bool {
    doubled_rest == Ordering::Greater || doubled_rest == Ordering::Equal && quotient_is_odd
}

fn big_product(factors: &[i128]) -> BigInt {
    factors.iter().fold(BigInt::from(1), |product, factor| product * factor)
}

fn rounded_big(numerators: &[i128], denominators: &[i128]) -> i128 {
    let (numerator, denominator) = (big_product(numerators), big_product(denominators));
    let mut quotient = &numerator / &denominator;
    if &quotient * &denominator > numerator {
        quotient -= 1;
    }
    let rest: BigInt = (numerator - &quotient * &denominator) * 2;
    let odd = quotient.bit(0);
    if rounds_up(rest.cmp(&denominator), odd) {
        quotient += 1;
    }
    // All are sums and means of times, which 128 bits hold.
    i128::try_from(&quotient).unwrap_or(if quotient.sign() == num_bigint::Sign::Minus { i128::MIN } else { i128::MAX })
}

/// Compares two products exactly.
pub(crate) fn compare(one: &[i128], other: &[i128]) -> Ordering {
    let product = |factors: &[i128]| factors.iter().try_fold(1i128, |product, factor| product.checked_mul(*factor));
    match (product(one), product(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => big_product(one).cmp(&big_product(other)),
    }
}

/// Whether both are positive and neither is more than `factor` times the other; of a positive factor.
pub(crate) fn within(one: i128, other: i128, factor: i128) -> bool {
    one > 0 && one <= factor * other && other <= factor * one
}

/// The largest integer that divides both; the other one if one is 0.
pub(crate) fn greatest_common_divisor(one: i128, other: i128) -> i128 {
    if other == 0 { one.abs() } else { greatest_common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_within_a_factor_of_each_other() {
        assert!(within(2, 4, 2) && within(4, 2, 2) && within(3, 3, 1));
        for (one, other) in [(2, 5), (5, 2), (5, 0), (0, 5), (0, 0), (-3, -3)] {
            assert!(!within(one, other, 2), "{one} {other}");
        }
    }

    #[test]
    fn passes_are_decimals() {
        let passes = |text: &str| Passes::parse(text).map(|passes| (passes.numerator, passes.denominator));
        assert_eq!(passes("3"), Some((3, 1)));
        assert_eq!(passes("2.50"), Some((5, 2)));
        for text in ["", "0", "0.0", "-1", "1e3", "nan", ".", "1234567890123456"] {
            assert_eq!(passes(text), None, "{text}");
        }
        assert_eq!(Passes::of_double(3.0), Passes::parse("3"));
        assert_eq!(Passes::of_double(f64::NAN), None);
    }

    #[test]
    fn halves_go_to_even() {
        for (numerator, expected) in [(1, 0), (3, 2), (5, 2), (-1, 0), (-3, -2), (-5, -2), (4, 2)] {
            assert_eq!(rounded(&[numerator], &[2]), expected, "{numerator}/2");
            assert_eq!(rounded_big(&[numerator], &[2]), expected, "{numerator}/2");
        }
    }

    proptest! {
        #[test]
        fn both_ways_agree(numerators in prop::array::uniform2(-1_000_000_000i128..1_000_000_000), denominator in 1i128..1_000_000) {
            prop_assert_eq!(rounded(&numerators, &[denominator]), rounded_big(&numerators, &[denominator]));
        }
    }
}
