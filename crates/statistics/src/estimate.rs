//! The ratio of two series with its standard error.

use crate::bootstrap::{block_length, inherited, variance_of_sum};
use crate::distribution::{f_above, t_outside};
use crate::series::{Series, beyond, without_outliers};

/// The ratio of the times of two measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Natural logarithm of the second time by the first, per unit of what both were divided by.
    pub log_ratio: f64,
    /// Standard error of the logarithm.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
    /// Whether calls were compared one by one, what they share left out.
    pub is_paired: bool,
    /// Whether forward passes differ by more than their calls do, so that they are the samples.
    pub by_cluster: bool,
}

/// Fewest calls beyond those that only say how long a call takes.
const FEWEST_DEGREES: f64 = 3.0;
/// Share of the time that must be in calls of which there are several.
const KNOWN_SHARE: f64 = 0.5;
/// Quantile of the normal distribution that 95 % lie below.
pub(crate) const POWER: f64 = 1.645;
/// The same of 99 %.
pub(crate) const HIGH_POWER: f64 = 2.326;
/// Difference, in percent, that is to be found wherever the samples allow.
pub(crate) const WANTED_PERCENT: f64 = 3.0;
/// Level from which on what is wanted is out of reach.
pub(crate) const REACH: f64 = 0.1;
/// Level at which [`WANTED_PERCENT`] is found for certain, whatever else the report holds.
const SURE: f64 = 0.000_5;

/// What it takes for samples to count as dependent on each other.
struct Suspicion {
    /// Level at which clusters differ by more than their calls.
    cluster_level: f64,
    /// Standard deviations by which neighbours are alike.
    neighbours: f64,
}

/// The rule: wide intervals on slight evidence.
const CAUTIOUS: Suspicion = Suspicion { cluster_level: 0.2, neighbours: 1.0 };
/// Where the rule would hide what independent samples show: only clear evidence counts.
const TRUSTING: Suspicion = Suspicion { cluster_level: 0.003, neighbours: 2.8 };

/// Standard deviations by which both series must vary together to be paired.
const PAIRED_DEVIATIONS: f64 = 2.5;
/// The same for few samples: so alike are two series by chance in one case of a hundred with five, less often with more.
const PAIRED_CORRELATION: f64 = 0.93;

/// Ratio of the sums of two series, each divided by its divisor (forward passes, or calls). `same_calls` says that call *n* of
/// the one is call *n* of the other; where both vary together, what they share then cancels out.
///
/// `None` where there are too few calls to tell how much they vary.
pub fn estimate(sides: [&Series; 2], divisors: [f64; 2], same_calls: bool) -> Option<Estimate> {
    let values = sides.map(without_outliers);
    let totals = [0, 1].map(|side| values[side].iter().sum::<f64>());
    if totals.iter().chain(&divisors).any(|number| !number.is_finite() || *number <= 0.0) {
        return None;
    }
    let log_ratio = ((totals[1] / divisors[1]) / (totals[0] / divisors[0])).ln();
    let relative = |side: usize| values[side].iter().map(|value| value / totals[side]).collect::<Vec<f64>>();
    let alone = [0, 1].map(|side| Spread::new(relative(side), sides[side]));
    let paired = (same_calls && sides[0].len() == sides[1].len())
        .then(|| {
            let differences: Vec<f64> = relative(1).iter().zip(relative(0)).map(|(two, one)| two - one).collect();
            Spread::new(differences, sides[0])
        })
        .filter(|_| vary_together([&alone[0], &alone[1]]));
    let is_paired = paired.is_some();
    let spreads = match paired {
        Some(spread) => vec![(spread, sides[0])],
        None => alone.into_iter().zip(sides).collect(),
    };
    let under = |suspicion: &Suspicion| {
        let of = |(spread, series): &(Spread, &Series)| spread.uncertainty(series, suspicion);
        let uncertainties = spreads.iter().map(of).collect::<Option<Vec<Uncertainty>>>()?;
        let variance: f64 = uncertainties.iter().map(|found| found.variance).sum();
        // Welch and Satterthwaite.
        let degrees_of_freedom = match variance > 0.0 {
            true => variance * variance / uncertainties.iter().map(Uncertainty::share_of_degrees).sum::<f64>(),
            false => uncertainties.iter().map(|found| found.degrees_of_freedom).sum(),
        };
        let by_cluster = uncertainties.iter().any(|found| found.by_cluster);
        Some(Estimate { log_ratio, standard_error: variance.sqrt(), degrees_of_freedom, is_paired, by_cluster })
    };
    let cautious = under(&CAUTIOUS)?;
    if cautious.finds_wanted(SURE) {
        return Some(cautious);
    }
    under(&TRUSTING).filter(|found| found.finds_wanted(REACH)).or(Some(cautious))
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

    /// Whether a test of that level finds what is wanted.
    fn finds_wanted(&self, level: f64) -> bool {
        self.standard_error == 0.0
            || t_outside(
                self.quantile_to_find((WANTED_PERCENT / 100.0).ln_1p(), POWER).max(0.0),
                self.degrees_of_freedom,
            ) <= level
    }
}

/// Distances of calls from the mean of their stratum.
struct Spread {
    values: Vec<f64>,
    /// Beside the values; 0 for calls that have no other of their kind.
    distances: Vec<f64>,
    degrees_of_freedom: f64,
    /// Calls that have others of their kind.
    known: Vec<bool>,
}

/// Variance of a sum, and what it was found from.
struct Uncertainty {
    variance: f64,
    degrees_of_freedom: f64,
    by_cluster: bool,
}

impl Uncertainty {
    fn share_of_degrees(&self) -> f64 {
        self.variance * self.variance / self.degrees_of_freedom
    }
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
    fn new(values: Vec<f64>, series: &Series) -> Spread {
        let counts = series.counts();
        let mut sums = vec![0.0; counts.len()];
        for (value, stratum) in values.iter().zip(&series.strata) {
            sums[*stratum as usize] += value;
        }
        let strata: Vec<Stratum> = counts.iter().zip(sums).map(|(count, sum)| Stratum::new(*count, sum)).collect();
        let of_calls = || series.strata.iter().map(|stratum| &strata[*stratum as usize]);
        let known: Vec<bool> = of_calls().map(|stratum| stratum.count > 1.0).collect();
        let distance = |(value, stratum): (&f64, &Stratum)| (value - stratum.mean) * stratum.hidden;
        let distances: Vec<f64> = values.iter().zip(of_calls()).map(distance).collect();
        let degrees_of_freedom = degrees_of_freedom(&distances, series, &strata);
        Spread { values, distances, degrees_of_freedom, known }
    }

    /// Variance of the sum of the values; `series` has the clusters, and tells how much of the time is known.
    fn uncertainty(&self, series: &Series, suspicion: &Suspicion) -> Option<Uncertainty> {
        let known: f64 = series.values.iter().zip(&self.known).filter(|(_, known)| **known).map(|(time, _)| time).sum();
        let share = known / series.total();
        if self.degrees_of_freedom < FEWEST_DEGREES || share < KNOWN_SHARE {
            return None;
        }
        let independent = variance_of_sum(&self.distances, 1);
        if let Some((variance, degrees_of_freedom)) =
            self.between_clusters(series, independent, suspicion.cluster_level)
        {
            return Some(Uncertainty { variance, degrees_of_freedom, by_cluster: true });
        }
        let length = block_length(&self.distances);
        let blocks = variance_of_sum(&self.distances, length)
            .max(independent * inherited(&self.distances, suspicion.neighbours));
        let (variance, fewer) =
            if blocks > independent { (blocks, 4.0 / 3.0 * length as f64) } else { (independent, 1.0) };
        let degrees_of_freedom = (self.degrees_of_freedom / fewer).max(1.0);
        Some(Uncertainty { variance: variance / (share * share), degrees_of_freedom, by_cluster: false })
    }

    /// The variance of the sum by the sums of clusters, where these differ by more than their calls explain.
    fn between_clusters(&self, series: &Series, independent: f64, level: f64) -> Option<(f64, f64)> {
        let mut sums: Vec<Option<f64>> = vec![None; beyond(&series.clusters)];
        let values = if series.has_uneven_clusters { &self.distances } else { &self.values };
        for (value, cluster) in values.iter().zip(&series.clusters) {
            *sums[*cluster as usize].get_or_insert(0.0) += value;
        }
        let sums: Vec<f64> = sums.into_iter().flatten().collect();
        let count = sums.len() as f64;
        if count < 2.0 {
            return None;
        }
        let mean = sums.iter().sum::<f64>() / count;
        let squares: f64 = sums.iter().map(|sum| (sum - mean) * (sum - mean)).sum();
        let variance = count / (count - 1.0) * squares;
        let degrees = [count - 1.0, (self.degrees_of_freedom - (count - 1.0)).max(1.0)];
        // Rounding is no difference.
        let differ = variance > 1e-24 && f_above(variance / independent.max(1e-300), degrees) < level;
        differ.then_some((variance, count - 1.0))
    }
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

/// Whether the calls of both measurements are long and short together, by more than chance.
fn vary_together([first, second]: [&Spread; 2]) -> bool {
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let both = product(&first.distances, &second.distances);
    let each = (product(&first.distances, &first.distances) * product(&second.distances, &second.distances)).sqrt();
    let correlation = if each > 0.0 { both / each } else { 0.0 };
    correlation > PAIRED_CORRELATION || correlation * first.degrees_of_freedom.max(1.0).sqrt() > PAIRED_DEVIATIONS
}
