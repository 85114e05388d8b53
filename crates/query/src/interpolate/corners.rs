//! The narrowest box around a target, of whose corners some may be no places.
//!
//! No place has a coordinate between the sides of the box, so none lies in the sphere through its corners: the hull of those that are places is a
//! cell of the Delaunay triangulation, and [`super::simplex`] would find it.

use super::axes::bits_of;
use super::corrected::scaled;
use super::near::Near;
use super::simplex::{Shares, WEIGHT_TOLERANCE};
use super::slice::Slice;
use smallvec::SmallVec;
use std::array;
use std::sync::LazyLock;

/// Corners of a box at most.
const MOST: usize = 8;

/// Places of a slice by number, and their weights.
pub(super) type Weights = SmallVec<[(u32, f64); MOST]>;

/// The narrowest box around a target. A corner lies on the upper side of each axis whose bit is set in its number.
pub(super) struct Corners {
    axes: usize,
    /// The length of each side, and how far the target lies from its lower end to its upper one, on scaled axes.
    lengths: [f64; 3],
    shares: [f64; 3],
    /// On scaled axes.
    target: [f64; 3],
    /// The places at the corners.
    places: [Option<u32>; MOST],
}

impl Corners {
    /// `None` if places are missing on a side of the target. The target is one on scaled axes, the sides are the nearest coordinates on an axis.
    pub(super) fn around(
        slice: &Slice,
        axes: usize,
        target: [f64; 3],
        sides_on: impl Fn(usize) -> Option<[f64; 2]>,
    ) -> Option<Corners> {
        let mut corners = Corners { axes, lengths: [0.0; 3], shares: [0.0; 3], target, places: [None; MOST] };
        let mut sides = [[0.0; 2]; 3];
        let mut flat = 0;
        for axis in 0..axes {
            let [low, high] = sides_on(axis)?;
            if low < high {
                let start = scaled(low);
                corners.lengths[axis] = scaled(high) - start;
                corners.shares[axis] = (target[axis] - start) / corners.lengths[axis];
            } else {
                flat |= 1 << axis;
            }
            sides[axis] = [low, high];
        }
        if slice.is_scattered && flat + 1 < 1 << axes {
            // No two corners are places: what spans a cell are others.
            return Some(corners);
        }
        let mut missing = 0;
        for corner in 0..1 << axes {
            corners.places[corner] = if corner & flat == 0 {
                let at: [f64; 3] = array::from_fn(|axis| sides[axis][corner >> axis & 1]);
                slice.place_number(&at[..axes])
            } else {
                corners.places[corner & !flat]
            };
            missing += usize::from(corners.places[corner].is_none());
            if missing + axes >= 1 << axes {
                // The rest does not span a cell.
                break;
            }
        }
        Some(corners)
    }

    /// The corners that are places.
    pub(super) fn places(&self) -> Near {
        self.places.iter().copied().flatten().collect()
    }

    /// The target on scaled axes.
    pub(super) fn target(&self) -> &[f64] {
        &self.target[..self.axes]
    }

    /// The length of the box: the sum over all axes.
    pub(super) fn length(&self) -> f64 {
        self.lengths.iter().sum()
    }

    /// The weights of all corners that count; `None` if one of them is no place.
    pub(super) fn of_all(&self) -> Option<Weights> {
        let mut weights = Weights::new();
        for (corner, place) in self.places[..1 << self.axes].iter().enumerate() {
            let of_axis =
                |axis: usize| if corner >> axis & 1 == 1 { self.shares[axis] } else { 1.0 - self.shares[axis] };
            let weight: f64 = (0..self.axes).map(of_axis).product();
            if weight > 0.0 {
                weights.push(((*place)?, weight));
            }
        }
        Some(weights)
    }

    /// The weights of some corners, and how far these reach, where the target lies between those that are places: the mean of the lowest and the
    /// highest value over all their triangulations.
    pub(super) fn of_some(&self, value: impl Fn(u32) -> f64) -> Option<(Weights, f64)> {
        if self.lengths[..self.axes].contains(&0.0) {
            // Other places may lie in a sphere through the corners of a flat box.
            return None;
        }
        let values = self.places.map(|place| place.map_or(0.0, &value));
        let present = bits_of((0u8..).zip(self.places).filter(|(_, place)| place.is_some()).map(|(corner, _)| corner));
        let mut lowest: Option<(f64, &Cell, [f64; 4])> = None;
        let mut highest = lowest;
        let cells = if self.axes == 2 { &CELLS_OF_SQUARE } else { &CELLS_OF_CUBE };
        for cell in cells.iter().filter(|cell| cell.mask & present == cell.mask) {
            let Some(weights) = cell.weights(self.shares) else { continue };
            let own = cell.corners.iter().zip(weights).map(|(corner, weight)| values[*corner] * weight).sum();
            if lowest.is_none_or(|(least, ..)| own < least) {
                lowest = Some((own, cell, weights));
            }
            if highest.is_none_or(|(most, ..)| own > most) {
                highest = Some((own, cell, weights));
            }
        }
        let (Some(lowest), Some(highest)) = (lowest, highest) else { return None };
        let mut of_corners = [0.0; MOST];
        for (_, cell, weights) in [lowest, highest] {
            cell.corners.iter().zip(weights).for_each(|(corner, weight)| of_corners[*corner] += weight / 2.0);
        }
        let is_on = |corner: usize, axis: usize, side: usize| of_corners[corner] > 0.0 && corner >> axis & 1 == side;
        let has = |axis: usize, side: usize| (0..MOST).any(|corner| is_on(corner, axis, side));
        let length = (0..self.axes).filter(|axis| has(*axis, 0) && has(*axis, 1)).map(|axis| self.lengths[axis]).sum();
        let used = self.places.iter().zip(of_corners).filter(|(_, weight)| *weight > 0.0);
        Some((used.map(|(place, weight)| Some(((*place)?, weight))).collect::<Option<_>>()?, length))
    }
}

/// A triangle or tetrahedron of corners of the unit square or cube.
struct Cell {
    corners: SmallVec<[usize; 4]>,
    mask: u8,
    /// Seen from the origin.
    shares: Shares,
}

static CELLS_OF_SQUARE: LazyLock<Vec<Cell>> = LazyLock::new(|| Cell::all(2));
static CELLS_OF_CUBE: LazyLock<Vec<Cell>> = LazyLock::new(|| Cell::all(3));

impl Cell {
    fn all(axes: usize) -> Vec<Cell> {
        let masks = (0..=u8::MAX).filter(|mask| mask.count_ones() as usize == axes + 1);
        masks.filter(|mask| usize::from(*mask) < 1 << (1 << axes)).filter_map(Cell::of).collect()
    }

    /// `None` where the corners lie in a plane.
    fn of(mask: u8) -> Option<Cell> {
        let corners: SmallVec<[usize; 4]> = (0..MOST).filter(|corner| mask >> corner & 1 == 1).collect();
        let at = |number: usize| -> [f64; 3] {
            match corners.get(number) {
                Some(corner) => [0, 1, 2].map(|axis| (corner >> axis & 1) as f64),
                // Above the plane of two axes.
                None => [0.0, 0.0, 1.0],
            }
        };
        let shares = Shares::of([0, 1, 2, 3].map(at))?;
        Some(Cell { corners, mask, shares })
    }

    /// The weights of the corners at a target; `None` if it is outside.
    #[inline]
    fn weights(&self, target: [f64; 3]) -> Option<[f64; 4]> {
        let mut weights = [0.0; 4];
        for (corner, own) in weights[..self.corners.len()].iter_mut().enumerate() {
            let weight = self.shares.at(corner, target);
            if weight < -WEIGHT_TOLERANCE {
                return None;
            }
            *own = if weight > WEIGHT_TOLERANCE { weight } else { 0.0 };
        }
        Some(weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpolate::axes::{ABSENT, RowPoint};
    use crate::interpolate::simplex::interpolated;
    use proptest::prelude::*;

    const SIZES: [f64; 6] = [1.0, 2.0, 16.0, 24.0, 48.0, 64.0];

    #[test]
    fn cells_of_a_cube_are_its_tetrahedra() {
        let at_middle = |cell: &Cell| {
            // The weights at the middle of the cell are equal.
            let sum = |axis: usize| cell.corners.iter().map(|corner| (corner >> axis & 1) as f64).sum::<f64>();
            let middle = [0, 1, 2].map(|axis| sum(axis) / cell.corners.len() as f64);
            cell.weights(middle).map(|weights| weights[..cell.corners.len()].to_vec())
        };
        // Of 70 choices of four corners twelve lie in a plane.
        assert_eq!((CELLS_OF_SQUARE.len(), CELLS_OF_CUBE.len()), (4, 58));
        for cell in CELLS_OF_SQUARE.iter().chain(CELLS_OF_CUBE.iter()) {
            let count = cell.corners.len();
            let weights = at_middle(cell).unwrap();
            assert!(weights.iter().all(|weight| (weight * count as f64 - 1.0).abs() < 1e-12), "{weights:?}");
        }
        assert_eq!(CELLS_OF_SQUARE[0].weights([0.9, 0.9, 0.0]), None);
    }

    proptest! {
        #[test]
        fn some_corners_tell_what_all_places_do(
            is_there in prop::collection::vec(prop::bool::weighted(0.8), 6 * 6 * 6),
            wanted in prop::collection::vec(1.1f64..63.0, 3),
            axes in 2usize..4,
        ) {
            let at = |number: usize| [SIZES[number % 6], SIZES[number / 6 % 6], SIZES[number / 36]];
            let count = 6usize.pow(axes as u32);
            let numbers = (0..count).filter(|number| is_there[*number]);
            let points: Vec<RowPoint> = numbers
                .map(|number| {
                    let [a, b, c] = at(number);
                    let (row, duration_us) = (number as u32, 1.0 + (number * 7 % 11) as f64);
                    RowPoint { at: [a, b, c, ABSENT, ABSENT], duration_us, row, spread: f32::NAN }
                })
                .collect();
            let set: &'static [u8] = if axes == 2 { &[0, 1] } else { &[0, 1, 2] };
            let slice = Slice::of(set, points.iter());
            let wanted = &wanted[..axes];
            let value = |number: u32| slice.places[number as usize].duration_us.ln();
            let mut target = [0.0; 3];
            target.iter_mut().zip(wanted).for_each(|(target, size)| *target = scaled(*size));
            let around = Corners::around(&slice, axes, target, |axis| slice.bracket(axis, wanted[axis]));
            let Some((weights, length)) = around.and_then(|corners| corners.of_some(value)) else { return Ok(()) };
            let target = &target[..axes];
            for (axis, target) in target.iter().enumerate() {
                let own = |(number, weight): &(u32, f64)| weight * scaled(slice.places[*number as usize].at[axis]);
                prop_assert!((weights.iter().map(own).sum::<f64>() - target).abs() < 1e-9);
            }
            prop_assert!(length > 0.0);
            let all: Vec<Vec<f64>> =
                slice.places.iter().map(|place| place.at.iter().map(|size| scaled(*size)).collect()).collect();
            let all: Vec<(&[f64], f64)> = (0u32..).zip(&all).map(|(number, at)| (at.as_slice(), value(number))).collect();
            let expected = interpolated(&all, target).map(|inside| inside.value);
            let own = weights.iter().map(|(number, weight)| weight * value(*number)).sum::<f64>();
            prop_assert!(expected.is_some_and(|expected| (own - expected).abs() < 1e-9), "{own} {expected:?}");
        }
    }
}
