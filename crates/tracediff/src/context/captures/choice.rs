//! Which capture a replay is of, where several are alike.
//!
//! A server captures one graph per batch size, and graphs of several sizes often run the same kernels. The sizes of launches tell
//! them apart: directly where the capture has them, as AMD's profiler writes them, else by their order. A larger batch needs more
//! blocks, and kernels with a block per row have as many blocks as the captured tensors have rows. Where that does not decide,
//! nothing is said of shapes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::OfLaunches;
use super::similarity::{Fit, Played};

/// What a step of a capture is: operator, its shapes, and the call of which a formula says what it must do.
type What = (u32, u32, u32);

/// The capture of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// None is like it.
    Nothing,
    /// Several are, which say different things of it.
    Several,
    /// For each step its launch in the capture, and whether its shapes are known.
    Joined { places: Vec<Option<u32>>, has_shapes: Vec<bool> },
}

impl Choice {
    fn of(fit: &Fit) -> Choice {
        Choice::Joined { places: fit.places.clone(), has_shapes: vec![true; fit.places.len()] }
    }

    /// Whether captures were left that say different things.
    pub(super) fn is_ambiguous(&self) -> bool {
        match self {
            Choice::Nothing => false,
            Choice::Several => true,
            Choice::Joined { has_shapes, .. } => has_shapes.contains(&false),
        }
    }
}

/// A replay and the captures that it can be of, one of those that say the same.
struct Open<'a> {
    replay: usize,
    fits: Vec<&'a Fit>,
}

/// The choice for each of `replays`, which differ, with the captures that are most like it.
pub(super) fn choose(replays: &[(&Played, &[Fit])], found: &OfLaunches) -> Vec<Choice> {
    let mut choices = vec![Choice::Nothing; replays.len()];
    // Replays that can be of the same captures have to share them out.
    let mut groups: BTreeMap<Vec<usize>, Vec<Open<'_>>> = BTreeMap::new();
    for (number, (played, fits)) in replays.iter().enumerate() {
        let mut fits: Vec<&Fit> = fits.iter().collect();
        if fits.iter().any(|fit| fit.has_its_sizes()) {
            fits.retain(|fit| fit.has_its_sizes());
            let fits = distinct(fits, found);
            choices[number] = if let [fit] = fits.as_slice() { Choice::of(fit) } else { undecided(&fits, found) };
            continue;
        }
        let has_other_sizes = !fits.is_empty() && fits.iter().all(|fit| fit.has_other_sizes());
        let fits = distinct(fits, found);
        if has_other_sizes {
            choices[number] = without_shapes(fits[0]);
        } else if let [fit] = fits.as_slice()
            && played.iter().all(|(_, size)| size.is_none())
        {
            choices[number] = Choice::of(fit);
        } else if !fits.is_empty() {
            let captures = fits.iter().map(|fit| fit.capture).collect();
            groups.entry(captures).or_default().push(Open { replay: number, fits });
        }
    }
    for open in groups.into_values() {
        let shared = share_out(&open, replays, found);
        for (place, open) in open.iter().enumerate() {
            let chosen = shared.as_ref().map(|of| open.fits[of[place]]);
            choices[open.replay] = chosen.map_or_else(|| undecided(&open.fits, found), Choice::of);
        }
    }
    choices
}

/// One of the captures that say the same of each step.
fn distinct<'a>(fits: Vec<&'a Fit>, found: &OfLaunches) -> Vec<&'a Fit> {
    let mut seen: BTreeSet<Vec<Option<What>>> = BTreeSet::new();
    fits.into_iter().filter(|fit| seen.insert(all_of(fit, found))).collect()
}

fn all_of(fit: &Fit, found: &OfLaunches) -> Vec<Option<What>> {
    fit.places.iter().map(|place| Some(found.what(*place.as_ref()?))).collect()
}

/// Operators of steps that are named, where all captures agree.
fn undecided(fits: &[&Fit], found: &OfLaunches) -> Choice {
    let Some(first) = fits.first().filter(|fit| fit.is_named) else { return Choice::Several };
    let all: Vec<Vec<Option<What>>> = fits.iter().map(|fit| all_of(fit, found)).collect();
    let mut choice = Choice::of(first);
    if let Choice::Joined { places, has_shapes } = &mut choice {
        for (at, (place, has_shapes)) in places.iter_mut().zip(has_shapes).enumerate() {
            let agrees = |same: fn(What, What) -> bool| {
                all.iter().all(|what| matches!((what[at], all[0][at]), (Some(one), Some(other)) if same(one, other)))
            };
            *has_shapes = agrees(|one, other| one == other);
            if !agrees(|one, other| one.0 == other.0) {
                *place = None;
            }
        }
    }
    choice
}

/// Operators alone: the sizes of launches say that the shapes were others.
fn without_shapes(fit: &Fit) -> Choice {
    Choice::Joined { places: fit.places.clone(), has_shapes: vec![false; fit.places.len()] }
}

/// Which capture each replay is of, where there are as many of both: in order of their sizes, if rows of tensors say the same.
fn share_out(open: &[Open<'_>], replays: &[(&Played, &[Fit])], found: &OfLaunches) -> Option<Vec<usize>> {
    let fits = &open[0].fits;
    if open.len() != fits.len() {
        return None;
    }
    if fits.len() == 1 {
        return Some(vec![0]);
    }
    let played: Vec<&Played> = open.iter().map(|open| replays[open.replay].0).collect();
    let products: Vec<Vec<BTreeSet<u64>>> = fits.iter().map(|fit| products(fit, found)).collect();
    let elements =
        |products: &Vec<BTreeSet<u64>>| -> u128 { products.iter().flatten().map(|rows| u128::from(*rows)).sum() };
    let order = ranks(&played, |played| threads_of(played))?;
    let captures = ranks(&products, elements)?;
    // Both are in order of size: the first replay of one is of the first capture of the other.
    let mut of = vec![0; open.len()];
    for (replay, capture) in order.iter().zip(&captures) {
        of[*replay] = *capture;
    }
    let says_so = |(played, own): (&&Played, &usize)| {
        let rows = rows_that_fit(played, &products);
        (0..fits.len()).all(|other| other == *own || rows[other] < rows[*own])
    };
    played.iter().zip(&of).all(says_so).then_some(of)
}

/// Places in ascending order of something; nothing where two are equal.
fn ranks<T>(all: &[T], key: impl Fn(&T) -> u128) -> Option<Vec<usize>> {
    let mut order: Vec<(u128, usize)> = all.iter().map(&key).zip(0..).collect();
    order.sort_unstable();
    let differ = order.windows(2).all(|pair| pair[0].0 < pair[1].0);
    differ.then(|| order.into_iter().map(|(_, at)| at).collect())
}

/// Threads of all launches.
fn threads_of(played: &Played) -> u128 {
    let count = |size: [u32; 3]| size.iter().map(|count| u128::from(*count)).product::<u128>();
    played.iter().filter_map(|(_, size)| *size).map(|size| count(size.grid) * count(size.block)).sum()
}

/// Per capture, how many steps have as many blocks as its tensors there have rows, and those of no other capture.
fn rows_that_fit(played: &Played, products: &[Vec<BTreeSet<u64>>]) -> Vec<usize> {
    let mut fitting = vec![0; products.len()];
    for (at, (_, size)) in played.iter().enumerate() {
        let Some(size) = size else { continue };
        let blocks = size.grid.map(u64::from);
        let all = blocks.iter().product();
        let rows = |products: &Vec<BTreeSet<u64>>| {
            let step = &products[at];
            blocks.iter().chain([&all]).any(|count| *count > 1 && step.contains(count))
                || (all == 1 && step.first() == Some(&1))
        };
        let mut found = (0..products.len()).filter(|capture| rows(&products[*capture]));
        if let (Some(only), None) = (found.next(), found.next()) {
            fitting[only] += 1;
        }
    }
    fitting
}

/// Per step, the products of the leading dimensions of each of its tensors: sequences, rows, elements.
fn products(fit: &Fit, found: &OfLaunches) -> Vec<BTreeSet<u64>> {
    let step = |place: &Option<u32>| {
        let mut products = BTreeSet::new();
        if let Some(Ok(dims)) = place.map(|launch| serde_json::from_str(found.dims(launch))) {
            add_products(&dims, &mut products);
        }
        products
    };
    fit.places.iter().map(step).collect()
}

fn add_products(dims: &Value, products: &mut BTreeSet<u64>) {
    let Some(list) = dims.as_array() else { return };
    let numbers: Option<Vec<u64>> = list.iter().map(Value::as_u64).collect();
    match numbers {
        Some(numbers) => {
            let mut product = 1_u64;
            for number in numbers {
                product = product.saturating_mul(number);
                products.insert(product);
            }
        }
        None => list.iter().for_each(|inner| add_products(inner, products)),
    }
}
