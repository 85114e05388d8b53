//! Whether two durations of a case are the same.

use super::side::Side;
use crate::versions::Source;
use perfdb_store::duration::{EIGHT_OF_TEN, is_valid};

/// What came of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The durations differ by no more than the tolerance.
    Same,
    /// The second is longer, by more than tolerance and spreads.
    Slower,
    /// The second is shorter, by more than tolerance and spreads.
    Faster,
    /// The durations say nothing.
    CannotTell(Doubt),
    /// Only the first database has the case.
    OnlyA,
    /// Only the second database has the case.
    OnlyB,
}

/// Why durations say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// The calls vary more than the durations differ.
    Spread,
    /// A row has no valid duration.
    NoDuration,
    /// One row is only measured alone, the other only profiled in a run: these differ without any change.
    OtherSource,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Same => "same",
            Outcome::Slower => "slower",
            Outcome::Faster => "faster",
            Outcome::CannotTell(_) => "inconclusive",
            Outcome::OnlyA => "only in A",
            Outcome::OnlyB => "only in B",
        }
    }

    /// Why it cannot be told, where that is so.
    pub fn doubt(self) -> Option<&'static str> {
        match self {
            Outcome::CannotTell(Doubt::Spread) => Some("spread"),
            Outcome::CannotTell(Doubt::NoDuration) => Some("no duration"),
            Outcome::CannotTell(Doubt::OtherSource) => Some("measured and profiled"),
            _ => None,
        }
    }

    /// Whether the durations say something.
    pub fn is_judged(self) -> bool {
        matches!(self, Outcome::Same | Outcome::Slower | Outcome::Faster)
    }
}

/// The durations in the cells of a row; what is none is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Times {
    pub(super) measured_us: f64,
    pub(super) profiled_us: f64,
    /// The standard deviation of the profiled calls.
    pub(super) spread_us: f64,
}

impl Times {
    fn of(&self, source: Source) -> Option<f64> {
        let duration_us = match source {
            Source::Measured => self.measured_us,
            Source::Profiled => self.profiled_us,
        };
        is_valid(duration_us).then_some(duration_us)
    }

    /// The duration that counts for the row alone.
    pub(super) fn side(&self, line: u64) -> Side {
        let source = Source::ALL.into_iter().find(|source| self.of(*source).is_some());
        self.side_of(line, source)
    }

    fn side_of(&self, line: u64, source: Option<Source>) -> Side {
        // How far a minimum varies is not kept in a table.
        let spread = (source == Some(Source::Profiled)).then_some(self.spread_us).filter(|spread| is_valid(*spread));
        Side { line, source, duration_us: source.and_then(|source| self.of(source)), spread_us: spread }
    }
}

/// Compares like with like: measured with measured, else profiled with profiled. Returns both sides, and the ratio where there is one.
pub(super) fn judge(a: (&Times, u64), b: (&Times, u64), tolerance: f64) -> (Side, Side, Option<f64>, Outcome) {
    let both = |source: &Source| a.0.of(*source).is_some() && b.0.of(*source).is_some();
    let Some(source) = Source::ALL.into_iter().find(both) else {
        let (first, second) = (a.0.side(a.1), b.0.side(b.1));
        let doubt = if first.duration_us.is_some() && second.duration_us.is_some() {
            Doubt::OtherSource
        } else {
            Doubt::NoDuration
        };
        return (first, second, None, Outcome::CannotTell(doubt));
    };
    let (first, second) = (a.0.side_of(a.1, Some(source)), b.0.side_of(b.1, Some(source)));
    let ratio = second.duration_us.unwrap_or(f64::NAN) / first.duration_us.unwrap_or(f64::NAN);
    let noise = EIGHT_OF_TEN * first.relative_spread().hypot(second.relative_spread());
    (first, second, Some(ratio), outcome(ratio, noise, tolerance))
}

fn outcome(ratio: f64, noise: f64, tolerance: f64) -> Outcome {
    let (difference, limit) = (ratio.ln(), tolerance.ln_1p());
    // What is as large as the limit by the digits of the cells counts as the limit.
    let is_same = difference.abs() <= limit + 1e-9;
    if noise > if is_same { limit } else { difference.abs() } && noise > 0.0 {
        return Outcome::CannotTell(Doubt::Spread);
    }
    if is_same {
        Outcome::Same
    } else if difference > 0.0 {
        Outcome::Slower
    } else {
        Outcome::Faster
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(measured_us: f64, profiled_us: f64, spread_us: f64) -> Times {
        Times { measured_us, profiled_us, spread_us }
    }

    fn judged(a: Times, b: Times) -> (Option<f64>, Outcome) {
        let (_, _, ratio, outcome) = judge((&a, 2), (&b, 2), 0.03);
        (ratio, outcome)
    }

    #[test]
    fn like_is_compared_with_like() {
        assert_eq!(judged(times(10.0, 99.0, 0.0), times(10.2, 1.0, 0.0)).1, Outcome::Same);
        assert_eq!(judged(times(10.0, 20.0, 0.0), times(0.0, 30.0, 0.0)), (Some(1.5), Outcome::Slower));
        assert_eq!(
            judged(times(10.0, 0.0, 0.0), times(0.0, 30.0, 0.0)),
            (None, Outcome::CannotTell(Doubt::OtherSource))
        );
        assert_eq!(
            judged(times(f64::NAN, 0.0, 0.0), times(1.0, 1.0, 0.0)),
            (None, Outcome::CannotTell(Doubt::NoDuration))
        );
    }

    #[test]
    fn what_varies_more_than_it_differs_is_not_judged() {
        let of = |a: f64, b: f64, spread: f64| judged(times(0.0, a, spread), times(0.0, b, spread)).1;
        assert_eq!(of(100.0, 109.0, 0.0), Outcome::Slower);
        assert_eq!(of(100.0, 109.0, 4.0), Outcome::Slower);
        assert_eq!(of(100.0, 109.0, 6.0), Outcome::CannotTell(Doubt::Spread));
        assert_eq!(of(100.0, 101.0, 1.0), Outcome::Same);
        assert_eq!(of(100.0, 101.0, 6.0), Outcome::CannotTell(Doubt::Spread));
        assert_eq!(of(109.0, 100.0, 1.0), Outcome::Faster);
        assert_eq!(of(100.0, 103.0, 0.0), Outcome::Same);
    }
}
