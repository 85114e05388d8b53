//! The Delaunay triangulation of all places: what a walk finds for one target, kept for all.
//!
//! Places of two axes and one above their plane have tetrahedra that all end there: each sphere meets the plane in the circle around a triangle.

mod growing;

use super::walk::{ABOVE_AT, Shares, Simplex, Weighted};
use crate::interpolate::near::{Near, Numbered, Tree, minus, square};
use growing::{Growing, INFINITE, OUT};
use std::array;
use std::sync::atomic::{AtomicU8, Ordering};

/// Cells on a way to a target at most.
const MOST_STEPS: usize = 256;
/// Places about a target among which the nearest one is where its way begins.
const ABOUT: usize = 8;
const NO_CELL: u32 = u32::MAX;
/// What is known of the sphere of a cell.
const UNKNOWN: u8 = 0;
const CLEAR: u8 = 1;
const SHARED: u8 = 2;
/// Below this share of a corner a target may lie in the next cell as well.
const LEAST_SHARE: f64 = 1e-8;
/// By this share of its radius other places must lie outside of a sphere: beyond what counts as on it, by more than rounding does.
const CLEARANCE: f64 = 1e-6;

/// Tetrahedra, or triangles below a place above them. Places are counted in the order of a tree, and cells by their first place, so that what is near
/// in space is so in memory.
#[derive(Debug)]
pub(crate) struct Triangulation {
    cells: Box<[Cell]>,
    /// Whether no other place lies in or on the sphere of a cell, nor next to it: [`UNKNOWN`] until it is first asked for.
    are_clear: Box<[AtomicU8]>,
    /// A cell that ends at each place; [`NO_CELL`] of places that coincide with another one.
    of_place: Box<[u32]>,
}

#[derive(Debug)]
#[repr(align(32))]
struct Cell {
    /// In the order of the numbers of places; then the one above them.
    corners: [u32; 4],
    /// The cells opposite to each corner.
    neighbours: [u32; 4],
}

impl Triangulation {
    /// Of the places of a tree on some axes; `None` if they lie in a plane.
    pub(super) fn new(tree: &Tree, axes: usize) -> Option<Triangulation> {
        let places = tree.in_order();
        let mut at: Vec<[f64; 3]> = places.iter().map(|place| place.at).collect();
        if axes == 2 {
            at.push(ABOVE_AT);
        }
        let Growing { corners, neighbours, .. } = Growing::of(&at)?;
        let mut order: Vec<u32> = (0..corners.len() as u32).collect();
        order.retain(|cell| corners[*cell as usize] != OUT);
        order.sort_unstable_by_key(|cell| corners[*cell as usize].iter().min());
        let mut renumbered = vec![0; corners.len()];
        let mut of_place = vec![NO_CELL; at.len()];
        for (number, cell) in (0..).zip(&order) {
            let corners = corners[*cell as usize];
            renumbered[*cell as usize] = number;
            if !corners.contains(&INFINITE) {
                corners.into_iter().for_each(|corner| of_place[corner as usize] = number);
            }
        }
        let cells = order.into_iter().map(|cell| {
            // What is no place comes after all.
            let number = |place: u32| places.get(place as usize).map_or(place, |own| own.number);
            let neighbours = neighbours[cell as usize].map(|neighbour| renumbered[neighbour as usize]);
            let mut corners = array::from_fn(|at| (corners[cell as usize][at], neighbours[at]));
            corners.sort_unstable_by_key(|(place, _)| number(*place));
            Cell { corners: corners.map(|(place, _)| place), neighbours: corners.map(|(_, cell)| cell) }
        });
        let cells: Box<[Cell]> = cells.collect();
        let are_clear = cells.iter().map(|_| AtomicU8::new(UNKNOWN)).collect();
        Some(Triangulation { cells, are_clear, of_place: of_place.into() })
    }

    /// The cell around a target; `None` if it is outside of all, next to a side of the cell, or other places lie on the sphere.
    pub(super) fn around(&self, tree: &Tree, axes: usize, target: [f64; 3]) -> Option<Simplex> {
        let places = tree.in_order();
        let seen = |place: u32| places.get(place as usize).map_or(ABOVE_AT, |own| minus(own.at, target));
        let about = tree.about(target, ABOUT);
        let squares = about.clone().zip(places[about].iter().map(|own| square(minus(own.at, target))));
        let (nearest, _) = squares.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let mut number = self.of_place[nearest];
        for _ in 0..MOST_STEPS {
            let cell = self.cells.get(number as usize)?;
            if cell.corners[3] == INFINITE {
                return None;
            }
            let corners = cell.corners.map(seen);
            let shares = Shares::of(corners)?;
            // The corner above is the last one.
            let weights = &shares.weights[..=axes];
            let (mut least, mut least_share) = (0, weights[0]);
            for (corner, share) in weights.iter().enumerate().skip(1) {
                if *share < least_share {
                    (least, least_share) = (corner, *share);
                }
            }
            if least_share < 0.0 {
                number = cell.neighbours[least];
                continue;
            }
            let is_clear = || {
                let sphere = shares.sphere(&corners, axes).wider(CLEARANCE);
                sphere.nearest(&target, tree, axes + 2).len() <= axes + 1
            };
            if least_share <= LEAST_SHARE || !self.is_clear(number, is_clear) {
                return None;
            }
            let weighted = cell.corners.iter().zip(weights).map(|(place, &weight)| {
                let Numbered { at, number } = places[*place as usize];
                Weighted { number, weight, at }
            });
            return Some(Simplex { corners: weighted.collect(), on_sphere: Some(Near::new()) });
        }
        None
    }

    /// Whether a cell is clear; others may find out the same at the same time.
    fn is_clear(&self, cell: u32, found_out: impl Fn() -> bool) -> bool {
        let known = &self.are_clear[cell as usize];
        if known.load(Ordering::Relaxed) == UNKNOWN {
            known.store(if found_out() { CLEAR } else { SHARED }, Ordering::Relaxed);
        }
        known.load(Ordering::Relaxed) == CLEAR
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cells_are_one_complex_and_no_place_lies_in_the_sphere_of_one(
            cloud in prop::collection::btree_set((0i32..30, 0i32..30, 0i32..30), 5..100),
            axes in 2usize..4,
            step in 1i32..8,
        ) {
            let on_axes = |at: (i32, i32, i32)| {
                let mut at = [at.0, at.1, at.2].map(|x| f64::from(x / step));
                at[axes..].fill(0.0);
                at
            };
            let mut all: Vec<[f64; 3]> = cloud.into_iter().map(on_axes).collect();
            all.sort_by(|a, b| a.partial_cmp(b).unwrap());
            all.dedup();
            let tree = Tree::new(&all);
            let Some(triangulation) = Triangulation::new(&tree, axes) else { return Ok(()) };
            let places = tree.in_order();
            prop_assert!(!triangulation.of_place.contains(&NO_CELL));
            for (number, cell) in (0u32..).zip(&triangulation.cells) {
                for (side, beyond) in cell.neighbours.iter().enumerate() {
                    let beyond = &triangulation.cells[*beyond as usize];
                    prop_assert!(beyond.neighbours.contains(&number));
                    let shared = (0..4).filter(|corner| *corner != side && beyond.corners.contains(&cell.corners[*corner]));
                    prop_assert_eq!(shared.count(), 3);
                }
                if cell.corners.contains(&INFINITE) {
                    continue;
                }
                let corners = cell.corners.map(|place| places.get(place as usize).map_or(ABOVE_AT, |own| own.at));
                let shares = Shares::of(corners).unwrap();
                let sphere = shares.sphere(&corners, axes);
                let mut inside = sphere.wider(-1e-5).nearest(&[0.0; 3], &tree, 5);
                inside.retain(|number| !corners.contains(&all[*number as usize]));
                prop_assert!(inside.is_empty(), "{corners:?} {inside:?}");
            }
        }
    }
}
