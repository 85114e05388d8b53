//! How much of what a process over all rows says counts beside what the nearest rows say.

use super::residuals::Residual;
use super::{FEWEST_TO_CHOOSE, best_share, is_gain};
use crate::predict::calibration::Steps;
use crate::predict::extrapolate::Method;

/// Residuals, one after another by their variance, that a share is chosen on.
const CHUNK: usize = 150;
/// What it must win, as a share of the error and in standard errors. Ranges of kriging were chosen to miss these rows little, lengths of processes were
/// not, so that less is enough than between two ways of kriging.
const GAIN: f64 = 0.01;
const GAIN_ERRORS: f64 = 1.0;
/// The same where configurations were left out, whose rows are missed alike.
const CONFIGURATION_ERRORS: f64 = 2.0;
const FEWEST_CONFIGURATIONS: usize = 12;

/// The shares by variance, learnt from these rows; what the nearest rows say is found by this method.
pub(super) fn shares(own: &[&Residual], method: Method) -> Steps {
    let mut own: Vec<&Residual> = own.iter().copied().filter(|one| one.process.is_some()).collect();
    if own.len() < FEWEST_TO_CHOOSE {
        return Steps::new();
    }
    own.sort_by(|a, b| a.variance.total_cmp(&b.variance));
    let chunks = (own.len() / CHUNK).max(1);
    let of_chunk = |chunk: usize| {
        let chunk = &own[chunk * own.len() / chunks..(chunk + 1) * own.len() / chunks];
        let more = |one: &Residual| one.own.of(method) - one.process.unwrap_or_default();
        let share = best_share(chunk, |one| (one.own.of(method), more(one)));
        (chunk[0].variance, if wins(chunk, method, share) { share } else { 0.0 })
    };
    (0..chunks).map(of_chunk).collect()
}

/// Whether rows are missed less with a share of a process, by more than chance.
fn wins(own: &[&Residual], method: Method, share: f64) -> bool {
    let gain = |one: &Residual| one.missed(method, 0.0) - one.missed_with(method, 0.0, share);
    let loss: f64 = own.iter().map(|one| one.missed(method, 0.0)).sum();
    let (mut configurations, mut rows): (Vec<(u64, f64)>, Vec<f64>) = (Vec::new(), Vec::new());
    for one in own {
        match one.configuration {
            Some(of) => configurations.push((of, gain(one))),
            None => rows.push(gain(one)),
        }
    }
    configurations.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let by_configuration: Vec<f64> = configurations
        .chunk_by(|a, b| a.0 == b.0)
        .map(|of_one| of_one.iter().map(|(_, gain)| gain).sum::<f64>() / of_one.len() as f64)
        .collect();
    let sum = rows.iter().sum::<f64>() + configurations.iter().map(|(_, gain)| gain).sum::<f64>();
    sum > GAIN * loss
        && (rows.is_empty() || is_gain(&rows, GAIN_ERRORS))
        && (by_configuration.is_empty()
            || (by_configuration.len() >= FEWEST_CONFIGURATIONS && is_gain(&by_configuration, CONFIGURATION_ERRORS)))
}

#[cfg(test)]
mod tests {
    use super::super::residuals::Misses;
    use super::*;
    use crate::predict::class::Class;

    fn missed(at: usize, kriging: f64, process: f64, configuration: Option<u64>) -> Residual {
        Residual {
            variance: at as f64,
            class: Class::NewConfiguration,
            side: None,
            group: 0,
            is_seen: false,
            sigma: 1.0,
            own: Misses { kriging, ..Misses::default() },
            collocated: Misses::default(),
            process: Some(process),
            configuration,
        }
    }

    fn shares_of(all: &[Residual]) -> Steps {
        shares(&all.iter().collect::<Vec<_>>(), Method::Kriging)
    }

    #[test]
    fn a_process_counts_where_it_wins() {
        let sign = |at: usize| if at.is_multiple_of(2) { 1.0 } else { -1.0 };
        // Near rows are missed by a tenth of what a process misses, far ones the other way round.
        let of = |at: usize| if at < 150 { (0.1, 1.0) } else { (1.0, 0.1) };
        let all: Vec<Residual> =
            (0..300).map(|at| missed(at, of(at).0 * sign(at), of(at).1 * sign(at), None)).collect();
        assert_eq!(shares_of(&all), [(0.0, 0.0), (150.0, 1.0)]);
        // Half way between two that err to either side.
        let all: Vec<Residual> = (0..100).map(|at| missed(at, 0.5 * sign(at), -0.5 * sign(at), None)).collect();
        assert_eq!(shares_of(&all), [(0.0, 0.5)]);
        assert_eq!(shares_of(&all[..11]), []);
    }

    #[test]
    fn one_configuration_of_many_rows_is_one_gain() {
        let of = |configurations: usize, process: [f64; 2]| -> Vec<Residual> {
            let row = |at: usize| {
                missed(
                    at,
                    1.0,
                    process[usize::from(!at.is_multiple_of(configurations))],
                    Some((at % configurations) as u64),
                )
            };
            (0..120).map(row).collect()
        };
        // One configuration is known much better, the others a little worse.
        assert_eq!(shares_of(&of(12, [0.0, 1.01])), [(0.0, 0.0)]);
        assert_eq!(shares_of(&of(12, [0.5, 0.5])), [(0.0, 1.0)]);
        assert_eq!(shares_of(&of(6, [0.5, 0.5])), [(0.0, 0.0)]);
    }
}
