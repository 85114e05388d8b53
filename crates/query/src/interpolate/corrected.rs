//! Interpolation without the faults of the simulator's: logarithmic axes and durations, boxes before triangles, confidence by the width of the bracket.

use super::attempt::{FEW, OUTSIDE, Status, Value};
use super::axes::AxisSet;
use super::corners::{Corners, Weights};
use super::simplex;
use super::slice::{Slice, SlicePlace};

/// Confidence between neighbours that are next to nothing apart, by the number of axes.
const NARROW_CONFIDENCE: [f64; 3] = [0.85, 0.80, 0.75];
/// What is taken off for each doubling between the neighbours, and how low it gets.
const LOSS_PER_DOUBLING: f64 = 0.05;
const LEAST_CONFIDENCE: f64 = 0.3;

/// The least width that a bracket around a target can have on some axes with these nearest coordinates; `None` if the target is outside.
pub(super) fn least_width(axes: usize, sides_on: impl Fn(usize) -> Option<[f64; 2]>) -> Option<f64> {
    (0..axes).try_fold(0.0, |width, axis| Some(width + self::width(sides_on(axis)?)))
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

/// The value at a target: at a place, on a line or in a whole box. On scaled axes the target is another; sides are the nearest coordinates on an
/// axis.
pub(super) fn boxed(
    slice: &Slice,
    set: AxisSet,
    wanted: &[f64],
    on_scale: impl Fn() -> [f64; 3],
    sides_on: impl Fn(usize) -> Option<[f64; 2]>,
) -> Result<Found, Status> {
    let exact = |place: &SlicePlace| {
        let used = vec![(place.clone(), 1.0)];
        Ok(Found::Value((0.0, made(slice, set, wanted, place.duration_us, 0.0, "exact_place", used))))
    };
    let few = || if slice.places.len() < 2 { FEW } else { OUTSIDE };
    let (used, width, rule) = match wanted {
        [on_axis] => match slice.place(wanted) {
            Some(place) => return exact(place),
            None => line(slice, *on_axis).ok_or_else(few)?,
        },
        several => {
            let corners = Corners::around(slice, several.len(), on_scale(), sides_on).ok_or_else(few)?;
            let Some(weights) = corners.of_all() else { return Ok(Found::Open(corners)) };
            if let [(place, _)] = weights[..] {
                return exact(&slice.places[place as usize]);
            }
            (used(slice, weights.into_iter()), corners.length(), boxed_rule(several.len()))
        }
    };
    Ok(Found::Value((width, weighted(slice, set, wanted, used, width, rule))))
}

/// The value of the places of a triangle or tetrahedron with some weights, and the width of their bracket.
pub(super) fn in_triangle(slice: &Slice, set: AxisSet, wanted: &[f64], weights: Weights, width: f64) -> Value {
    weighted(slice, set, wanted, used(slice, weights.into_iter()), width, simplex_rule(wanted.len()))
}

fn weighted(slice: &Slice, set: AxisSet, wanted: &[f64], used: Used, width: f64, rule: &'static str) -> Value {
    let log: f64 = used.iter().map(|(place, weight)| weight * place.duration_us.ln()).sum();
    made(slice, set, wanted, log.exp(), width, rule, used)
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
fn line(slice: &Slice, wanted: f64) -> Option<(Used, f64, &'static str)> {
    let [low, high] = slice.neighbours(wanted)?;
    let width = scaled(high.at[0]) - scaled(low.at[0]);
    let share = (scaled(wanted) - scaled(low.at[0])) / width;
    Some((vec![(low.clone(), 1.0 - share), (high.clone(), share)], width, "interpolated_1d_log"))
}

/// Places of a slice with their weights.
fn used(slice: &Slice, weights: impl ExactSizeIterator<Item = (u32, f64)>) -> Used {
    let mut used = Used::with_capacity(weights.len());
    weights.for_each(|(number, weight)| used.push((slice.places[number as usize].clone(), weight)));
    used
}

/// The triangle or tetrahedron of places around a target, between the corners of the box if possible: the weights of the places, and the width of
/// the bracket.
pub(super) fn triangle(slice: &Slice, corners: &Corners) -> Result<(Weights, f64), Status> {
    let value = |number: u32| slice.places[number as usize].duration_us.ln();
    if let Some(found) = corners.of_some(value) {
        return Ok(found);
    }
    let target = corners.target();
    let places = slice.scaled(scaled).ok_or(OUTSIDE)?;
    if places.exclude(target) || places.is_flat() {
        return Err(OUTSIDE);
    }
    // On a grid of uneven steps the nearest may all lie on one side.
    simplex::among(places, value, || corners.places(), target).ok_or(OUTSIDE)
}
