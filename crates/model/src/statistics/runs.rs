//! What two runs of the same thing differ by.
//!
//! Passes say how much calls and passes vary within them, and nothing about clocks, temperatures and neighbours, which are those of
//! the run. Few passes are judged as if runs varied as usual; from five passes on, what runs vary by counts where it was given. Two runs whose times vary by a relative standard deviation *s* differ by √2 · *s*. Where the other operations of the same two
//! traces agree with each other better than that, they show how much these two runs differ: the quadratic mean of their
//! logarithms, with the quantile of Student's t for as many operations as there are.

use crate::statistics::distribution::t_quantile;
use crate::statistics::estimate::Estimate;

/// What two runs of the same thing differ by, as logarithms of ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunVariation {
    /// Standard deviation of the difference that is assumed.
    assumed: f64,
    /// That of the other operations, and its degrees of freedom.
    seen: Option<(f64, f64)>,
    /// Whether it counts where passes are the samples, too.
    of_many_passes: bool,
}

/// Degrees of freedom of what is assumed.
const KNOWN: f64 = 1e9;

impl RunVariation {
    /// Of runs whose times vary by this many percent.
    pub fn of_percent(percent: f64) -> RunVariation {
        let assumed = std::f64::consts::SQRT_2 * (percent / 100.0).ln_1p();
        RunVariation { assumed, seen: None, of_many_passes: false }
    }

    /// Counts for any number of passes: known of these runs, not assumed of all.
    pub fn for_many_passes(self) -> RunVariation {
        RunVariation { of_many_passes: true, ..self }
    }

    /// Whether it counts where passes are the samples, too.
    pub(crate) fn is_for_many_passes(&self) -> bool {
        self.of_many_passes && !self.is_nothing()
    }

    /// Whether runs differ by nothing.
    pub fn is_nothing(&self) -> bool {
        self.assumed == 0.0
    }

    /// Half the width of the interval that holds the difference of two runs with a probability of 1 less `level`.
    pub fn half_width(&self, level: f64) -> f64 {
        let assumed = t_quantile(level, KNOWN) * self.assumed;
        let seen = self.seen.map_or(f64::INFINITY, |(deviation, degrees)| t_quantile(level, degrees) * deviation);
        assumed.min(seen)
    }
}

/// Lets estimates of calls allow for what runs differ by. `weights` are times of the operations, which say how much each one counts.
pub fn allow_for_runs(estimates: &mut [Option<Estimate>], weights: &[f64], runs: RunVariation) {
    let known: Vec<(usize, f64, f64)> = (0..)
        .zip(estimates.iter().zip(weights))
        .filter_map(|(at, (estimate, weight))| Some((at, estimate.as_ref()?.log_ratio, *weight)))
        .filter(|(_, _, weight)| *weight > 0.0)
        .collect();
    for (at, estimate) in estimates.iter_mut().enumerate() {
        let counts = |estimate: &&mut Estimate| !estimate.by_cluster || runs.is_for_many_passes();
        let Some(estimate) = estimate.as_mut().filter(counts) else { continue };
        let others = || known.iter().filter(|(other, ..)| *other != at);
        let sum: f64 = others().map(|(_, _, weight)| weight).sum();
        let squares: f64 = others().map(|(_, _, weight)| weight * weight).sum();
        let seen = (sum > 0.0).then(|| {
            let mean = others().map(|(_, ratio, weight)| weight * ratio * ratio).sum::<f64>() / sum;
            (mean.sqrt(), sum * sum / squares)
        });
        estimate.runs = Some(RunVariation { seen, ..runs });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(log_ratio: f64) -> Option<Estimate> {
        let (is_paired, by_cluster) = (false, false);
        Some(Estimate { log_ratio, standard_error: 0.001, degrees_of_freedom: 40.0, is_paired, by_cluster, runs: None })
    }

    #[test]
    fn other_operations_show_what_runs_differ_by() {
        let width = |ratios: &[f64]| {
            let mut all: Vec<_> = ratios.iter().map(|ratio| found(*ratio)).collect();
            allow_for_runs(&mut all, &vec![1.0; ratios.len()], RunVariation::of_percent(2.0));
            all[0].and_then(|first| first.runs).expect("allowed for").half_width(0.001)
        };
        let assumed = RunVariation::of_percent(2.0).half_width(0.001);
        assert!((assumed - 3.2905 * 2.0_f64.sqrt() * 0.0198).abs() < 1e-4, "{assumed}");
        // Alone, or among operations of which nobody knows why they differ.
        assert_eq!((width(&[0.03]), width(&[0.03, 0.02, -0.02, 0.02])), (assumed, assumed));
        // All of them are slower: that is the run.
        assert_eq!(width(&[0.05; 6]), assumed);
        assert_eq!(width(&[0.03, 0.0, 0.0]), 0.0);
        let quiet = width(&[0.03, 0.001, -0.001, 0.001, 0.0005, -0.001, 0.001, 0.001]);
        assert!((0.004..0.02).contains(&quiet), "{quiet}");
    }
}
