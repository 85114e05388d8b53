//! Which other slice tells most of a slice.

use crate::predict::calibration::{Calibration, FEW};
use crate::predict::collocated::{Collocated, Seen};
use crate::predict::kriging::MOST_NEIGHBOURS;
use crate::predict::model::{Model, Spot};
use crate::predict::point::{Point, mix};
use crate::predict::rows::{Rows, choose};
use std::cmp::Reverse;

/// Slices that are tried at most, and the rows of all but the first of them together.
const MOST_TRIED: usize = 8;
const MOST_ROWS_TRIED: usize = 20_000;
/// Slices of which it is looked which points they have in common: the largest.
const MOST_COMPARED: usize = 128;
/// Rows that are left out to choose another slice.
const MOST_LEFT_OUT: usize = 400;
/// Common points below which two slices do not know each other.
const FEWEST_COMMON: usize = 20;
/// The share that is tried to choose another slice.
const TRIED_SHARE: f64 = 0.5;

impl Collocated {
    /// That of some slices which tells most of the rows of a model; `None` if none tells anything.
    pub(crate) fn of<'o>(model: &Model, others: impl Iterator<Item = (usize, &'o Model)>) -> Option<Collocated> {
        if model.len() <= FEW {
            return None;
        }
        let tried = others.filter(|(_, other)| other.len() > FEW).filter_map(|(slice, other)| {
            let common = common_rows(model, other);
            let gain = gain(model, other, &common)?;
            Some((slice, other, common, gain))
        });
        let (slice, other, common, _) = tried.max_by(|a, b| a.3.total_cmp(&b.3).then(b.0.cmp(&a.0)))?;
        let values: Option<Vec<f32>> = (0..model.len() as u32).map(|row| value_at(model, other, row)).collect();
        let values = values?;
        let calibration = Calibration::with_collocated(model, &common, &values)?;
        Some(Collocated { slice, values, calibration })
    }

    /// What it has at a point; `None` where it has no row.
    pub(crate) fn at<'t>(&'t self, other: &Model, point: &Point) -> Option<Seen<'t>> {
        let row = other.row_of(&other.spot(0, point)?)?;
        let number = other.row_numbers[row as usize];
        Some(Seen { collocated: self, row: number, value: other.residuals[row as usize] })
    }
}

/// Where a row of a model lies in another.
fn spot_in(other: &Model, model: &Model, row: u32) -> Option<Spot> {
    other.spot_at(0, &model.axes_of(row), model.configuration_of[row as usize])
}

/// The rows of a model at whose points another has one.
fn common_rows(model: &Model, other: &Model) -> Vec<u32> {
    let is_common = |row: &u32| spot_in(other, model, *row).is_some_and(|spot| other.row_of(&spot).is_some());
    (0..model.len() as u32).filter(is_common).collect()
}

/// What a slice has, or would have, at a row of a model; `None` of what is no number.
fn value_at(model: &Model, other: &Model, row: u32) -> Option<f32> {
    let spot = spot_in(other, model, row)?;
    let value = match other.row_of(&spot) {
        Some(same) => other.residuals[same as usize],
        None => other.krige(&spot, |_| true).1.value,
    };
    Some(value as f32).filter(|value| value.is_finite())
}

/// How much less the rows of a model are missed with a share of what another has, in all; `None` if they have too few points in common.
fn gain(model: &Model, other: &Model, common: &[u32]) -> Option<f64> {
    if common.len() < FEWEST_COMMON {
        return None;
    }
    let (mut own_misses, mut misses) = (0.0, 0.0);
    for index in choose(common.len(), MOST_LEFT_OUT, 23) {
        let row = common[index];
        let (near, kriged) = model.without(row);
        let own = kriged.value - model.residuals[row as usize];
        let mut values = [0.0; MOST_NEIGHBOURS];
        for (value, row) in values.iter_mut().zip(near.rows()) {
            *value = f64::from(value_at(model, other, *row)?);
        }
        let correlations = model.correlations(&Spot::of_row(model, row), &near);
        let collocated =
            correlations.solve(&values, model.correlation.nugget).value - f64::from(value_at(model, other, row)?);
        own_misses += own.abs();
        misses += (own - TRIED_SHARE * collocated).abs();
    }
    Some((1.0 - misses / own_misses.max(f64::MIN_POSITIVE)) * common.len() as f64)
}

/// For each slice those with which it has most points in common, the one with most first; none of few rows.
pub(crate) fn partners(slices: &[&Rows]) -> Vec<Vec<usize>> {
    let mut compared: Vec<usize> = (0..slices.len()).filter(|slice| slices[*slice].len() > FEW).collect();
    compared.sort_by_key(|slice| (Reverse(slices[*slice].len()), *slice));
    compared.truncate(MOST_COMPARED);
    let mut partners = vec![Vec::new(); slices.len()];
    if compared.len() < 2 {
        return partners;
    }
    let mut points: Vec<(u64, usize)> = Vec::new();
    for (index, slice) in compared.iter().enumerate() {
        let hash = |axes: &[f64]| axes.iter().fold(0, |hash, value| mix(hash ^ value.to_bits()));
        points.extend(slices[*slice].axes().map(|axes| (hash(axes), index)));
    }
    points.sort_unstable();
    points.dedup();
    let mut common = vec![vec![0usize; compared.len()]; compared.len()];
    for same in points.chunk_by(|a, b| a.0 == b.0) {
        for (_, one) in same {
            for (_, other) in same {
                common[*one][*other] += 1;
            }
        }
    }
    for (index, common) in common.iter().enumerate() {
        let has_common = |other: &usize| *other != index && common[*other] >= FEWEST_COMMON;
        let mut others: Vec<usize> = (0..compared.len()).filter(has_common).collect();
        others.sort_by_key(|other| (Reverse(common[*other]), *other));
        let mut rows = 0;
        let is_tried = |(rank, other): (usize, usize)| {
            rows += slices[compared[other]].len();
            (rank == 0 || (rank < MOST_TRIED && rows <= MOST_ROWS_TRIED)).then_some(compared[other])
        };
        partners[compared[index]] = others.into_iter().enumerate().map_while(is_tried).collect();
    }
    partners
}
