//! Between which places of a table an answer lies, as a trace has them.

use crate::answer::{Answer, Interpolation};
use crate::context::Context;
use crate::facts::Fact;
use crate::interpolate::{Among, At, RowPoint};
use crate::table::{KernelRow, KernelRows};
use smallvec::{SmallVec, smallvec};

/// The corners around a target in one triangulation of places, in its order. `None` where it has none, or where the choice is left.
pub type Triangulate<'t> = dyn FnMut(&[&[f64]], &[f64]) -> Option<Vec<ChosenCorner>> + 't;

/// A corner of a triangulation: the number of its place, its weight as it is reported, and the share of its duration in that of the call. They are
/// the same but for the last bit: the simulator's library computes them twice.
pub type ChosenCorner = (usize, f64, f64);

/// Between which places an answer lies.
pub(super) struct Lying<'a> {
    pub(super) between: &'a Interpolation,
    pub(super) corners: Vec<Corner>,
    /// Of tables that are looked up as the simulator's reader does it.
    pub(super) found: Option<Found<'a>>,
    /// The duration at the corners, where they were chosen.
    pub(super) duration_us: Option<f64>,
}

/// A place of some points.
pub(super) struct Corner {
    pub(super) at: At,
    pub(super) weight: f64,
    /// Its number among the places.
    pub(super) number: usize,
    /// In file order.
    pub(super) points: SmallVec<[RowPoint; 1]>,
}

/// The points that were looked at.
pub(super) struct Found<'a> {
    pub(super) table: &'a KernelRows,
    pub(super) among: Among,
    /// Of all axes.
    pub(super) names: &'static [&'static str],
    /// How many points have a batch.
    pub(super) batched: usize,
    /// How many places there are, and how many coordinates on each axis.
    pub(super) places: usize,
    pub(super) on_axes: SmallVec<[usize; 3]>,
}

impl Found<'_> {
    pub(super) fn row(&self, point: &RowPoint) -> KernelRow<'_> {
        self.table.row(point.row)
    }
}

impl<'a> Lying<'a> {
    pub(super) fn of(
        context: &Context<'a>,
        answer: &'a Answer,
        triangulate: &mut Triangulate<'_>,
    ) -> Option<Lying<'a>> {
        let between = answer.interpolation()?;
        Self::found(context, answer, between, triangulate).or_else(|| {
            let corner = |(number, place): (usize, &crate::answer::WeightedPoint)| Corner {
                at: place.coordinates.clone(),
                weight: place.weight,
                number,
                points: smallvec![],
            };
            let corners = between.points.iter().enumerate().map(corner).collect();
            Some(Lying { between, corners, found: None, duration_us: None })
        })
    }

    fn found(
        context: &Context<'a>,
        answer: &Answer,
        between: &'a Interpolation,
        triangulate: &mut Triangulate<'_>,
    ) -> Option<Lying<'a>> {
        let among = between.among?;
        let table = context.table(answer.kernels.first()?).ok()??;
        among.look(table, |points, slice| {
            let places = &slice.places;
            let number_of = |at: &[f64]| places.iter().position(|place| place.at.as_slice() == at);
            let own = || -> Option<Vec<(usize, f64)>> {
                let numbered =
                    |place: &crate::answer::WeightedPoint| Some((number_of(&place.coordinates)?, place.weight));
                between.points.iter().map(numbered).collect()
            };
            let is_several = between.axes.len() > 1;
            let asked = is_several.then(|| {
                let coordinates: Vec<&[f64]> = places.iter().map(|place| place.at.as_slice()).collect();
                triangulate(&coordinates, &between.target)
            });
            let asked = asked.flatten().filter(|corners| corners.iter().all(|(number, ..)| *number < places.len()));
            let share_us = |(number, _, share): &ChosenCorner| places[*number].duration_us * share;
            let chosen_us = asked.as_ref().map(|corners| corners.iter().map(share_us).sum());
            let asked = asked.map(|corners| corners.into_iter().map(|(number, weight, _)| (number, weight)).collect());
            let corner = |(number, weight): (usize, f64)| Corner {
                at: places[number].at.clone(),
                weight,
                number,
                points: places[number].rows.iter().filter_map(|row| points.point_of(*row)).copied().collect(),
            };
            let names = points.axes.names;
            let batch = names.iter().position(|name| *name == "batch");
            let has_batch = |point: &&RowPoint| batch.is_some_and(|axis| !point.at[axis].is_nan());
            let batched = points.points.iter().filter(has_batch).count();
            let on_axes = (0..between.axes.len()).map(|axis| slice.coordinates(axis)).collect();
            Some(Lying {
                between,
                corners: asked.or_else(own)?.into_iter().map(corner).collect(),
                found: Some(Found { table, among, names, batched, places: places.len(), on_axes }),
                duration_us: chosen_us,
            })
        })?
    }

    /// Values on the axes, by name.
    pub(super) fn named(&self, coordinates: &[f64]) -> Fact {
        let values = self.between.axes.iter().zip(coordinates);
        Fact::Map(values.map(|(axis, value)| (*axis, Fact::Number(*value))).collect())
    }

    /// The lowest and highest coordinate of the corners on each axis.
    pub(super) fn bounds(&self) -> impl Iterator<Item = (&'static str, [f64; 2])> {
        self.between.axes.iter().enumerate().map(|(axis, name)| {
            let values = || self.corners.iter().filter_map(move |corner| corner.at.get(axis).copied());
            (*name, [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)])
        })
    }

    /// The coordinates of the corners, lengths as they are where their root is taken.
    pub(super) fn kernel_shapes(&self) -> Fact {
        let is_square_root = self.between.method.ends_with("_sqrt");
        let coordinate = |(axis, value): (&&str, &f64)| match (is_square_root, axis) {
            (true, &"seq") => Fact::Number((value * value).round()),
            _ => Fact::Number(*value),
        };
        let place = |corner: &Corner| Fact::List(self.between.axes.iter().zip(&corner.at).map(coordinate).collect());
        Fact::List(self.corners.iter().map(place).collect())
    }
}
