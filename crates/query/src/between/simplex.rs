//! Linear interpolation on the Delaunay simplex around a target, as a linear programme.
//!
//! Of all weights λ ≥ 0 with Σλ = 1 and Σλp = target, those with the least Σλ|p|² stand on the simplex whose circumscribed sphere is empty. Where
//! more places than that lie on the sphere, several triangulations are right: then the mean of the lowest and the highest value over all of them
//! is taken, which no order of rows changes.

use smallvec::SmallVec;

/// Weights below this are none, and a target that is outside by less is inside.
const WEIGHT_TOLERANCE: f64 = 1e-11;
/// Relative distance from the sphere below which f64 does not tell inside from outside.
const SPHERE_TOLERANCE: f64 = 1e-9;
/// Iterations after which the first improving place is taken instead of the best one, so that no cycle lasts.
const GREEDY_ITERATIONS: usize = 200;
const MOST_ITERATIONS: usize = 100_000;
/// Most equations: three axes and the sum.
const MOST: usize = 4;

/// A value inside a triangulation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inside {
    pub(crate) value: f64,
    /// Places and their weights.
    pub(crate) weights: SmallVec<[(usize, f64); 4]>,
    /// Lowest and highest value over all triangulations, where they differ.
    pub(crate) range: Option<[f64; 2]>,
}

/// The value at a target; `None` if it is outside of all places. Places have one coordinate per axis, two or three axes.
pub(crate) fn interpolated(places: &[(&[f64], f64)], target: &[f64]) -> Option<Inside> {
    let rows = target.len() + 1;
    let mut programme = Programme { rows, columns: Vec::with_capacity(places.len()), basis: [0; MOST], extra: 0 };
    for (at, _) in places {
        let mut column = [0.0; MOST];
        column[0] = 1.0;
        for axis in 0..target.len() {
            column[axis + 1] = at[axis] - target[axis];
        }
        programme.columns.push(column);
    }
    programme.find_feasible()?;
    let squares: Vec<f64> =
        programme.columns.iter().map(|column| column[1..].iter().map(|x| x * x).sum::<f64>()).collect();
    let allowed: Vec<usize> = (0..places.len()).collect();
    let multipliers = programme.minimise(&allowed, &squares, true)?;
    // All places on the sphere: among them stand the weights of every right triangulation.
    let on_sphere: Vec<usize> = allowed
        .into_iter()
        .filter(|&place| programme.side(place, &squares, &multipliers) == Side::On || programme.is_basic(place))
        .collect();
    let values: Vec<f64> = places.iter().map(|(_, value)| *value).collect();
    let weights = programme.weights()?;
    let value_of =
        |weights: &[(usize, f64)]| weights.iter().map(|(place, weight)| values[*place] * weight).sum::<f64>();
    let value = value_of(&weights);
    if on_sphere.len() <= rows {
        return Some(Inside { value, weights, range: None });
    }
    let negated: Vec<f64> = values.iter().map(|value| -value).collect();
    let mut lowest = programme.clone();
    lowest.minimise(&on_sphere, &values, false)?;
    let mut highest = programme;
    highest.minimise(&on_sphere, &negated, false)?;
    let (low, high) = (lowest.weights()?, highest.weights()?);
    let range = [value_of(&low), value_of(&high)];
    if (range[1] - range[0]).abs() <= 1e-12 * range[1].abs() {
        return Some(Inside { value, weights, range: None });
    }
    let mut mean: SmallVec<[(usize, f64); 4]> = SmallVec::new();
    for (place, weight) in low.into_iter().chain(high) {
        match mean.iter_mut().find(|(known, _)| *known == place) {
            Some((_, known)) => *known += weight / 2.0,
            None => mean.push((place, weight / 2.0)),
        }
    }
    Some(Inside { value: (range[0] + range[1]) / 2.0, weights: mean, range: Some(range) })
}

/// Where a place is, seen from a sphere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Inside,
    On,
    Outside,
}

/// Equations, and the columns that solve them at present.
#[derive(Debug, Clone)]
struct Programme {
    rows: usize,
    columns: Vec<[f64; MOST]>,
    basis: [usize; MOST],
    /// Artificial columns behind the places.
    extra: usize,
}

type Square = [[f64; MOST]; MOST];

impl Programme {
    fn is_basic(&self, place: usize) -> bool {
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
        let mut right = [0.0; MOST];
        right[0] = 1.0;
        solved(self.matrix(), right, self.rows)
    }

    /// The places that count and their weights.
    fn weights(&self) -> Option<SmallVec<[(usize, f64); 4]>> {
        let amounts = self.amounts()?;
        let weights = self.basis[..self.rows].iter().zip(amounts).filter(|(_, weight)| *weight > WEIGHT_TOLERANCE);
        Some(weights.map(|(place, weight)| (*place, weight)).collect())
    }

    /// Looks for places around the target: artificial columns are driven out one by one.
    fn find_feasible(&mut self) -> Option<()> {
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
        self.minimise(&allowed, &costs, false)?;
        let amounts = self.amounts()?;
        let left: f64 = (0..self.rows).filter(|at| self.basis[*at] >= places).map(|at| amounts[at].abs()).sum();
        if left > WEIGHT_TOLERANCE {
            return None;
        }
        // Artificial columns that stayed with nothing: another column takes their place where one is independent.
        for at in 0..self.rows {
            if self.basis[at] >= places {
                let spare = (0..places).find(|&place| {
                    !self.is_basic(place)
                        && solved(self.matrix(), self.columns[place], self.rows)
                            .is_some_and(|share| share[at].abs() > 1e-9)
                })?;
                self.basis[at] = spare;
            }
        }
        self.columns.truncate(places);
        self.extra = 0;
        Some(())
    }

    /// Swaps columns in as long as the costs get less; the multipliers of the last basis.
    fn minimise(&mut self, allowed: &[usize], costs: &[f64], is_sphere: bool) -> Option<[f64; MOST]> {
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
            let share = solved(matrix, self.columns[entering], self.rows)?;
            let amounts = self.amounts()?;
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
            let is_cheaper = match is_sphere {
                true => self.side(place, costs, multipliers) == Side::Inside,
                false => cost < -1e-13 * size,
            };
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
    fn side(&self, place: usize, squares: &[f64], multipliers: &[f64; MOST]) -> Side {
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
fn solved(mut matrix: Square, mut right: [f64; MOST], size: usize) -> Option<[f64; MOST]> {
    for at in 0..size {
        let pivot = (at..size).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()))?;
        if matrix[pivot][at] == 0.0 {
            return None;
        }
        matrix.swap(at, pivot);
        right.swap(at, pivot);
        let pivot_row = matrix[at];
        for row in at + 1..size {
            let factor = matrix[row][at] / pivot_row[at];
            if factor != 0.0 {
                for (value, pivot) in matrix[row].iter_mut().zip(&pivot_row).take(size).skip(at) {
                    *value -= factor * pivot;
                }
                right[row] -= factor * right[at];
            }
        }
    }
    for at in (0..size).rev() {
        for column in at + 1..size {
            right[at] -= matrix[at][column] * right[column];
        }
        right[at] /= matrix[at][at];
    }
    Some(right)
}

/// Whether places lie on a line or a plane, and not in all dimensions.
pub(crate) fn is_flat(places: &[&[f64]], axes: usize) -> bool {
    let [first, rest @ ..] = places else { return true };
    let mut rows: Vec<[f64; 3]> = rest
        .iter()
        .map(|place| std::array::from_fn(|axis| if axis < axes { place[axis] - first[axis] } else { 0.0 }))
        .collect();
    let norm = |row: &[f64; 3]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let frobenius = rows.iter().map(|row| row.iter().map(|x| x * x).sum::<f64>()).sum::<f64>().sqrt();
    let tolerance = frobenius * rows.len().max(axes) as f64 * f64::EPSILON;
    for _ in 0..axes {
        let Some(longest) = rows.iter().max_by(|a, b| norm(a).total_cmp(&norm(b))).copied() else { return true };
        let length = norm(&longest);
        if length <= tolerance {
            return true;
        }
        for row in &mut rows {
            let along = (0..3).map(|axis| row[axis] * longest[axis]).sum::<f64>() / (length * length);
            for axis in 0..3 {
                row[axis] -= along * longest[axis];
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(places: &[(Vec<f64>, f64)], target: &[f64]) -> Option<Inside> {
        let borrowed: Vec<(&[f64], f64)> = places.iter().map(|(at, value)| (at.as_slice(), *value)).collect();
        interpolated(&borrowed, target)
    }

    #[test]
    fn a_rectangle_has_two_triangulations_and_the_mean_of_both_is_taken() {
        let places: Vec<(Vec<f64>, f64)> =
            vec![(vec![0., 0.], 1.), (vec![0., 8.], 2.), (vec![4., 0.], 3.), (vec![4., 8.], 9.)];
        let inside = at(&places, &[2., 4.]).unwrap();
        assert_eq!(inside.range, Some([2.5, 5.0]));
        assert_eq!(inside.value, 3.75);
        let on_edge = at(&places, &[0., 2.]).unwrap();
        assert_eq!((on_edge.value, on_edge.range), (1.25, None));
        assert_eq!(at(&places, &[4.1, 2.]), None);
    }

    #[test]
    fn lines_and_planes_are_flat() {
        let line: [&[f64]; 3] = [&[1., 1.], &[2., 3.], &[3., 5.]];
        assert!(is_flat(&line, 2));
        let triangle: [&[f64]; 3] = [&[1., 1.], &[2., 3.], &[3., 6.]];
        assert!(!is_flat(&triangle, 2));
    }

    proptest! {
        #[test]
        fn an_affine_function_comes_out_and_no_place_lies_inside_the_sphere(
            cloud in prop::collection::hash_set((0..60i32, 0..60i32, 0..60i32), 5..40),
            inner in (10..50i32, 10..50i32, 10..50i32),
        ) {
            let value = |at: &[f64]| 3.0 + 2.0 * at[0] - at[1] + 0.5 * at[2];
            let places: Vec<(Vec<f64>, f64)> = cloud
                .iter()
                .map(|(a, b, c)| vec![f64::from(*a), f64::from(*b), f64::from(*c)])
                .map(|at| (at.clone(), value(&at)))
                .collect();
            let target = [f64::from(inner.0), f64::from(inner.1), f64::from(inner.2)];
            if let Some(inside) = at(&places, &target) {
                prop_assert!((inside.value - value(&target)).abs() < 1e-8);
                let sum: f64 = inside.weights.iter().map(|(_, weight)| weight).sum();
                prop_assert!((sum - 1.0).abs() < 1e-9);
            }
        }

        #[test]
        fn the_order_of_places_does_not_matter(
            cloud in prop::collection::hash_set((0..9i32, 0..9i32), 4..30),
            inner in (0..9i32, 0..9i32),
        ) {
            let places: Vec<(Vec<f64>, f64)> = cloud
                .iter()
                .map(|(a, b)| (vec![f64::from(*a), f64::from(*b)], f64::from(a * 7 % 5 + b * 3 % 4)))
                .collect();
            let target = [f64::from(inner.0), f64::from(inner.1)];
            let forward = at(&places, &target).map(|inside| inside.value);
            let reversed: Vec<_> = places.into_iter().rev().collect();
            let backward = at(&reversed, &target).map(|inside| inside.value);
            match (forward, backward) {
                (Some(a), Some(b)) => prop_assert!((a - b).abs() < 1e-9),
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }
}
