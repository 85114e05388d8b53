//! A duration with the interval that holds it nine times in ten.

use crate::class::Class;

/// How long a call takes, and how sure that is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The duration.
    pub duration_us: f64,
    /// The lower end of the interval that holds the truth nine times in ten.
    pub low_us: f64,
    /// Its upper end.
    pub high_us: f64,
    /// How the call lies to the rows.
    pub class: Class,
}

/// Half of the 90 % interval of a measured row of which no deviation is known, as a logarithm. Repeats of one shape lie 1 % (long
/// kernels) to 5 % (collectives, short kernels) from their median in nine of ten cases.
pub const REPEAT_HALF_WIDTH: f64 = 0.02;

/// Standard deviations within which nine of ten normal values lie.
const NINE_OF_TEN: f64 = 1.645;

impl Estimate {
    /// Half of the interval relative to the duration, as a factor less one: 0.04 for ±4 %.
    pub fn half_width(&self) -> f64 {
        (self.high_us / self.low_us).sqrt() - 1.0
    }
}

/// A measured duration, with the deviation of its logarithm where that is known.
pub fn measured_interval(duration_us: f64, deviation: Option<f64>) -> Estimate {
    let half = deviation.map_or(REPEAT_HALF_WIDTH, |deviation| deviation * NINE_OF_TEN);
    Estimate {
        duration_us,
        low_us: duration_us * (-half).exp(),
        high_us: duration_us * half.exp(),
        class: Class::Measured,
    }
}
