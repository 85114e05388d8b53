//! Two groups of runs, each of many steps: the variance between runs is separated from that between steps.
//!
//! A two-level random-effects model: the time of step *k* of run *j* is the mean of its side, plus what the run differs by, plus what
//! the step differs by. Steps of one run say nothing about what runs differ by, so that runs are the samples (the unit of
//! randomisation, Kalibera and Jones 2013, "Rigorous benchmarking in reasonable time"): with three or more on either side the
//! variance of their means, pooled over both sides, holds both parts (unweighted means, Burdick and Graybill 1992, section 3.3)
//! and has r1 + r2 - 2 degrees of freedom. With fewer, what runs vary by is assumed and what steps vary by is added to it, with the
//! degrees of freedom of Satterthwaite (1946). Runs of one step do not show what steps vary by: what is assumed is added to what few of them
//! vary by, and one of either side allows of no interval.
//!
//! Rows of a report are tested with Holm's step-down procedure (Holm 1979); each interval has the level of the step at which its row was
//! decided, so that a row is named exactly where its interval leaves 0 out.

use crate::statistics::bootstrap::{block_length, inherited, variance_of_sum};
use crate::statistics::distribution::{t_outside, t_quantile};
use crate::statistics::estimate::POWER;
use crate::statistics::spread::{Variance, variance_of_samples};

/// Runs of both sides from which on they show how much runs vary.
pub const RUNS_AS_SAMPLES: usize = 3;
/// Degrees of freedom of what is assumed.
const KNOWN: f64 = 1e9;
/// At most this many runs of a side are named.
const MOST_RUNS: usize = 1000;
/// Level of the test that finds outlier runs, over all runs of a report.
const OUTLIER_LEVEL: f64 = 0.01;

/// The mean time of a run, with what its steps say about how well that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunSample {
    /// Mean time of a step.
    pub mean: f64,
    /// Variance of that mean by what steps differ by, and its degrees of freedom; nothing where a kind has a single step.
    of_mean: Option<Variance>,
    /// Variance of a single step.
    of_step: Option<f64>,
}

impl RunSample {
    /// A run of steps of some kinds: the weight of each kind, and the times of its steps in order. `None` where a kind has no step.
    pub fn new<'a>(kinds: impl IntoIterator<Item = (f64, &'a [f64])>) -> Option<RunSample> {
        let (mut mean, mut parts, mut of_step) = (0.0, Vec::new(), None);
        let mut count_of_kinds = 0;
        for (weight, times) in kinds {
            count_of_kinds += 1;
            if times.is_empty() {
                return None;
            }
            let count = times.len() as f64;
            mean += weight * times.iter().sum::<f64>() / count;
            if let Some(found) = variance_of_mean(times) {
                parts.push(Variance { value: weight * weight * found.value, ..found });
                *of_step.get_or_insert(0.0) += weight * variance_of_samples(times).map_or(0.0, |sum| sum.value / count);
            }
        }
        // A kind of one step does not show what its steps vary by.
        let of_mean = (parts.len() == count_of_kinds && count_of_kinds > 0).then(|| Variance::sum(&parts));
        Some(RunSample { mean, of_mean, of_step })
    }
}

/// Variance of the mean of steps that follow each other; neighbours that are alike are allowed for.
fn variance_of_mean(times: &[f64]) -> Option<Variance> {
    let count = times.len() as f64;
    if count < 2.0 {
        return None;
    }
    let mean = times.iter().sum::<f64>() / count;
    let hidden = (count / (count - 1.0)).sqrt();
    let distances: Vec<f64> = times.iter().map(|time| (time - mean) * hidden).collect();
    let independent = variance_of_sum(&distances, 1);
    let length = block_length(&distances);
    let blocks = variance_of_sum(&distances, length).max(independent * inherited(&distances, 1.0));
    let (variance, fewer) = if blocks > independent { (blocks, 4.0 / 3.0 * length as f64) } else { (independent, 1.0) };
    Some(Variance { value: variance / (count * count), degrees_of_freedom: ((count - 1.0) / fewer).max(1.0) })
}

/// What two groups of runs differ by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunsEstimate {
    /// Mean time of a step of either side, each run counting alike.
    pub means: [f64; 2],
    /// Second mean less first.
    pub difference: f64,
    /// Standard error of the difference; infinite where nothing shows it.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
    /// Standard deviation of the mean of one run, from which the standard error follows.
    pub of_run: f64,
    /// Sum of one by the number of runs of either side.
    pub(crate) per_run: f64,
    /// Degrees of freedom that other rows lend ([`CommonVariance`](crate::statistics::CommonVariance)).
    pub(crate) lent: f64,
    /// Whether what runs vary by was measured: else it was assumed.
    pub is_measured: bool,
    /// What steps of a run vary by: standard deviation.
    pub steps_vary: Option<f64>,
    /// What runs vary by beyond what their steps explain: standard deviation, 0 where steps explain it; nothing of single runs.
    pub runs_vary: Option<f64>,
}

/// What two groups of runs differ by. `assumed` is the standard deviation that runs have where fewer than [`RUNS_AS_SAMPLES`] of either
/// side can show it. `None` where a side has no run.
pub fn estimate_of_runs(sides: [&[RunSample]; 2], assumed: f64) -> Option<RunsEstimate> {
    if sides.iter().any(|side| side.is_empty()) {
        return None;
    }
    let counts = sides.map(|side| side.len() as f64);
    let means = [0, 1].map(|side| sides[side].iter().map(|run| run.mean).sum::<f64>() / counts[side]);
    let per_run = 1.0 / counts[0] + 1.0 / counts[1];
    let pooled = pooled(sides, means);
    let all = || sides.into_iter().flatten();
    let mean_of = |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let of_step = mean_of(all().filter_map(|run| run.of_step).collect());
    let of_means = mean_of(all().filter_map(|run| run.of_mean).map(|found| found.value).collect());
    let runs_vary = pooled.map(|found| (found.value - of_means.unwrap_or(0.0)).max(0.0).sqrt());
    let are_many = sides.iter().all(|side| side.len() >= RUNS_AS_SAMPLES);
    let show_steps = all().all(|run| run.of_mean.is_some());
    let assumed_variance = || {
        let of_runs = Variance { value: assumed * assumed * per_run, degrees_of_freedom: KNOWN };
        let of_steps = [0, 1].map(|side| {
            let parts: Vec<Variance> = sides[side].iter().filter_map(|run| run.of_mean).collect();
            let sum = Variance::sum(&parts);
            (!parts.is_empty()).then_some(Variance { value: sum.value / (counts[side] * counts[side]), ..sum })
        });
        Variance::sum(&[Some(of_runs), of_steps[0], of_steps[1]].into_iter().flatten().collect::<Vec<_>>())
    };
    let measured = pooled.map(|found| Variance { value: found.value * per_run, ..found });
    // Few runs that vary by more than is assumed show that the assumption is wrong.
    let (variance, is_measured) = match measured {
        Some(found) if are_many => (found, true),
        Some(found) if !show_steps => (Variance { value: found.value + assumed * assumed * per_run, ..found }, false),
        Some(found) if found.value > assumed_variance().value => (found, true),
        _ => (assumed_variance(), false),
    };
    let is_known = measured.is_some() || show_steps;
    Some(RunsEstimate {
        means,
        difference: means[1] - means[0],
        standard_error: if is_known { variance.value.sqrt() } else { f64::INFINITY },
        degrees_of_freedom: variance.degrees_of_freedom,
        of_run: (variance.value / per_run).sqrt(),
        per_run,
        lent: 0.0,
        is_measured,
        steps_vary: of_step.map(f64::sqrt),
        runs_vary,
    })
}

/// Variance of the mean of a run, of the runs of both sides.
fn pooled(sides: [&[RunSample]; 2], means: [f64; 2]) -> Option<Variance> {
    let degrees_of_freedom = sides.iter().map(|side| side.len() as f64 - 1.0).sum::<f64>();
    let squares: f64 =
        [0, 1].map(|side| sides[side].iter().map(|run| (run.mean - means[side]).powi(2)).sum::<f64>()).iter().sum();
    (degrees_of_freedom > 0.0).then(|| Variance { value: squares / degrees_of_freedom, degrees_of_freedom })
}

impl RunsEstimate {
    /// Probability of a difference of this size, or a larger one, where there is none.
    pub fn by_chance(&self) -> f64 {
        match (self.standard_error > 0.0, self.difference == 0.0) {
            (true, _) => t_outside(self.difference.abs() / self.standard_error, self.degrees_of_freedom),
            (false, true) => 1.0,
            (false, false) => 0.0,
        }
    }

    /// The interval that misses the true difference with a probability of `level`; nothing where nothing shows how large it is.
    pub fn interval(&self, level: f64) -> Option<[f64; 2]> {
        let half = t_quantile(level, self.degrees_of_freedom) * self.standard_error;
        half.is_finite().then_some([self.difference - half, self.difference + half])
    }

    /// The runs per side that would find a difference of this size 95 times of 100 at this level; nothing where not even a thousand would.
    pub fn runs_needed(&self, difference: f64, level: f64) -> Option<usize> {
        let finds = |runs: &usize| {
            let degrees = 2.0 * (*runs as f64 - 1.0) + self.lent;
            let quantile = t_quantile(level, degrees);
            // The noncentral t distribution, as a normal one.
            let distance = quantile + POWER * (1.0 + quantile * quantile / (2.0 * degrees)).sqrt();
            distance * self.of_run * (2.0 / *runs as f64).sqrt() <= difference
        };
        // What more runs find, fewer do not.
        let (mut low, mut high) = (RUNS_AS_SAMPLES, MOST_RUNS);
        if !finds(&high) {
            return None;
        }
        while low < high {
            let middle = (low + high) / 2;
            if finds(&middle) { high = middle } else { low = middle + 1 }
        }
        Some(low)
    }
}

/// The level of each row of a report, from the probabilities of their differences: those of the steps of Holm's procedure. A row is
/// significant where its probability is at most its level.
pub fn holm(by_chance: &[f64], level: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..by_chance.len()).collect();
    order.sort_by(|a, b| by_chance[*a].total_cmp(&by_chance[*b]));
    let mut levels = vec![level; by_chance.len()];
    let mut step = 0;
    for (rank, at) in order.iter().enumerate() {
        levels[*at] = level / (by_chance.len() - step) as f64;
        if step == rank && by_chance[*at] <= levels[*at] {
            step += 1;
        }
    }
    levels
}

/// Runs that are unlike the others of their side, by number of the side and of the run: the deleted residual of each is beyond
/// Student's t at a level for all of them (Cook and Weisberg 1982, section 2.2.2), and larger than `least`.
pub fn outlier_runs(sides: [&[f64]; 2], least: f64) -> Vec<(usize, usize)> {
    let count: usize = sides.iter().map(|side| side.len()).sum();
    let mut found = Vec::new();
    for (side, means) in sides.iter().enumerate() {
        for at in (0..means.len()).filter(|_| means.len() >= RUNS_AS_SAMPLES) {
            let others: Vec<f64> =
                means.iter().enumerate().filter(|(run, _)| *run != at).map(|(_, mean)| *mean).collect();
            let groups = [others.as_slice(), sides[1 - side]];
            let degrees: f64 = groups.iter().map(|group| (group.len() as f64 - 1.0).max(0.0)).sum();
            let center = |group: &[f64]| group.iter().sum::<f64>() / group.len() as f64;
            let squares: f64 =
                groups.iter().map(|group| group.iter().map(|mean| (mean - center(group)).powi(2)).sum::<f64>()).sum();
            let error = (squares / degrees * (1.0 + 1.0 / others.len() as f64)).sqrt();
            let distance = (means[at] - center(&others)).abs();
            let by_chance = if error > 0.0 { t_outside(distance / error, degrees) } else { 0.0 };
            if distance > least && by_chance < OUTLIER_LEVEL / count as f64 {
                found.push((side, at));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(means: &[f64]) -> Vec<RunSample> {
        means.iter().filter_map(|mean| RunSample::new([(1.0, [mean - 0.1, mean + 0.1].as_slice())])).collect()
    }

    fn estimate(sides: [&[f64]; 2], assumed: f64) -> RunsEstimate {
        let [first, second] = sides.map(runs);
        estimate_of_runs([&first, &second], assumed).expect("runs on both sides")
    }

    #[test]
    fn three_runs_of_a_side_are_compared_as_a_t_test_does() {
        // By hand: means 10 and 11, pooled variance 0.01, four degrees of freedom.
        let found = estimate([&[9.9, 10.0, 10.1], &[10.9, 11.0, 11.1]], 0.5);
        assert!(found.is_measured && found.degrees_of_freedom == 4.0);
        assert!((found.standard_error - 0.1 * (2.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let [low, high] = found.interval(0.01).expect("three runs");
        assert!((low - (1.0 - 4.604 * found.standard_error)).abs() < 1e-3 && (high + low - 2.0).abs() < 1e-9);
        assert!((found.by_chance() - 0.000_26).abs() < 1e-4, "{}", found.by_chance());
    }

    #[test]
    fn fewer_runs_take_what_is_assumed_unless_they_vary_by_more() {
        let single = estimate([&[10.0], &[10.5]], 0.2);
        let steps = 2.0 * 0.1 * 0.1;
        assert!(!single.is_measured && single.runs_vary.is_none());
        assert!((single.standard_error.powi(2) - (2.0 * 0.04 + steps)).abs() < 1e-9);
        assert!(!estimate([&[10.0, 10.01], &[10.5, 10.5]], 0.2).is_measured);
        let wild = estimate([&[10.0, 12.0], &[10.0, 12.0]], 0.2);
        assert!(wild.is_measured && wild.degrees_of_freedom == 2.0);
    }

    #[test]
    fn runs_of_one_step_show_nothing_but_each_other() {
        let single = |mean: f64| RunSample::new([(1.0, [mean].as_slice())]).expect("a step");
        let one = estimate_of_runs([&[single(10.0)], &[single(20.0)]], 0.2).expect("runs");
        assert_eq!((one.interval(0.01), one.by_chance()), (None, 1.0));
        let two = [[single(10.0), single(10.2)], [single(10.5), single(10.7)]];
        let two = estimate_of_runs([&two[0], &two[1]], 0.2).expect("runs");
        // By hand: squares of 0.04 over 2 degrees are 0.02, and 0.04 is assumed.
        assert!((two.standard_error.powi(2) - 0.06).abs() < 1e-9 && two.degrees_of_freedom == 2.0 && !two.is_measured);
    }

    #[test]
    fn what_steps_vary_by_is_no_variation_of_runs() {
        // The runs differ by less than two steps each explain.
        let found = estimate([&[10.0, 10.05, 10.1], &[10.0, 10.05, 10.1]], 0.2);
        assert_eq!((found.runs_vary, found.difference), (Some(0.0), 0.0));
        assert!(found.steps_vary.is_some_and(|steps| (steps - 0.1 * 2.0_f64.sqrt()).abs() < 1e-9));
    }

    #[test]
    fn kinds_of_steps_have_their_weights() {
        let run = RunSample::new([(0.75, [1.0, 1.0].as_slice()), (0.25, [9.0].as_slice())]).expect("steps");
        assert_eq!(run.mean, 3.0);
        assert!(RunSample::new([(0.5, [1.0].as_slice()), (0.5, [].as_slice())]).is_none());
    }

    #[test]
    fn rows_of_a_report_share_the_level() {
        assert_eq!(holm(&[0.5, 0.001, 0.02], 0.03), [0.015, 0.01, 0.015]);
        assert_eq!(holm(&[0.014, 0.001, 0.02], 0.03), [0.015, 0.01, 0.03]);
        assert_eq!(holm(&[0.9, 0.8], 0.01), [0.005, 0.005]);
        assert!(holm(&[], 0.01).is_empty());
    }

    #[test]
    fn as_many_runs_as_are_needed_find_the_difference() {
        let found = estimate([&[9.9, 10.0, 10.1], &[9.9, 10.0, 10.1]], 0.5);
        let needed = found.runs_needed(0.2, 0.005).expect("a number");
        // A normal approximation by hand: 2 · (2.807 + 1.645)² · 0.01 / 0.04 = 9.9, more with Student's t.
        assert!((10..=13).contains(&needed), "{needed}");
        assert!(found.runs_needed(0.4, 0.005) < Some(needed) && found.runs_needed(0.0001, 0.005).is_none());
    }

    #[test]
    fn one_run_apart_is_named() {
        let steady = [10.0, 10.02, 9.98, 10.01];
        assert_eq!(outlier_runs([&steady, &[10.0, 11.0, 9.99, 10.02]], 0.1), [(1, 1)]);
        assert!(outlier_runs([&steady, &steady], 0.0).is_empty());
        assert!(outlier_runs([&[10.0, 11.0], &steady], 0.1).is_empty());
    }
}
