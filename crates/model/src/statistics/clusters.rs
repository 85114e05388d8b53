//! Forward passes as samples.
//!
//! Calls of one pass are fast or slow together: clocks, batches and caches are those of the pass. So the ratio of two
//! operations is that of the means of their passes, with an interval of Student's t for unequal variances (Welch 1947). Five passes
//! alone say little about how much passes vary: eight degrees of freedom. A second estimate helps out, of a model in which
//! passes differ by what all operations of the trace have in common and calls vary independently beside that (one-way random
//! effects, with the degrees of freedom of Satterthwaite 1946). Both are weighted as in a moderated t test (Smyth 2004), with
//! fixed weights, unless an F test says that the passes of the operation vary by more than the model explains; then they count alone.
//! None of this looks at the ratio itself.

use crate::statistics::distribution::{f_above, t_outside};
use crate::statistics::series::{Series, without_outliers};
use crate::statistics::spread::{Spread, Variance, sums_by_cluster, variance_of_samples};

/// Clusters of both sides from which on they are the samples, for any number of calls.
pub const CLUSTERS_AS_SAMPLES: usize = 5;
/// Degrees of freedom that the model of [`Drift`] counts for.
const MODEL_DEGREES: f64 = 20.0;
/// Level at which clusters of an operation vary by more than the model explains.
const MODEL_LEVEL: f64 = 0.05;
/// Probability that clusters of two measurements that have nothing to do with each other count as pairs.
const PAIRED_BY_CHANCE: f64 = 0.000_2;

/// By how much clusters of a measurement differ, all operations together and without what single calls explain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Relative variance of the sum over clusters.
    pub(crate) variance: f64,
    /// The same with what single calls explain, which says how well the other one is known.
    pub(crate) all: Variance,
}

/// The drift of a measurement with these operations; nothing of fewer than [`CLUSTERS_AS_SAMPLES`] clusters, or of uneven ones.
pub fn drift(operations: &[&Series]) -> Option<Drift> {
    if operations.iter().any(|series| series.has_uneven_clusters) {
        return None;
    }
    let mut sums: Vec<f64> = Vec::new();
    let (mut total, mut by_calls) = (0.0, 0.0);
    for series in operations.iter().filter(|series| !series.is_empty()) {
        let values = without_outliers(series);
        for (value, cluster) in values.iter().zip(&series.clusters) {
            let at = *cluster as usize;
            if at >= sums.len() {
                sums.resize(at + 1, 0.0);
            }
            sums[at] += value;
        }
        total += values.iter().sum::<f64>();
        by_calls += Spread::new(values, series).of_calls().map_or(0.0, |found| found.value);
    }
    if sums.len() < CLUSTERS_AS_SAMPLES || total.is_nan() || total <= 0.0 {
        return None;
    }
    let found = variance_of_samples(&sums)?;
    let all = Variance { value: found.value / (total * total), ..found };
    Some(Drift { variance: (all.value - by_calls / (total * total)).max(0.0), all })
}

/// Variance of the sum of relative values by clusters, helped out by the model where there is one.
pub(crate) fn of_clusters(spread: &Spread, series: &Series, drift: Option<Drift>) -> Option<Variance> {
    let own = spread.of_clusters(series)?;
    let Some(model) = drift.and_then(|drift| model(spread, drift)) else { return Some(own) };
    let degrees = [own.degrees_of_freedom, model.degrees_of_freedom];
    if model.value <= 0.0 || f_above(own.value / model.value, degrees) < MODEL_LEVEL {
        return Some(own);
    }
    let all = own.degrees_of_freedom + MODEL_DEGREES;
    let weighted = |found: Variance, weight: f64| Variance { value: found.value * weight / all, ..found };
    let found = Variance::sum(&[weighted(own, own.degrees_of_freedom), weighted(model, MODEL_DEGREES)]);
    // Both hold what all operations have in common, so that together they know no more than the better one.
    let most = own.degrees_of_freedom.max(model.degrees_of_freedom);
    Some(Variance { degrees_of_freedom: found.degrees_of_freedom.min(most), ..found })
}

/// What the drift of all operations and the spread of single calls make of an operation.
fn model(spread: &Spread, drift: Drift) -> Option<Variance> {
    let calls = spread.of_calls()?;
    let value = calls.value + drift.variance;
    let doubt = calls.value * calls.value / calls.degrees_of_freedom
        + drift.all.value * drift.all.value / drift.all.degrees_of_freedom;
    let degrees_of_freedom = if doubt > 0.0 { value * value / doubt } else { calls.degrees_of_freedom };
    Some(Variance { value, degrees_of_freedom: degrees_of_freedom.max(1.0) })
}

/// Variance of the difference of relative values, cluster by cluster; nothing unless both sides have as many, and vary together by more
/// than chance.
pub(crate) fn of_pairs(spreads: [&Spread; 2], sides: [&Series; 2]) -> Option<Variance> {
    let [first, second] = [0, 1].map(|side| spreads[side].sums(sides[side]));
    pairs([&first, &second])
}

/// Variance of the sum of the differences of samples that vary together by more than chance.
pub(crate) fn pairs([first, second]: [&[f64]; 2]) -> Option<Variance> {
    if first.len() != second.len() || first.len() < 3 {
        return None;
    }
    let count = first.len() as f64;
    let mean = |samples: &[f64]| samples.iter().sum::<f64>() / count;
    let means = [mean(first), mean(second)];
    let product = |one: &[f64], from: f64, other: &[f64], to: f64| {
        one.iter().zip(other).map(|(a, b)| (a - from) * (b - to)).sum::<f64>()
    };
    let both = product(first, means[0], second, means[1]);
    let each = product(first, means[0], first, means[0]) * product(second, means[1], second, means[1]);
    if both <= 0.0 || each <= 0.0 {
        return None;
    }
    let correlation = (both / each.sqrt()).min(1.0);
    let rest = (1.0 - correlation * correlation).max(1e-30);
    let by_chance = t_outside(correlation * ((count - 2.0) / rest).sqrt(), count - 2.0) / 2.0;
    let differences: Vec<f64> = first.iter().zip(second).map(|(one, other)| other - one).collect();
    (by_chance < PAIRED_BY_CHANCE).then(|| variance_of_samples(&differences)).flatten()
}

/// Number of clusters that hold any calls.
pub(crate) fn count(series: &Series) -> usize {
    sums_by_cluster(&series.values, series).len()
}
