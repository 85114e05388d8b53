//! Held values and planes, against numbers that a pocket calculator gives.

use super::*;
use crate::predict::kriging::SQRT_3;

/// Rows of one slice whose distances from a point at zero are given in lengths; in this order in the tree, which has one leaf.
struct Rows {
    forest: Forest,
    values: [f64; MOST_NEIGHBOURS],
    rows: Vec<u32>,
    distances: Vec<f64>,
    point: Vec<f64>,
}

impl Rows {
    fn new(dims: usize, lengths: &[f64], values: &[f64]) -> Rows {
        let scaled: Vec<f64> = lengths.iter().map(|length| length * SQRT_3).collect();
        let (forest, order) = Forest::plant(dims, &scaled, std::slice::from_ref(&(0..values.len())), vec![0.0]);
        assert_eq!(order, (0..values.len() as u32).collect::<Vec<_>>());
        let mut all = [0.0; MOST_NEIGHBOURS];
        all[..values.len()].copy_from_slice(values);
        let distances = scaled.chunks(dims).map(|row| row.iter().map(|x| x.abs()).sum()).collect();
        Rows { forest, values: all, rows: order, distances, point: vec![0.0; dims] }
    }

    fn near(&self, beside: f64, along: Option<usize>) -> Near<'_> {
        Near {
            forest: &self.forest,
            values: &self.values,
            rows: &self.rows,
            distances: &self.distances,
            slice: 0,
            point: &self.point,
            beside,
            along,
            between: None,
        }
    }
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-11 * expected.abs().max(1.0), "{found} instead of {expected}");
}

/// The weight of a row as far away as this part of a little more than the farthest.
fn tricube(part: f64) -> f64 {
    (1.0 - (part / 1.05).powi(3)).powi(3) + 1e-3
}

#[test]
fn a_line_is_the_least_squares_of_the_near_rows() {
    let (x, values) = ([1.0, 2.0, 4.0], [1.0, 3.0, 4.0]);
    let weights = x.map(|x| tricube(x / 4.0));
    let sum = |of: &dyn Fn(usize) -> f64| (0..3).map(|row| weights[row] * of(row)).sum::<f64>();
    // Of value = a + b·x with b drawn to nought: two equations, by Cramer's rule.
    let (s, sx, sxx) = (sum(&|_| 1.0) + 1e-9, sum(&|row| x[row]), sum(&|row| x[row] * x[row]) + 0.02);
    let (sv, sxv) = (sum(&|row| values[row]), sum(&|row| x[row] * values[row]));
    let expected = (sv * sxx - sxv * sx) / (s * sxx - sx * sx);
    assert_close(plane(Rows::new(1, &x, &values).near(0.0, None)), expected);
    // With weights of 1, 0.67 and 0.004 the line leans to the first two, which meet -1 at nought.
    assert!((-1.0..0.0).contains(&expected), "{expected}");
}

#[test]
fn what_lies_beside_makes_weights_more_equal() {
    let (x, values, beside) = ([1.0, 4.0], [1.0, 7.0], 2.0);
    let weights = x.map(|x| tricube((x * SQRT_3 + beside) / (4.0 * SQRT_3 + beside)));
    let [near, far] = weights;
    let (s, sx, sxx) = (near + far + 1e-9, near + 4.0 * far, near + 16.0 * far + 0.02);
    let (sv, sxv) = (near + 7.0 * far, near + 28.0 * far);
    assert_close(plane(Rows::new(1, &x, &values).near(beside, None)), (sv * sxx - sxv * sx) / (s * sxx - sx * sx));
}

#[test]
fn a_plane_of_two_axes_solves_its_three_equations() {
    let (lengths, values) = ([1.0, 0.5, -0.5, 1.5, 2.0, -1.0, 1.0, 3.0], [2.0, 5.0, 3.0, 7.0]);
    let rows: Vec<[f64; 3]> = lengths.chunks(2).map(|row| [1.0, row[0], row[1]]).collect();
    let weights: Vec<f64> = rows.iter().map(|row| tricube((row[1].abs() + row[2].abs()) / 4.0)).collect();
    let product = |a: &dyn Fn(usize) -> f64, b: &dyn Fn(usize) -> f64| -> f64 {
        (0..4).map(|row| weights[row] * a(row) * b(row)).sum()
    };
    let mut matrix = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for a in 0..3 {
        right[a] = product(&|row| rows[row][a], &|row| values[row]);
        for b in 0..3 {
            let ridge = if a != b {
                0.0
            } else if a == 0 {
                1e-9
            } else {
                0.02
            };
            matrix[a][b] = product(&|row| rows[row][a], &|row| rows[row][b]) + ridge;
        }
    }
    let determinant = |m: [[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let mut with_values = matrix;
    (0..3).for_each(|row| with_values[row][0] = right[row]);
    let expected = determinant(with_values) / determinant(matrix);
    assert_close(plane(Rows::new(2, &lengths, &values).near(0.0, None)), expected);
}

#[test]
fn the_largest_row_on_the_line_is_held() {
    // The second axis is the size; the third row lies on another line.
    let rows = Rows::new(2, &[0.0, -1.0, 0.0, -0.5, 0.2, -0.1, 0.0, -2.0], &[1.0, 3.0, 4.0, 5.0]);
    assert_eq!(hold(rows.near(0.0, Some(1))), 3.0);
    // Where the point lies beside all rows there is no line.
    assert_ne!(hold(rows.near(1e-3, Some(1))), 3.0);
}

#[test]
fn without_a_line_the_four_nearest_are_held_by_inverse_distance() {
    let rows = Rows::new(1, &[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0, 2.0, 3.0, 4.0, 1000.0]);
    // Each times its weight is one: 4 / (1 + 1/2 + 1/3 + 1/4).
    assert_close(hold(rows.near(0.0, None)), 1.92);
    // As far beside as the first is away: weights of 1/2, 1/3, 1/4 and 1/5.
    let expected = (1.0 / 2.0 + 2.0 / 3.0 + 3.0 / 4.0 + 4.0 / 5.0) / (1.0 / 2.0 + 1.0 / 3.0 + 1.0 / 4.0 + 1.0 / 5.0);
    assert_close(hold(rows.near(SQRT_3, None)), expected);
}

#[test]
fn a_value_between_two_rows_is_on_the_line_through_them() {
    // The first two differ from the point on the first axis alone; the third is nearer and differs on both, the last is farther.
    let rows = Rows::new(2, &[-1.0, 0.0, 3.0, 0.0, 0.5, 0.1, -2.0, 0.0], &[1.0, 3.0, 9.0, 7.0]);
    let between = |axis: usize| line(Near { between: Some(axis), ..rows.near(0.0, None) });
    assert_close(between(0).expect("rows on either side"), 1.5);
    assert_eq!(between(1), None);
    assert_eq!(line(rows.near(0.0, None)), None);
}

#[test]
fn two_ways_meet_half_way() {
    let value = |method: Method| method.of(1.0, || 2.0, || 4.0, || 8.0);
    assert_eq!(Method::BEYOND.map(value), [1.0, 2.0, 4.0, 1.5, 2.5, 3.0]);
    assert_eq!(Method::BETWEEN.map(value), [1.0, 4.5, 8.0]);
}
