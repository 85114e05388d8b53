//! The simplex among many places, without looking at more of them than it takes.

use super::programme::Programme;
use super::{Inside, Sphere, inside};
use crate::interpolate::near::{Near, Tree};
use std::sync::{PoisonError, RwLock};

/// Places farthest towards a target, after which all are taken in.
const MOST_ROUNDS: usize = 60;
/// Places that are taken in at once at most.
const NEXT_TO_CENTRE: usize = 16;
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

/// The value at a target among all places, from some to start with; `None` if it is outside of all. The same as of all places at once: while
/// the target is outside of those taken in, the farthest towards it is; then those that lie deepest in the sphere of its simplex.
pub(crate) fn among<const N: usize>(
    all: &[[f64; 3]],
    value: impl Fn(u32) -> f64,
    starts: [&dyn Fn() -> Vec<u32>; N],
    target: &[f64],
    (planes, tree): (&Planes, &Tree),
) -> Option<Inside> {
    let axes = target.len();
    let (mut numbers, mut programme) = around(all, starts, target, (planes, tree))?;
    let on_sphere = loop {
        let multipliers = programme.empty_sphere()?;
        let more = within(&numbers, all, &Sphere::of(&multipliers, axes), target, tree);
        if more.is_empty() {
            break programme.on_sphere(&multipliers);
        }
        more.iter().for_each(|number| programme.add(&all[*number as usize][..axes], target));
        numbers.extend(more);
    };
    let mut inside = inside(programme, |place| value(numbers[place]), numbers.len(), &on_sphere)?;
    inside.weights.iter_mut().for_each(|(place, _)| *place = numbers[*place] as usize);
    Some(inside)
}

/// Places around a target, of which the programme knows some that it lies between; `None` if it is outside of all.
fn around<const N: usize>(
    all: &[[f64; 3]],
    starts: [&dyn Fn() -> Vec<u32>; N],
    target: &[f64],
    (planes, tree): (&Planes, &Tree),
) -> Option<(Vec<u32>, Programme)> {
    let axes = target.len();
    let solve = |numbers: &[u32]| {
        let mut programme = Programme::new(numbers.iter().map(|number| &all[*number as usize][..axes]), target);
        programme.find_feasible().map(|()| programme)
    };
    let mut numbers: Vec<u32> = Vec::new();
    for start in starts {
        numbers.extend(start());
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() > axes
            && let Ok(programme) = solve(&numbers)
        {
            return Some((numbers, programme));
        }
    }
    for _ in 0..MOST_ROUNDS {
        match solve(&numbers) {
            Ok(programme) => return Some((numbers, programme)),
            Err(Some(multipliers)) => {
                let normal: [f64; 3] =
                    std::array::from_fn(|axis| if axis < axes { multipliers[axis + 1] } else { 0.0 });
                let along = |at: &[f64]| at.iter().zip(&normal).map(|(a, b)| a * b).sum::<f64>();
                let (farthest, most) = tree.farthest(normal)?;
                if numbers.contains(&farthest) || along(target) > most {
                    planes.add(normal, most);
                    return None;
                }
                numbers.push(farthest);
            }
            Err(None) => return None,
        }
    }
    let every: Vec<u32> = (0..all.len() as u32).collect();
    solve(&every).ok().map(|programme| (every, programme))
}

/// Other places that may lie in a sphere: those next to its centre, or all where those are known.
fn within(known: &[u32], all: &[[f64; 3]], sphere: &Sphere, target: &[f64], tree: &Tree) -> Near {
    let may_hold =
        |number: &u32| !known.contains(number) && sphere.may_hold(&all[*number as usize][..target.len()], target);
    let reach = sphere.radius * (1.0 + 1e-6);
    let centre: [f64; 3] = std::array::from_fn(|axis| target.get(axis).map_or(0.0, |own| own + sphere.centre[axis]));
    let mut more = tree.nearest_within(centre, reach, NEXT_TO_CENTRE);
    let are_all = more.len() < NEXT_TO_CENTRE;
    more.retain(|number| may_hold(number));
    if are_all || !more.is_empty() {
        return more;
    }
    let end = |side: f64| centre.map(|at| at + side * reach);
    tree.within(end(-1.0), end(1.0)).into_iter().filter(may_hold).collect()
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
                let starts: [&dyn Fn() -> Vec<u32>; 2] = [&|| (0..3).collect(), &|| (0..8).collect()];
                let found = among(&all, value, starts, &target, (&planes, &tree)).map(|inside| inside.value);
                match (found, expected) {
                    (Some(a), Some(b)) => prop_assert!((a - b).abs() < 1e-9, "{a} {b}"),
                    (a, b) => prop_assert_eq!(a, b),
                }
            }
        }
    }
}
