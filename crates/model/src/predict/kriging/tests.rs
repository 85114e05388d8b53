//! Kriging against the equations that it solves.

use super::*;

#[test]
fn the_exponential_is_right() {
    for step in 0..7000 {
        let x = f64::from(step) * 0.0997;
        let error = exp_of_minus(x) / (-x).exp() - 1.0;
        assert!(error.abs() < 1e-13, "{x}: {error:e}");
    }
    assert_eq!(exp_of_minus(0.0), 1.0);
    assert!(exp_of_minus(f64::INFINITY) < 1e-300);
}

#[test]
fn a_row_at_the_place_says_it_all() {
    let mut correlations = Correlations::new(2);
    correlations.with_earlier(1)[0] = 0.5;
    correlations.with_place = [0.0; MOST_NEIGHBOURS];
    (correlations.with_place[0], correlations.with_place[1]) = (1.0, 0.5);
    let mut values = [0.0; MOST_NEIGHBOURS];
    (values[0], values[1]) = (3.0, 7.0);
    let kriged = correlations.solve(&values, 1e-9);
    assert!((kriged.value - 3.0).abs() < 1e-6 && kriged.variance < 1e-5, "{kriged:?}");
    let weights = correlations.weights(1e-9);
    assert!((weights[0] - 1.0).abs() < 1e-6 && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{weights:?}");
}

/// Gauss and Jordan: slow, and nothing like what is tested.
fn solved(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    for at in 0..rows.len() {
        let pivot = (at..rows.len()).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs())).expect("a row");
        rows.swap(at, pivot);
        let own = rows[at].clone();
        for (other, row) in rows.iter_mut().enumerate() {
            let factor = if other == at { 1.0 - 1.0 / own[at] } else { row[at] / own[at] };
            row.iter_mut().zip(&own).for_each(|(value, own)| *value -= factor * own);
        }
    }
    rows.iter().map(|row| row[rows.len()]).collect()
}

const OF: Correlation = Correlation { long_share: 0.3, nugget: 0.05 };

/// The formula of the correlation of two points with these differences: Matérn 3/2 along each axis, with a short and a long range.
fn matern(differences: &[f64]) -> f64 {
    let part = |range: f64| -> f64 { differences.iter().map(|d| (1.0 + d / range) * (-d / range).exp()).product() };
    0.7 * part(1.0) + 0.3 * part(8.0)
}

#[test]
fn correlation_falls_as_matern_does() {
    let kernel = [0.5, 1.25, 3.0].into_iter().fold(CorrelationKernel::SAME, CorrelationKernel::and);
    assert!((kernel.correlation(OF) - matern(&[0.5, 1.25, 3.0])).abs() < 1e-12);
    assert_eq!(CorrelationKernel::SAME.correlation(OF), 1.0);
}

#[test]
fn the_value_is_that_of_the_ordinary_kriging_equations() {
    // Two axes; the last two rows are of another slice, as much farther as both slices' penalties say.
    let rows = [[0.1, 0.2], [0.9, 0.4], [0.3, 1.5], [0.6, 0.1], [1.1, 1.2]];
    let (point, beside, penalties) = ([0.5, 0.6], 0.35, [0.25, 0.4]);
    let slice_of = |row: usize| usize::from(row > 2);
    let (forest, order) = Forest::plant(2, rows.as_flattened(), &[0..3, 3..5], penalties.to_vec());
    assert_eq!(order, [0, 1, 2, 3, 4]);
    let apart = |one: usize, other: usize| if one == other { vec![] } else { penalties.to_vec() };
    let differences = |a: [f64; 2], b: [f64; 2]| vec![(a[0] - b[0]).abs(), (a[1] - b[1]).abs()];
    let between = |i: usize, j: usize| {
        let nugget = if i == j { OF.nugget } else { 0.0 };
        matern(&[differences(rows[i], rows[j]), apart(slice_of(i), slice_of(j))].concat()) + nugget
    };
    let with_place = |i: usize| matern(&[differences(rows[i], point), apart(slice_of(i), 0), vec![beside]].concat());
    // Weights that add up to one, and the multiplier that makes them: Σⱼ wⱼ·R(i, j) + µ = c(i).
    let equation = |i: usize| -> Vec<f64> {
        let right = if i < 5 { with_place(i) } else { 1.0 };
        let entry = |j: usize| if i < 5 && j < 5 { between(i, j) } else { f64::from(u8::from(i != j)) };
        (0..6).map(entry).chain([right]).collect()
    };
    let solution = solved((0..6).map(equation).collect());
    let (weights, multiplier) = (&solution[..5], solution[5]);
    let values = [1.0, 2.0, -1.0, 4.0, 0.5];
    let value: f64 = weights.iter().zip(values).map(|(weight, value)| weight * value).sum();
    let covered: f64 = (0..5).map(|i| weights[i] * with_place(i)).sum();
    let variance = 1.0 + OF.nugget - covered - multiplier;

    let all = [0, 1, 2, 3, 4];
    let found = Correlations::of(
        &forest,
        &all,
        Target { slice: 0, point: &point, beside: CorrelationKernel::SAME.and(beside) },
        OF,
    );
    let mut padded = [0.0; MOST_NEIGHBOURS];
    padded[..5].copy_from_slice(&values);
    let kriged = found.solve(&padded, OF.nugget);
    assert!(
        (kriged.value - value).abs() < 1e-12 && (kriged.variance - variance).abs() < 1e-12,
        "{kriged:?} {variance}"
    );
    for (found, expected) in found.weights(OF.nugget).into_iter().zip(weights) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}
