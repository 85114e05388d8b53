//! Places of points that agree in all axes but some, and what finds the near ones.

mod finder;

use super::axes::{AxisSet, RowPoint};
use super::simplex::{self, ScaledPlaces};
pub(super) use finder::sides;
use finder::{Finder, Growing};
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Coordinates on the axes of a set.
pub(crate) type At = SmallVec<[f64; 3]>;

/// Places of points that agree in all axes but some.
#[derive(Debug)]
pub(crate) struct Slice {
    /// How many points there are.
    pub(crate) count: usize,
    axes: usize,
    /// Whether no two places have a coordinate in common.
    pub(super) is_scattered: bool,
    /// In the order of the first point of each; along a single axis by their coordinate.
    pub(crate) places: Box<[SlicePlace]>,
    finder: Finder,
    /// On logarithmic axes.
    scaled: OnceLock<Box<ScaledPlaces>>,
    /// The places along the first axis.
    along_first: OnceLock<Box<[u32]>>,
    is_flat: OnceLock<bool>,
}

/// A place, and the median of the durations there.
#[derive(Debug, PartialEq)]
pub(crate) struct SlicePlace {
    pub(crate) at: At,
    pub(crate) duration_us: f64,
    pub(crate) rows: SmallVec<[u32; 1]>,
}

impl Clone for SlicePlace {
    /// Quicker than what is derived, which takes numbers in one by one.
    fn clone(&self) -> Self {
        let SlicePlace { at, duration_us, rows } = self;
        SlicePlace { at: At::from_slice(at), duration_us: *duration_us, rows: SmallVec::from_slice(rows) }
    }
}

impl Slice {
    /// The places of some points.
    pub(crate) fn of<'p>(axes: AxisSet, points: impl Iterator<Item = &'p RowPoint>) -> Slice {
        let mut count = 0;
        let mut found = Growing::default();
        let mut places: Vec<SlicePlace> = Vec::new();
        let mut durations: Vec<SmallVec<[f64; 2]>> = Vec::new();
        for point in points {
            count += 1;
            let mut at = [0.0; 3];
            at.iter_mut().zip(axes).for_each(|(at, axis)| *at = point.at[usize::from(*axis)]);
            let place = found.number_of(at);
            if place == places.len() {
                places.push(SlicePlace {
                    at: At::from_slice(&at[..axes.len()]),
                    duration_us: 0.0,
                    rows: SmallVec::new(),
                });
                durations.push(SmallVec::new());
            }
            places[place].rows.push(point.row);
            durations[place].push(point.duration_us);
        }
        for (place, durations) in places.iter_mut().zip(&mut durations) {
            place.duration_us = median(durations);
        }
        if axes.len() == 1 {
            places.sort_by(|a, b| a.at[0].total_cmp(&b.at[0]));
        }
        let finder = found.finder(axes.len());
        Slice {
            count,
            axes: axes.len(),
            is_scattered: (0..axes.len()).all(|axis| finder.coordinates(axis) == places.len()),
            places: places.into(),
            finder,
            scaled: OnceLock::new(),
            along_first: OnceLock::new(),
            is_flat: OnceLock::new(),
        }
    }

    /// The number of the place at some coordinates.
    pub(crate) fn place_number(&self, at: &[f64]) -> Option<u32> {
        self.finder.number(at)
    }

    /// The place at some coordinates.
    pub(crate) fn place(&self, at: &[f64]) -> Option<&SlicePlace> {
        self.places.get(self.place_number(at)? as usize)
    }

    /// The nearest coordinates on both sides on an axis, which may be the same; `None` if one is missing.
    pub(crate) fn bracket(&self, axis: usize, wanted: f64) -> Option<[f64; 2]> {
        self.finder.bracket(axis, wanted)
    }

    /// The nearest places on both sides along a single axis, none of them at the target.
    pub(crate) fn neighbours(&self, wanted: f64) -> Option<[&SlicePlace; 2]> {
        let above = self.finder.above(wanted)?;
        Some([self.places.get(above.checked_sub(1)?)?, self.places.get(above)?])
    }

    /// How many coordinates the places have on an axis.
    pub(crate) fn coordinates(&self, axis: usize) -> usize {
        self.finder.coordinates(axis)
    }

    /// Whether the places have at least two coordinates on an axis.
    pub(crate) fn varies(&self, axis: usize) -> bool {
        self.coordinates(axis) > 1
    }

    /// Whether the places of several axes lie on a line or a plane.
    pub(crate) fn is_flat(&self) -> bool {
        self.axes > 1
            && *self.is_flat.get_or_init(|| {
                let coordinates: Vec<&[f64]> = self.places.iter().map(|place| place.at.as_slice()).collect();
                simplex::is_flat(&coordinates, self.axes)
            })
    }

    /// All places on scaled axes; `None` of a single axis. The scale is the same one at each call.
    pub(crate) fn scaled(&self, scaled: fn(f64) -> f64) -> Option<&ScaledPlaces> {
        let of_place = |place: &SlicePlace| {
            let mut at = [0.0; 3];
            at.iter_mut().zip(&place.at).for_each(|(at, own)| *at = scaled(*own));
            at
        };
        let made = || Box::new(ScaledPlaces::new(self.axes, self.places.iter().map(of_place).collect()));
        (self.axes > 1).then(|| &**self.scaled.get_or_init(made))
    }

    /// The places of several axes along the first one.
    fn along_first(&self) -> &[u32] {
        self.along_first.get_or_init(|| {
            let mut along: Box<[u32]> = (0..self.places.len() as u32).collect();
            along.sort_by(|a, b| self.places[*a as usize].at[0].total_cmp(&self.places[*b as usize].at[0]));
            along
        })
    }

    /// The places nearest to a target on several axes, measured on scaled axes, nearest first; of equally near ones their coordinates decide, not
    /// the order of rows.
    pub(crate) fn nearest(&self, target: &[f64], scaled: fn(f64) -> f64, count: usize) -> Vec<(At, u32)> {
        let (along, places) = (self.along_first(), &self.places);
        let first = |at: usize| scaled(places[along[at] as usize].at[0]) - target[0];
        let (mut below, mut above) = {
            let middle = along.partition_point(|place| scaled(places[*place as usize].at[0]) < target[0]);
            (middle, middle)
        };
        let mut near: Vec<(f64, At, u32)> = Vec::with_capacity(count.min(places.len()) + 1);
        loop {
            let down = below.checked_sub(1).map(|at| -first(at));
            let up = (above < along.len()).then(|| first(above));
            let (gap, at) = match (down, up) {
                (Some(down), Some(up)) if down < up => (down, below - 1),
                (_, Some(up)) => (up, above),
                (Some(down), None) => (down, below - 1),
                (None, None) => break,
            };
            let worst = near.last().filter(|_| near.len() >= count).map(|(worst, ..)| *worst);
            if worst.is_some_and(|worst| gap * gap > worst) {
                break;
            }
            if at < below {
                below = at
            } else {
                above = at + 1
            }
            let number = along[at];
            let own: At = places[number as usize].at.iter().map(|x| scaled(*x)).collect();
            let distance = own.iter().zip(target).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            if worst.is_some_and(|worst| distance > worst) {
                continue;
            }
            let order = |other: &(f64, At, u32)| {
                let by_place = || other.1.iter().zip(&own).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
                other.0.total_cmp(&distance).then_with(|| by_place().unwrap_or(std::cmp::Ordering::Equal))
            };
            let place = near.partition_point(|other| order(other).is_lt());
            near.insert(place, (distance, own, number));
            near.truncate(count);
        }
        near.into_iter().map(|(_, at, number)| (at, number)).collect()
    }

    /// The places whose first coordinate lies in a range.
    pub(crate) fn between_first(&self, lowest: f64, highest: f64) -> impl Iterator<Item = u32> {
        let along = self.along_first();
        let begin = along.partition_point(|place| self.places[*place as usize].at[0] < lowest);
        let end = along.partition_point(|place| self.places[*place as usize].at[0] <= highest);
        along.get(begin..end).unwrap_or_default().iter().copied()
    }
}

/// The middle of some numbers; of an even number the mean of the middle two.
fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() % 2 {
        1 => numbers[middle],
        _ => (numbers[middle - 1] + numbers[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpolate::axes::{ABSENT, Axes, Coordinates};
    use crate::interpolate::points::PointSet;
    use crate::interpolate::slices::SliceRef;
    use crate::shapes::is_equal_or_rounded;
    use proptest::prelude::*;

    static EXACT: Axes =
        Axes { names: &["a", "b", "c"], sets: &[&[0], &[2], &[0, 1], &[1, 2], &[0, 1, 2]], padded: None };
    static PADDED: Axes = Axes { names: &["a", "b", "c"], sets: &[&[1], &[2], &[1, 2]], padded: Some(0) };

    /// The points that agree with the target in all axes but those of the set, by looking at all of them.
    fn scanned(points: &[RowPoint], axes: &Axes, set: AxisSet, target: &Coordinates) -> Slice {
        let fits = |point: &&RowPoint| {
            (0u8..).zip(point.at.iter().zip(target)).all(|(axis, (own, wanted))| {
                if set.contains(&axis) {
                    !own.is_nan()
                } else if own.is_nan() || wanted.is_nan() {
                    own.is_nan() && wanted.is_nan()
                } else if axes.padded == Some(axis) {
                    is_equal_or_rounded(*own as i64, *wanted as i64)
                } else {
                    own == wanted
                }
            })
        };
        Slice::of(set, points.iter().filter(fits))
    }

    fn coordinates() -> impl Strategy<Value = Coordinates> {
        let size = || prop::sample::select(&[1.0, 2.0, 16.0, 17.0, 32.0, 60.0, 64.0][..]);
        let last = prop_oneof![4 => size().boxed(), 1 => Just(ABSENT).boxed()];
        (size(), size(), last).prop_map(|(a, b, c)| [a, b, c, ABSENT, ABSENT])
    }

    fn set_of(axes: &'static Axes, at: &[Coordinates]) -> PointSet {
        let point = |(row, at): (u32, &Coordinates)| RowPoint {
            at: *at,
            duration_us: f64::from(row % 7 + 1),
            row,
            spread: f32::NAN,
        };
        PointSet::of(axes, (0u32..).zip(at).map(point).collect())
    }

    proptest! {
        #[test]
        fn slices_hold_what_a_scan_of_all_points_finds(
            at in prop::collection::vec(coordinates(), 1..60),
            targets in prop::collection::vec(coordinates(), 1..8),
        ) {
            for axes in [&EXACT, &PADDED] {
                let points = set_of(axes, &at);
                for (number, set) in axes.sets.iter().enumerate() {
                    for target in targets.iter().chain(&at) {
                        let expected = scanned(&points.points, axes, set, target);
                        let own = set.iter().map(|axis| target[usize::from(*axis)]).collect::<Vec<f64>>();
                        let is_single = expected.count == 1 && expected.place(&own).is_none();
                        let found = match axes.padded {
                            Some(padded) => Some(SliceRef::Shared(points.rounded_slice(number, target, padded))),
                            None if is_single => {
                                prop_assert!(points.slice(number, target).is_none());
                                continue;
                            }
                            None => points.slice(number, target),
                        };
                        let found = found.map(|slice| (slice.count, slice.places.to_vec()));
                        prop_assert_eq!(found.unwrap_or_default(), (expected.count, expected.places.into_vec()));
                    }
                }
            }
        }

        #[test]
        fn brackets_and_near_places_are_those_of_a_scan(
            at in prop::collection::vec((1i32..40, 1i32..40), 1..120),
            target in (1i32..40, 1i32..40),
            count in 1usize..20,
        ) {
            let at: Vec<Coordinates> =
                at.iter().map(|(a, b)| [f64::from(*a), f64::from(*b), ABSENT, ABSENT, ABSENT]).collect();
            let points = set_of(&EXACT, &at);
            let target = [f64::from(target.0), f64::from(target.1)];
            let slice = scanned(&points.points, &EXACT, &[0, 1], &[target[0], target[1], ABSENT, ABSENT, ABSENT]);
            for (axis, wanted) in target.into_iter().enumerate() {
                let on_axis = || slice.places.iter().map(|place| place.at[axis]);
                let low = on_axis().filter(|x| *x <= wanted).fold(f64::NEG_INFINITY, f64::max);
                let high = on_axis().filter(|x| *x >= wanted).fold(f64::INFINITY, f64::min);
                let expected = (low.is_finite() && high.is_finite()).then_some([low, high]);
                prop_assert_eq!(slice.bracket(axis, wanted), expected);
            }
            let exact = slice.places.iter().find(|place| place.at.as_slice() == target);
            prop_assert_eq!(slice.place(&target), exact);
            let scaled = f64::ln;
            let of = |place: &SlicePlace| place.at.iter().map(|x| scaled(*x)).collect::<Vec<f64>>();
            let target: Vec<f64> = target.into_iter().map(scaled).collect();
            let distance = |at: &[f64]| at.iter().zip(&target).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            let mut all: Vec<Vec<f64>> = slice.places.iter().map(of).collect();
            all.sort_by(|a, b| {
                distance(a).total_cmp(&distance(b)).then(a[0].total_cmp(&b[0])).then(a[1].total_cmp(&b[1]))
            });
            all.truncate(count);
            let near: Vec<Vec<f64>> =
                slice.nearest(&target, scaled, count).into_iter().map(|(at, _)| at.to_vec()).collect();
            prop_assert_eq!(near, all);
        }

        #[test]
        fn a_simplex_of_near_places_is_that_of_all(
            at in prop::collection::btree_set((0i32..60, 0i32..60), 120..300),
            inner in prop::collection::vec((1i32..59, 1i32..59), 1..6),
        ) {
            let at: Vec<Coordinates> =
                at.iter().map(|(a, b)| [f64::from(*a), f64::from(*b), ABSENT, ABSENT, ABSENT]).collect();
            let slice = Slice::of(&[0, 1], set_of(&EXACT, &at).points.iter());
            let all: Vec<(&[f64], f64)> =
                slice.places.iter().map(|place| (place.at.as_slice(), place.duration_us)).collect();
            for (a, b) in inner {
                let target = [f64::from(a), f64::from(b)];
                let near = simplex::in_slice(&slice, &target).map(|inside| inside.value);
                let whole = simplex::interpolated(&all, &target).map(|inside| inside.value);
                match (near, whole) {
                    (Some(near), Some(whole)) => prop_assert!((near - whole).abs() < 1e-9, "{near} {whole}"),
                    (near, whole) => prop_assert_eq!(near, whole),
                }
            }
        }
    }
}
