//! The simplex among many places, without looking at more of them than it takes.

use super::programme::{Programme, WEIGHT_TOLERANCE};
use super::scaled::ScaledPlaces;
use super::walk::{self, Simplex};
use super::{Sphere, inside};
use crate::interpolate::corners::Weights;
use crate::interpolate::near::{Near, Tree};
use std::array;
use std::sync::{PoisonError, RwLock};

/// Places that are taken in at once at most.
const NEXT_TO_CENTRE: usize = 16;
/// By this share of its terms a target must lie beyond a plane.
const BEYOND: f64 = 1e-9;
/// Most planes that are kept.
const MOST_PLANES: usize = 256;

/// Planes that have all places on one side: what lies on the other is outside.
#[derive(Debug, Default)]
pub(super) struct Planes(RwLock<Vec<([f64; 3], f64)>>);

impl Planes {
    /// Whether a target is known to lie outside of all places.
    pub(super) fn exclude(&self, target: &[f64]) -> bool {
        let planes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        planes.iter().any(|(normal, most)| {
            let terms = || normal.iter().zip(target).map(|(a, b)| a * b);
            terms().sum::<f64>() - most > BEYOND * terms().map(f64::abs).sum::<f64>().max(most.abs())
        })
    }

    pub(super) fn add(&self, normal: [f64; 3], most: f64) {
        let mut planes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if planes.len() < MOST_PLANES {
            planes.push((normal, most));
        }
    }
}

/// The places around a target among all, and how far they reach; `None` if it is outside of all. The same as of all places at once: a walk leads
/// to a simplex, and as long as places lie in or on its sphere, these are taken in. Values decide where several triangulations are right.
pub(crate) fn among(
    places: &ScaledPlaces,
    value: impl Fn(u32) -> f64,
    first: impl FnOnce() -> Near,
    target: &[f64],
) -> Option<(Weights, f64)> {
    let (axes, all) = (places.axes, &places.at);
    let Simplex { corners, on_sphere } = walk::simplex(places, first, target)?;
    if on_sphere.as_ref().is_some_and(|others| others.is_empty()) {
        let counting = corners.iter().filter(|corner| corner.weight > WEIGHT_TOLERANCE);
        let weights = counting.clone().map(|corner| (corner.number, corner.weight)).collect();
        return Some((weights, reach(axes, counting.map(|corner| &corner.at))));
    }
    let mut numbers: Vec<u32> = corners.iter().map(|corner| corner.number).collect();
    let mut programme = Programme::around(numbers.iter().map(|number| &all[*number as usize][..axes]), target);
    let mut more = on_sphere.clone().unwrap_or_default();
    let multipliers = loop {
        more.iter().for_each(|number| programme.add(&all[*number as usize][..axes], target));
        numbers.extend(more);
        let multipliers = programme.empty_sphere()?;
        if on_sphere.is_some() && programme.is_around_first() {
            break multipliers;
        }
        more = within(&numbers, all, &Sphere::of(&multipliers, axes), target, places.tree());
        if more.is_empty() {
            break multipliers;
        }
    };
    let on_sphere = programme.on_sphere(&multipliers);
    let inside = inside(programme, |place| value(numbers[place]), numbers.len(), &on_sphere)?;
    let weights: Weights = inside.weights.iter().map(|(place, weight)| (numbers[*place], *weight)).collect();
    let reach = reach(axes, weights.iter().map(|(number, _)| &all[*number as usize]));
    Some((weights, reach))
}

/// How far some places are apart: the sum over all axes.
fn reach<'p>(axes: usize, places: impl Iterator<Item = &'p [f64; 3]>) -> f64 {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for at in places {
        low = array::from_fn(|axis| at[axis].min(low[axis]));
        high = array::from_fn(|axis| at[axis].max(high[axis]));
    }
    (0..axes).map(|axis| high[axis] - low[axis]).sum()
}

/// Other places that may lie in a sphere: those next to its centre, or all where those are known.
fn within(known: &[u32], all: &[[f64; 3]], sphere: &Sphere, target: &[f64], tree: &Tree) -> Near {
    let may_hold =
        |number: &u32| !known.contains(number) && sphere.may_hold(&all[*number as usize][..target.len()], target);
    let mut more = sphere.nearest(target, tree, NEXT_TO_CENTRE);
    let are_all = more.len() < NEXT_TO_CENTRE;
    more.retain(|number| may_hold(number));
    if are_all || !more.is_empty() {
        return more;
    }
    let end = |side: f64| sphere.centre_around(target).map(|at| at + side * sphere.reach());
    tree.within(end(-1.0), end(1.0)).into_iter().filter(may_hold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpolate::simplex::{interpolated, is_flat};
    use proptest::prelude::*;

    /// The value that places around a target tell.
    fn told(places: &ScaledPlaces, value: impl Fn(u32) -> f64, target: &[f64]) -> Option<f64> {
        let (weights, _) = among(places, &value, Near::new, target)?;
        Some(weights.iter().map(|(number, weight)| value(*number) * weight).sum())
    }

    proptest! {
        #[test]
        fn targets_on_a_side_of_all_places_are_inside(
            cloud in prop::collection::btree_set((0i32..5, 0i32..5, 0i32..5), 20..60),
        ) {
            let all: Vec<[f64; 3]> = cloud.into_iter().map(|at| [at.0, at.1, at.2].map(f64::from)).collect();
            let places = ScaledPlaces::new(3, all.clone().into());
            prop_assume!(!places.is_flat());
            for (number, at) in (0u32..).zip(&all) {
                let found = told(&places, f64::from, at);
                prop_assert!(found.is_some_and(|value| (value - f64::from(number)).abs() < 1e-9), "{at:?} {found:?}");
            }
        }

        #[test]
        fn some_places_at_a_time_find_what_all_at_once_do(
            cloud in prop::collection::btree_set((0i32..40, 0i32..40, 0i32..40), 12..120),
            targets in prop::collection::vec((0i32..40, 0i32..40, 0i32..40), 1..8),
            axes in 2usize..4,
            // Places on a grid share their spheres.
            is_grid in any::<bool>(),
        ) {
            let scaled = |x: f64| if is_grid { (x / 8.0).floor() } else { x.ln_1p() };
            let on_axes = |at: (i32, i32, i32)| {
                let mut at = [at.0, at.1, at.2].map(|x| scaled(f64::from(x)));
                at[axes..].fill(0.0);
                at
            };
            let mut all: Vec<[f64; 3]> = cloud.into_iter().map(on_axes).collect();
            all.sort_by(|a, b| a.partial_cmp(b).unwrap());
            all.dedup();
            let value = |number: u32| f64::from(number % 11);
            let places: Vec<(&[f64], f64)> =
                (0u32..).zip(&all).map(|(number, at)| (&at[..axes], value(number))).collect();
            prop_assume!(!is_flat(&places.iter().map(|(at, _)| *at).collect::<Vec<_>>(), axes));
            let scaled = || ScaledPlaces::new(axes, all.clone().into());
            let (searched, triangulated) = (scaled(), scaled().triangulated());
            for (a, b, c) in targets {
                let target = [a, b, c].map(|x| if is_grid { f64::from(x) / 8.0 } else { (f64::from(x) + 0.3).ln_1p() });
                let target = &target[..axes];
                let expected = interpolated(&places, target).map(|inside| inside.value);
                prop_assert!(!(expected.is_some() && searched.exclude(target)));
                let found = among(&searched, value, Near::new, target);
                prop_assert_eq!(&found, &among(&triangulated, value, Near::new, target));
                match (told(&searched, value, target), expected) {
                    (Some(a), Some(b)) => prop_assert!((a - b).abs() < 1e-9, "{a} {b}"),
                    (a, b) => prop_assert_eq!(a, b),
                }
            }
        }
    }
}
