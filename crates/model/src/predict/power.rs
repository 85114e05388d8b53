//! The work of kernels that nobody described: a product of powers of their sizes, learnt from how long the rows took.

use crate::predict::point::MOST_AXES;
use crate::roofline::Work;

/// Rows below which nothing is learnt: the work is the product of the sizes.
pub(crate) const FEWEST: usize = 6;
/// Rows of a slice, for each number that is learnt, below which it shares its powers with the other slices.
pub(crate) const FEWEST_PER_POWER: usize = 3;
/// What a call costs before any work, the time of the mean row, and the powers.
const MOST: usize = MOST_AXES + 2;
/// Residuals beyond this count linearly, not squared (Huber).
const KNEE: f64 = 0.2;
const MOST_STEPS: usize = 40;
/// How much powers are drawn towards zero, so that sizes that change together share what they do.
const RIDGE: f64 = 0.02;
/// No size counts with more than this power.
const MOST_POWER: f64 = 3.0;

/// The powers of the sizes. None is below zero: more work does not take less time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Power {
    /// Added before the logarithm: one where a size of zero occurs.
    shifts: Vec<f64>,
    /// The logarithms of the mean row.
    centre: Vec<f64>,
    powers: Vec<f64>,
}

impl Power {
    /// The work of a call.
    pub(crate) fn work(&self, sizes: &[f64]) -> Work {
        let log = |at: usize| (sizes[at] + self.shifts[at]).max(f64::MIN_POSITIVE).ln() - self.centre[at];
        let work = (0..self.powers.len()).map(|at| self.powers[at] * log(at)).sum::<f64>().clamp(-300.0, 300.0).exp();
        Work { operations: work, bytes: work }
    }

    /// Of rows: their sizes, and the logarithms of their times.
    pub(crate) fn fit(rows: &[(&[f64], f64)]) -> Power {
        let count = rows.first().map_or(0, |(sizes, _)| sizes.len());
        let least = |axis: usize| rows.iter().map(|(sizes, _)| sizes[axis]).fold(f64::INFINITY, f64::min);
        let shifts: Vec<f64> = (0..count).map(|axis| if least(axis) <= 0.0 { 1.0 } else { 0.0 }).collect();
        let log = |sizes: &[f64], axis: usize| (sizes[axis] + shifts[axis]).ln();
        let mean = |axis: usize| rows.iter().map(|(sizes, _)| log(sizes, axis)).sum::<f64>() / rows.len() as f64;
        let centre: Vec<f64> = (0..count).map(mean).collect();
        let powers = if rows.len() < FEWEST {
            vec![1.0; count]
        } else {
            let centred = |sizes: &[f64]| {
                let mut at = [0.0; MOST_AXES];
                (0..count).for_each(|axis| at[axis] = log(sizes, axis) - centre[axis]);
                at
            };
            let samples: Vec<Sample> = rows.iter().map(|(sizes, time)| (centred(sizes), *time)).collect();
            learnt(&samples, count)
        };
        Power { shifts, centre, powers }
    }
}

/// The logarithms of the sizes, from those of the mean row, and of the time.
type Sample = ([f64; MOST_AXES], f64);

/// Levenberg–Marquardt on the logarithms of times of a + c·Πxᵇ.
fn learnt(samples: &[Sample], count: usize) -> Vec<f64> {
    let shortest = samples.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
    let mean = samples.iter().map(|(_, time)| *time).sum::<f64>() / samples.len() as f64;
    let mut at = [0.0; MOST];
    (at[0], at[1]) = (shortest - 0.1, mean - 0.5);
    at[2..2 + count].fill(0.5);
    let mut damping = 1e-2;
    let mut best = loss(&at, samples, count);
    for _ in 0..MOST_STEPS {
        let (matrix, right) = normal_equations(&at, samples, count);
        let mut is_better = false;
        while damping < 1e6 {
            let mut damped = matrix;
            (0..count + 2).for_each(|row| damped[row][row] += damping * (matrix[row][row] + 1e-9));
            let step = solved(damped, right, count + 2);
            let mut trial = at;
            (0..2).for_each(|number| trial[number] += step[number].clamp(-2.0, 2.0));
            (2..count + 2).for_each(|number| trial[number] = (at[number] + step[number]).clamp(0.0, MOST_POWER));
            let found = loss(&trial, samples, count);
            if found < best {
                is_better = best - found > 1e-7 * best;
                (at, best, damping) = (trial, found, (damping / 3.0).max(1e-6));
                break;
            }
            damping *= 4.0;
        }
        if !is_better {
            break;
        }
    }
    at[2..2 + count].to_vec()
}

/// The logarithm of the predicted time, and how much of the time goes with the work.
fn predicted(at: &[f64; MOST], sizes: &[f64; MOST_AXES], count: usize) -> (f64, f64) {
    let work = (at[1] + (0..count).map(|axis| at[axis + 2] * sizes[axis]).sum::<f64>()).clamp(-300.0, 300.0).exp();
    let time = at[0].clamp(-300.0, 300.0).exp() + work;
    (time.ln(), work / time)
}

fn loss(at: &[f64; MOST], samples: &[Sample], count: usize) -> f64 {
    let huber = |residual: f64| {
        let size = residual.abs();
        if size < KNEE { size * size / 2.0 } else { KNEE * (size - KNEE / 2.0) }
    };
    let prior: f64 = at[2..2 + count].iter().map(|power| RIDGE * power * power / 2.0).sum();
    prior + samples.iter().map(|(sizes, time)| huber(time - predicted(at, sizes, count).0)).sum::<f64>()
}

type Square = [[f64; MOST]; MOST];

fn normal_equations(at: &[f64; MOST], samples: &[Sample], count: usize) -> (Square, [f64; MOST]) {
    let (mut matrix, mut right) = ([[0.0; MOST]; MOST], [0.0; MOST]);
    for (sizes, time) in samples {
        let (log, share) = predicted(at, sizes, count);
        let residual = time - log;
        let weight = 1.0 / (residual.abs() / KNEE).max(1.0);
        let mut gradient = [0.0; MOST];
        (gradient[0], gradient[1]) = (1.0 - share, share);
        (0..count).for_each(|axis| gradient[axis + 2] = share * sizes[axis]);
        for row in 0..count + 2 {
            right[row] += weight * gradient[row] * residual;
            for column in 0..count + 2 {
                matrix[row][column] += weight * gradient[row] * gradient[column];
            }
        }
    }
    for number in 2..count + 2 {
        matrix[number][number] += RIDGE;
        right[number] -= RIDGE * at[number];
        // A power at its end stays there, so that the others make up for it.
        let is_pressed =
            (at[number] <= 0.0 && right[number] < 0.0) || (at[number] >= MOST_POWER && right[number] > 0.0);
        if is_pressed {
            matrix[number] = [0.0; MOST];
            matrix.iter_mut().for_each(|row| row[number] = 0.0);
            (matrix[number][number], right[number]) = (1.0, 0.0);
        }
    }
    (matrix, right)
}

/// Gaussian elimination with pivots; directions that do not matter get no step.
fn solved(mut matrix: Square, mut right: [f64; MOST], size: usize) -> [f64; MOST] {
    for column in 0..size {
        let pivot = (column..size).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()));
        let pivot = pivot.unwrap_or(column);
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        let pivot_row = matrix[column];
        if pivot_row[column].abs() < 1e-12 {
            continue;
        }
        for row in column + 1..size {
            let factor = matrix[row][column] / pivot_row[column];
            for (entry, pivot) in matrix[row].iter_mut().zip(&pivot_row).take(size).skip(column) {
                *entry -= factor * pivot;
            }
            right[row] -= factor * right[column];
        }
    }
    for at in (0..size).rev() {
        for column in at + 1..size {
            right[at] -= matrix[at][column] * right[column];
        }
        right[at] = if matrix[at][at].abs() < 1e-12 { 0.0 } else { right[at] / matrix[at][at] };
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_found_and_none_is_below_zero() {
        let sizes: Vec<[f64; 3]> = (0..200)
            .map(|at| [1 << (at % 12), 8 << (at % 5), 1 << (at % 3)].map(|size: i32| f64::from(size)))
            .collect();
        let time = |[a, b, c]: [f64; 3]| (5.0 + 0.02 * a * b.powf(0.5) / c.powf(0.1)).ln();
        let rows: Vec<(&[f64], f64)> = sizes.iter().map(|sizes| (&sizes[..], time(*sizes))).collect();
        let power = Power::fit(&rows);
        assert!((power.powers[0] - 1.0).abs() < 0.05 && (power.powers[1] - 0.5).abs() < 0.05, "{:?}", power.powers);
        assert_eq!(power.powers[2], 0.0);
    }

    #[test]
    fn few_rows_go_by_the_product_of_their_sizes() {
        let power = Power::fit(&[(&[2.0, 0.0], 1.0), (&[8.0, 4.0], 2.0)]);
        let ratio = power.work(&[8.0, 4.0]).operations / power.work(&[2.0, 0.0]).operations;
        assert!((ratio - 20.0).abs() < 1e-9, "{ratio}");
    }
}
