//! A row of one of two databases.

use crate::versions::Source;

/// A row of one database.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Side {
    /// Its line in the table.
    pub line: u64,
    /// Where its duration comes from; `None` without a valid one.
    pub source: Option<Source>,
    /// The duration that was compared, else the one that counts.
    pub duration_us: Option<f64>,
    /// The standard deviation of the calls behind it, where the table has one.
    pub spread_us: Option<f64>,
}

impl Side {
    /// The spread as a part of the duration; 0 where none is known.
    pub fn relative_spread(&self) -> f64 {
        self.spread_us.zip(self.duration_us).map_or(0.0, |(spread_us, duration_us)| spread_us / duration_us)
    }
}
