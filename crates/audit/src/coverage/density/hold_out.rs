//! Errors on rows that are left out within their bucket.

use super::judgeable::Judgeable;
use std::collections::BTreeMap;

/// A point that is left out: kernel type, axis, bucket and value.
type Point = (String, usize, String, i64);

/// The relative errors of all inner values of buckets of three or more, each predicted on the straight line between its neighbours.
pub(super) fn errors(tables: &[Judgeable<'_>]) -> BTreeMap<Point, f64> {
    let mut errors = BTreeMap::new();
    for table in tables {
        for bucket in &table.buckets {
            let measured: Vec<(i64, f64)> = bucket.measured.iter().map(|(value, (_, us))| (*value, *us)).collect();
            let key = format!("{:?}", bucket.key);
            for three in measured.windows(3) {
                let [(low, low_us), (value, us), (high, high_us)] = three else { continue };
                let share = (value - low) as f64 / (high - low) as f64;
                let predicted_us = low_us + share * (high_us - low_us);
                let point = (table.kernel_type.clone(), bucket.axis, key.clone(), *value);
                errors.insert(point, (predicted_us - us).abs() / us);
            }
        }
    }
    errors
}

/// Figures of errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figures {
    pub(super) p90: f64,
    pub(super) p95: f64,
    pub(super) above_half: usize,
    pub(super) above_one: usize,
}

impl Figures {
    pub(super) fn of(mut errors: Vec<f64>) -> Option<Figures> {
        errors.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let position = share * errors.len().checked_sub(1)? as f64;
            let (below, above) = (errors[position.floor() as usize], errors[position.ceil() as usize]);
            Some(below + position.fract() * (above - below))
        };
        Some(Figures {
            p90: quantile(0.9)?,
            p95: quantile(0.95)?,
            above_half: errors.iter().filter(|error| **error > 0.5).count(),
            above_one: errors.iter().filter(|error| **error > 1.0).count(),
        })
    }

    /// The figures that are larger than those of another, as texts.
    pub(super) fn larger_than(&self, other: &Figures) -> Vec<String> {
        let mut larger = Vec::new();
        let mut compare = |name: &str, own: f64, other: f64| {
            if own > other {
                larger.push(format!("{name} is {own:.3}, not {other:.3} or less"));
            }
        };
        compare("the 90th percentile of the relative error", self.p90, other.p90);
        compare("the 95th percentile of the relative error", self.p95, other.p95);
        compare("the number of errors above 50 %", self.above_half as f64, other.above_half as f64);
        compare("the number of errors above 100 %", self.above_one as f64, other.above_one as f64);
        larger
    }
}
