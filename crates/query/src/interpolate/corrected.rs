//! Interpolation without the faults of the simulator's: logarithmic axes and durations, boxes before triangles, confidence by the width of the bracket.

use super::attempt::{FEW, OUTSIDE, Status, Value};
use super::axes::AxisSet;
use super::corners::Corners;
use super::simplex;
use super::slice::{Slice, SlicePlace};
use smallvec::SmallVec;

/// Confidence between neighbours that are next to nothing apart, by the number of axes.
const NARROW_CONFIDENCE: [f64; 3] = [0.85, 0.80, 0.75];
/// What is taken off for each doubling between the neighbours, and how low it gets.
const LOSS_PER_DOUBLING: f64 = 0.05;
const LEAST_CONFIDENCE: f64 = 0.3;

/// The least width that a bracket around a target can have in a slice; `None` if the target is outside.
pub(super) fn least_width(slice: &Slice, wanted: &[f64]) -> Option<f64> {
    wanted
        .iter()
        .enumerate()
        .try_fold(0.0, |width, (axis, wanted)| Some(width + self::width(slice.bracket(axis, *wanted)?)))
}

/// The width between the neighbours on an axis; none where the target lies on a place, as on most axes.
pub(super) fn width([low, high]: [f64; 2]) -> f64 {
    if high > low { scaled(high) - scaled(low) } else { 0.0 }
}

/// What the places around a target tell.
pub(super) enum Found {
    /// A value, and the width of its bracket: the sum of the logarithms over all axes.
    Value((f64, Value)),
    /// That corners of the box are missing, so that it takes a triangle.
    Open(Corners),
}

/// The value at a target: at a place, on a line or in a whole box.
pub(super) fn boxed(slice: &Slice, set: AxisSet, wanted: &[f64]) -> Result<Found, Status> {
    if let Some(place) = slice.place(wanted) {
        let used = vec![(place.clone(), 1.0)];
        return Ok(Found::Value((0.0, made(slice, set, wanted, place.duration_us, 0.0, "exact_place", used))));
    }
    if slice.places.len() < 2 {
        return Err(FEW);
    }
    let (used, width, rule) = match wanted {
        [wanted] => line(slice, *wanted)?,
        several => {
            let corners = Corners::around(slice, several).ok_or(OUTSIDE)?;
            let Some(weights) = corners.of_all() else { return Ok(Found::Open(corners)) };
            (used(slice, weights.into_iter()), corners.length(), boxed_rule(several.len()))
        }
    };
    Ok(Found::Value(weighted(slice, set, wanted, used, width, rule)))
}

/// The value in a triangle or tetrahedron of places.
pub(super) fn in_triangle(
    slice: &Slice,
    set: AxisSet,
    wanted: &[f64],
    corners: &Corners,
) -> Result<(f64, Value), Status> {
    let (used, width) = triangle(slice, wanted, corners)?;
    Ok(weighted(slice, set, wanted, used, width, simplex_rule(wanted.len())))
}

fn weighted(slice: &Slice, set: AxisSet, wanted: &[f64], used: Used, width: f64, rule: &'static str) -> (f64, Value) {
    let log: f64 = used.iter().map(|(place, weight)| weight * place.duration_us.ln()).sum();
    (width, made(slice, set, wanted, log.exp(), width, rule, used))
}

fn boxed_rule(axes: usize) -> &'static str {
    if axes == 2 { "interpolated_2d_log_box" } else { "interpolated_3d_log_box" }
}

fn simplex_rule(axes: usize) -> &'static str {
    if axes == 2 { "interpolated_2d_log_simplex" } else { "interpolated_3d_log_simplex" }
}

type Used = Vec<(SlicePlace, f64)>;

fn made(
    slice: &Slice,
    set: AxisSet,
    wanted: &[f64],
    duration_us: f64,
    width: f64,
    rule: &'static str,
    places: Used,
) -> Value {
    let doublings = width / std::f64::consts::LN_2;
    let narrow = NARROW_CONFIDENCE[set.len().clamp(1, 3) - 1];
    Value {
        duration_us,
        confidence: (narrow - LOSS_PER_DOUBLING * doublings).max(LEAST_CONFIDENCE),
        method: match rule {
            "exact_place" => "exact_place",
            "interpolated_1d_log" => "log_linear_1d",
            "interpolated_2d_log_box" | "interpolated_3d_log_box" => "log_multilinear",
            _ => "log_simplex",
        },
        rule,
        places,
        ..Value::at(slice, set, wanted)
    }
}

/// A coordinate on its logarithmic axis. Sizes and lengths are not below 0; 0 has a place of its own.
pub(super) fn scaled(coordinate: f64) -> f64 {
    if coordinate >= 1.0 { coordinate.ln() } else { coordinate.max(0.0) - 1.0 }
}

/// Between the neighbours on one axis.
fn line(slice: &Slice, wanted: f64) -> Result<(Used, f64, &'static str), Status> {
    let [low, high] = slice.neighbours(wanted).ok_or(OUTSIDE)?;
    let width = scaled(high.at[0]) - scaled(low.at[0]);
    let share = (scaled(wanted) - scaled(low.at[0])) / width;
    Ok((vec![(low.clone(), 1.0 - share), (high.clone(), share)], width, "interpolated_1d_log"))
}

/// Places of a slice with their weights.
fn used(slice: &Slice, weights: impl ExactSizeIterator<Item = (u32, f64)>) -> Used {
    let mut used = Used::with_capacity(weights.len());
    weights.for_each(|(number, weight)| used.push((slice.places[number as usize].clone(), weight)));
    used
}

/// The triangle or tetrahedron of places around the target, between the corners of the box if possible.
fn triangle(slice: &Slice, wanted: &[f64], corners: &Corners) -> Result<(Used, f64), Status> {
    let value = |number: u32| slice.places[number as usize].duration_us.ln();
    if let Some((weights, width)) = corners.of_some(value) {
        return Ok((used(slice, weights.into_iter()), width));
    }
    let target: SmallVec<[f64; 3]> = wanted.iter().map(|x| scaled(*x)).collect();
    let (all, planes) = slice.scaled(scaled).ok_or(OUTSIDE)?;
    if planes.exclude(&target) || slice.is_flat_scaled(all, target.len()) {
        return Err(OUTSIDE);
    }
    let tree = slice.tree_scaled(all).ok_or(OUTSIDE)?;
    // On a grid of uneven steps the nearest may all lie on one side.
    let inside = simplex::among(all, value, &corners.places(), &target, (planes, tree)).ok_or(OUTSIDE)?;
    let used = used(slice, inside.weights.iter().map(|(at, weight)| (*at as u32, *weight)));
    let extent = |axis: usize| {
        let on_axis = || inside.weights.iter().map(|(at, _)| all[*at][axis]);
        on_axis().fold(f64::NEG_INFINITY, f64::max) - on_axis().fold(f64::INFINITY, f64::min)
    };
    Ok((used, (0..target.len()).map(extent).sum()))
}
