//! The places nearest to a target, without looking at the others.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Places in a leaf at most.
const LEAF: usize = 8;

/// A tree of places: each half of a range lies on one side of the place in its middle.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Numbers of places in the order of the tree.
    order: Box<[u32]>,
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
        let mut tree = Tree { order: (0..all.len() as u32).collect(), axes: vec![0; all.len()].into(), ends };
        split(all, &mut tree.order, &mut tree.axes);
        tree
    }

    /// The nearest ones, nearest first; of equally near ones their coordinates decide.
    pub(super) fn nearest(&self, all: &[[f64; 3]], target: [f64; 3], count: usize) -> Vec<u32> {
        self.nearest_in(all, target, count, [None; 3])
    }

    /// The nearest ones within a distance.
    pub(super) fn nearest_within(&self, all: &[[f64; 3]], target: [f64; 3], farthest: f64, count: usize) -> Vec<u32> {
        self.search(Search::new(all, target, count, farthest * farthest, [None; 3]))
    }

    /// The nearest ones in each of the directions from a target, which lies among them unless it is at the edge of all places.
    pub(super) fn around(&self, all: &[[f64; 3]], target: [f64; 3], axes: usize, count: usize) -> Vec<u32> {
        let side = |direction: usize, axis: usize| (axis < axes).then_some(direction >> axis & 1 == 1);
        let of =
            |direction: usize| self.nearest_in(all, target, count, std::array::from_fn(|axis| side(direction, axis)));
        (0..1usize << axes).flat_map(of).collect()
    }

    /// The same where on some axes one side counts: from the target up, or down.
    fn nearest_in(&self, all: &[[f64; 3]], target: [f64; 3], count: usize, up: [Option<bool>; 3]) -> Vec<u32> {
        self.search(Search::new(all, target, count, f64::INFINITY, up))
    }

    fn search(&self, mut search: Search<'_>) -> Vec<u32> {
        search.visit(&self.order, &self.axes);
        search.near.into_sorted_vec().into_iter().map(|place| place.number).collect()
    }

    /// The place farthest along a direction, and how far it is; of equally far ones the first.
    pub(super) fn farthest(&self, all: &[[f64; 3]], direction: [f64; 3]) -> Option<(u32, f64)> {
        let mut search = Farthest { all, direction, best: None };
        search.visit(&self.order, &self.axes, self.ends);
        search.best
    }

    /// The places in a box, by number.
    pub(super) fn within(&self, all: &[[f64; 3]], low: [f64; 3], high: [f64; 3]) -> Vec<u32> {
        let mut found = Vec::new();
        let is_in = |at: &[f64; 3]| (0..3).all(|axis| low[axis] <= at[axis] && at[axis] <= high[axis]);
        let mut rest = vec![(&*self.order, &*self.axes)];
        while let Some((order, axes)) = rest.pop() {
            if order.len() <= LEAF {
                found.extend(order.iter().filter(|number| is_in(&all[**number as usize])));
                continue;
            }
            let middle = order.len() / 2;
            let at = &all[order[middle] as usize];
            found.extend(is_in(at).then_some(order[middle]));
            let axis = usize::from(axes[middle]);
            if low[axis] <= at[axis] {
                rest.push((&order[..middle], &axes[..middle]));
            }
            if at[axis] <= high[axis] {
                rest.push((&order[middle + 1..], &axes[middle + 1..]));
            }
        }
        found.sort_unstable();
        found
    }
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

struct Farthest<'a> {
    all: &'a [[f64; 3]],
    direction: [f64; 3],
    best: Option<(u32, f64)>,
}

impl Farthest<'_> {
    /// Looks at places that lie in a box.
    fn visit(&mut self, order: &[u32], axes: &[u8], ends: [[f64; 2]; 3]) {
        let most: f64 = ends.iter().zip(self.direction).map(|([low, high], by)| (low * by).max(high * by)).sum();
        // A sum in another order differs in its last digits.
        if self.best.is_some_and(|(_, best)| most < best - 1e-12 * best.abs()) {
            return;
        }
        if order.len() <= LEAF {
            order.iter().for_each(|number| self.offer(*number));
            return;
        }
        let middle = order.len() / 2;
        let axis = usize::from(axes[middle]);
        self.offer(order[middle]);
        let (mut below, mut above) = (ends, ends);
        below[axis][1] = self.all[order[middle] as usize][axis];
        above[axis][0] = below[axis][1];
        let (low, high) =
            ((&order[..middle], &axes[..middle], below), (&order[middle + 1..], &axes[middle + 1..], above));
        let halves = if self.direction[axis] > 0.0 { [high, low] } else { [low, high] };
        halves.into_iter().for_each(|(order, axes, ends)| self.visit(order, axes, ends));
    }

    fn offer(&mut self, number: u32) {
        let along = self.all[number as usize].iter().zip(self.direction).map(|(at, by)| at * by).sum::<f64>();
        let is_farther = |(first, best): (u32, f64)| along > best || along == best && number < first;
        if self.best.is_none_or(is_farther) {
            self.best = Some((number, along));
        }
    }
}

struct Search<'a> {
    all: &'a [[f64; 3]],
    target: [f64; 3],
    count: usize,
    /// The square of the distance from which on none counts.
    bound: f64,
    /// The side that counts on each axis; both where there is none.
    up: [Option<bool>; 3],
    near: BinaryHeap<NearPlace>,
}

impl<'a> Search<'a> {
    fn new(all: &'a [[f64; 3]], target: [f64; 3], count: usize, bound: f64, up: [Option<bool>; 3]) -> Self {
        Search { all, target, count, bound, up, near: BinaryHeap::with_capacity(count + 1) }
    }

    fn visit(&mut self, order: &[u32], axes: &[u8]) {
        if order.len() <= LEAF {
            order.iter().for_each(|number| self.offer(*number));
            return;
        }
        let middle = order.len() / 2;
        let axis = usize::from(axes[middle]);
        let gap = self.target[axis] - self.all[order[middle] as usize][axis];
        let (below, above) = ((&order[..middle], &axes[..middle]), (&order[middle + 1..], &axes[middle + 1..]));
        let (own, other) = if gap < 0.0 { (below, above) } else { (above, below) };
        // The half without the target has nothing on the side that counts if that is the one towards the other half.
        let is_other_up = gap < 0.0;
        self.visit(own.0, own.1);
        self.offer(order[middle]);
        if self.up[axis].is_none_or(|up| up == is_other_up || gap == 0.0) && gap * gap <= self.worst() {
            self.visit(other.0, other.1);
        }
    }

    /// The distance of the farthest of those found, once they are enough.
    fn worst(&self) -> f64 {
        self.near.peek().filter(|_| self.near.len() >= self.count).map_or(self.bound, |worst| worst.distance)
    }

    fn offer(&mut self, number: u32) {
        let at = self.all[number as usize];
        let is_there = |axis: usize| match self.up[axis] {
            Some(true) => at[axis] >= self.target[axis],
            Some(false) => at[axis] <= self.target[axis],
            None => true,
        };
        if !(0..3).all(is_there) {
            return;
        }
        let distance = at.iter().zip(&self.target).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        if distance > self.worst() {
            return;
        }
        self.near.push(NearPlace { distance, at, number });
        if self.near.len() > self.count {
            self.near.pop();
        }
    }
}

/// A place by its distance; of equal ones its coordinates decide.
#[derive(Debug, Clone, Copy)]
struct NearPlace {
    distance: f64,
    at: [f64; 3],
    number: u32,
}

impl Ord for NearPlace {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_place = || self.at.iter().zip(&other.at).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
        self.distance.total_cmp(&other.distance).then_with(|| by_place().unwrap_or(Ordering::Equal))
    }
}

impl PartialOrd for NearPlace {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for NearPlace {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for NearPlace {}

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
                let up = std::array::from_fn(|axis| Some(direction >> axis & 1 == 1));
                prop_assert_eq!(tree.nearest_in(&all, target, count, up), of_direction);
            }
            let (low, high) = (target.map(|x| x - 4.0), target.map(|x| x + 2.0));
            let is_in = |at: &[f64; 3]| (0..3).all(|axis| (low[axis]..=high[axis]).contains(&at[axis]));
            let boxed: Vec<u32> = (0u32..).zip(&all).filter(|(_, at)| is_in(at)).map(|(number, _)| number).collect();
            prop_assert_eq!(tree.within(&all, low, high), boxed);
            let near: Vec<u32> =
                expected.iter().copied().filter(|number| distance(number) <= 25.0).take(count).collect();
            prop_assert_eq!(tree.nearest_within(&all, target, 5.0, count), near);
            let direction = target.map(|x| x - 9.5);
            let along = |number: &u32| all[*number as usize].iter().zip(direction).map(|(a, b)| a * b).sum::<f64>();
            let most = expected.iter().map(along).fold(f64::NEG_INFINITY, f64::max);
            let first = (0..all.len() as u32).find(|number| along(number) == most).map(|number| (number, most));
            prop_assert_eq!(tree.farthest(&all, direction), first);
            expected.truncate(count);
            prop_assert_eq!(tree.nearest(&all, target, count), expected);
        }
    }
}
