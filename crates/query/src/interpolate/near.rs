//! The places nearest to a target, without looking at the others.

use smallvec::SmallVec;
use std::cmp::Ordering;
use std::ops::Range;

/// Places in a leaf at most.
const LEAF: usize = 8;

/// A tree of places: each half of a range lies on one side of the place in its middle.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Numbers of places in the order of the tree.
    order: Box<[u32]>,
    /// Their coordinates in that order.
    at: Box<[[f64; 3]]>,
    /// The axis along which the range around each middle is split.
    axes: Box<[u8]>,
    /// The least and the greatest coordinate of each axis.
    ends: [[f64; 2]; 3],
}

impl Tree {
    /// A tree of all places, by their coordinates.
    pub(super) fn new(all: &[[f64; 3]]) -> Tree {
        let ends = std::array::from_fn(|axis| {
            let on_axis = || all.iter().map(|at| at[axis]);
            [on_axis().fold(f64::INFINITY, f64::min), on_axis().fold(f64::NEG_INFINITY, f64::max)]
        });
        let mut order: Box<[u32]> = (0..all.len() as u32).collect();
        let mut axes: Box<[u8]> = vec![0; all.len()].into();
        split(all, &mut order, &mut axes);
        let at = order.iter().map(|number| all[*number as usize]).collect();
        Tree { order, at, axes, ends }
    }

    /// The nearest ones, nearest first; of equally near ones their coordinates decide.
    pub(super) fn nearest(&self, target: [f64; 3], count: usize) -> Near {
        self.nearest_within(target, f64::INFINITY, count)
    }

    /// The nearest ones within a distance.
    pub(super) fn nearest_within(&self, target: [f64; 3], farthest: f64, count: usize) -> Near {
        self.search::<false>(target, count, farthest * farthest, EVERYWHERE)
    }

    /// The nearest ones in each of the directions from a target, which lies among them unless it is at the edge of all places.
    pub(super) fn around(&self, target: [f64; 3], axes: usize, count: usize) -> Vec<u32> {
        let ends = |direction: usize| {
            std::array::from_fn(|axis| match (axis < axes, direction >> axis & 1 == 1) {
                (true, true) => [target[axis], f64::INFINITY],
                (true, false) => [f64::NEG_INFINITY, target[axis]],
                (false, _) => EVERYWHERE[axis],
            })
        };
        (0..1usize << axes).flat_map(|direction| self.nearest_in(target, count, ends(direction))).collect()
    }

    /// The nearest ones between some ends.
    fn nearest_in(&self, target: [f64; 3], count: usize, ends: [[f64; 2]; 3]) -> Near {
        self.search::<true>(target, count, f64::INFINITY, ends)
    }

    fn search<const HAS_ENDS: bool>(&self, target: [f64; 3], count: usize, bound: f64, ends: [[f64; 2]; 3]) -> Near {
        let mut search: Search<'_, HAS_ENDS> =
            Search { tree: self, target, count, worst: bound, ends, near: SmallVec::new() };
        search.visit(0..self.order.len(), [0.0; 3]);
        let mut near = Near::with_capacity(search.near.len());
        search.near.iter().for_each(|(_, at)| near.push(self.order[*at as usize]));
        near
    }

    /// The place farthest along a direction, and how far it is; of equally far ones the first.
    pub(super) fn farthest(&self, direction: [f64; 3]) -> Option<(u32, f64)> {
        let mut search = Farthest { tree: self, direction, best: None };
        search.visit(0..self.order.len(), self.ends);
        search.best
    }

    /// The places in a box, by number.
    pub(super) fn within(&self, low: [f64; 3], high: [f64; 3]) -> Vec<u32> {
        let mut found = Vec::new();
        let is_in = |at: &[f64; 3]| (0..3).all(|axis| low[axis] <= at[axis] && at[axis] <= high[axis]);
        let mut rest: Vec<Range<usize>> = std::iter::once(0..self.order.len()).collect();
        while let Some(range) = rest.pop() {
            if range.len() <= LEAF {
                found.extend(range.filter(|at| is_in(&self.at[*at])).map(|at| self.order[at]));
                continue;
            }
            let middle = middle(&range);
            let at = &self.at[middle];
            found.extend(is_in(at).then_some(self.order[middle]));
            let axis = usize::from(self.axes[middle]);
            if low[axis] <= at[axis] {
                rest.push(range.start..middle);
            }
            if at[axis] <= high[axis] {
                rest.push(middle + 1..range.end);
            }
        }
        found.sort_unstable();
        found
    }
}

/// No ends on any axis.
const EVERYWHERE: [[f64; 2]; 3] = [[f64::NEG_INFINITY, f64::INFINITY]; 3];

/// Numbers of places.
pub(crate) type Near = SmallVec<[u32; 16]>;

/// Where a range is split.
fn middle(range: &Range<usize>) -> usize {
    range.start + range.len() / 2
}

fn split(all: &[[f64; 3]], order: &mut [u32], axes: &mut [u8]) {
    if order.len() <= LEAF {
        return;
    }
    let spread = |axis: usize| {
        let on_axis = || order.iter().map(|number| all[*number as usize][axis]);
        on_axis().fold(f64::NEG_INFINITY, f64::max) - on_axis().fold(f64::INFINITY, f64::min)
    };
    let axis = (0..3).max_by(|a, b| spread(*a).total_cmp(&spread(*b))).unwrap_or(0);
    let middle = order.len() / 2;
    order.select_nth_unstable_by(middle, |a, b| all[*a as usize][axis].total_cmp(&all[*b as usize][axis]));
    axes[middle] = axis as u8;
    let (below, above) = order.split_at_mut(middle);
    let (axes_below, axes_above) = axes.split_at_mut(middle);
    split(all, below, axes_below);
    split(all, &mut above[1..], &mut axes_above[1..]);
}

struct Farthest<'t> {
    tree: &'t Tree,
    direction: [f64; 3],
    best: Option<(u32, f64)>,
}

impl Farthest<'_> {
    /// Looks at places that lie in a box.
    fn visit(&mut self, range: Range<usize>, ends: [[f64; 2]; 3]) {
        let most: f64 = ends.iter().zip(self.direction).map(|([low, high], by)| (low * by).max(high * by)).sum();
        // A sum in another order differs in its last digits.
        if self.best.is_some_and(|(_, best)| most < best - 1e-12 * best.abs()) {
            return;
        }
        if range.len() <= LEAF {
            range.for_each(|at| self.offer(at));
            return;
        }
        let middle = middle(&range);
        let axis = usize::from(self.tree.axes[middle]);
        self.offer(middle);
        let (mut below, mut above) = (ends, ends);
        below[axis][1] = self.tree.at[middle][axis];
        above[axis][0] = below[axis][1];
        let (low, high) = ((range.start..middle, below), (middle + 1..range.end, above));
        let halves = if self.direction[axis] > 0.0 { [high, low] } else { [low, high] };
        halves.into_iter().for_each(|(range, ends)| self.visit(range, ends));
    }

    fn offer(&mut self, at: usize) {
        let along = self.tree.at[at].iter().zip(self.direction).map(|(at, by)| at * by).sum::<f64>();
        let number = self.tree.order[at];
        let is_farther = |(first, best): (u32, f64)| along > best || along == best && number < first;
        if self.best.is_none_or(is_farther) {
            self.best = Some((number, along));
        }
    }
}

struct Search<'t, const HAS_ENDS: bool> {
    tree: &'t Tree,
    target: [f64; 3],
    count: usize,
    /// The square of the distance of the farthest of those found, once they are enough; before that the one from which on none counts.
    worst: f64,
    /// Between which coordinates places count.
    ends: [[f64; 2]; 3],
    /// Squares of distances, rising, and places in the order of the tree.
    near: SmallVec<[(f64, u32); 16]>,
}

impl<const HAS_ENDS: bool> Search<'_, HAS_ENDS> {
    /// Looks at places that lie in a box; the gaps between it and the target on each axis.
    fn visit(&mut self, range: Range<usize>, gaps: [f64; 3]) {
        if range.len() <= LEAF {
            self.look_at(range);
            return;
        }
        let middle = middle(&range);
        let axis = usize::from(self.tree.axes[middle]);
        let end = self.tree.at[middle][axis];
        let gap = self.target[axis] - end;
        let (below, above) = (range.start..middle, middle + 1..range.end);
        let (own, other) = if gap < 0.0 { (below, above) } else { (above, below) };
        self.visit(own, gaps);
        self.look_at(middle..middle + 1);
        let [low, high] = self.ends[axis];
        if HAS_ENDS && (if gap < 0.0 { high < end } else { end < low }) {
            return;
        }
        // No place in the other half is nearer than this, in the very rounding of its distance.
        let mut gaps = gaps;
        gaps[axis] = gap;
        if square(gaps) <= self.worst {
            self.visit(other, gaps);
        }
    }

    /// Looks at a range of places.
    #[inline]
    fn look_at(&mut self, range: Range<usize>) {
        let tree = self.tree;
        for (at, own) in (range.start..).zip(&tree.at[range]) {
            let distance = square([0, 1, 2].map(|axis| own[axis] - self.target[axis]));
            let is_in = |axis: usize| self.ends[axis][0] <= own[axis] && own[axis] <= self.ends[axis][1];
            if distance <= self.worst && (!HAS_ENDS || (0..3).all(is_in)) {
                self.take(at, own, distance);
            }
        }
    }

    /// Takes a place in, where it comes before those found or they are too few.
    #[inline(never)]
    fn take(&mut self, at: usize, own: &[f64; 3], distance: f64) {
        let tree = self.tree;
        let is_before = |(other, other_at): (f64, u32)| {
            distance < other || distance == other && is_first(own, &tree.at[other_at as usize])
        };
        if self.near.len() < self.count {
            self.near.push((f64::INFINITY, u32::MAX));
        } else if !self.near.last().is_some_and(|last| is_before(*last)) {
            return;
        }
        let near = self.near.as_mut_slice();
        let mut place = near.len() - 1;
        while place > 0 && is_before(near[place - 1]) {
            near[place] = near[place - 1];
            place -= 1;
        }
        near[place] = (distance, at as u32);
        if near.len() == self.count {
            self.worst = near[near.len() - 1].0;
        }
    }
}

#[inline]
fn square(gaps: [f64; 3]) -> f64 {
    gaps[0] * gaps[0] + gaps[1] * gaps[1] + gaps[2] * gaps[2]
}

/// Whether of two equally near places the first one comes first.
#[cold]
fn is_first(a: &[f64; 3], b: &[f64; 3]) -> bool {
    let order = a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
    order == Some(Ordering::Less)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_nearest_are_those_of_a_scan(
            cloud in prop::collection::btree_set((0i32..20, 0i32..20, 0i32..20), 1..200),
            target in (0i32..20, 0i32..20, 0i32..20),
            count in 1usize..40,
        ) {
            let all: Vec<[f64; 3]> = cloud.iter().map(|(a, b, c)| [*a, *b, *c].map(f64::from)).collect();
            let target = [target.0, target.1, target.2].map(f64::from);
            let distance = |number: &u32| {
                all[*number as usize].iter().zip(&target).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
            };
            // The set is in the order of its coordinates.
            let mut expected: Vec<u32> = (0..all.len() as u32).collect();
            expected.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
            let tree = Tree::new(&all);
            for direction in 0..8usize {
                let is_there = |number: &&u32| (0..3).all(|axis| {
                    let difference = all[**number as usize][axis] - target[axis];
                    if direction >> axis & 1 == 1 { difference >= 0.0 } else { difference <= 0.0 }
                });
                let of_direction: Vec<u32> = expected.iter().filter(is_there).copied().take(count).collect();
                let ends = std::array::from_fn(|axis| match direction >> axis & 1 {
                    1 => [target[axis], f64::INFINITY],
                    _ => [f64::NEG_INFINITY, target[axis]],
                });
                prop_assert_eq!(tree.nearest_in(target, count, ends).to_vec(), of_direction);
            }
            let (low, high) = (target.map(|x| x - 4.0), target.map(|x| x + 2.0));
            let is_in = |at: &[f64; 3]| (0..3).all(|axis| (low[axis]..=high[axis]).contains(&at[axis]));
            let boxed: Vec<u32> = (0u32..).zip(&all).filter(|(_, at)| is_in(at)).map(|(number, _)| number).collect();
            prop_assert_eq!(tree.within(low, high), boxed);
            let near: Vec<u32> =
                expected.iter().copied().filter(|number| distance(number) <= 25.0).take(count).collect();
            prop_assert_eq!(tree.nearest_within(target, 5.0, count).to_vec(), near);
            let direction = target.map(|x| x - 9.5);
            let along = |number: &u32| all[*number as usize].iter().zip(direction).map(|(a, b)| a * b).sum::<f64>();
            let most = expected.iter().map(along).fold(f64::NEG_INFINITY, f64::max);
            let first = (0..all.len() as u32).find(|number| along(number) == most).map(|number| (number, most));
            prop_assert_eq!(tree.farthest(direction), first);
            expected.truncate(count);
            prop_assert_eq!(tree.nearest(target, count).to_vec(), expected);
        }
    }
}
