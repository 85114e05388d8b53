//! By how much two means differ by chance.

use crate::statistics::clusters::{CLUSTERS_AS_SAMPLES, pairs};
use crate::statistics::distribution::t_quantile;
use crate::statistics::estimate::variances_of_means;
use crate::statistics::series::median;
use crate::statistics::spread::Variance;

/// Half the width of the interval of the difference of two means, which misses it with a probability of `level`. Samples that vary
/// together are compared one by one. `runs` are half widths of what two runs differ by: below [`CLUSTERS_AS_SAMPLES`] samples, and
/// from there on. Nothing where neither samples nor runs say anything.
pub fn half_width(sides: [Vec<f64>; 2], level: f64, runs: [f64; 2]) -> Option<f64> {
    let are_many = sides.iter().all(|values| values.len() >= CLUSTERS_AS_SAMPLES);
    let totals = [0, 1].map(|side| sides[side].iter().sum::<f64>());
    let mean = (totals[0] / sides[0].len() as f64 + totals[1] / sides[1].len() as f64) / 2.0;
    // Long passes differ by more than short ones: what counts is by which part.
    let relative = [0, 1].map(|side| sides[side].iter().map(|value| value / totals[side]).collect::<Vec<f64>>());
    let paired =
        (are_many && totals.iter().all(|total| *total > 0.0)).then(|| pairs([&relative[0], &relative[1]])).flatten();
    let parts = match paired {
        Some(found) => vec![Variance { value: found.value * mean * mean, ..found }],
        None => variances_of_means(sides.map(without_outliers)),
    };
    let within = (!parts.is_empty()).then(|| {
        let variance = Variance::sum(&parts);
        t_quantile(level, variance.degrees_of_freedom) * variance.value.sqrt()
    });
    let runs = runs[usize::from(are_many)];
    match within {
        Some(within) => Some(within.hypot(runs)),
        None => (runs > 0.0).then_some(runs),
    }
}

/// So few values have no outliers that anyone could tell.
const FEWEST: usize = 8;

/// Outliers are drawn in to four standard deviations of the rest.
fn without_outliers(mut values: Vec<f64>) -> Vec<f64> {
    if values.len() < FEWEST {
        return values;
    }
    let middle = median(&mut values.clone());
    let mut distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let limit = 4.0 * 1.4826 * median(&mut distances);
    if limit > 0.0 {
        values.iter_mut().for_each(|value| *value = value.clamp(middle - limit, middle + limit));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::half_width;

    #[test]
    fn steady_times_have_no_noise_and_single_values_that_of_runs() {
        assert_eq!(half_width([vec![2.0; 9], vec![5.0; 5]], 0.01, [0.5, 0.0]), Some(0.0));
        assert_eq!(half_width([vec![2.0; 9], vec![5.0]], 0.01, [0.5, 0.0]), Some(0.5));
        assert_eq!(half_width([vec![2.0], vec![5.0]], 0.01, [0.5, 0.0]), Some(0.5));
        assert_eq!(half_width([vec![2.0], vec![5.0]], 0.01, [0.0; 2]), None);
        // What is known of these runs counts for any number of passes.
        assert_eq!(half_width([vec![2.0; 9], vec![5.0; 5]], 0.01, [0.5, 0.5]), Some(0.5));
    }

    #[test]
    fn noise_shrinks_with_the_number_of_passes() {
        let values = |count: usize| (0..count).map(|at| if at % 2 == 0 { 1.0 } else { 1.2 }).collect::<Vec<f64>>();
        let turned = |count: usize| values(count).into_iter().rev().collect::<Vec<f64>>();
        let few = half_width([values(6), turned(6)], 0.01, [0.0; 2]).expect("values");
        let many = half_width([values(64), turned(64)], 0.01, [0.0; 2]).expect("values");
        assert!(few > 3.0 * many && many > 0.0, "{few} {many}");
        // 64 values with a standard deviation of about 0.1: 2.61 · √2 · 0.1 / 8.
        assert!((0.044..0.050).contains(&many), "{many}");
    }

    #[test]
    fn passes_that_vary_together_are_compared_one_by_one() {
        let first: Vec<f64> = (0..8).map(|at| f64::from(1 + at * 5 % 7)).collect();
        let second: Vec<f64> = first.iter().map(|time| 1.25 * time).collect();
        assert!(half_width([first, second], 0.001, [0.0; 2]).expect("values") < 1e-6);
    }

    #[test]
    fn one_outlier_does_not_hide_everything() {
        let steady: Vec<f64> = (0..40).map(|at| 1.0 + 0.001 * f64::from(at % 3)).collect();
        let mut disturbed = steady.clone();
        disturbed[7] = 50.0;
        let noise = half_width([steady, disturbed], 0.01, [0.0; 2]).expect("values");
        assert!(noise < 0.01, "{noise}");
    }
}
