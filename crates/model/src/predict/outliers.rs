//! Rows that their neighbours contradict: they are returned for their own shapes, and named, but predict no others.

use crate::predict::build::{LeftOut, median};
use crate::predict::kriging::Kriged;
use crate::predict::model::Model;
use crate::predict::repeats::LEAST_DEVIATION;

/// Sigmas of its own prediction beyond which a row is an outlier.
const OUTLIER_SIGMAS: f64 = 8.0;
/// The squares below which three of four, and half, of standard normal values lie.
const THREE_OF_FOUR_SQUARED: f64 = 1.323;
const MEDIAN_SQUARED: f64 = 0.455;
/// A thousand times the roofline, or a thousandth of it: a duration farther off than that, as of a clock that stood still, is no more
/// than that when ranges are learnt and neighbours are asked.
const REACH: f64 = 6.907_755_278_982_137;

/// A row that is far from what its neighbours say of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// The number of the row.
    pub row: u32,
    /// Its time.
    pub measured_us: f64,
    /// That which its neighbours predict.
    pub predicted_us: f64,
    /// How many of its own standard deviations lie between.
    pub sigmas: f64,
}

/// A row that counts as another duration than its own where others are predicted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    row: u32,
    /// The logarithm of the duration that it counts as over its own.
    by: f64,
}

/// A logarithm over the roofline, as ranges are learnt from it.
pub(crate) fn within_reach(value: f64) -> f64 {
    value.clamp(-REACH, REACH)
}

impl Model {
    /// Rows that lie more than eight of their own standard deviations from what their neighbours say.
    pub fn outliers(&self) -> &[Outlier] {
        &self.outliers
    }

    /// By how much a row is moved.
    pub(crate) fn moved_by(&self, row: u32) -> f64 {
        self.moved.binary_search_by_key(&row, |moved| moved.row).map_or(0.0, |at| self.moved[at].by)
    }

    /// The logarithm over the roofline of the duration that was measured.
    pub(crate) fn own_value(&self, row: u32) -> f64 {
        self.residuals[row as usize] - self.moved_by(row)
    }

    fn move_to(&mut self, row: u32, value: f64) {
        let by = value - self.residuals[row as usize];
        match self.moved.binary_search_by_key(&row, |moved| moved.row) {
            Ok(at) => self.moved[at].by += by,
            Err(at) => self.moved.insert(at, Moved { row, by }),
        }
        self.residuals[row as usize] = value;
    }

    /// Moves rows that are out of work_range.
    pub(crate) fn move_within_reach(&mut self) {
        for row in 0..self.len() as u32 {
            let value = self.residuals[row as usize];
            if within_reach(value) != value {
                self.move_to(row, within_reach(value));
            }
        }
    }

    /// Finds the outliers, and lets each count as what its neighbours say; whether there is any.
    pub(crate) fn mend_outliers(&mut self, left_out: &[LeftOut]) -> bool {
        let mut found = self.find_outliers(left_out);
        for (row, value, _) in &found {
            self.move_to(*row, *value);
        }
        found.sort_by_key(|(_, _, outlier)| outlier.row);
        self.outliers = found.into_iter().map(|(_, _, outlier)| outlier).collect();
        !self.outliers.is_empty()
    }

    /// Rows far from what their neighbours say, with that, in units of what most rows, and most of their neighbours, are missed by:
    /// an outlier must not hide behind the errors that it makes of its neighbours. The farthest is judged first, and those after it
    /// without it, since it is not they who are wrong.
    fn find_outliers(&self, left_out: &[LeftOut]) -> Vec<(u32, f64, Outlier)> {
        let mut sorted = self.difficulty.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        let three_of_four = f64::from(sorted[(sorted.len() - 1) * 3 / 4]) / THREE_OF_FOUR_SQUARED;
        let sigmas =
            |residual: f64, variance: f64, scale: f64| residual.abs() / (variance * scale).sqrt().max(LEAST_DEVIATION);
        let is_far = |row: &u32| {
            let LeftOut { residual, variance, .. } = left_out[*row as usize];
            sigmas(residual, variance, three_of_four) > OUTLIER_SIGMAS
        };
        let mut candidates: Vec<u32> = (0..self.len() as u32).filter(is_far).collect();
        let residual = |row: u32| left_out[row as usize].residual.abs();
        candidates.sort_by(|a, b| residual(*b).total_cmp(&residual(*a)).then(a.cmp(b)));
        let mut is_wrong = vec![false; self.len()];
        let mut outliers = Vec::new();
        for own in candidates {
            let (near, Kriged { value, variance }) =
                self.krige_row(own, |other| other != own && !is_wrong[other as usize]);
            if near.rows().is_empty() {
                continue;
            }
            let residual = value - self.residuals[own as usize];
            let around = near.rows().iter().map(|row| f64::from(self.difficulty[*row as usize])).collect();
            let sigmas = sigmas(residual, variance, three_of_four.max(median(around) / MEDIAN_SQUARED));
            if sigmas > OUTLIER_SIGMAS {
                let measured_us = self.times_us[own as usize];
                let predicted_us = self.predicted_us(own, value);
                let row = self.row_numbers[own as usize];
                outliers.push((own, value, Outlier { row, measured_us, predicted_us, sigmas }));
                is_wrong[own as usize] = true;
            }
        }
        outliers
    }

    /// The duration of a row if this were its logarithm over the roofline.
    pub(crate) fn predicted_us(&self, row: u32, value: f64) -> f64 {
        let measured = (self.times_us[row as usize] / self.reference_us).ln();
        (measured + value - self.own_value(row)).exp() * self.reference_us
    }
}
