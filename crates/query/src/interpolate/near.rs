//! The places nearest to a target, without looking at the others.

use smallvec::SmallVec;
use std::cmp::Ordering;
use std::ops::Range;

/// Places in a leaf at most.
const LEAF: usize = 16;

/// A tree of places: the halves of a range are the children of its node.
#[derive(Debug)]
pub(crate) struct Tree {
    /// All places, near ones next to each other.
    places: Box<[Numbered]>,
    /// What the places of each node lie in; the children of node `n` are `2n + 1` and `2n + 2`.
    bounds: Box<[Bounds]>,
    /// Between the halves of each node; of leaves, of nothing.
    splits: Box<[Split]>,
}

/// A place and its number, in one line of memory.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Numbered {
    pub(super) at: [f64; 3],
    pub(super) number: u32,
}

/// A plane between two halves.
#[derive(Debug, Clone, Copy, Default)]
struct Split {
    axis: u32,
    at: f32,
}

/// The least and the greatest coordinates of some places.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    low: [f64; 3],
    high: [f64; 3],
}

impl Bounds {
    const NONE: Bounds = Bounds { low: [f64::INFINITY; 3], high: [f64::NEG_INFINITY; 3] };

    fn of<'p>(places: impl Iterator<Item = &'p [f64; 3]>) -> Bounds {
        places.fold(Bounds::NONE, |bounds, at| Bounds {
            low: [0, 1, 2].map(|axis: usize| bounds.low[axis].min(at[axis])),
            high: [0, 1, 2].map(|axis: usize| bounds.high[axis].max(at[axis])),
        })
    }

    /// The axis along which they are longest.
    fn longest(&self) -> usize {
        let length = |axis: usize| self.high[axis] - self.low[axis];
        (0..3).max_by(|a, b| length(*a).total_cmp(&length(*b))).unwrap_or(0)
    }

    /// The square of the distance of a target: no place inside is nearer, in the very rounding of its distance.
    #[inline]
    fn square(&self, target: &[f64; 3]) -> f64 {
        let gap = |axis: usize| (self.low[axis] - target[axis]).max(target[axis] - self.high[axis]).max(0.0);
        let gaps = [gap(0), gap(1), gap(2)];
        square(gaps)
    }

    /// How far along a direction a place inside may lie, in the very rounding of that.
    #[inline]
    fn most_along(&self, direction: [f64; 3]) -> f64 {
        let most = |axis: usize| (self.low[axis] * direction[axis]).max(self.high[axis] * direction[axis]);
        most(0) + most(1) + most(2)
    }
}

/// A part of a tree.
#[derive(Debug, Clone)]
struct Node {
    number: usize,
    places: Range<usize>,
}

impl Node {
    /// The halves; `None` of a leaf.
    #[inline]
    fn halves(&self) -> Option<[Node; 2]> {
        let Range { start, end } = self.places;
        let middle = start + (end - start) / 2;
        let child = |at: usize, places: Range<usize>| Node { number: 2 * self.number + at, places };
        (end - start > LEAF).then(|| [child(1, start..middle), child(2, middle..end)])
    }
}

impl Tree {
    /// A tree of all places, by their coordinates.
    pub(super) fn new(all: &[[f64; 3]]) -> Tree {
        let mut order: Box<[u32]> = (0..all.len() as u32).collect();
        let (mut bounds, mut splits) = (Vec::new(), Vec::new());
        let mut rest = vec![Node { number: 0, places: 0..all.len() }];
        while let Some(node) = rest.pop() {
            let own = &mut order[node.places.clone()];
            let bounds_of_node = Bounds::of(own.iter().map(|number| &all[*number as usize]));
            if bounds.len() <= node.number {
                bounds.resize(node.number + 1, Bounds::NONE);
            }
            bounds[node.number] = bounds_of_node;
            if let Some(halves) = node.halves() {
                let axis = bounds_of_node.longest();
                let (_, middle, _) = own.select_nth_unstable_by(halves[0].places.len(), |a, b| {
                    all[*a as usize][axis].total_cmp(&all[*b as usize][axis])
                });
                if splits.len() <= node.number {
                    splits.resize(node.number + 1, Split::default());
                }
                splits[node.number] = Split { axis: axis as u32, at: all[*middle as usize][axis] as f32 };
                rest.extend(halves);
            }
        }
        let places = order.iter().map(|&number| Numbered { at: all[number as usize], number }).collect();
        Tree { places, bounds: bounds.into(), splits: splits.into() }
    }

    fn root(&self) -> Node {
        Node { number: 0, places: 0..self.places.len() }
    }

    /// The nearest ones the square of whose distance is at most this, nearest first; of equally near ones their coordinates decide.
    pub(super) fn nearest_within(&self, target: [f64; 3], most_square: f64, count: usize) -> Near {
        let of_place = |at: &[f64; 3]| square(minus(*at, target));
        let found = self.least::<true>(count, most_square, of_place, |bounds| bounds.square(&target));
        found.into_iter().map(|(_, at)| self.places[at as usize].number).collect()
    }

    /// The nearest one that lies on a plane or beyond: at least this far along its normal.
    pub(super) fn nearest_beyond(&self, target: [f64; 3], normal: [f64; 3], least: f64) -> Option<u32> {
        let of_place =
            |at: &[f64; 3]| if dot(*at, normal) >= least { square(minus(*at, target)) } else { f64::INFINITY };
        let of_bounds = |bounds: &Bounds| {
            if bounds.most_along(normal) >= least { bounds.square(&target) } else { f64::INFINITY }
        };
        self.least::<true>(1, f64::MAX, of_place, of_bounds).first().map(|(_, at)| self.places[*at as usize].number)
    }

    /// A place farthest along a direction, and how far it is.
    pub(super) fn farthest(&self, direction: [f64; 3]) -> Option<(u32, f64)> {
        let found = self.least::<false>(1, f64::MAX, |at| -dot(*at, direction), |bounds| -bounds.most_along(direction));
        found.first().map(|(along, at)| (self.places[*at as usize].number, -along))
    }

    /// The places in the order of the tree, near ones next to each other.
    pub(super) fn in_order(&self) -> &[Numbered] {
        &self.places
    }

    /// Where in this order a few places about a target are, not all of them the nearest.
    pub(super) fn about(&self, target: [f64; 3], count: usize) -> Range<usize> {
        let mut node = self.root();
        while let Some([below, above]) = node.halves().filter(|_| node.places.len() >= 2 * count) {
            let Split { axis, at } = self.splits[node.number];
            node = if target[axis as usize] < f64::from(at) { below } else { above };
        }
        node.places
    }

    /// The places in a box, by number.
    pub(super) fn within(&self, low: [f64; 3], high: [f64; 3]) -> Vec<u32> {
        let mut found = Vec::new();
        let is_in = |at: &[f64; 3]| (0..3).all(|axis| low[axis] <= at[axis] && at[axis] <= high[axis]);
        let meets = |own: &Bounds| (0..3).all(|axis| low[axis] <= own.high[axis] && own.low[axis] <= high[axis]);
        let mut rest = vec![self.root()];
        while let Some(node) = rest.pop() {
            match node.halves() {
                _ if !meets(&self.bounds[node.number]) => {}
                Some(halves) => rest.extend(halves),
                None => {
                    let own = self.places[node.places].iter().filter(|place| is_in(&place.at));
                    found.extend(own.map(|place| place.number));
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// The places that cost least, of which none costs more than `most`, and their costs, rising. Of equal ones their coordinates decide where
    /// `IS_EXACT` says so, else any are found. No place in some bounds costs less than these.
    fn least<const IS_EXACT: bool>(
        &self,
        count: usize,
        most: f64,
        of_place: impl Fn(&[f64; 3]) -> f64,
        of_bounds: impl Fn(&Bounds) -> f64,
    ) -> Found {
        let mut search: Search<'_, _, _, IS_EXACT> =
            Search { tree: self, count, of_place, of_bounds, most, found: Found::new() };
        search.visit(self.root());
        search.found
    }
}

/// Numbers of places.
pub(crate) type Near = SmallVec<[u32; 16]>;

/// Costs and places in the order of the tree.
type Found = SmallVec<[(f64, u32); 16]>;

struct Search<'t, P, B, const IS_EXACT: bool> {
    tree: &'t Tree,
    count: usize,
    of_place: P,
    of_bounds: B,
    /// The cost of the last of those found, once they are enough; before that the one from which on none counts.
    most: f64,
    found: Found,
}

impl<P: Fn(&[f64; 3]) -> f64, B: Fn(&Bounds) -> f64, const IS_EXACT: bool> Search<'_, P, B, IS_EXACT> {
    fn visit(&mut self, node: Node) {
        let Some([below, above]) = node.halves() else { return self.look_at(node.places) };
        let (a, b) = (self.cost(&below), self.cost(&above));
        let [first, second] = if a <= b { [(below, a), (above, b)] } else { [(above, b), (below, a)] };
        if self.counts(first.1) {
            self.visit(first.0);
        }
        if self.counts(second.1) {
            self.visit(second.0);
        }
    }

    /// Whether a place of this cost may be one of those that are looked for.
    #[inline]
    fn counts(&self, cost: f64) -> bool {
        cost < self.most || IS_EXACT && cost == self.most
    }

    #[inline]
    fn cost(&self, node: &Node) -> f64 {
        (self.of_bounds)(&self.tree.bounds[node.number])
    }

    #[inline]
    fn look_at(&mut self, places: Range<usize>) {
        let tree = self.tree;
        for (at, own) in (places.start..).zip(&tree.places[places]) {
            let cost = (self.of_place)(&own.at);
            if self.counts(cost) {
                self.take(at, &own.at, cost);
            }
        }
    }

    /// Takes a place in, where it comes before those found or they are too few.
    #[inline(never)]
    fn take(&mut self, at: usize, own: &[f64; 3], cost: f64) {
        let tree = self.tree;
        let is_before = |(other, other_at): (f64, u32)| {
            cost < other || cost == other && is_first(own, &tree.places[other_at as usize].at)
        };
        if self.found.len() < self.count {
            self.found.push((f64::INFINITY, u32::MAX));
        } else if !self.found.last().is_some_and(|last| is_before(*last)) {
            return;
        }
        let found = self.found.as_mut_slice();
        let mut place = found.len() - 1;
        while place > 0 && is_before(found[place - 1]) {
            found[place] = found[place - 1];
            place -= 1;
        }
        found[place] = (cost, at as u32);
        if found.len() == self.count {
            self.most = found[found.len() - 1].0;
        }
    }
}

#[inline]
pub(super) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline]
pub(super) fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// The square of a length.
#[inline]
pub(super) fn square(a: [f64; 3]) -> f64 {
    dot(a, a)
}

/// Whether of two places the first one comes first.
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
            let (low, high) = (target.map(|x| x - 4.0), target.map(|x| x + 2.0));
            let is_in = |at: &[f64; 3]| (0..3).all(|axis| (low[axis]..=high[axis]).contains(&at[axis]));
            let boxed: Vec<u32> = (0u32..).zip(&all).filter(|(_, at)| is_in(at)).map(|(number, _)| number).collect();
            prop_assert_eq!(tree.within(low, high), boxed);
            let near: Vec<u32> =
                expected.iter().copied().filter(|number| distance(number) <= 25.0).take(count).collect();
            prop_assert_eq!(tree.nearest_within(target, 25.0, count).to_vec(), near);
            let direction = target.map(|x| x - 9.5);
            let along = |number: &u32| all[*number as usize].iter().zip(direction).map(|(a, b)| a * b).sum::<f64>();
            let about = tree.about(target, 5).len();
            prop_assert!(about >= 5.min(all.len()) && about <= LEAF.max(10), "{about}");
            let most = expected.iter().map(along).fold(f64::NEG_INFINITY, f64::max);
            let least = target.iter().zip(direction).map(|(a, b)| a * b).sum::<f64>();
            let beyond = expected.iter().copied().find(|number| along(number) >= least);
            prop_assert_eq!(tree.nearest_beyond(target, direction, least), beyond);
            let farthest = tree.farthest(direction).unwrap();
            prop_assert_eq!((along(&farthest.0), farthest.1), (most, most));
            expected.truncate(count);
            prop_assert_eq!(tree.nearest_within(target, f64::INFINITY, count).to_vec(), expected);
        }
    }
}
