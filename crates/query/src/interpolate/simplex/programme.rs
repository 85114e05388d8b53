//! The linear programme: equations, and the columns that solve them.

use smallvec::SmallVec;

/// Weights below this are none, and a target that is outside by less is inside.
const WEIGHT_TOLERANCE: f64 = 1e-11;
/// Relative distance from the sphere below which f64 does not tell inside from outside.
const SPHERE_TOLERANCE: f64 = 1e-9;
/// Iterations after which the first improving place is taken instead of the best one, so that no cycle lasts.
const GREEDY_ITERATIONS: usize = 200;
const MOST_ITERATIONS: usize = 100_000;
/// Most equations: three axes and the sum.
pub(super) const MOST: usize = 4;

/// The right side of the equations: the sum of the weights.
const ONE: [f64; MOST] = [1.0, 0.0, 0.0, 0.0];

/// Where a place is, seen from a sphere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Inside,
    On,
    Outside,
}

/// Equations, and the columns that solve them at present.
#[derive(Debug, Clone)]
pub(super) struct Programme {
    rows: usize,
    columns: Vec<[f64; MOST]>,
    basis: [usize; MOST],
    /// Artificial columns behind the places.
    extra: usize,
}

type Square = [[f64; MOST]; MOST];

impl Programme {
    /// The equations of some places around a target.
    pub(super) fn new<'p>(places: impl ExactSizeIterator<Item = &'p [f64]>, target: &[f64]) -> Self {
        let rows = target.len() + 1;
        let mut programme =
            Programme { rows, columns: Vec::with_capacity(places.len() + rows), basis: [0; MOST], extra: 0 };
        places.for_each(|at| programme.add(at, target));
        programme
    }

    /// With one more place.
    pub(super) fn add(&mut self, at: &[f64], target: &[f64]) {
        let mut column = [0.0; MOST];
        column[0] = 1.0;
        for axis in 0..target.len() {
            column[axis + 1] = at[axis] - target[axis];
        }
        self.columns.push(column);
    }

    /// The squares of the distances of all places from the target.
    pub(super) fn squares(&self) -> Vec<f64> {
        self.columns.iter().map(|column| column[1..].iter().map(|x| x * x).sum::<f64>()).collect()
    }

    pub(super) fn is_basic(&self, place: usize) -> bool {
        self.basis[..self.rows].contains(&place)
    }

    fn matrix(&self) -> Square {
        let mut matrix = [[0.0; MOST]; MOST];
        for (at, &place) in self.basis[..self.rows].iter().enumerate() {
            for (row, value) in matrix.iter_mut().zip(&self.columns[place]).take(self.rows) {
                row[at] = *value;
            }
        }
        matrix
    }

    /// The amounts of the columns in the basis.
    fn amounts(&self) -> Option<[f64; MOST]> {
        solved(self.matrix(), ONE, self.rows)
    }

    /// The places that count and their weights.
    pub(super) fn weights(&self) -> Option<SmallVec<[(usize, f64); 4]>> {
        let amounts = self.amounts()?;
        let weights = self.basis[..self.rows].iter().zip(amounts).filter(|(_, weight)| *weight > WEIGHT_TOLERANCE);
        Some(weights.map(|(place, weight)| (*place, weight)).collect())
    }

    /// Looks for places around the target: artificial columns are driven out one by one. Without any, the multipliers tell a plane between
    /// the target and the places.
    pub(super) fn find_feasible(&mut self) -> Result<(), Option<[f64; MOST]>> {
        let places = self.columns.len();
        // Scaled like the places, so that the tolerance means the same on every axis.
        let scale: [f64; MOST] = std::array::from_fn(|row| {
            self.columns.iter().map(|column| column[row].abs()).fold(0.0, f64::max).max(f64::MIN_POSITIVE)
        });
        for row in 0..self.rows {
            let mut column = [0.0; MOST];
            column[row] = scale[row];
            self.columns.push(column);
            self.basis[row] = places + row;
        }
        self.extra = self.rows;
        let costs: Vec<f64> = (0..self.columns.len()).map(|at| f64::from(u8::from(at >= places))).collect();
        let allowed: Vec<usize> = (0..places).collect();
        let multipliers = self.minimise(&allowed, &costs, false).ok_or(None)?;
        let amounts = self.amounts().ok_or(None)?;
        let left: f64 = (0..self.rows).filter(|at| self.basis[*at] >= places).map(|at| amounts[at].abs()).sum();
        if left > WEIGHT_TOLERANCE {
            return Err(Some(multipliers));
        }
        // Artificial columns that stayed with nothing: another column takes their place where one is independent.
        for at in 0..self.rows {
            if self.basis[at] >= places {
                let spare = (0..places).find(|&place| {
                    !self.is_basic(place)
                        && solved(self.matrix(), self.columns[place], self.rows)
                            .is_some_and(|share| share[at].abs() > 1e-9)
                });
                let spare = spare.ok_or(None)?;
                self.basis[at] = spare;
            }
        }
        self.columns.truncate(places);
        self.extra = 0;
        Ok(())
    }

    /// Swaps columns in as long as the costs get less; the multipliers of the last basis.
    pub(super) fn minimise(&mut self, allowed: &[usize], costs: &[f64], is_sphere: bool) -> Option<[f64; MOST]> {
        for iteration in 0..MOST_ITERATIONS {
            let matrix = self.matrix();
            let mut right = [0.0; MOST];
            for (at, place) in self.basis[..self.rows].iter().enumerate() {
                right[at] = costs[*place];
            }
            let multipliers = solved(transposed(&matrix), right, self.rows)?;
            let is_greedy = iteration < GREEDY_ITERATIONS;
            let Some(entering) = self.entering(allowed, costs, &multipliers, is_sphere, is_greedy) else {
                return Some(multipliers);
            };
            let [share, amounts] = solved_all(matrix, [self.columns[entering], ONE], self.rows)?;
            let mut leaving: Option<(usize, f64)> = None;
            for at in 0..self.rows {
                if share[at] > 1e-12 {
                    let ratio = amounts[at].max(0.0) / share[at];
                    // Of equal ones the earliest place, so that no cycle lasts.
                    if leaving.is_none_or(|(best, least)| {
                        ratio < least || (ratio == least && self.basis[at] < self.basis[best])
                    }) {
                        leaving = Some((at, ratio));
                    }
                }
            }
            self.basis[leaving?.0] = entering;
        }
        None
    }

    /// A column that makes it cheaper.
    fn entering(
        &self,
        allowed: &[usize],
        costs: &[f64],
        multipliers: &[f64; MOST],
        is_sphere: bool,
        is_greedy: bool,
    ) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for &place in allowed {
            let (cost, size) = self.reduced_cost(place, costs, multipliers);
            let least = best.map_or(0.0, |(_, least)| least);
            if cost >= least || self.is_basic(place) {
                continue;
            }
            let is_cheaper =
                if is_sphere { self.side(place, costs, multipliers) == Side::Inside } else { cost < -1e-13 * size };
            if is_cheaper {
                best = Some((place, cost));
                if !is_greedy {
                    break;
                }
            }
        }
        best.map(|(place, _)| place)
    }

    /// What a column costs more than the basis, and the size of the terms of that.
    fn reduced_cost(&self, place: usize, costs: &[f64], multipliers: &[f64; MOST]) -> (f64, f64) {
        let column = &self.columns[place];
        let (mut cost, mut size) = (costs[place], costs[place].abs());
        for row in 0..self.rows {
            let term = multipliers[row] * column[row];
            cost -= term;
            size = size.max(term.abs());
        }
        (cost, size)
    }

    /// Where a place is, seen from the sphere through the basis.
    pub(super) fn side(&self, place: usize, squares: &[f64], multipliers: &[f64; MOST]) -> Side {
        let (cost, size) = self.reduced_cost(place, squares, multipliers);
        if cost > SPHERE_TOLERANCE * size {
            return Side::Outside;
        }
        if cost < -SPHERE_TOLERANCE * size {
            return Side::Inside;
        }
        self.exact_side(place).unwrap_or(Side::On)
    }

    /// The same in integers, where all coordinates are integers that are small enough.
    fn exact_side(&self, place: usize) -> Option<Side> {
        let axes = self.rows - 1;
        let origin = &self.columns[self.basis[0]];
        let row = |place: usize| -> Option<[i128; MOST]> {
            let mut row = [0i128; MOST];
            for axis in 0..axes {
                let difference = self.columns[place][axis + 1] - origin[axis + 1];
                if difference.fract() != 0.0 || difference.abs() > 33_554_432.0 {
                    return None;
                }
                row[axis] = difference as i128;
                row[axes] += row[axis] * row[axis];
            }
            Some(row)
        };
        let mut matrix = [[0i128; MOST]; MOST];
        let corners = self.basis[1..self.rows].iter().copied();
        for (line, corner) in matrix.iter_mut().zip(corners.chain([place])) {
            *line = row(corner)?;
        }
        let orientation = determinant(&matrix, axes)?;
        let lifted = determinant(&matrix, axes + 1)?;
        Some(match lifted.signum() * orientation.signum() {
            0 => Side::On,
            1 => Side::Outside,
            _ => Side::Inside,
        })
    }
}

/// The determinant of the first rows and columns; `None` if it does not fit.
fn determinant(matrix: &[[i128; MOST]; MOST], size: usize) -> Option<i128> {
    fn expand(matrix: &[[i128; MOST]; MOST], row: usize, columns: &[usize]) -> Option<i128> {
        let [first, ..] = columns else { return Some(1) };
        if columns.len() == 1 {
            return Some(matrix[row][*first]);
        }
        let mut sum = 0i128;
        for (at, &column) in columns.iter().enumerate() {
            let rest: SmallVec<[usize; MOST]> = columns.iter().copied().filter(|other| *other != column).collect();
            let term = matrix[row][column].checked_mul(expand(matrix, row + 1, &rest)?)?;
            sum = if at % 2 == 0 { sum.checked_add(term)? } else { sum.checked_sub(term)? };
        }
        Some(sum)
    }
    let columns: SmallVec<[usize; MOST]> = (0..size).collect();
    expand(matrix, 0, &columns)
}

fn transposed(matrix: &Square) -> Square {
    std::array::from_fn(|row| std::array::from_fn(|column| matrix[column][row]))
}

/// The solution of linear equations; `None` if they are dependent.
fn solved(matrix: Square, right: [f64; MOST], size: usize) -> Option<[f64; MOST]> {
    solved_all(matrix, [right], size).map(|[solution]| solution)
}

/// The same of several right sides.
fn solved_all<const N: usize>(
    mut matrix: Square,
    mut rights: [[f64; MOST]; N],
    size: usize,
) -> Option<[[f64; MOST]; N]> {
    for at in 0..size {
        let pivot = (at..size).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()))?;
        if matrix[pivot][at] == 0.0 {
            return None;
        }
        matrix.swap(at, pivot);
        rights.iter_mut().for_each(|right| right.swap(at, pivot));
        let pivot_row = matrix[at];
        for row in at + 1..size {
            let factor = matrix[row][at] / pivot_row[at];
            if factor != 0.0 {
                for (value, pivot) in matrix[row].iter_mut().zip(&pivot_row).take(size).skip(at) {
                    *value -= factor * pivot;
                }
                rights.iter_mut().for_each(|right| right[row] -= factor * right[at]);
            }
        }
    }
    for at in (0..size).rev() {
        for right in &mut rights {
            for column in at + 1..size {
                right[at] -= matrix[at][column] * right[column];
            }
            right[at] /= matrix[at][at];
        }
    }
    Some(rights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn determinants_of_matrices_of_all_sizes() {
        let mut matrix = [[0; MOST]; MOST];
        let rows: [&[i128]; 3] = [&[2, 3, 5], &[7, 11, 13], &[17, 19, 23]];
        for (row, values) in matrix.iter_mut().zip(rows) {
            row[..values.len()].copy_from_slice(values);
        }
        assert_eq!([0, 1, 2, 3].map(|size| determinant(&matrix, size)), [Some(1), Some(2), Some(1), Some(-78)]);
        matrix[0][0] = i128::MAX;
        assert_eq!(determinant(&matrix, 2), None);
    }
}
