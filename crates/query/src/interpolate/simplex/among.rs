//! The simplex among many places, without looking at more of them than it takes.

use super::programme::Programme;
use super::{Inside, Sphere, of_feasible};
use crate::interpolate::near::Tree;
use std::sync::{PoisonError, RwLock};

/// Rounds after which all places are taken in.
const MOST_ROUNDS: usize = 60;
/// By this share of its terms a target must lie beyond a plane.
const BEYOND: f64 = 1e-9;
/// Most planes that are kept.
const MOST_PLANES: usize = 256;

/// Planes that have all places on one side: what lies on the other is outside.
#[derive(Debug, Default)]
pub(crate) struct Planes(RwLock<Vec<([f64; 3], f64)>>);

impl Planes {
    /// Whether a target is known to lie outside of all places.
    pub(crate) fn exclude(&self, target: &[f64]) -> bool {
        let planes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        planes.iter().any(|(normal, most)| {
            let terms = || normal.iter().zip(target).map(|(a, b)| a * b);
            terms().sum::<f64>() - most > BEYOND * terms().map(f64::abs).sum::<f64>().max(most.abs())
        })
    }

    fn add(&self, normal: [f64; 3], most: f64) {
        let mut planes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if planes.len() < MOST_PLANES {
            planes.push((normal, most));
        }
    }
}

/// The value at a target among all places, starting from some; `None` if it is outside of all. The same as of all places at once: while the
/// target is outside of those taken in, the farthest towards it is; then all that lie in the sphere of its simplex.
pub(crate) fn among(
    all: &[[f64; 3]],
    value: impl Fn(u32) -> f64,
    mut numbers: Vec<u32>,
    target: &[f64],
    (planes, tree): (&Planes, &Tree),
) -> Option<Inside> {
    let axes = target.len();
    for round in 0..=MOST_ROUNDS {
        if round == MOST_ROUNDS {
            numbers = (0..all.len() as u32).collect();
        }
        let places: Vec<(&[f64], f64)> =
            numbers.iter().map(|number| (&all[*number as usize][..axes], value(*number))).collect();
        let mut programme = Programme::new(&places, target);
        match programme.find_feasible() {
            Ok(()) => {
                let (mut inside, sphere) = of_feasible(programme, &places, target)?;
                let before = numbers.len();
                take_in(&mut numbers, all, &sphere, target, tree);
                if numbers.len() == before {
                    inside.weights.iter_mut().for_each(|(place, _)| *place = numbers[*place] as usize);
                    return Some(inside);
                }
            }
            Err(Some(multipliers)) if round < MOST_ROUNDS => {
                let normal: [f64; 3] =
                    std::array::from_fn(|axis| if axis < axes { multipliers[axis + 1] } else { 0.0 });
                let along = |at: &[f64; 3]| at.iter().zip(&normal).map(|(a, b)| a * b).sum::<f64>();
                let (farthest, most) = (0u32..)
                    .zip(all)
                    .map(|(number, at)| (number, along(at)))
                    .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
                let mut own = [0.0; 3];
                own[..axes].copy_from_slice(target);
                if numbers.contains(&farthest) || along(&own) > most {
                    planes.add(normal, most);
                    return None;
                }
                numbers.push(farthest);
            }
            Err(_) => return None,
        }
    }
    None
}

/// Takes in the places that may lie in a sphere.
fn take_in(numbers: &mut Vec<u32>, all: &[[f64; 3]], sphere: &Sphere, target: &[f64], tree: &Tree) {
    let mut known = numbers.clone();
    known.sort_unstable();
    let reach = sphere.radius * (1.0 + 1e-6);
    let end = |side: f64| {
        std::array::from_fn(|axis| target.get(axis).map_or(0.0, |own| own + sphere.centre[axis] + side * reach))
    };
    let more = tree.within(all, end(-1.0), end(1.0)).into_iter().filter(|number| {
        sphere.may_hold(&all[*number as usize][..target.len()], target) && known.binary_search(number).is_err()
    });
    numbers.extend(more);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpolate::simplex::interpolated;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn some_places_at_a_time_find_what_all_at_once_do(
            cloud in prop::collection::btree_set((0i32..40, 0i32..40, 0i32..40), 12..120),
            targets in prop::collection::vec((0i32..40, 0i32..40, 0i32..40), 1..8),
        ) {
            let all: Vec<[f64; 3]> = cloud.iter().map(|(a, b, c)| [*a, *b, *c].map(|x| f64::from(x).ln_1p())).collect();
            let value = |number: u32| f64::from(number % 11);
            let places: Vec<(&[f64], f64)> = (0u32..).zip(&all).map(|(number, at)| (&at[..], value(number))).collect();
            let (planes, tree) = (Planes::default(), Tree::new(&all));
            for (a, b, c) in targets {
                let target = [a, b, c].map(|x| (f64::from(x) + 0.3).ln_1p());
                let expected = interpolated(&places, &target).map(|inside| inside.value);
                prop_assert!(!(expected.is_some() && planes.exclude(&target)));
                let found = among(&all, value, (0..8).collect(), &target, (&planes, &tree)).map(|inside| inside.value);
                match (found, expected) {
                    (Some(a), Some(b)) => prop_assert!((a - b).abs() < 1e-9, "{a} {b}"),
                    (a, b) => prop_assert_eq!(a, b),
                }
            }
        }
    }
}
