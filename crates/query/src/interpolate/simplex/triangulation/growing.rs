//! A triangulation that takes one place in after another, as Bowyer and Watson describe: what has the place in its sphere is taken out, and the
//! hole is filled with cells that end at the place. Signs of determinants are exact, so that no rounding leads astray.

use robust::{Coord, Coord3D, insphere, orient2d, orient3d};
use rustc_hash::FxHashMap;

/// The corner of cells outside of all places, one for each side of their hull.
pub(super) const INFINITE: u32 = u32::MAX;

/// What has been taken out.
pub(super) const OUT: [u32; 4] = [INFINITE; 4];
/// Of a cell that was asked for no place yet.
const NOT_ASKED: (u32, bool) = (INFINITE, false);

pub(super) struct Growing<'p> {
    at: &'p [[f64; 3]],
    /// Of each cell, in an order that sees the last one from above the others, or `OUT`.
    pub(super) corners: Vec<[u32; 4]>,
    /// The cells opposite to the corners.
    pub(super) neighbours: Vec<[u32; 4]>,
    /// For each cell the last place for which it was asked, and whether that lies in its sphere.
    asked: Vec<(u32, bool)>,
    /// Cells that have been taken out.
    free: Vec<u32>,
    /// A cell next to the place that was taken in last.
    last: u32,
    /// The cells at the edges of a hole, and the corners opposite to their other sides there.
    edges: FxHashMap<[u32; 2], (u32, usize)>,
}

impl<'p> Growing<'p> {
    /// Of places in an order in which near ones are next to each other; `None` if all lie in a plane. Of places that coincide one is taken.
    pub(super) fn of(at: &'p [[f64; 3]]) -> Option<Growing<'p>> {
        let order = sparse_first(at.len());
        let first = first(at, &order)?;
        let mut growing = Growing {
            at,
            corners: Vec::with_capacity(8 * at.len()),
            neighbours: Vec::with_capacity(8 * at.len()),
            asked: Vec::with_capacity(8 * at.len()),
            free: Vec::new(),
            last: 0,
            edges: FxHashMap::default(),
        };
        growing.begin(first);
        order.iter().filter(|number| !first.contains(number)).for_each(|number| growing.take_in(*number));
        Some(growing)
    }

    /// One cell, and those on its sides.
    fn begin(&mut self, first: [u32; 4]) {
        self.add(first, [1, 2, 3, 4]);
        for side in 0..4 {
            let (mut corners, mut neighbours) = (first, [1, 2, 3, 4]);
            (corners[side], neighbours[side]) = (INFINITE, 0);
            // Seen from the other side.
            let [a, b] = [(side + 1) % 4, (side + 2) % 4];
            corners.swap(a, b);
            neighbours.swap(a, b);
            self.add(corners, neighbours);
        }
    }

    fn add(&mut self, corners: [u32; 4], neighbours: [u32; 4]) -> u32 {
        if let Some(cell) = self.free.pop() {
            self.corners[cell as usize] = corners;
            self.neighbours[cell as usize] = neighbours;
            self.asked[cell as usize] = NOT_ASKED;
            return cell;
        }
        self.corners.push(corners);
        self.neighbours.push(neighbours);
        self.asked.push(NOT_ASKED);
        self.corners.len() as u32 - 1
    }

    /// Takes a place in, unless one is there.
    fn take_in(&mut self, number: u32) {
        let start = self.around(number);
        if !self.holds(start, number) {
            return;
        }
        let mut hole = vec![start];
        let mut rim = Vec::new();
        let mut next = 0;
        while let Some(&cell) = hole.get(next) {
            next += 1;
            for (side, beyond) in self.neighbours[cell as usize].into_iter().enumerate() {
                let is_known = self.asked[beyond as usize].0 == number;
                if !self.holds(beyond, number) {
                    rim.push(Side { cell, corner: side, beyond });
                } else if !is_known {
                    hole.push(beyond);
                }
            }
        }
        self.fill(number, &hole, &rim);
    }

    /// The cell that a place lies in, or one of the outer ones that see it.
    fn around(&self, number: u32) -> u32 {
        let (mut cell, mut from) = (self.last, INFINITE);
        if let Some(outside) = self.corners[cell as usize].iter().position(|corner| *corner == INFINITE) {
            cell = self.neighbours[cell as usize][outside];
        }
        loop {
            let corners = self.corners[cell as usize];
            if corners.contains(&INFINITE) {
                return cell;
            }
            let neighbours = self.neighbours[cell as usize];
            let is_beyond =
                |side: &usize| neighbours[*side] != from && self.orientation(with(corners, *side, number)) < 0.0;
            let Some(side) = (0..4).find(is_beyond) else { return cell };
            (cell, from) = (neighbours[side], cell);
        }
    }

    fn orientation(&self, corners: [u32; 4]) -> f64 {
        let [a, b, c, d] = corners.map(|corner| self.coordinates(corner));
        orient3d(a, b, c, d)
    }

    fn coordinates(&self, number: u32) -> Coord3D<f64> {
        coordinates(self.at, number)
    }

    /// Whether a place lies in the sphere of a cell; of an outer one beyond its side, or in the circle there.
    fn holds(&mut self, cell: u32, number: u32) -> bool {
        let (asked_for, known) = self.asked[cell as usize];
        if asked_for == number {
            return known;
        }
        let corners = self.corners[cell as usize];
        let holds = match corners.iter().position(|corner| *corner == INFINITE) {
            None => self.is_in_sphere(corners, number),
            Some(outside) => {
                let orientation = self.orientation(with(corners, outside, number));
                let inner = self.neighbours[cell as usize][outside];
                orientation > 0.0 || orientation == 0.0 && self.is_in_sphere(self.corners[inner as usize], number)
            }
        };
        self.asked[cell as usize] = (number, holds);
        holds
    }

    fn is_in_sphere(&self, corners: [u32; 4], number: u32) -> bool {
        let [a, b, c, d] = corners.map(|corner| self.coordinates(corner));
        insphere(a, b, c, d, self.coordinates(number)) > 0.0
    }

    /// Puts cells that end at a place on the sides of a hole.
    fn fill(&mut self, number: u32, hole: &[u32], rim: &[Side]) {
        for side in rim {
            let corners = with(self.corners[side.cell as usize], side.corner, number);
            let cell = self.add(corners, with(OUT, side.corner, side.beyond));
            let back = self.neighbours[side.beyond as usize].iter_mut().find(|neighbour| **neighbour == side.cell);
            back.into_iter().for_each(|back| *back = cell);
            for opposite in (0..4).filter(|corner| *corner != side.corner) {
                let mut edge = (0..4).filter(|corner| ![opposite, side.corner].contains(corner));
                let mut edge = [(); 2].map(|()| edge.next().map_or(INFINITE, |corner| corners[corner]));
                edge.sort_unstable();
                match self.edges.remove(&edge) {
                    None => {
                        self.edges.insert(edge, (cell, opposite));
                    }
                    Some((other, corner)) => {
                        self.neighbours[cell as usize][opposite] = other;
                        self.neighbours[other as usize][corner] = cell;
                    }
                }
            }
            self.last = cell;
        }
        for cell in hole {
            self.corners[*cell as usize] = OUT;
            self.free.push(*cell);
        }
    }
}

/// A side of a hole: that of a cell in it, opposite to a corner, and what lies beyond.
struct Side {
    cell: u32,
    corner: usize,
    beyond: u32,
}

/// Four numbers with another one in one place.
fn with(mut numbers: [u32; 4], at: usize, number: u32) -> [u32; 4] {
    numbers[at] = number;
    numbers
}

fn coordinates(at: &[[f64; 3]], number: u32) -> Coord3D<f64> {
    let [x, y, z] = at[number as usize];
    Coord3D { x, y, z }
}

/// Numbers in an order whose first ones lie all over, each next to those before it.
fn sparse_first(count: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_by_key(|number| std::cmp::Reverse((number + 1).trailing_zeros()));
    order
}

/// The first four places that do not lie in a plane.
fn first(at: &[[f64; 3]], order: &[u32]) -> Option<[u32; 4]> {
    let place = |number: u32| coordinates(at, number);
    let (a, rest) = order.split_first()?;
    let b = rest.iter().find(|b| at[**b as usize] != at[*a as usize])?;
    let is_on_line = |c: Coord3D<f64>| {
        let [a, b] = [*a, *b].map(place);
        let planes: [fn(Coord3D<f64>) -> Coord<f64>; 3] =
            [|at| Coord { x: at.x, y: at.y }, |at| Coord { x: at.y, y: at.z }, |at| Coord { x: at.z, y: at.x }];
        planes.into_iter().all(|seen| orient2d(seen(a), seen(b), seen(c)) == 0.0)
    };
    let c = rest.iter().find(|c| !is_on_line(place(**c)))?;
    let height = |d: u32| orient3d(place(*a), place(*b), place(*c), place(d));
    let d = rest.iter().find(|d| height(**d) != 0.0)?;
    Some(if height(*d) > 0.0 { [*a, *b, *c, *d] } else { [*b, *a, *c, *d] })
}
