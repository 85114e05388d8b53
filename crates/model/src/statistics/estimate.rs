//! The ratio of two series with its standard error.

use crate::statistics::clusters::{self, CLUSTERS_AS_SAMPLES, Drift};
use crate::statistics::distribution::t_outside;
use crate::statistics::runs::RunVariation;
use crate::statistics::series::{Series, without_outliers};
use crate::statistics::spread::{Spread, Variance, variance_of_samples};

/// The ratio of the times of two measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Natural logarithm of the second time by the first, per unit of what both were divided by.
    pub log_ratio: f64,
    /// Standard error of the logarithm, within the two measurements.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
    /// Whether calls or passes were compared one by one, what they share left out.
    pub is_paired: bool,
    /// Whether forward passes are the samples.
    pub by_cluster: bool,
    /// What two runs of the same thing differ by, where it counts.
    pub runs: Option<RunVariation>,
}

/// Quantile of the normal distribution that 95 % lie below.
pub(crate) const POWER: f64 = 1.645;
/// The same of 99 %.
pub(crate) const HIGH_POWER: f64 = 2.326;
/// Difference, in percent, that is to be found wherever the samples allow.
pub(crate) const WANTED_PERCENT: f64 = 3.0;
/// Level from which on what is wanted is out of work_range.
pub(crate) const REACH: f64 = 0.1;
/// Degrees of freedom of a variance that is known.
const KNOWN: f64 = 1e9;

/// Standard deviations by which both series must vary together to be paired.
const PAIRED_DEVIATIONS: f64 = 2.5;
/// The same for few samples: so alike are two series by chance in one case of a hundred with five, less often with more.
const PAIRED_CORRELATION: f64 = 0.93;

/// Ratio of the sums of two series, each divided by its divisor (forward passes, or calls). `same_calls` says that call *n* of
/// the one is call *n* of the other; where both vary together, what they share then cancels out. From [`CLUSTERS_AS_SAMPLES`] clusters of
/// both sides on, clusters are the samples.
///
/// `None` where there are too few calls to show how much they vary.
pub fn estimate(sides: [&Series; 2], divisors: [f64; 2], same_calls: bool) -> Option<Estimate> {
    estimate_with_drift(sides, divisors, same_calls, [None; 2])
}

/// [`estimate`] with what all operations of each measurement say about how much its clusters differ.
pub fn estimate_with_drift(
    sides: [&Series; 2],
    divisors: [f64; 2],
    same_calls: bool,
    drifts: [Option<Drift>; 2],
) -> Option<Estimate> {
    let values = sides.map(without_outliers);
    let totals = [0, 1].map(|side| values[side].iter().sum::<f64>());
    if totals.iter().chain(&divisors).any(|number| !number.is_finite() || *number <= 0.0) {
        return None;
    }
    let log_ratio = ((totals[1] / divisors[1]) / (totals[0] / divisors[0])).ln();
    let relative = [0, 1].map(|side| values[side].iter().map(|value| value / totals[side]).collect::<Vec<f64>>());
    let spreads = [0, 1].map(|side| Spread::new(relative[side].clone(), sides[side]));
    let by_cluster = sides.iter().all(|series| clusters::count(series) >= CLUSTERS_AS_SAMPLES);
    let paired = if by_cluster {
        clusters::of_pairs([&spreads[0], &spreads[1]], sides)
    } else {
        (same_calls && sides[0].len() == sides[1].len() && vary_together(&spreads))
            .then(|| of_paired_calls(&relative, sides))
            .flatten()
    };
    let apart = |side: usize| {
        if by_cluster {
            clusters::of_clusters(&spreads[side], sides[side], drifts[side])
        } else {
            spreads[side].of_few_clusters(sides[side])
        }
    };
    let variance = match paired {
        Some(variance) => variance,
        None => Variance::sum(&[apart(0)?, apart(1)?]),
    };
    Some(Estimate {
        log_ratio,
        standard_error: variance.value.sqrt(),
        degrees_of_freedom: variance.degrees_of_freedom,
        is_paired: paired.is_some(),
        by_cluster,
        runs: None,
    })
}

/// Ratio of the mean times of passes. Of fewer than [`CLUSTERS_AS_SAMPLES`] on either side the standard error is what these few show,
/// which can be nothing, and what runs differ by has to be known.
pub fn estimate_of_passes(sides: [&Series; 2], runs: RunVariation) -> Option<Estimate> {
    let counts = sides.map(|side| side.len() as f64);
    if sides.iter().all(|side| side.len() >= CLUSTERS_AS_SAMPLES) {
        let found = estimate(sides, counts, true)?;
        return Some(Estimate { runs: Some(runs).filter(RunVariation::is_for_many_passes), ..found });
    }
    let means = [0, 1].map(|side| sides[side].total() / counts[side]);
    if means.iter().any(|mean| !mean.is_finite() || *mean <= 0.0) {
        return None;
    }
    let parts = variances_of_means([0, 1].map(|side| {
        let relative = sides[side].values.iter().map(|value| value / means[side]);
        relative.collect::<Vec<f64>>()
    }));
    let variance =
        if parts.is_empty() { Variance { value: 0.0, degrees_of_freedom: KNOWN } } else { Variance::sum(&parts) };
    if parts.is_empty() && runs.is_nothing() {
        return None;
    }
    Some(Estimate {
        log_ratio: (means[1] / means[0]).ln(),
        standard_error: variance.value.sqrt(),
        degrees_of_freedom: variance.degrees_of_freedom,
        is_paired: false,
        by_cluster: true,
        runs: Some(runs),
    })
}

/// Variances of the means of both sides; a single value varies as those of the other side do. Nothing of two single values.
pub(crate) fn variances_of_means(sides: [Vec<f64>; 2]) -> Vec<Variance> {
    let counts = [0, 1].map(|side| sides[side].len() as f64);
    let of_sums = sides.map(|values| variance_of_samples(&values));
    // The variance of a sum of n is n times that of a value.
    let of_value = |side: usize| of_sums[side].map(|found| found.value / counts[side]);
    let part = |side: usize| {
        let degrees_of_freedom = of_sums[side].or(of_sums[1 - side])?.degrees_of_freedom;
        let value = of_value(side).or_else(|| of_value(1 - side))? / counts[side];
        Some(Variance { value, degrees_of_freedom })
    };
    [0, 1].into_iter().filter_map(part).collect()
}

impl Estimate {
    /// The quantile below which this finds a logarithm of that size as often as `power` says, which is a quantile of the normal
    /// distribution.
    pub(crate) fn quantile_to_find(&self, log_ratio: f64, power: f64) -> f64 {
        let distance = log_ratio / self.standard_error;
        distance - power * (1.0 + distance * distance / (2.0 * self.degrees_of_freedom)).sqrt()
    }

    /// The logarithm that a test of that quantile finds 95 times of 100: the inverse of [`Self::quantile_to_find`] for [`POWER`].
    pub(crate) fn log_ratio_found(&self, quantile: f64) -> f64 {
        // Each round is nearer by a factor of the degrees of freedom, at least 2.
        let next = |distance: f64| {
            quantile + POWER * (1.0 + distance * distance / (2.0 * self.degrees_of_freedom.max(POWER * POWER))).sqrt()
        };
        (0..60).fold(quantile + POWER, |distance, _| next(distance)) * self.standard_error
    }

    /// The level at which a logarithm of that size is found as often as `power` says, where that can be.
    pub(crate) fn level_to_find(&self, log_ratio: f64, power: f64) -> Option<f64> {
        let quantile = self.quantile_to_find(log_ratio, power);
        (self.runs.is_none() && quantile > 0.0).then(|| t_outside(quantile, self.degrees_of_freedom))
    }
}

/// Variance of the differences of relative calls. Both sides say which calls are of a kind: the larger one counts.
fn of_paired_calls(relative: &[Vec<f64>; 2], sides: [&Series; 2]) -> Option<Variance> {
    let differences: Vec<f64> = relative[1].iter().zip(&relative[0]).map(|(two, one)| two - one).collect();
    let of = |side: usize| Spread::new(differences.clone(), sides[side]).of_few_clusters(sides[side]);
    let [first, second] = [of(0)?, of(1)?];
    Some(Variance {
        value: first.value.max(second.value),
        degrees_of_freedom: first.degrees_of_freedom.min(second.degrees_of_freedom),
    })
}

/// Whether the calls of both measurements are long and short together, by more than chance.
fn vary_together([first, second]: &[Spread; 2]) -> bool {
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let both = product(&first.distances, &second.distances);
    let each = (product(&first.distances, &first.distances) * product(&second.distances, &second.distances)).sqrt();
    let correlation = if each > 0.0 { both / each } else { 0.0 };
    let degrees = first.degrees_of_freedom.min(second.degrees_of_freedom).max(1.0);
    correlation > PAIRED_CORRELATION || correlation * degrees.sqrt() > PAIRED_DEVIATIONS
}
