//! From estimates to verdicts that hold together.

use crate::statistics::distribution::t_quantile;
use crate::statistics::estimate::{Estimate, HIGH_POWER, POWER, REACH, WANTED_PERCENT};

/// What can be said of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The second takes longer.
    Slower,
    /// The second takes less time.
    Faster,
    /// They differ by so little that nobody need care.
    Same,
    /// The times vary too much, or are too few, for any of these.
    CannotTell,
}

impl Verdict {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::Same => "same",
            Verdict::CannotTell => "cannot tell",
        }
    }
}

/// A verdict and what it is based on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// Second time by the first; `None` where there are too few samples.
    pub ratio: Option<f64>,
    /// Where the true ratio lies; all intervals of a report hold together.
    pub interval: Option<[f64; 2]>,
    /// Probability of this interval to hold.
    pub confidence: Option<f64>,
    /// Smallest difference, in percent, that would be found 95 times of 100.
    pub detectable_percent: Option<f64>,
    /// Why there is no interval.
    pub reason: Option<&'static str>,
}

/// What verdicts are held to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Share of the reports on two equal measurements in which the headline may be `slower` or `faster`.
    pub headline_false_alarms: f64,
    /// The same of all rows together.
    pub false_alarms: f64,
    /// Smallest difference that counts, in percent.
    pub smallest_percent: f64,
    /// Difference, in percent, within which the interval of `same` lies.
    pub same_percent: f64,
    /// Difference, in percent, that is to be found wherever the false alarms allow.
    pub wanted_percent: f64,
}

impl Default for Limits {
    fn default() -> Self {
        // Verdicts depend on each other, and their variances are rather too large: 0.3 to 0.8 % of reports have a false one in fact.
        Limits {
            headline_false_alarms: 0.001,
            false_alarms: 0.007,
            smallest_percent: 0.5,
            same_percent: 1.0,
            wanted_percent: WANTED_PERCENT,
        }
    }
}

/// Part of the false alarms that all estimates share alike; the rest goes to where it is needed to see what is wanted.
const ALIKE: f64 = 0.15;

/// The verdict on the headline of a report, which is tested first and at a level of its own (`None`: too few samples).
pub fn judge_headline(estimate: Option<&Estimate>, limits: &Limits) -> Judgement {
    estimate.map_or(UNKNOWN, |found| judged(found, limits.headline_false_alarms, limits))
}

/// Verdicts on the estimates of the rows of a report (`None`: too few samples).
pub fn judge(estimates: &[Option<Estimate>], limits: &Limits) -> Vec<Judgement> {
    let levels = levels(estimates, limits);
    let found = estimates.iter().zip(levels);
    found.map(|(estimate, level)| estimate.as_ref().map_or(UNKNOWN, |found| judged(found, level, limits))).collect()
}

const UNKNOWN: Judgement = Judgement {
    verdict: Verdict::CannotTell,
    ratio: None,
    interval: None,
    confidence: None,
    detectable_percent: None,
    reason: Some("too few samples"),
};

/// Half the width, as a logarithm, beyond which an interval says nothing: a factor of a hundred to either side.
const WIDEST: f64 = 4.605;

/// The false alarms that each estimate may have. They add up to the limit, so all verdicts together keep it (Bonferroni).
fn levels(estimates: &[Option<Estimate>], limits: &Limits) -> Vec<f64> {
    let count = estimates.iter().flatten().count().max(1) as f64;
    let alike = ALIKE * limits.false_alarms / count;
    let mut left = (1.0 - ALIKE) * limits.false_alarms;
    let mut levels = vec![alike; estimates.len()];
    // The level at which an estimate finds what is wanted 95 times of 100, if it needs a higher one than it has; what is left then goes
    // to finding it more often: noise is an estimate itself, and comes out too large as often as too small.
    let wanted = limits.wanted_percent / 100.0;
    for power in [POWER, HIGH_POWER] {
        let needed = |estimate: &Estimate, level: f64| {
            let needed = estimate.level_to_find(wanted.ln_1p(), power)?;
            (level..REACH).contains(&needed).then_some(needed)
        };
        let with_need =
            |(at, estimate): (usize, &Option<Estimate>)| Some((needed(estimate.as_ref()?, levels[at])?, at));
        let mut needs: Vec<(f64, usize)> = estimates.iter().enumerate().filter_map(with_need).collect();
        needs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (need, at) in needs {
            let given = (need - levels[at]).min(left);
            left -= given;
            levels[at] += given;
        }
    }
    levels.iter_mut().for_each(|level| *level += left / count);
    levels
}

fn judged(estimate: &Estimate, level: f64, limits: &Limits) -> Judgement {
    let quantile = t_quantile(level, estimate.degrees_of_freedom);
    let runs = estimate.runs.map_or(0.0, |runs| runs.half_width(level));
    let (middle, half) = (estimate.log_ratio, (quantile * estimate.standard_error).hypot(runs));
    if half.is_nan() || half > WIDEST {
        return Judgement { ratio: Some(middle.exp()), reason: Some("times vary too much"), ..UNKNOWN };
    }
    let [smallest, same] = [limits.smallest_percent, limits.same_percent].map(|percent| (percent / 100.0).ln_1p());
    let verdict = if middle - half > 0.0 && middle > smallest {
        Verdict::Slower
    } else if middle + half < 0.0 && middle < -smallest {
        Verdict::Faster
    } else if middle.abs() + half < same {
        Verdict::Same
    } else {
        Verdict::CannotTell
    };
    let detectable = estimate.log_ratio_found(quantile).hypot(runs).max(smallest);
    Judgement {
        verdict,
        ratio: Some(middle.exp()),
        interval: Some([(middle - half).exp(), (middle + half).exp()]),
        confidence: Some(1.0 - level),
        // Of a wide interval, so large that it says nothing.
        detectable_percent: Some(100.0 * detectable.exp_m1()).filter(|_| detectable <= WIDEST),
        reason: None,
    }
}
