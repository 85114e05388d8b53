//! The linear programme: equations, and the columns that solve them.

use smallvec::SmallVec;

/// Weights below this are none, and a target that is outside by less is inside.
pub(crate) const WEIGHT_TOLERANCE: f64 = 1e-11;
/// Relative distance from the sphere below which f64 does not tell inside from outside.
const SPHERE_TOLERANCE: f64 = 1e-9;
/// Iterations after which the first improving place is taken instead of the best one, so that no cycle lasts.
const GREEDY_ITERATIONS: usize = 200;
const MOST_ITERATIONS: usize = 100_000;
/// Most equations: three axes and the sum.
const MOST: usize = 4;

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
    /// The squares of the distances of all places from the target.
    squares: Vec<f64>,
    basis: [usize; MOST],
}

/// What swapping columns in makes less.
#[derive(Debug, Clone, Copy)]
enum Costs<'c> {
    /// One for each column from this one on.
    From(usize),
    /// The squares of the distances.
    Squares(&'c [f64]),
    /// Any.
    Given(&'c [f64]),
}

impl Costs<'_> {
    #[inline]
    fn of(self, column: usize) -> f64 {
        match self {
            Costs::From(first) => f64::from(u8::from(column >= first)),
            Costs::Squares(costs) | Costs::Given(costs) => costs[column],
        }
    }
}

impl Programme {
    /// The equations of some places around a target.
    pub(super) fn new<'p>(places: impl ExactSizeIterator<Item = &'p [f64]>, target: &[f64]) -> Self {
        let rows = target.len() + 1;
        // Rounds take in some more.
        let count = places.len() + 48;
        let (columns, squares) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut programme = Programme { rows, columns, squares, basis: [0; MOST] };
        places.for_each(|at| programme.add(at, target));
        programme
    }

    /// The equations of the corners of a simplex around a target, which solve them.
    pub(super) fn around<'p>(corners: impl ExactSizeIterator<Item = &'p [f64]>, target: &[f64]) -> Self {
        Programme { basis: [0, 1, 2, 3], ..Programme::new(corners, target) }
    }

    /// Whether it is still solved by the first places.
    pub(super) fn is_around_first(&self) -> bool {
        self.basis[..self.rows].iter().all(|place| *place < self.rows)
    }

    /// With one more place.
    pub(super) fn add(&mut self, at: &[f64], target: &[f64]) {
        let mut column = [0.0; MOST];
        column[0] = 1.0;
        for axis in 0..target.len() {
            column[axis + 1] = at[axis] - target[axis];
        }
        self.columns.push(column);
        self.squares.push(column[1..].iter().map(|x| x * x).sum::<f64>());
    }

    /// The number of equations.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    fn is_basic(&self, place: usize) -> bool {
        self.basis[..self.rows].contains(&place)
    }

    /// The columns of the basis, which are the rows of the transposed equations.
    fn transposed<const R: usize>(&self) -> [[f64; R]; R] {
        std::array::from_fn(|at| {
            let column = &self.columns[self.basis[at]];
            std::array::from_fn(|row| column[row])
        })
    }

    /// The amounts of the columns in the basis.
    fn amounts(&self) -> Option<[f64; MOST]> {
        self.shares([ONE]).map(|[amounts]| amounts)
    }

    /// How columns are made of those in the basis.
    fn shares<const N: usize>(&self, columns: [[f64; MOST]; N]) -> Option<[[f64; MOST]; N]> {
        if self.rows == MOST { self.shares_in::<MOST, N>(columns) } else { self.shares_in::<3, N>(columns) }
    }

    fn shares_in<const R: usize, const N: usize>(&self, columns: [[f64; MOST]; N]) -> Option<[[f64; MOST]; N]> {
        let rights = columns.map(|column| std::array::from_fn::<f64, R, _>(|row| column[row]));
        let shares = solved(transposed(&self.transposed::<R>()), rights)?;
        Some(shares.map(|share| std::array::from_fn(|row| if row < R { share[row] } else { 0.0 })))
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
        let mut scale = [0.0f64; MOST];
        for column in &self.columns {
            scale.iter_mut().zip(column).for_each(|(most, own)| *most = most.max(own.abs()));
        }
        for row in 0..self.rows {
            let mut column = [0.0; MOST];
            column[row] = scale[row].max(f64::MIN_POSITIVE);
            self.columns.push(column);
            self.basis[row] = places + row;
        }
        let multipliers = self.minimise_all(0..places, Costs::From(places)).ok_or(None)?;
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
                        && self.shares([self.columns[place]]).is_some_and(|[share]| share[at].abs() > 1e-9)
                });
                let spare = spare.ok_or(None)?;
                self.basis[at] = spare;
            }
        }
        self.columns.truncate(places);
        Ok(())
    }

    /// Swaps places in until none lies inside of the sphere through the basis: the multipliers of that.
    pub(super) fn empty_sphere(&mut self) -> Option<[f64; MOST]> {
        let squares = std::mem::take(&mut self.squares);
        let multipliers = self.minimise_all(0..squares.len(), Costs::Squares(&squares));
        self.squares = squares;
        multipliers
    }

    /// Swaps some of the places in as long as the costs get less.
    pub(super) fn minimise(&mut self, allowed: &[usize], costs: &[f64]) -> Option<()> {
        self.minimise_all(allowed.iter().copied(), Costs::Given(costs)).map(|_| ())
    }

    fn minimise_all(&mut self, allowed: impl Iterator<Item = usize> + Clone, costs: Costs<'_>) -> Option<[f64; MOST]> {
        match self.rows {
            MOST => self.minimise_in::<MOST>(allowed, costs),
            _ => {
                let [sum, a, b] = self.minimise_in::<3>(allowed, costs)?;
                Some([sum, a, b, 0.0])
            }
        }
    }

    /// Swaps columns in as long as the costs get less; the multipliers of the last basis.
    fn minimise_in<const R: usize>(
        &mut self,
        allowed: impl Iterator<Item = usize> + Clone,
        costs: Costs<'_>,
    ) -> Option<[f64; R]> {
        for iteration in 0..MOST_ITERATIONS {
            let matrix = self.transposed::<R>();
            let right: [f64; R] = std::array::from_fn(|at| costs.of(self.basis[at]));
            let [multipliers] = solved(matrix, [right])?;
            let is_greedy = iteration < GREEDY_ITERATIONS;
            let Some(entering) = self.entering(allowed.clone(), costs, &multipliers, is_greedy) else {
                return Some(multipliers);
            };
            let column = &self.columns[entering];
            let rights = [std::array::from_fn(|row| column[row]), std::array::from_fn(|row| ONE[row])];
            let [share, amounts] = solved(transposed(&matrix), rights)?;
            let mut leaving: Option<(usize, f64)> = None;
            for at in 0..R {
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
    #[inline]
    fn entering<const R: usize>(
        &self,
        allowed: impl Iterator<Item = usize>,
        costs: Costs<'_>,
        multipliers: &[f64; R],
        is_greedy: bool,
    ) -> Option<usize> {
        let (mut best, mut least) = (None, 0.0);
        for place in allowed {
            let column = &self.columns[place];
            let mut cost = costs.of(place);
            for row in 0..R {
                cost -= multipliers[row] * column[row];
            }
            if cost >= least || self.is_basic(place) {
                continue;
            }
            let is_cheaper = match costs {
                Costs::Squares(squares) => self.side(place, squares[place], multipliers) == Side::Inside,
                _ => cost < -1e-13 * self.reduced_cost(place, costs.of(place), multipliers).1,
            };
            if is_cheaper {
                (best, least) = (Some(place), cost);
                if !is_greedy {
                    break;
                }
            }
        }
        best
    }

    /// What a column costs more than the basis, and the size of the terms of that.
    fn reduced_cost<const R: usize>(&self, place: usize, own: f64, multipliers: &[f64; R]) -> (f64, f64) {
        let column = &self.columns[place];
        let (mut cost, mut size) = (own, own.abs());
        for row in 0..R {
            let term = multipliers[row] * column[row];
            cost -= term;
            size = size.max(term.abs());
        }
        (cost, size)
    }

    /// The places in or on the sphere through the basis, whose multipliers are given, and the basis.
    pub(super) fn on_sphere(&self, multipliers: &[f64; MOST]) -> Vec<usize> {
        let is_on = |place: usize| {
            let side = match self.rows {
                MOST => self.side(place, self.squares[place], multipliers),
                _ => self.side(place, self.squares[place], &[multipliers[0], multipliers[1], multipliers[2]]),
            };
            side == Side::On || self.is_basic(place)
        };
        (0..self.squares.len()).filter(|place| is_on(*place)).collect()
    }

    /// Where a place is, seen from the sphere through the basis.
    fn side<const R: usize>(&self, place: usize, square: f64, multipliers: &[f64; R]) -> Side {
        let (cost, size) = self.reduced_cost(place, square, multipliers);
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

fn transposed<const R: usize>(matrix: &[[f64; R]; R]) -> [[f64; R]; R] {
    std::array::from_fn(|row| std::array::from_fn(|column| matrix[column][row]))
}

/// The solutions of linear equations with several right sides; `None` if they are dependent.
#[inline]
fn solved<const R: usize, const N: usize>(
    mut matrix: [[f64; R]; R],
    mut rights: [[f64; R]; N],
) -> Option<[[f64; R]; N]> {
    for at in 0..R {
        // Of equally large ones the last.
        let mut pivot = at;
        for row in at + 1..R {
            if matrix[row][at].abs() >= matrix[pivot][at].abs() {
                pivot = row;
            }
        }
        if matrix[pivot][at] == 0.0 {
            return None;
        }
        if pivot != at {
            matrix.swap(at, pivot);
            rights.iter_mut().for_each(|right| right.swap(at, pivot));
        }
        let pivot_row = matrix[at];
        for row in at + 1..R {
            let factor = matrix[row][at] / pivot_row[at];
            for column in at + 1..R {
                matrix[row][column] -= factor * pivot_row[column];
            }
            rights.iter_mut().for_each(|right| right[row] -= factor * right[at]);
        }
    }
    for at in (0..R).rev() {
        for right in &mut rights {
            for column in at + 1..R {
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
