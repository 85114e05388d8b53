//! Trying groups of points until one of them answers.

use super::among::Among;
use super::axes::{Axes, AxisSet, Coordinates, MOST_AXES, bits_of};
use super::corners::{Corners, Weights};
use super::corrected::{self, Found};
use super::floor;
use super::points::{Group, PointIndex, PointSet};
use super::predicted::{self, Predicted};
use super::simplex;
use super::slice::{Slice, SlicePlace};
use super::slices::SliceRef;
use crate::answer::{Answer, Interpolation, More, Source, WeightedPoint};
use crate::context::Context;
use crate::semantics::Between;
use crate::table::KernelRows;
use smallvec::{SmallVec, smallvec};
use std::cell::LazyCell;

/// Why a group did not answer.
pub(crate) type Status = &'static str;

pub(crate) const DISABLED: Status = "interpolation_dim_disabled";
pub(crate) const FEW: Status = "insufficient_filtered_candidates";
pub(crate) const OUTSIDE: Status = "outside_axis_boundary";
pub(crate) const UNMATCHED: Status = "regime_key_unmatched";
const NO_AXIS: Status = "missing_target_axis";
const STRUCTURE: Status = "grid_structure_rejected";
const FLAT: Status = "degenerate_point_cloud";
const OUTSIDE_HULL: Status = "outside_convex_hull";
const GUARD: Status = "latency_guard_rejected";

/// What a kind adds to the names of methods and rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    Plain,
    /// Over the square root of lengths.
    SquareRoot,
}

/// A value between points.
#[derive(Debug)]
pub(crate) struct Value {
    pub(crate) duration_us: f64,
    pub(crate) confidence: f64,
    pub(crate) method: &'static str,
    pub(crate) rule: &'static str,
    pub(crate) axes: AxisSet,
    pub(crate) names: &'static [&'static str],
    pub(crate) target: SmallVec<[f64; 3]>,
    /// Places with weights.
    pub(crate) places: Vec<(SlicePlace, f64)>,
    pub(crate) candidates: usize,
    pub(crate) range: Option<[f64; 2]>,
    pub(crate) among: Option<Among>,
    /// The confidence of it, where that is known.
    pub(crate) prediction: Option<Box<Predicted>>,
}

impl Value {
    /// At a place of a slice; nothing is known of the value itself.
    pub(super) fn at(slice: &Slice, set: AxisSet, wanted: &[f64]) -> Value {
        Value {
            duration_us: f64::NAN,
            confidence: 0.0,
            method: "",
            rule: "",
            axes: set,
            names: &[],
            target: SmallVec::from_slice(wanted),
            places: Vec::new(),
            candidates: slice.count,
            range: None,
            among: None,
            prediction: None,
        }
    }

    /// The answer of a table.
    pub(crate) fn answer(self, table: &KernelRows) -> Answer {
        let mut rows = SmallVec::with_capacity(self.places.iter().map(|(place, _)| place.rows.len()).sum());
        for row in self.places.iter().flat_map(|(place, _)| &place.rows) {
            rows.push(table.row(*row).reference());
        }
        Answer {
            duration_us: self.duration_us,
            confidence: self.confidence,
            source: Source::Interpolated,
            kernels: smallvec![table.kernel_type.clone()],
            rule: Some(self.rule),
            rows,
            share: 1.0,
            more: Some(Box::new(More {
                prediction: self.prediction.map(|predicted| predicted.of_table(table)),
                interpolation: Some(Interpolation {
                    method: self.method,
                    axes: self.axes.iter().map(|axis| self.names[*axis as usize]).collect(),
                    target: self.target,
                    points: self
                        .places
                        .into_iter()
                        .map(|(place, weight)| WeightedPoint {
                            coordinates: place.at,
                            duration_us: place.duration_us,
                            weight,
                        })
                        .collect(),
                    candidate_count: self.candidates,
                    range_us: self.range,
                    among: self.among,
                }),
                ..More::default()
            })),
        }
    }
}

/// Tries the preferred points of a group, then the others; the status of the last attempt.
pub(crate) fn of_group(
    context: &Context<'_>,
    index: &PointIndex,
    group: &Group,
    target: &Coordinates,
    limit: Option<i64>,
) -> Result<Value, Option<Status>> {
    let mut status = None;
    for points in [&group.preferred, &group.alternate] {
        if points.points.is_empty() {
            continue;
        }
        match of_points(context, index, points, target, limit, Naming::Plain) {
            Ok(value) => return Ok(value),
            Err(found) => status = Some(found),
        }
    }
    Err(status)
}

/// The answer of the first group that has one, else why the last one has none.
pub(crate) fn of_groups<'g>(
    context: &Context<'_>,
    table: &KernelRows,
    index: &PointIndex,
    groups: impl IntoIterator<Item = &'g Group>,
    target: &Coordinates,
) -> Result<Answer, Status> {
    let mut status = UNMATCHED;
    for group in groups {
        match of_group(context, index, group, target, table.policy.max_dimensions) {
            Ok(value) => return Ok(value.answer(table)),
            Err(found) => status = found.unwrap_or(status),
        }
    }
    Err(status)
}

/// Tries the sets of axes on some points.
pub(crate) fn of_points(
    context: &Context<'_>,
    index: &PointIndex,
    points: &PointSet,
    target: &Coordinates,
    limit: Option<i64>,
    naming: Naming,
) -> Result<Value, Status> {
    if context.rules.predicts() {
        let value = predicted::value(context, index, points, target)?;
        context.note(|| value.prediction.as_ref().map(|predicted| predicted.note()).unwrap_or_default());
        return Ok(value);
    }
    let axes = points.axes;
    let slice = |set: usize| points.near(set, target);
    if context.rules.between == Between::NarrowestBracket {
        let mut value = narrowest(context, points, target, limit, slice)?;
        floor::raise(context, points, target, &mut value);
        return Ok(value);
    }
    let mut status: Option<Status> = None;
    let mut note = |found: Status, set: AxisSet| {
        context.note(|| format!("axes {}: {found}", names(axes.names, set).join(",")));
        if found != NO_AXIS {
            status.get_or_insert(found);
        }
    };
    for (at, &set) in axes.sets.iter().enumerate() {
        if limit.is_some_and(|limit| set.len() as i64 > limit) {
            note(DISABLED, set);
            continue;
        }
        if set.iter().any(|axis| target[*axis as usize].is_nan()) {
            note(NO_AXIS, set);
            continue;
        }
        let wanted = coordinates(set, target);
        let wanted = &wanted[..set.len()];
        let found = match slice(at) {
            None => Err(FEW),
            Some(slice) => value(&slice, set, wanted, naming),
        };
        match found {
            Ok(value) => {
                let among = Some(Among::new(index.name, points, at, target));
                return Ok(Value { names: axes.names, among, ..value });
            }
            Err(found) => note(found, set),
        }
    }
    Err(status.unwrap_or(NO_AXIS))
}

/// The set of axes whose line or box around the target is narrowest; where there is none, the narrowest triangle, which costs more to find.
fn narrowest<'p>(
    context: &Context<'_>,
    points: &'p PointSet,
    target: &Coordinates,
    limit: Option<i64>,
    slice: impl Fn(usize) -> Option<SliceRef<'p>>,
) -> Result<Value, Status> {
    let axes = points.axes;
    if let [one] = &points.points[..]
        && axes.padded.is_none()
        && context.explanation.is_none()
        && one.at.iter().zip(target).any(|(own, wanted)| own.total_cmp(wanted).is_ne())
    {
        return Err(of_one(axes, target, limit));
    }
    // Of the first set that has its axes and does not answer.
    let mut first: Option<(usize, Status)> = None;
    // Sets that need a triangle.
    let mut open: SmallVec<[(usize, SliceRef<'p>, Corners); 4]> = SmallVec::new();
    let mut best: Option<(f64, Value)> = None;
    let note = |first: &mut Option<(usize, Status)>, at: usize, status: Status| {
        context.note(|| format!("axes {}: {status}", names(axes.names, axes.sets[at]).join(",")));
        if status != NO_AXIS && first.is_none_or(|(before, _)| at < before) {
            *first = Some((at, status));
        }
    };
    let brackets: [Option<[f64; 2]>; MOST_AXES] = std::array::from_fn(|axis| points.bracket(axis, target));
    let on_scale = LazyCell::new(|| target.map(corrected::scaled));
    let widths = LazyCell::new(|| brackets.map(|bracket| bracket.map_or(f64::INFINITY, corrected::width)));
    let is_at = |bracket: &Option<[f64; 2]>| bracket.is_some_and(|[low, high]| low.total_cmp(&high).is_eq());
    let between = bits_of((0u8..).zip(&brackets).filter(|(_, bracket)| !is_at(bracket)).map(|(axis, _)| axis));
    let is_outside = context.explanation.is_none() && brackets.contains(&None);
    for (at, &set) in axes.sets.iter().enumerate() {
        if is_outside && first.is_some() {
            // No other set answers either.
            break;
        }
        // No points between which the target lies have neighbours nearer than those of all points.
        let least = || set.iter().map(|axis| widths[usize::from(*axis)]).sum::<f64>();
        if best.as_ref().is_some_and(|(narrowest, _)| least() >= *narrowest) {
            continue;
        }
        let wanted = coordinates(set, target);
        let wanted = &wanted[..set.len()];
        // Points agree with the target in all other axes.
        let own = bits_of(set.iter().copied());
        let agrees = between & !own == 0;
        let tried = match limit {
            Some(limit) if set.len() as i64 > limit => Err(DISABLED),
            _ if wanted.iter().any(|wanted| wanted.is_nan()) => Err(NO_AXIS),
            _ => agrees.then(|| slice(at)).flatten().ok_or(FEW),
        };
        let slice = match tried {
            Ok(slice) => slice,
            Err(status) => {
                note(&mut first, at, status);
                continue;
            }
        };
        let has_all = slice.count == points.points.len();
        let sides_on = |axis: usize| {
            if has_all { brackets[usize::from(set[axis])] } else { slice.bracket(axis, wanted[axis]) }
        };
        if let Some((narrowest, _)) = &best
            && corrected::least_width(set.len(), sides_on).is_some_and(|width| width >= *narrowest)
        {
            continue;
        }
        match corrected::boxed(&slice, set, wanted, || coordinates(set, &on_scale), sides_on) {
            Ok(Found::Value(found)) if best.as_ref().is_none_or(|(narrowest, _)| found.0 < *narrowest) => {
                best = Some(found)
            }
            Ok(Found::Value(_)) => {}
            Ok(Found::Open(corners)) => open.push((at, slice, corners)),
            Err(status) => note(&mut first, at, status),
        }
    }
    let best = best.map(|(_, value)| value);
    let best = best.or_else(|| narrowest_triangle(axes, &open, target, |at, status| note(&mut first, at, status)));
    match best {
        Some(value) => Ok(Value { names: axes.names, ..value }),
        None => Err(first.map_or(NO_AXIS, |(_, status)| status)),
    }
}

/// Why a single point that is not where the target is does not answer, without a look at its slices.
fn of_one(axes: &Axes, target: &Coordinates, limit: Option<i64>) -> Status {
    let is_disabled = |set: AxisSet| limit.is_some_and(|limit| set.len() as i64 > limit);
    let has_axes = |set: AxisSet| set.iter().all(|axis| !target[usize::from(*axis)].is_nan());
    match axes.sets.iter().find(|set| is_disabled(set) || has_axes(set)) {
        Some(set) if is_disabled(set) => DISABLED,
        Some(_) => FEW,
        None => NO_AXIS,
    }
}

/// The value of the set of axes whose triangle around the target is narrowest, of equal ones the first.
fn narrowest_triangle(
    axes: &'static Axes,
    sets: &[(usize, SliceRef<'_>, Corners)],
    target: &Coordinates,
    mut note: impl FnMut(usize, Status),
) -> Option<Value> {
    // No triangle is narrower than the neighbours are apart.
    let mut by_length: SmallVec<[(f64, usize); 4]> =
        sets.iter().map(|(.., corners)| corners.length()).zip(0..).collect();
    by_length.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut best: Option<(f64, usize, &Slice, Weights)> = None;
    for (length, number) in by_length {
        if best.as_ref().is_some_and(|(width, ..)| length > *width) {
            break;
        }
        let (at, slice, corners) = &sets[number];
        match corrected::triangle(slice, corners) {
            Ok((weights, width)) => {
                if best.as_ref().is_none_or(|(least, first, ..)| (width, *at) < (*least, *first)) {
                    best = Some((width, *at, slice, weights));
                }
            }
            Err(status) => note(*at, status),
        }
    }
    let (width, at, slice, weights) = best?;
    let set = axes.sets[at];
    Some(corrected::in_triangle(slice, set, &coordinates(set, target)[..set.len()], weights, width))
}

/// The coordinates of a target on the axes of a set.
#[inline]
fn coordinates(set: AxisSet, target: &Coordinates) -> [f64; 3] {
    let mut coordinates = [0.0; 3];
    coordinates.iter_mut().zip(set).for_each(|(own, axis)| *own = target[usize::from(*axis)]);
    coordinates
}

fn names(names: &'static [&'static str], set: AxisSet) -> Vec<&'static str> {
    set.iter().map(|axis| names[*axis as usize]).collect()
}

/// Along one axis on the line between the neighbours; over several inside the triangulation of all places.
fn value(slice: &Slice, set: AxisSet, wanted: &[f64], naming: Naming) -> Result<Value, Status> {
    let places = &slice.places;
    if slice.count < 2 {
        return Err(FEW);
    }
    let is_square_root = naming == Naming::SquareRoot;
    let value = |duration_us, confidence, method, rule, places, range| Value {
        duration_us,
        confidence,
        method,
        rule,
        places,
        range,
        ..Value::at(slice, set, wanted)
    };
    let found = match wanted {
        [wanted] => {
            let (duration_us, used) = if let Some(place) = slice.place(&[*wanted]) {
                (place.duration_us, vec![(place.clone(), 1.0)])
            } else {
                let [low, high] = slice.neighbours(*wanted).ok_or(OUTSIDE)?;
                let share = (wanted - low.at[0]) / (high.at[0] - low.at[0]);
                let duration_us = low.duration_us + share * (high.duration_us - low.duration_us);
                (duration_us, vec![(low.clone(), 1.0 - share), (high.clone(), share)])
            };
            let method = if is_square_root { "linear_1d_sqrt" } else { "linear_1d" };
            let rule = if is_square_root { "interpolated_1d_linear_sqrt" } else { "interpolated_1d_linear" };
            value(duration_us, 0.70, method, rule, used, None)
        }
        several => {
            if several.iter().enumerate().any(|(axis, wanted)| slice.bracket(axis, *wanted).is_none()) {
                return Err(OUTSIDE);
            }
            if places.len() < several.len() + 1 || !(0..several.len()).all(|axis| slice.varies(axis)) {
                return Err(STRUCTURE);
            }
            if slice.is_flat() {
                return Err(FLAT);
            }
            let inside = simplex::in_slice(slice, several).ok_or(OUTSIDE_HULL)?;
            let used = inside.weights.iter().map(|(place, weight)| (places[*place].clone(), *weight)).collect();
            let method = if is_square_root { "griddata_linear_sqrt" } else { "griddata_linear" };
            let (confidence, rule) = match (several.len(), is_square_root) {
                (2, false) => (0.65, "interpolated_2d_griddata_linear"),
                (2, true) => (0.65, "interpolated_2d_griddata_linear_sqrt"),
                (_, false) => (0.60, "interpolated_3d_griddata_linear"),
                (_, true) => (0.60, "interpolated_3d_griddata_linear_sqrt"),
            };
            value(inside.value, confidence, method, rule, used, inside.range)
        }
    };
    if found.duration_us.is_finite() && found.duration_us > 0.0 { Ok(found) } else { Err(GUARD) }
}
