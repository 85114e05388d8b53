//! How much a time differs from pass to pass, and so how far two means must be apart to count as different.

use perfdb_statistics::median;

/// Quantile of the normal distribution for 99 % on both sides.
const QUANTILE: f64 = 2.58;

/// Half the width of the 99 % interval of the difference of two means, from the values per pass of each side; nothing where a
/// side has fewer than two.
pub(super) fn half_width(sides: [Vec<f64>; 2]) -> Option<f64> {
    let count = sides.iter().map(Vec::len).min().filter(|count| *count >= 2)?;
    let variance: f64 = sides.into_iter().map(variance_of_mean).sum();
    // What Student's t adds for few values, to first order.
    let quantile = QUANTILE * (1.0 + (QUANTILE * QUANTILE + 1.0) / (4.0 * (count - 1) as f64));
    Some(quantile * variance.sqrt())
}

/// Variance of the mean of some values; outliers are drawn in to four standard deviations of the rest.
fn variance_of_mean(mut values: Vec<f64>) -> f64 {
    let count = values.len() as f64;
    let middle = median(&mut values.clone());
    let mut distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let limit = 4.0 * 1.4826 * median(&mut distances);
    if limit > 0.0 {
        values.iter_mut().for_each(|value| *value = value.clamp(middle - limit, middle + limit));
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    squares / (count - 1.0) / count
}

#[cfg(test)]
mod tests {
    use super::half_width;

    #[test]
    fn steady_times_have_no_noise_and_one_value_has_none_to_tell() {
        assert_eq!(half_width([vec![2.0; 9], vec![5.0; 4]]), Some(0.0));
        assert_eq!(half_width([vec![2.0; 9], vec![5.0]]), None);
    }

    #[test]
    fn noise_shrinks_with_the_number_of_passes() {
        let values = |count: usize| (0..count).map(|at| if at % 2 == 0 { 1.0 } else { 1.2 }).collect::<Vec<f64>>();
        let few = half_width([values(4), values(4)]).expect("values");
        let many = half_width([values(64), values(64)]).expect("values");
        assert!(few > 3.0 * many && many > 0.0, "{few} {many}");
        // 64 values with a standard deviation of about 0.1: 2.58 · √2 · 0.1 / 8, and a little.
        assert!((0.044..0.050).contains(&many), "{many}");
    }

    #[test]
    fn one_outlier_does_not_hide_everything() {
        let steady: Vec<f64> = (0..40).map(|at| 1.0 + 0.001 * f64::from(at % 3)).collect();
        let mut disturbed = steady.clone();
        disturbed[7] = 50.0;
        let noise = half_width([steady, disturbed]).expect("values");
        assert!(noise < 0.01, "{noise}");
    }
}
