//! What is true of a pass as a whole: another workload, the error on the clock, kernels that are all off by one factor.

use super::{percent, signed_percent, us};
use perfdb_compare::attribution::{Cause, Contribution, Explanation, Group, Join, TimeSource, Timeline};
use perfdb_store::registry::is_collective;

/// Kernel types and shapes that a pass has at least, so that their meeting or not says something.
const FEWEST_GROUPS: usize = 6;
/// Two passes of one workload share more of the time of either side than that.
const LEAST_SHARED: f64 = 1.0 / 3.0;
/// Part of the measured time whose kernels are off by one factor, and how far the smallest and the largest may be apart, as logarithms.
const UNIFORM: f64 = 0.8;
const SAME_FACTOR: f64 = 0.022;
/// Smaller factors are nothing to speak of.
const LEAST_FACTOR: f64 = 0.03;
/// Groups with less of the time are noise.
const LEAST_TIME: f64 = 0.01;

/// Why the two sides are not one workload, if they are not.
pub(super) fn other_workload(explanation: &Explanation) -> Option<String> {
    if let Some(workload) = explanation.attribution.workload.filter(|workload| !workload.same) {
        let (predicted, measured) = (workload.predicted, workload.measured);
        let sequences = |count: i64| match count {
            0 => String::new(),
            1 => " in 1 sequence".to_owned(),
            _ => format!(" in {count} sequences"),
        };
        return Some(format!(
            "attention is predicted for {} query tokens{}, measured for {}{}",
            predicted.query_tokens,
            sequences(predicted.sequences),
            measured.query_tokens,
            sequences(measured.sequences)
        ));
    }
    // Groups of kernels that compute and whose shapes are known: what a formula predicts says nothing about kernels.
    let computes = |group: &&Group| !is_collective(&group.kernel_type);
    let analytic = |group: &Group| group.sources.iter().all(|source| source == TimeSource::Analytic);
    let groups = || explanation.attribution.groups.iter().filter(computes);
    let predicted: Vec<&Group> = groups().filter(|group| group.predicted_ps > 0 && !analytic(group)).collect();
    let measured: Vec<&Group> = groups().filter(|group| group.measured_ps > 0).collect();
    if measured.len() < FEWEST_GROUPS || predicted.len() < FEWEST_GROUPS {
        return None;
    }
    let met = |groups: &[&Group], time: fn(&Group) -> i128| {
        let meets = |group: &Group| group.predicted_ps > 0 && group.measured_ps > 0 && group.join != Join::Type;
        let all_ps: i128 = groups.iter().map(|group| time(group)).sum();
        let met_ps: i128 = groups.iter().filter(|group| meets(group)).map(|group| time(group)).sum();
        (met_ps, all_ps)
    };
    let sides = [met(&predicted, |group| group.predicted_ps), met(&measured, |group| group.measured_ps)];
    // A prediction with gaps meets little of what was measured, but what it has is there.
    let is_other = sides.iter().all(|(met_ps, all_ps)| (*met_ps as f64) < LEAST_SHARED * *all_ps as f64);
    let [(met_predicted, all_predicted), (met_measured, all_measured)] = sides;
    is_other.then(|| {
        format!(
            "shapes of {} of the predicted and {} of the measured compute time are on the other side at all: another model, or other sizes",
            percent(met_predicted, all_predicted),
            percent(met_measured, all_measured)
        )
    })
}

/// `on the clock -10.4 % (12,449.0 for 13,900.1 us): the pass stands still for 800.8 us that nothing predicts`
pub(super) fn on_the_clock(explanation: &Explanation) -> Option<String> {
    let (predicted, measured) = (explanation.timeline.predicted?, explanation.timeline.measured?);
    let passes = explanation.attribution.passes;
    let per_pass = |ps: i128| (ps as f64 / passes).round() as i128;
    let elapsed_ps = per_pass(measured.elapsed_ps);
    if elapsed_ps <= 0 {
        return None;
    }
    let gaps_ps = |line: Timeline| line.idle_ps;
    let idle_ps = per_pass(gaps_ps(measured)) - gaps_ps(predicted);
    let mut text = format!(
        "on the clock {} ({} for {} us)",
        signed_percent(predicted.elapsed_ps - elapsed_ps, elapsed_ps),
        us(predicted.elapsed_ps),
        us(elapsed_ps)
    );
    if 200 * idle_ps > elapsed_ps {
        text += &format!("; {} us of idle time between kernels are not predicted", us(idle_ps));
    }
    Some(text)
}

/// All kernels take longer or shorter than predicted by one factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Uniform {
    /// By how many percent the measured ones take longer.
    percent: f64,
    /// How far kernels are from it, in percent.
    within: f64,
    /// What it makes.
    pub(super) difference_ps: i128,
}

impl Uniform {
    /// The factor, where one is that of most of the time.
    pub(super) fn of(explanation: &Explanation) -> Option<Uniform> {
        let attribution = &explanation.attribution;
        let meets = |group: &&Group| group.predicted_ps > 0 && group.measured_ps > 0;
        let large = |group: &&Group| group.measured_ps as f64 >= LEAST_TIME * attribution.measured_ps as f64;
        let factor = |group: &Group| {
            let predicted = group.predicted_ps as f64 / group.predicted_calls;
            ((group.measured_ps as f64 / group.measured_calls / predicted).ln(), group.measured_ps as f64)
        };
        let factors: Vec<(f64, f64)> = attribution.groups.iter().filter(meets).filter(large).map(factor).collect();
        let time: f64 = factors.iter().map(|(_, time)| time).sum();
        if factors.len() < FEWEST_GROUPS - 1 || time < UNIFORM * attribution.measured_ps as f64 {
            return None;
        }
        let mean = factors.iter().map(|(factor, time)| factor * time).sum::<f64>() / time;
        let farthest = factors.iter().map(|(factor, _)| (factor - mean).abs()).fold(0.0, f64::max);
        let limits =
            factors.iter().fold((mean, mean), |(low, high), (factor, _)| (low.min(*factor), high.max(*factor)));
        if mean.abs() < LEAST_FACTOR || limits.1 - limits.0 > SAME_FACTOR {
            return None;
        }
        let difference_ps = attribution
            .contributions
            .iter()
            .filter(|contribution| Uniform::covers(contribution))
            .map(|contribution| contribution.difference_ps)
            .sum();
        Some(Uniform { percent: 100.0 * mean.exp_m1(), within: 100.0 * farthest, difference_ps })
    }

    /// Whether it explains a contribution.
    pub(super) fn covers(contribution: &Contribution) -> bool {
        matches!(contribution.cause, Cause::Time | Cause::CollectiveWait)
    }

    /// `all kernels take 10.0 % longer than predicted, each within 0.4 %`
    pub(super) fn text(self) -> String {
        let word = if self.percent > 0.0 { "longer" } else { "shorter" };
        format!(
            "all kernels take {:.1} % {word} than predicted, each within {:.1} % of that",
            self.percent.abs(),
            self.within.max(0.1)
        )
    }

    /// What to do about it.
    pub(super) fn advice(self) -> &'static str {
        if self.percent > 0.0 {
            "look at clocks, power limit and throttling of the measured device before any kernel"
        } else {
            "the measured device runs faster than the one whose rows predict: compare their clocks"
        }
    }
}
