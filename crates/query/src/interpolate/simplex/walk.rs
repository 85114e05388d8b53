//! A walk from simplex to simplex around a target, until no place lies in the sphere of one.
//!
//! Each step takes in the place that lies deepest in the sphere and lets a corner go that the target can do without: the simplex method on the
//! programme of [`super`], which asks a tree for what it would find in a list of all places.

use super::Sphere;
use super::programme::WEIGHT_TOLERANCE;
use super::scaled::ScaledPlaces;
use crate::interpolate::near::{Near, Tree, dot, minus, square};
use smallvec::SmallVec;

/// Steps after which what has been found has to do: the programme goes on from there.
const MOST_STEPS: usize = 200;
/// Places about a target that are looked at first.
const ABOUT: usize = 8;
/// Places in or on a sphere that are looked at together: more than a simplex has corners.
const IN_SPHERE: usize = 12;
/// By this share of the square of its radius a place must lie inside of a sphere.
const DEPTH: f64 = 1e-9;
/// Shares below this are none.
const LEAST_SHARE: f64 = 1e-12;
/// By this a corner must be away from the plane of the others.
const LEAST_HEIGHT: f64 = 1e-9;

/// A place, seen from the target.
#[derive(Debug, Clone, Copy)]
struct Corner {
    at: [f64; 3],
    square: f64,
    number: u32,
}

/// A corner that is no place, which a walk leaves.
const NO_PLACE: u32 = u32::MAX;
/// The corner above the plane of two axes, which stays.
const ABOVE: u32 = u32::MAX - 1;
/// Where it is, seen from any target.
pub(super) const ABOVE_AT: [f64; 3] = [0.0, 0.0, 1.0];

/// For each corner the affine function that is 1 there and 0 at the others: its value at the target and its slopes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    pub(super) weights: [f64; 4],
    slopes: [[f64; 3]; 4],
}

impl Shares {
    /// Of corners, seen from the target; `None` if they lie in a plane.
    pub(crate) fn of([origin, a, b, c]: [[f64; 3]; 4]) -> Option<Shares> {
        let (a, b, c) = (minus(a, origin), minus(b, origin), minus(c, origin));
        let (bc, ca, ab) = (cross(b, c), cross(c, a), cross(a, b));
        let volume = dot(a, bc);
        if volume == 0.0 || !volume.is_finite() {
            return None;
        }
        let by = 1.0 / volume;
        let (a, b, c) = (times(bc, by), times(ca, by), times(ab, by));
        let first = [-(a[0] + b[0] + c[0]), -(a[1] + b[1] + c[1]), -(a[2] + b[2] + c[2])];
        let weights = [0.0, -dot(a, origin), -dot(b, origin), -dot(c, origin)];
        let first_weight = 1.0 - weights[1] - weights[2] - weights[3];
        Some(Shares { weights: [first_weight, weights[1], weights[2], weights[3]], slopes: [first, a, b, c] })
    }

    /// The share of a corner at a place.
    #[inline]
    pub(crate) fn at(&self, corner: usize, place: [f64; 3]) -> f64 {
        self.weights[corner] + dot(self.slopes[corner], place)
    }

    /// The affine function with some values at the corners: its value at the target and its slope.
    #[inline]
    fn affine(&self, value: impl Fn(usize) -> f64) -> (f64, [f64; 3]) {
        let (mut at_target, mut slope) = (0.0, [0.0; 3]);
        for corner in 0..4 {
            let (value, own) = (value(corner), self.slopes[corner]);
            at_target += value * self.weights[corner];
            slope = [slope[0] + value * own[0], slope[1] + value * own[1], slope[2] + value * own[2]];
        }
        (at_target, slope)
    }

    /// The sphere through the corners, seen from the target.
    pub(super) fn sphere(&self, corners: &[[f64; 3]; 4], axes: usize) -> Sphere {
        // One above the plane of two axes makes no difference there.
        let (square, slope) = self.affine(|corner| square(corners[corner]));
        Sphere::of(&[square, slope[0], slope[1], slope[2]], axes)
    }
}

/// A place around a target.
#[derive(Debug)]
pub(super) struct Weighted {
    pub(super) number: u32,
    pub(super) weight: f64,
    pub(super) at: [f64; 3],
}

/// A simplex around a target.
pub(super) struct Simplex {
    /// Its corners.
    pub(super) corners: SmallVec<[Weighted; 4]>,
    /// Other places on its sphere; `None` where there may be more, or some inside.
    pub(super) on_sphere: Option<Near>,
}

/// The simplex around a target in whose sphere no other place lies, but for rounding; `None` if the target lies outside of all places. The places
/// that are named first are looked at first. It is the same one whether the places have been triangulated or not.
pub(super) fn simplex(places: &ScaledPlaces, first: impl FnOnce() -> Near, target: &[f64]) -> Option<Simplex> {
    let mut at = [0.0; 3];
    at.iter_mut().zip(target).for_each(|(at, own)| *at = *own);
    if let Some(known) = places.known_simplex(at) {
        return Some(known);
    }
    let mut walk = Walk::new(places, at, &first())?;
    walk.go_around()?;
    let on_sphere = walk.go_down();
    if on_sphere.as_ref().is_some_and(|others| others.is_empty()) {
        places.count_search();
    }
    Simplex::of(&places.at, walk.corners, on_sphere)
}

impl Simplex {
    /// Weights to the last bit do not depend on the way that led to the corners.
    fn of(all: &[[f64; 3]], mut corners: [Corner; 4], on_sphere: Option<Near>) -> Option<Simplex> {
        corners.sort_unstable_by_key(|corner| corner.number);
        let shares = Shares::of(corners.map(|corner| corner.at))?;
        let weighted = corners.iter().zip(shares.weights).filter_map(|(&Corner { number, .. }, weight)| {
            // There is no place above the plane of two axes.
            Some(Weighted { number, weight, at: *all.get(number as usize)? })
        });
        Some(Simplex { corners: weighted.collect(), on_sphere })
    }
}

/// A simplex around a target on its way.
struct Walk<'w> {
    places: &'w ScaledPlaces,
    tree: &'w Tree,
    target: [f64; 3],
    /// Places that have been looked at.
    known: SmallVec<[Corner; 32]>,
    corners: [Corner; 4],
    shares: Shares,
}

impl<'w> Walk<'w> {
    fn new(places: &'w ScaledPlaces, target: [f64; 3], first: &[u32]) -> Option<Walk<'w>> {
        let (tree, axes) = (places.tree(), places.axes);
        let mut known: SmallVec<[Corner; 32]> = SmallVec::new();
        let about = if first.len() <= axes { tree.about(target, ABOUT) } else { 0..0 };
        let about = tree.in_order()[about].iter().map(|place| &place.number);
        first.iter().chain(about).for_each(|number| known.push(seen(&places.at, target, *number)));
        let reach = |axis: usize| {
            let most = known.iter().map(|place| place.at[axis].abs()).fold(0.0, f64::max);
            if most > 0.0 { most } else { 1.0 }
        };
        let reach = [0, 1, 2].map(reach);
        let no_place = |directions: [f64; 3]| {
            let at = [0, 1, 2].map(|axis: usize| reach[axis] * directions[axis]);
            Corner { at, square: 0.0, number: NO_PLACE }
        };
        let above = Corner { at: ABOVE_AT, square: 0.0, number: ABOVE };
        let corners = match axes {
            2 => [no_place([1.0, 1.0, 0.0]), no_place([-2.0, 1.0, 0.0]), no_place([1.0, -2.0, 0.0]), above],
            _ => [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]].map(no_place),
        };
        let shares = Shares::of(corners.map(|corner| corner.at))?;
        Some(Walk { places, tree, target, known, corners, shares })
    }

    fn has(&self, number: u32) -> bool {
        self.corners.iter().any(|corner| corner.number == number)
    }

    /// Looks at one more place.
    fn see(&mut self, number: u32) -> Corner {
        let place = seen(&self.places.at, self.target, number);
        self.known.push(place);
        place
    }

    /// Walks until all corners are places.
    fn go_around(&mut self) -> Option<()> {
        for _ in 0..MOST_STEPS {
            if !self.has(NO_PLACE) {
                return Some(());
            }
            let is_no_place = |corner: usize| f64::from(u8::from(self.corners[corner].number == NO_PLACE));
            let (left, slope) = self.shares.affine(is_no_place);
            if left <= WEIGHT_TOLERANCE {
                return self.replace_what_is_no_place();
            }
            let gain = |place: &Corner| left + dot(slope, place.at);
            let best = self.known.iter().max_by(|a, b| gain(a).total_cmp(&gain(b))).copied();
            if let Some(best) = best.filter(|best| gain(best) > LEAST_SHARE && !self.has(best.number)) {
                self.swap(best)?;
            } else if let Some(number) =
                self.tree.nearest_beyond(self.target, slope, dot(slope, self.target) - left / 2.0)
            {
                // A target on a side of all places has none beyond it.
                let place = self.see(number);
                self.swap(place)?;
            } else {
                let (_, most) = self.tree.farthest(slope)?;
                self.places.planes.add(slope, most);
                return None;
            }
        }
        None
    }

    /// The target lies on a side or an edge of places: any others take the place of corners that are none.
    fn replace_what_is_no_place(&mut self) -> Option<()> {
        for at in 0..4 {
            if self.corners[at].number != NO_PLACE {
                continue;
            }
            let slope = self.shares.slopes[at];
            let ends = [slope, slope.map(|own| -own)].map(|direction| self.tree.farthest(direction));
            let ends = ends.into_iter().flatten().map(|(number, _)| seen(&self.places.at, self.target, number));
            let height = |place: &Corner| self.shares.at(at, place.at).abs();
            let places = self.known.iter().copied().chain(ends).filter(|place| !self.has(place.number));
            let place = places.max_by(|a, b| height(a).total_cmp(&height(b)))?;
            if height(&place) <= LEAST_HEIGHT {
                return None;
            }
            self.corners[at] = place;
            self.shares = Shares::of(self.corners.map(|corner| corner.at))?;
        }
        Some(())
    }

    /// Walks until no place lies in the sphere: those on it beside the corners, where that are all.
    fn go_down(&mut self) -> Option<Near> {
        for _ in 0..MOST_STEPS {
            let (square, slope) = self.shares.affine(|corner| self.corners[corner].square);
            let sphere = Sphere::of(&[square, slope[0], slope[1], slope[2]], self.places.axes);
            let least_depth = -DEPTH * sphere.radius * sphere.radius;
            let depth = |place: &Corner| place.square - square - dot(slope, place.at);
            let deepest = |walk: &Self, places: &[Corner]| {
                let mut deepest: Option<(f64, Corner)> = None;
                for place in places {
                    let own = depth(place);
                    if own < deepest.map_or(least_depth, |(least, _)| least) && !walk.has(place.number) {
                        deepest = Some((own, *place));
                    }
                }
                deepest.map(|(_, place)| place)
            };
            let mut entering = deepest(self, &self.known);
            if entering.is_none() {
                let mut near = sphere.nearest(&self.target, self.tree, IN_SPHERE);
                let looked_at = self.known.len();
                near.iter().for_each(|number| {
                    self.see(*number);
                });
                entering = deepest(self, &self.known[looked_at..]);
                if entering.is_none() {
                    let are_all = near.len() < IN_SPHERE;
                    near.retain(|number| !self.has(*number));
                    return are_all.then_some(near);
                }
            }
            self.swap(entering?)?;
        }
        None
    }

    /// Takes a place in and lets the corner go that is first to have no weight.
    fn swap(&mut self, entering: Corner) -> Option<()> {
        let mut leaving: Option<(usize, f64)> = None;
        for at in 0..4 {
            let share = self.shares.at(at, entering.at);
            if share > LEAST_SHARE && self.corners[at].number != ABOVE {
                let ratio = self.shares.weights[at].max(0.0) / share;
                // Of equal ones what is no place, then the first place.
                let comes_first = |other: usize| {
                    let order = |at: usize| (self.corners[at].number != NO_PLACE, self.corners[at].number);
                    order(at) < order(other)
                };
                if leaving.is_none_or(|(other, least)| ratio < least || ratio == least && comes_first(other)) {
                    leaving = Some((at, ratio));
                }
            }
        }
        let mut corners = self.corners;
        corners[leaving?.0] = entering;
        self.shares = Shares::of(corners.map(|corner| corner.at))?;
        self.corners = corners;
        Some(())
    }
}

fn seen(all: &[[f64; 3]], target: [f64; 3], number: u32) -> Corner {
    let at = minus(all[number as usize], target);
    Corner { at, square: square(at), number }
}

#[inline]
fn times(a: [f64; 3], by: f64) -> [f64; 3] {
    [a[0] * by, a[1] * by, a[2] * by]
}

#[inline]
fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
