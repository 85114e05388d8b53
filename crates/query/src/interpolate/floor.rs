//! The least time that the peaks of a device allow: no estimate lies below it.

use super::attempt::Value;
use super::axes::Coordinates;
use super::kind::Kind;
use super::points::PointSet;
use crate::context::Context;
use perfdb_model::predict::Estimate;

/// The least time of a call at a target, in microseconds; `None` where the device or the work is not known, or where rows near the target are
/// faster than their own: what they read lies in caches, or they do less than their sizes say.
pub(super) fn of(
    context: &Context<'_>,
    points: &PointSet,
    target: &Coordinates,
    mut rows: impl Iterator<Item = u32>,
) -> Option<f64> {
    let device = context.state.device?;
    let kind = Kind::of(points.axes);
    let least_us = kind.least_us(target, points.setting, device)?;
    let is_below = |row: u32| {
        let point = points.point_of(row);
        point.is_some_and(|point| {
            kind.least_us(&point.at, points.setting, device).is_some_and(|least_us| point.duration_us < least_us)
        })
    };
    (!rows.any(is_below)).then_some(least_us)
}

/// An estimate of which nothing lies below the least time.
pub(super) fn raised(estimate: Estimate, least_us: f64) -> Estimate {
    let duration_us = estimate.duration_us.max(least_us);
    Estimate {
        duration_us,
        low_us: estimate.low_us.max(least_us),
        high_us: estimate.high_us.max(duration_us),
        ..estimate
    }
}

/// Raises a value between rows to the least time.
pub(super) fn raise(context: &Context<'_>, points: &PointSet, target: &Coordinates, value: &mut Value) {
    let rows = value.places.iter().flat_map(|(place, _)| place.rows.iter().copied());
    if let Some(least_us) = of(context, points, target, rows) {
        value.duration_us = value.duration_us.max(least_us);
    }
}
