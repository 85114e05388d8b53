//! A duration with its 90 % interval.

use crate::predict::class::Class;
use crate::predict::repeats::{NINE_OF_TEN, Timed};
use std::fmt;

/// How long a call takes, and the confidence of that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub duration_us: f64,
    /// The lower end of the 90 % interval.
    pub low_us: f64,
    /// Its upper end.
    pub high_us: f64,
    /// How the call lies to the rows.
    pub class: Class,
}

impl Estimate {
    /// Half of the interval relative to the duration, as a factor less one: 0.04 for ±4 %.
    pub fn half_width(&self) -> f64 {
        (self.high_us / self.low_us).sqrt() - 1.0
    }
}

/// A measured duration, with the deviation of its logarithm where that is known, else as sure as such durations are.
pub fn measured_interval(timed: Timed, duration_us: f64, deviation: Option<f64>) -> Estimate {
    let half = deviation.map_or_else(|| timed.half_width(duration_us), |deviation| deviation * NINE_OF_TEN);
    Estimate {
        duration_us,
        low_us: duration_us * (-half).exp(),
        high_us: duration_us * half.exp(),
        class: Class::Measured,
    }
}

/// Half of an interval from which on it is a factor: ±200 % would hold negative durations.
const FACTOR: f64 = 0.995;

impl fmt::Display for Estimate {
    /// "2,310 µs ±4 % (2,220–2,400)", or "45.5 µs within a factor of 4.2 (10.7–193)".
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (duration, half) = (grouped(self.duration_us), self.half_width());
        let ends = format!("({}–{})", grouped(self.low_us), grouped(self.high_us));
        if half < FACTOR {
            write!(formatter, "{duration} µs ±{} {ends}", percent(half))
        } else {
            write!(formatter, "{duration} µs within a factor of {} {ends}", factor(half + 1.0))
        }
    }
}

fn factor(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.1}") } else { grouped(factor.round()) }
}

/// Three significant digits, at least; thousands apart.
fn grouped(number: f64) -> String {
    const SHORTEST: f64 = 1e-3;
    const LONGEST: f64 = 1e10;
    if number != 0.0 && !(SHORTEST..LONGEST).contains(&number) {
        return format!("{number:.2e}");
    }
    let decimals = match number {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. | 0.0 => 2,
        0.1.. => 3,
        0.01.. => 4,
        _ => 5,
    };
    let text = format!("{number:.decimals$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + fraction
}

fn percent(share: f64) -> String {
    let decimals = usize::from(share < 0.0995);
    let text = format!("{:.decimals$}", 100.0 * share);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_rounded() {
        assert_eq!([0.1234, 1.234, 12.34, 2310.4].map(grouped), ["0.123", "1.23", "12.3", "2,310"]);
        assert_eq!([0.04123, 0.0, 1_234_567.8, 1e300].map(grouped), ["0.0412", "0.00", "1,234,568", "1.00e300"]);
        assert_eq!([0.04, 0.043, 0.5].map(percent), ["4 %", "4.3 %", "50 %"]);
    }

    #[test]
    fn wide_intervals_are_factors() {
        let estimate = |half: f64| Estimate {
            duration_us: 100.0,
            low_us: 100.0 / half,
            high_us: 100.0 * half,
            class: Class::Inside,
        };
        assert_eq!(estimate(1.5).to_string(), "100 µs ±50 % (66.7–150)");
        assert_eq!(estimate(3.0).to_string(), "100 µs within a factor of 3.0 (33.3–300)");
        assert_eq!(estimate(1250.0).to_string(), "100 µs within a factor of 1,250 (0.0800–125,000)");
    }
}
