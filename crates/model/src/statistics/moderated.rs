//! Variances of the rows of a report, each known from few runs, learn from each other.
//!
//! Three runs of either side leave four degrees of freedom to the variance of a row, and a report has many rows. The variances of
//! rows are taken to be scattered around a common one as in the hierarchical model of Smyth (2004, "Linear models and empirical Bayes
//! methods for assessing differential expression in microarray experiments", section 6.2): logarithms of the sample variances say
//! what that common variance is and with how many degrees of freedom it counts beside a row's own.
//!
//! That method is for many rows that vary on their own. Rows of a trace are few, and share clocks. So the scatter of the logarithms counts with
//! one standard error more, and the degrees of freedom end where those of as many independent rows do as the correlations of the rows
//! leave (mean squared correlation beyond that of independent ones).

use crate::statistics::distribution::{digamma, trigamma, trigamma_inverse};
use crate::statistics::levels::{RUNS_AS_SAMPLES, RunSample, RunsEstimate};
use crate::statistics::series::median;

/// Smallest variance that counts, by the median one.
const LEAST: f64 = 1e-5;

/// The variance that rows have in common, of the mean of a run and relative to the square of a row's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommonVariance {
    /// Relative variance.
    pub value: f64,
    /// Degrees of freedom with which it counts beside those of a row.
    pub degrees_of_freedom: f64,
}

impl CommonVariance {
    /// Of rows of both sides. `None` where fewer than [`RUNS_AS_SAMPLES`] runs of a side show no variance, or the rows have none in common.
    pub fn of_rows(rows: &[[Vec<RunSample>; 2]]) -> Option<CommonVariance> {
        let [first, second] = rows.first()?.each_ref().map(Vec::len);
        if rows.len() < 2 || first.min(second) < RUNS_AS_SAMPLES {
            return None;
        }
        let degrees = (first + second - 2) as f64;
        let residuals: Vec<Vec<f64>> = rows.iter().map(residuals).collect();
        let variances: Vec<f64> = residuals.iter().map(|row| dot(row, row) / degrees).collect();
        // Rows that do not vary have no logarithm.
        let least = LEAST * median(&mut variances.clone());
        let count = rows.len() as f64;
        let logarithms: Vec<f64> = variances.iter().map(|variance| variance.max(least).ln()).collect();
        let mean = logarithms.iter().sum::<f64>() / count;
        if !mean.is_finite() {
            return None;
        }
        let scatter = logarithms.iter().map(|logarithm| (logarithm - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let scatter = scatter * (1.0 + (2.0 / (count - 1.0)).sqrt());
        let beyond_chance = scatter - trigamma(degrees / 2.0);
        let own = mean - digamma(degrees / 2.0) + (degrees / 2.0).ln();
        let most = degrees * (independent_rows(&residuals, degrees) - 1.0);
        let of_scatter = if beyond_chance > 0.0 { 2.0 * trigamma_inverse(beyond_chance) } else { f64::INFINITY };
        let value = if of_scatter.is_finite() {
            (own + digamma(of_scatter / 2.0) - (of_scatter / 2.0).ln()).exp()
        } else {
            own.exp()
        };
        let degrees_of_freedom = of_scatter.min(most);
        (degrees_of_freedom > 0.0).then_some(CommonVariance { value, degrees_of_freedom })
    }

    /// The estimate of a row, with the variance of rows beside its own.
    pub fn joined(&self, row: RunsEstimate) -> RunsEstimate {
        let middle = (row.means[0] + row.means[1]) / 2.0;
        let own = row.degrees_of_freedom;
        if !row.is_measured || middle <= 0.0 {
            return row;
        }
        let degrees_of_freedom = own + self.degrees_of_freedom;
        let common = self.value * middle * middle;
        let of_run = ((self.degrees_of_freedom * common + own * row.of_run * row.of_run) / degrees_of_freedom).sqrt();
        let standard_error = of_run * row.per_run.sqrt();
        RunsEstimate { standard_error, degrees_of_freedom, of_run, lent: self.degrees_of_freedom, ..row }
    }
}

/// Distances of the runs of a row from the mean of their side, by the time of the row.
fn residuals(sides: &[Vec<RunSample>; 2]) -> Vec<f64> {
    let means = sides.each_ref().map(|side| side.iter().map(|run| run.mean).sum::<f64>() / side.len() as f64);
    let middle = (means[0] + means[1]) / 2.0;
    let distance = |run: &RunSample, mean: f64| if middle > 0.0 { (run.mean - mean) / middle } else { 0.0 };
    sides.iter().zip(means).flat_map(|(side, mean)| side.iter().map(move |run| distance(run, mean))).collect()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// As many independent rows would show as much: all of them where none vary together, one where all do.
fn independent_rows(residuals: &[Vec<f64>], degrees: f64) -> f64 {
    let varying: Vec<(&Vec<f64>, f64)> =
        residuals.iter().map(|row| (row, dot(row, row))).filter(|(_, square)| *square > 0.0).collect();
    let count = residuals.len() as f64;
    let pairs = varying.len() as f64 * (varying.len() as f64 - 1.0) / 2.0;
    if pairs == 0.0 {
        return 1.0;
    }
    let mut squares = 0.0;
    for (at, (one, of_one)) in varying.iter().enumerate() {
        squares += varying[at + 1..]
            .iter()
            .map(|(other, of_other)| dot(one, other).powi(2) / (of_one * of_other))
            .sum::<f64>();
    }
    // Independent rows of so few runs have a mean squared correlation of 1 / degrees.
    let by_chance = 1.0 / degrees;
    let together = ((squares / pairs - by_chance) / (1.0 - by_chance)).max(0.0);
    count / (1.0 + together * (count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::levels::estimate_of_runs;

    /// A row of three runs of either side, at these distances from 10 and 10.
    fn row(distances: [f64; 6]) -> [Vec<RunSample>; 2] {
        let run = |distance: &f64| RunSample::new([(1.0, [10.0 + distance].as_slice())]);
        [&distances[..3], &distances[3..]].map(|side| side.iter().filter_map(run).collect())
    }

    /// Rows of one variance that do not vary together: contrasts that are orthogonal to each other and to the means of the sides.
    fn independent(scale: f64) -> Vec<[Vec<RunSample>; 2]> {
        let (one, two) = (0.1 * 0.5_f64.sqrt() * scale, 0.1 * scale / 6.0_f64.sqrt());
        vec![
            row([one, -one, 0.0, 0.0, 0.0, 0.0]),
            row([two, two, -2.0 * two, 0.0, 0.0, 0.0]),
            row([0.0, 0.0, 0.0, one, -one, 0.0]),
            row([0.0, 0.0, 0.0, two, two, -2.0 * two]),
        ]
    }

    #[test]
    fn rows_of_one_variance_lend_each_other_all_they_have() {
        let rows = independent(1.0);
        let common = CommonVariance::of_rows(&rows).expect("a common variance");
        // By hand: squares of 0.01 over 4 degrees and 10 squared are 2.5e-5. Their logarithms do not scatter: Smyth's exp(mean - digamma(2)
        // + ln(2)), with digamma(2) = 0.42278. Three other rows lend four degrees each.
        assert!((common.value / 2.5e-5 - (2.0_f64.ln() - 0.422_784).exp()).abs() < 1e-4, "{}", common.value / 2.5e-5);
        assert!((common.degrees_of_freedom - 12.0).abs() < 1e-9);
        let own = estimate_of_runs([&rows[0][0], &rows[0][1]], 1.0).expect("runs");
        let joined = common.joined(own);
        assert_eq!((own.degrees_of_freedom, joined.degrees_of_freedom), (4.0, 16.0));
        let expected = (12.0 * 100.0 * common.value + 4.0 * 2.5e-3) / 16.0;
        assert!((joined.of_run.powi(2) - expected).abs() < 1e-12);
        assert!((joined.standard_error.powi(2) - expected * 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn rows_that_vary_together_lend_nothing() {
        let together: Vec<_> =
            (1..=4).map(|times| row([0.1, -0.1, 0.0, 0.05, -0.05, 0.0].map(|at| f64::from(times) * at))).collect();
        assert_eq!(CommonVariance::of_rows(&together), None);
        assert!((independent_rows(&together.iter().map(residuals).collect::<Vec<_>>(), 4.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn rows_of_many_variances_lend_little() {
        let mixed: Vec<_> = independent(1.0).into_iter().chain(independent(30.0)).collect();
        let common = CommonVariance::of_rows(&mixed).expect("a common variance");
        assert!(common.degrees_of_freedom < 1.5, "{}", common.degrees_of_freedom);
    }

    #[test]
    fn too_few_runs_or_rows_have_nothing_in_common() {
        let two_runs =
            independent(1.0).into_iter().map(|sides| sides.map(|side| side[..2].to_vec())).collect::<Vec<_>>();
        assert_eq!(CommonVariance::of_rows(&two_runs), None);
        assert_eq!(CommonVariance::of_rows(&independent(1.0)[..1]), None);
        assert_eq!(CommonVariance::of_rows(&independent(0.0)), None);
    }
}
