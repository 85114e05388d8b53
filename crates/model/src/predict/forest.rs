//! The nearest rows of a point.

use std::ops::Range;

/// Rows in a leaf of a tree; only the last one of a slice, and one of equal points, has another number.
const LEAF: usize = 16;

/// One k-d tree for each slice over scaled coordinates; the distance is the sum of absolute differences, and between rows of two
/// slices both slices' penalties come on top.
#[derive(Debug, Clone)]
pub(crate) struct Forest {
    pub(crate) dims: usize,
    /// Scaled, in tree order.
    pub(crate) coordinates: Vec<f64>,
    /// The rows of each slice.
    pub(crate) slices: Vec<Range<u32>>,
    /// What each slice adds to a distance to another.
    pub(crate) penalties: Vec<f64>,
    roots: Vec<u32>,
    nodes: Vec<Node>,
}

/// A node; its left child follows it.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// Not below the greatest coordinate to the left, and not above the least one to the right.
    left_end: f32,
    right_start: f32,
    /// Where the right child is, or the first row of a leaf.
    right_or_start: u32,
    /// The axis, or `LEAF_MARK` plus the number of rows of a leaf.
    axis: u32,
}

const LEAF_MARK: u32 = 1 << 16;

/// Calls a generic function with the number of axes as a constant.
macro_rules! with_dims {
    ($dims:expr, $constant:ident => $body:expr) => {
        match $dims {
            1 => {
                const $constant: usize = 1;
                $body
            }
            2 => {
                const $constant: usize = 2;
                $body
            }
            3 => {
                const $constant: usize = 3;
                $body
            }
            4 => {
                const $constant: usize = 4;
                $body
            }
            5 => {
                const $constant: usize = 5;
                $body
            }
            6 => {
                const $constant: usize = 6;
                $body
            }
            7 => {
                const $constant: usize = 7;
                $body
            }
            _ => {
                const $constant: usize = 8;
                $body
            }
        }
    };
}
pub(crate) use with_dims;

/// The nearest rows found so far, nearest first.
#[derive(Debug, Clone)]
pub(crate) struct Nearest<const K: usize> {
    limit: usize,
    len: usize,
    /// Distances from here on do not count.
    bound: f64,
    distances: [f64; K],
    rows: [u32; K],
}

impl<const K: usize> Nearest<K> {
    pub(crate) fn new(limit: usize) -> Self {
        Self::within(f64::INFINITY, limit)
    }

    /// None, of which those count that are nearer than a bound.
    fn within(bound: f64, limit: usize) -> Self {
        Nearest { limit: limit.min(K), len: 0, bound, distances: [f64::INFINITY; K], rows: [0; K] }
    }

    /// With more rows, which take the places of the farthest where there is no room.
    pub(crate) fn add(&mut self, more: &[(f64, u32)]) {
        self.len = self.len.min(K.saturating_sub(more.len()));
        self.limit = K;
        more.iter().for_each(|(distance, row)| self.insert(*distance, *row));
    }

    pub(crate) fn rows(&self) -> &[u32] {
        &self.rows[..self.len]
    }

    pub(crate) fn distances(&self) -> &[f64] {
        &self.distances[..self.len]
    }

    #[inline]
    fn insert(&mut self, distance: f64, row: u32) {
        if self.len < self.limit {
            self.len += 1;
        }
        let mut at = self.len - 1;
        while at > 0 && self.distances[at - 1] > distance {
            self.distances[at] = self.distances[at - 1];
            self.rows[at] = self.rows[at - 1];
            at -= 1;
        }
        self.distances[at] = distance;
        self.rows[at] = row;
        if self.len == self.limit {
            self.bound = self.distances[self.len - 1];
        }
    }
}

impl Forest {
    /// Trees over the scaled coordinates of the rows of each slice, and the order in which the rows lie in them.
    pub(crate) fn plant(
        dims: usize,
        scaled: &[f64],
        slices: &[Range<usize>],
        penalties: Vec<f64>,
    ) -> (Forest, Vec<u32>) {
        let count = slices.last().map_or(0, |slice| slice.end);
        let mut order: Vec<u32> = (0..count as u32).collect();
        let mut nodes = Vec::new();
        let mut roots = Vec::new();
        for slice in slices {
            roots.push(nodes.len() as u32);
            let mut planter = Planter { dims, scaled, nodes: &mut nodes };
            planter.split(&mut order[slice.clone()], slice.start as u32);
        }
        nodes.shrink_to_fit();
        let mut coordinates = Vec::with_capacity(count * dims);
        for row in &order {
            coordinates.extend_from_slice(&scaled[*row as usize * dims..(*row as usize + 1) * dims]);
        }
        let slices = slices.iter().map(|slice| slice.start as u32..slice.end as u32).collect();
        (Forest { dims, coordinates, slices, penalties, roots, nodes }, order)
    }

    /// The memory that it holds beside itself.
    pub(crate) fn bytes(&self) -> usize {
        use std::mem::size_of_val;
        size_of_val(&*self.coordinates) + size_of_val(&*self.nodes) + size_of_val(&*self.slices)
    }

    /// Scaled coordinates of a row.
    #[inline]
    pub(crate) fn row(&self, row: u32) -> &[f64] {
        &self.coordinates[row as usize * self.dims..(row as usize + 1) * self.dims]
    }

    /// The slice of a row.
    #[inline]
    pub(crate) fn slice_of(&self, row: u32) -> usize {
        if self.slices.len() == 1 { 0 } else { self.slices.partition_point(|slice| slice.end <= row) }
    }

    /// What lies between a row of one slice and one of another.
    #[inline]
    pub(crate) fn penalty(&self, one: usize, other: usize) -> f64 {
        if one == other { 0.0 } else { self.penalties[one] + self.penalties[other] }
    }

    /// How far a row is from a point of a slice.
    pub(crate) fn distance(&self, slice: usize, point: &[f64], row: u32) -> f64 {
        let own = self.row(row).iter().zip(point).map(|(there, here)| (there - here).abs()).sum::<f64>();
        self.penalty(slice, self.slice_of(row)) + own
    }

    /// The nearest rows of a point that pass, which few are asked; of equally distant ones those that lie first in the trees.
    pub(crate) fn nearest<const K: usize>(
        &self,
        slice: usize,
        point: &[f64],
        limit: usize,
        passes: &dyn Fn(u32) -> bool,
    ) -> Nearest<K> {
        with_dims!(self.dims, D => self.nearest_in::<K, D>(slice, point, Nearest::new(limit), passes))
    }

    /// The nearest row of a point that passes, with its distance, among those that are nearer than a bound.
    pub(crate) fn nearest_within(
        &self,
        slice: usize,
        point: &[f64],
        bound: f64,
        passes: &dyn Fn(u32) -> bool,
    ) -> Option<(f64, u32)> {
        let empty = Nearest::<1>::within(bound, 1);
        let near = with_dims!(self.dims, D => self.nearest_in::<1, D>(slice, point, empty, passes));
        near.distances().first().copied().zip(near.rows().first().copied())
    }

    fn nearest_in<const K: usize, const D: usize>(
        &self,
        slice: usize,
        point: &[f64],
        empty: Nearest<K>,
        passes: &dyn Fn(u32) -> bool,
    ) -> Nearest<K> {
        let mut target = [0.0; D];
        target.copy_from_slice(&point[..D]);
        let mut search = Search { forest: self, target, base: 0.0, passes, best: empty };
        if search.best.limit == 0 {
            return search.best;
        }
        search.visit(self.roots[slice] as usize, 0.0, &mut [0.0; D]);
        for other in 0..self.slices.len() {
            let penalty = self.penalty(slice, other);
            if other != slice && penalty < search.best.bound {
                search.base = penalty;
                search.visit(self.roots[other] as usize, penalty, &mut [0.0; D]);
            }
        }
        search.best
    }
}

struct Search<'f, const K: usize, const D: usize> {
    forest: &'f Forest,
    target: [f64; D],
    base: f64,
    passes: &'f dyn Fn(u32) -> bool,
    best: Nearest<K>,
}

impl<const K: usize, const D: usize> Search<'_, K, D> {
    /// Looks at a node no part of which is nearer than `least`; `gaps` are the parts of that on each axis.
    fn visit(&mut self, at: usize, least: f64, gaps: &mut [f64; D]) {
        let node = self.forest.nodes[at];
        if node.axis >= LEAF_MARK {
            return self.leaf(node.right_or_start, node.axis - LEAF_MARK);
        }
        let axis = node.axis as usize % D;
        let point = self.target[axis];
        let before = gaps[axis];
        let left_gap = before.max(point - f64::from(node.left_end));
        let right_gap = before.max(f64::from(node.right_start) - point);
        let mut children = [(at + 1, left_gap), (node.right_or_start as usize, right_gap)];
        if right_gap < left_gap {
            children.swap(0, 1);
        }
        for (child, gap) in children {
            let distance = least - before + gap;
            if distance < self.best.bound {
                gaps[axis] = gap;
                self.visit(child, distance, gaps);
            }
        }
        gaps[axis] = before;
    }

    #[inline]
    fn leaf(&mut self, start: u32, count: u32) {
        let (from, to) = (start as usize * D, (start + count) as usize * D);
        let (rows, _) = self.forest.coordinates[from..to].as_chunks::<D>();
        let (full, rest) = rows.as_chunks::<LEAF>();
        let mut number = start;
        for block in full {
            // All distances first, so that several are computed at once; most rows of a leaf are too far.
            let mut distances = [self.base; LEAF];
            for (sum, row) in distances.iter_mut().zip(block) {
                *sum += distance(row, &self.target);
            }
            let mut has_near = false;
            for distance in distances {
                has_near |= distance < self.best.bound;
            }
            if has_near {
                for (row, distance) in (number..).zip(distances) {
                    self.offer(distance, row);
                }
            }
            number += LEAF as u32;
        }
        for row in rest {
            self.offer(self.base + distance(row, &self.target), number);
            number += 1;
        }
    }

    #[inline]
    fn offer(&mut self, distance: f64, row: u32) {
        if distance < self.best.bound && (self.passes)(row) {
            self.best.insert(distance, row);
        }
    }
}

/// The sum of absolute differences, those of even and of odd axes apart: two at once.
#[inline]
fn distance<const D: usize>(there: &[f64; D], here: &[f64; D]) -> f64 {
    let mut sums = [0.0; 2];
    for axis in 0..D {
        sums[axis % 2] += (there[axis] - here[axis]).abs();
    }
    sums[0] + sums[1]
}

struct Planter<'p> {
    dims: usize,
    scaled: &'p [f64],
    nodes: &'p mut Vec<Node>,
}

impl Planter<'_> {
    fn at(&self, row: u32, axis: usize) -> f64 {
        self.scaled[row as usize * self.dims + axis]
    }

    fn split(&mut self, order: &mut [u32], start: u32) {
        let widest = (0..self.dims).map(|axis| (axis, self.width(order, axis)));
        let widest = widest.fold((0, 0.0), |best, one| if one.1 > best.1 { one } else { best });
        if order.len() <= LEAF || widest.1 <= 0.0 {
            order.sort_unstable();
            let axis = LEAF_MARK + order.len() as u32;
            return self.nodes.push(Node { left_end: 0.0, right_start: 0.0, right_or_start: start, axis });
        }
        let axis = widest.0;
        let middle = (order.len() / 2).next_multiple_of(LEAF);
        order.select_nth_unstable_by(middle, |a, b| self.at(*a, axis).total_cmp(&self.at(*b, axis)).then(a.cmp(b)));
        let (left, right) = order.split_at_mut(middle);
        let left_end = left.iter().map(|row| self.at(*row, axis)).fold(f64::NEG_INFINITY, f64::max);
        let right_start = right.iter().map(|row| self.at(*row, axis)).fold(f64::INFINITY, f64::min);
        let node = self.nodes.len();
        let (left_end, right_start) = (not_below(left_end), -not_below(-right_start));
        self.nodes.push(Node { left_end, right_start, right_or_start: 0, axis: axis as u32 });
        self.split(left, start);
        self.nodes[node].right_or_start = self.nodes.len() as u32;
        self.split(right, start + middle as u32);
    }

    fn width(&self, order: &[u32], axis: usize) -> f64 {
        let values = order.iter().map(|row| self.at(*row, axis));
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        high - low
    }
}

/// A number of half the precision that is not below.
fn not_below(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) < value { near.next_up() } else { near }
}

#[cfg(test)]
mod tests;
