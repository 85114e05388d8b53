//! Figures of many trials.

use super::{Hidden, Trial};

/// How far predictions were off where the same was left out. Errors are relative: 0.04 for 4 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// What was not known.
    pub hidden: Hidden,
    /// How many rows were predicted.
    pub asked: usize,
    /// The median error, as |ln(predicted / measured)|.
    pub median: f64,
    /// 90 % of the errors are at most this.
    pub p90: f64,
    /// By how much predictions are too long (above 0) or too short, in the median.
    pub bias: f64,
    /// The share of measured durations that the intervals hold; 0.9 is aimed at.
    pub held: f64,
    /// Half of the median interval.
    pub half_width: f64,
}

pub(super) fn scores(trials: &[Trial]) -> Vec<Score> {
    let mut kinds: Vec<Hidden> = vec![Hidden::Row];
    for trial in trials.iter().filter(|trial| trial.hidden != Hidden::Configuration) {
        if !kinds.contains(&trial.hidden) {
            kinds.push(trial.hidden);
        }
    }
    kinds.push(Hidden::Configuration);
    kinds.into_iter().filter_map(|hidden| Score::of(hidden, trials)).collect()
}

impl Score {
    /// The figures of the trials of which this was left out, also of several tables; `None` if there are none.
    pub fn of<'t>(hidden: Hidden, trials: impl IntoIterator<Item = &'t Trial>) -> Option<Score> {
        let own: Vec<&Trial> = trials.into_iter().filter(|trial| trial.hidden == hidden).collect();
        if own.is_empty() {
            return None;
        }
        let of = |number: fn(&Trial) -> f64| {
            let mut numbers: Vec<f64> = own.iter().map(|trial| number(trial)).collect();
            numbers.sort_unstable_by(f64::total_cmp);
            numbers
        };
        let errors = of(|trial| trial.error().abs());
        let held = own.iter().filter(|trial| trial.is_held()).count();
        Some(Score {
            hidden,
            asked: own.len(),
            median: quantile(&errors, 0.5),
            p90: quantile(&errors, 0.9),
            bias: quantile(&of(Trial::error), 0.5).exp() - 1.0,
            held: held as f64 / own.len() as f64,
            half_width: quantile(&of(|trial| (trial.interval_us[1] / trial.interval_us[0]).sqrt() - 1.0), 0.5),
        })
    }
}

/// Between the two nearest of sorted numbers.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * sorted.len().saturating_sub(1) as f64;
    let (below, part) = (at as usize, at.fract());
    let low = sorted.get(below).copied().unwrap_or(f64::NAN);
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    low + part * (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_model::predict::Class;

    fn trial(hidden: Hidden, predicted_us: f64) -> Trial {
        let interval_us = [predicted_us / 1.1, predicted_us * 1.1];
        Trial { line: 2, hidden, measured_us: 100.0, predicted_us, interval_us, class: Class::Inside }
    }

    #[test]
    fn figures_of_known_errors() {
        let rows = [100.0, 105.0, 120.0].map(|us| trial(Hidden::Row, us));
        let trials = [vec![trial(Hidden::Configuration, 50.0), trial(Hidden::Axis("M"), 80.0)], rows.to_vec()].concat();
        let scores = scores(&trials);
        assert_eq!(
            scores.iter().map(|score| (score.hidden, score.asked)).collect::<Vec<_>>(),
            [(Hidden::Row, 3), (Hidden::Axis("M"), 1), (Hidden::Configuration, 1)]
        );
        let (row, configuration) = (scores[0], scores[2]);
        assert!((row.median - 1.05f64.ln()).abs() < 1e-12 && (row.bias - 0.05).abs() < 1e-12);
        assert!((row.p90 - (1.05f64.ln() + 0.8 * (1.2f64.ln() - 1.05f64.ln()))).abs() < 1e-12);
        assert!((row.held - 2.0 / 3.0).abs() < 1e-12 && (row.half_width - 0.1).abs() < 1e-12);
        assert!((configuration.bias + 0.5).abs() < 1e-12 && configuration.held == 0.0);
    }
}
