//! Linear interpolation on the Delaunay simplex around a target, as a linear programme.
//!
//! Of all weights λ ≥ 0 with Σλ = 1 and Σλp = target, those with the least Σλ|p|² lie on the simplex whose circumscribed sphere is empty. Where
//! more places than that lie on the sphere, several triangulations are right: then the mean of the lowest and the highest value over all of them
//! is taken, which no order of rows changes.

mod among;
mod programme;
mod scaled;
mod triangulation;
mod walk;

pub(crate) use among::among;
pub(crate) use programme::WEIGHT_TOLERANCE;
pub(crate) use scaled::ScaledPlaces;
pub(crate) use walk::Shares;

use super::near::{Near, Tree};
use super::slice::Slice;
use programme::Programme;
use smallvec::SmallVec;

/// By this share of its radius a place may lie outside of a sphere and count as on it.
const ON_SPHERE: f64 = 1e-6;
/// The places among which a simplex is looked for first.
const NEAREST_PLACES: usize = 48;

/// A value inside a triangulation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inside {
    pub(crate) value: f64,
    /// Places and their weights.
    pub(crate) weights: SmallVec<[(usize, f64); 4]>,
    /// Lowest and highest value over all triangulations, where they differ.
    pub(crate) range: Option<[f64; 2]>,
}

/// The value at a target inside the places of a slice; `None` if it is outside of all. Places of weights are those of the slice.
///
/// A simplex of near places is the right one if no other place lies in or on its sphere, and only those can whose first coordinate does. Otherwise
/// these are taken in, too.
pub(super) fn in_slice(slice: &Slice, target: &[f64]) -> Option<Inside> {
    let places = &slice.places;
    let of = |numbers: &[u32]| -> Option<(Inside, Sphere)> {
        let valued: Vec<(&[f64], f64)> = numbers
            .iter()
            .map(|number| &places[*number as usize])
            .map(|place| (place.at.as_slice(), place.duration_us))
            .collect();
        let (mut inside, sphere) = interpolated_on(&valued, target)?;
        inside.weights.iter_mut().for_each(|(place, _)| *place = numbers[*place] as usize);
        Some((inside, sphere))
    };
    if places.len() > 2 * NEAREST_PLACES {
        let mut numbers: Vec<u32> =
            slice.nearest(target, |x| x, NEAREST_PLACES).into_iter().map(|(_, number)| number).collect();
        // Each round takes in places in a smaller sphere; a few are enough, or else all are looked at.
        for _ in 0..4 {
            let Some((inside, sphere)) = of(&numbers) else { break };
            numbers.sort_unstable();
            let reach = sphere.reach();
            let lowest = target[0] + sphere.centre[0] - reach;
            let more: Vec<u32> = slice
                .between_first(lowest, lowest + 2.0 * reach)
                .filter(|number| sphere.may_hold(&places[*number as usize].at, target))
                .filter(|number| numbers.binary_search(number).is_err())
                .collect();
            if more.is_empty() {
                return Some(inside);
            }
            numbers.extend(more);
        }
    }
    let all: Vec<u32> = (0..places.len() as u32).collect();
    of(&all).map(|(inside, _)| inside)
}

/// The sphere through the corners of a simplex, seen from the target.
struct Sphere {
    centre: [f64; 3],
    radius: f64,
}

impl Sphere {
    /// Of the affine function that equals the square of the distance at the corners.
    fn of(multipliers: &[f64; 4], axes: usize) -> Sphere {
        let centre = std::array::from_fn(|axis| if axis < axes { multipliers[axis + 1] / 2.0 } else { 0.0 });
        let square = multipliers[0] + centre.iter().map(|x| x * x).sum::<f64>();
        Sphere { centre, radius: square.max(0.0).sqrt() }
    }

    /// A wider one around the same centre.
    fn wider(&self, by_share: f64) -> Sphere {
        Sphere { radius: self.radius * (1.0 + by_share), ..*self }
    }

    /// How far from the centre places count as on it.
    fn reach(&self) -> f64 {
        self.radius * (1.0 + ON_SPHERE)
    }

    fn centre_around(&self, target: &[f64]) -> [f64; 3] {
        std::array::from_fn(|axis| target.get(axis).map_or(0.0, |own| own + self.centre[axis]))
    }

    /// The places inside or on it that lie next to its centre, up to a number of them.
    fn nearest(&self, target: &[f64], tree: &Tree, count: usize) -> Near {
        tree.nearest_within(self.centre_around(target), self.reach() * self.reach(), count)
    }

    /// Whether a place may lie inside or on it.
    fn may_hold(&self, at: &[f64], target: &[f64]) -> bool {
        let from_centre = at.iter().zip(target).zip(&self.centre).map(|((at, target), centre)| at - target - centre);
        from_centre.map(|x| x * x).sum::<f64>() <= self.radius * self.radius * (1.0 + 1e-6)
    }
}

/// The value at a target; `None` if it is outside of all places. Places have one coordinate per axis, two or three axes.
#[cfg(test)]
pub(crate) fn interpolated(places: &[(&[f64], f64)], target: &[f64]) -> Option<Inside> {
    interpolated_on(places, target).map(|(inside, _)| inside)
}

fn interpolated_on(places: &[(&[f64], f64)], target: &[f64]) -> Option<(Inside, Sphere)> {
    let mut programme = Programme::new(places.iter().map(|(at, _)| *at), target);
    programme.find_feasible().ok()?;
    let multipliers = programme.empty_sphere()?;
    let on_sphere = programme.on_sphere(&multipliers);
    let inside = inside(programme, |place| places[place].1, places.len(), &on_sphere)?;
    Some((inside, Sphere::of(&multipliers, target.len())))
}

/// The value in the simplex of the empty sphere, on which some of the programme's places are.
fn inside(programme: Programme, value: impl Fn(usize) -> f64, count: usize, on_sphere: &[usize]) -> Option<Inside> {
    let weights = programme.weights()?;
    let value_of = |weights: &[(usize, f64)]| weights.iter().map(|(place, weight)| value(*place) * weight).sum::<f64>();
    let mean_value = value_of(&weights);
    if on_sphere.len() <= programme.rows() {
        return Some(Inside { value: mean_value, weights, range: None });
    }
    // Of the places on the sphere alone, which the basis is among.
    let mut values = vec![0.0; count];
    on_sphere.iter().for_each(|place| values[*place] = value(*place));
    let mut lowest = programme.clone();
    lowest.minimise(on_sphere, &values)?;
    values.iter_mut().for_each(|value| *value = -*value);
    let mut highest = programme;
    highest.minimise(on_sphere, &values)?;
    let (low, high) = (lowest.weights()?, highest.weights()?);
    let range = [value_of(&low), value_of(&high)];
    if (range[1] - range[0]).abs() <= 1e-12 * range[1].abs() {
        return Some(Inside { value: mean_value, weights, range: None });
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
