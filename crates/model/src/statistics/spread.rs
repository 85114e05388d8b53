//! How much the sum of some calls varies, by how much calls of one kind differ.

use crate::statistics::bootstrap::{block_length, inherited, variance_of_sum};
use crate::statistics::distribution::f_above;
use crate::statistics::series::{Series, beyond};

/// Fewest calls beyond those that only say how long a call takes.
const FEWEST_DEGREES: f64 = 3.0;
/// Share of the time that must be in calls of which there are several.
const KNOWN_SHARE: f64 = 0.5;
/// Level at which clusters differ by more than their calls: wide intervals on slight evidence.
const CLUSTER_LEVEL: f64 = 0.2;
/// Standard deviations by which neighbours are alike, so that they count as dependent on each other.
const NEIGHBOURS: f64 = 1.0;

/// A variance that is itself an estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Variance {
    pub(crate) value: f64,
    pub(crate) degrees_of_freedom: f64,
}

impl Variance {
    /// The sum of independent ones, with the degrees of freedom of Satterthwaite (1946).
    pub(crate) fn sum(parts: &[Variance]) -> Variance {
        let value: f64 = parts.iter().map(|part| part.value).sum();
        let degrees_of_freedom = if value > 0.0 {
            value * value / parts.iter().map(|part| part.value * part.value / part.degrees_of_freedom).sum::<f64>()
        } else {
            parts.iter().map(|part| part.degrees_of_freedom).sum()
        };
        Variance { value, degrees_of_freedom }
    }
}

/// Distances of calls from the mean of their stratum.
pub(crate) struct Spread {
    values: Vec<f64>,
    /// Beside the values; 0 for calls that have no other of their kind.
    pub(crate) distances: Vec<f64>,
    pub(crate) degrees_of_freedom: f64,
    /// Part of the time that is in calls that have others of their kind.
    known_share: f64,
}

/// Calls that should take equally long.
struct Stratum {
    count: f64,
    mean: f64,
    /// By what a distance from the mean is too short, as the call itself is in it; 0 for a single call.
    hidden: f64,
}

impl Stratum {
    fn new(count: usize, sum: f64) -> Stratum {
        let count = count as f64;
        let hidden = if count > 1.0 { (count / (count - 1.0)).sqrt() } else { 0.0 };
        Stratum { count, mean: sum / count, hidden }
    }
}

impl Spread {
    pub(crate) fn new(values: Vec<f64>, series: &Series) -> Spread {
        let counts = series.counts();
        let mut sums = vec![0.0; counts.len()];
        for (value, stratum) in values.iter().zip(&series.strata) {
            sums[*stratum as usize] += value;
        }
        let strata: Vec<Stratum> = counts.iter().zip(sums).map(|(count, sum)| Stratum::new(*count, sum)).collect();
        let of_calls = || series.strata.iter().map(|stratum| &strata[*stratum as usize]);
        let known = series.values.iter().zip(of_calls()).filter(|(_, stratum)| stratum.count > 1.0);
        let known_share = known.map(|(time, _)| time).sum::<f64>() / series.total();
        let distance = |(value, stratum): (&f64, &Stratum)| (value - stratum.mean) * stratum.hidden;
        let distances: Vec<f64> = values.iter().zip(of_calls()).map(distance).collect();
        let degrees_of_freedom = degrees_of_freedom(&distances, series, &strata);
        Spread { values, distances, degrees_of_freedom, known_share }
    }

    fn is_known(&self) -> bool {
        self.degrees_of_freedom >= FEWEST_DEGREES && self.known_share >= KNOWN_SHARE
    }

    /// Variance of the sum of the values by how much calls of a kind differ, neighbours that are alike allowed for.
    pub(crate) fn of_calls(&self) -> Option<Variance> {
        if !self.is_known() {
            return None;
        }
        let independent = variance_of_sum(&self.distances, 1);
        let length = block_length(&self.distances);
        let blocks = variance_of_sum(&self.distances, length).max(independent * inherited(&self.distances, NEIGHBOURS));
        let (variance, fewer) =
            if blocks > independent { (blocks, 4.0 / 3.0 * length as f64) } else { (independent, 1.0) };
        let degrees_of_freedom = (self.degrees_of_freedom / fewer).max(1.0);
        Some(Variance { value: variance / (self.known_share * self.known_share), degrees_of_freedom })
    }

    /// The same of few clusters; where these differ by more than their calls, they are the samples.
    pub(crate) fn of_few_clusters(&self, series: &Series) -> Option<Variance> {
        let calls = self.of_calls()?;
        let independent = variance_of_sum(&self.distances, 1);
        let differ = |found: &Variance| {
            let degrees = [found.degrees_of_freedom, (self.degrees_of_freedom - found.degrees_of_freedom).max(1.0)];
            // Rounding is no difference.
            found.value > 1e-24 && f_above(found.value / independent.max(1e-300), degrees) < CLUSTER_LEVEL
        };
        Some(self.of_clusters(series).filter(differ).unwrap_or(calls))
    }

    /// Variance of the sum of the values by the sums of clusters.
    pub(crate) fn of_clusters(&self, series: &Series) -> Option<Variance> {
        variance_of_samples(&self.sums(series))
    }

    /// The sums of clusters that hold any calls, in order. Uneven ones count by how much longer their calls are.
    pub(crate) fn sums(&self, series: &Series) -> Vec<f64> {
        sums_by_cluster(if series.has_uneven_clusters { &self.distances } else { &self.values }, series)
    }
}

/// The sums of values by cluster, in order.
pub(crate) fn sums_by_cluster(values: &[f64], series: &Series) -> Vec<f64> {
    let mut sums: Vec<Option<f64>> = vec![None; beyond(&series.clusters)];
    for (value, cluster) in values.iter().zip(&series.clusters) {
        *sums[*cluster as usize].get_or_insert(0.0) += value;
    }
    sums.into_iter().flatten().collect()
}

/// Variance of the sum of some independent samples.
pub(crate) fn variance_of_samples(samples: &[f64]) -> Option<Variance> {
    let count = samples.len() as f64;
    if count < 2.0 {
        return None;
    }
    let mean = samples.iter().sum::<f64>() / count;
    let squares: f64 = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum();
    Some(Variance { value: count / (count - 1.0) * squares, degrees_of_freedom: count - 1.0 })
}

/// Degrees of freedom of the variance of a sum over strata, few where one stratum of few calls makes up most of it. Variances
/// of strata are estimates themselves, which the 2 allow for.
fn degrees_of_freedom(distances: &[f64], series: &Series, strata: &[Stratum]) -> f64 {
    let mut variances = vec![0.0; strata.len()];
    for (distance, stratum) in distances.iter().zip(&series.strata) {
        variances[*stratum as usize] += distance * distance;
    }
    let all: f64 = variances.iter().sum();
    let of_strata = || {
        let both = variances.iter().zip(strata).filter(|(_, stratum)| stratum.count > 0.0);
        both.map(|(variance, stratum)| (*variance, stratum.count - 1.0))
    };
    let most: f64 = of_strata().map(|(_, degrees)| degrees).sum();
    let squares: f64 = of_strata().map(|(variance, degrees)| variance * variance / (degrees + 2.0)).sum();
    if squares > 0.0 { (all * all / squares - 2.0).clamp(most.min(1.0), most) } else { most }
}
