//! What is not known yet, for choosing what to measure next: how unsure a prediction is, and how well rows are predicted from each other.

use crate::predict::extrapolate::hold;
use crate::predict::forest::Nearest;
use crate::predict::kriging::{Kriged, MOST_NEIGHBOURS, SQRT_3};
use crate::predict::model::{FEWEST_HALF_WIDTH, FEWEST_ROWS, Found, Model, Spot};
use crate::predict::point::{MOST_AXES, Point};
use smallvec::SmallVec;

/// How unsure a prediction is, and where it lies among the others of its slice.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    /// The standard deviation of the logarithm of the duration, before intervals are calibrated.
    pub sigma: f64,
    /// By how much kriging and the inverse-distance mean of the nearest rows differ, in logarithms.
    pub disagreement: f64,
    /// The point on each of its axes, in correlation lengths ([`Model::coordinates`]).
    pub coordinates: SmallVec<[f64; 4]>,
    /// The least number of a row of the slice: two predictions with the same one are of one slice.
    pub slice_row: u32,
}

/// A row, and what the others say of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    /// The number of the row; of repeats the least.
    pub row: u32,
    /// How long it took; of repeats the median.
    pub measured_us: f64,
    /// How long the others say it takes.
    pub predicted_us: f64,
    /// The standard deviation of the logarithm of that.
    pub sigma: f64,
}

impl Residual {
    /// The logarithm of predicted over measured.
    pub fn error(&self) -> f64 {
        (self.predicted_us / self.measured_us).ln()
    }
}

impl Model {
    /// How unsure the prediction of a call is; `None` as [`predict`](Model::predict).
    pub fn doubt(&self, slice: usize, point: &Point) -> Option<Doubt> {
        let spot = self.spot(slice, point)?;
        let near = self.around(spot.slice, &spot.point, &|_| true);
        self.doubt_at(&spot, &near, point)
    }

    /// The doubt that an answer is based on.
    pub(crate) fn doubt_of(&self, spot: &Spot, found: &Found, point: &Point) -> Option<Doubt> {
        self.doubt_at(spot, &found.near, point)
    }

    fn doubt_at(&self, spot: &Spot, near: &Nearest<MOST_NEIGHBOURS>, point: &Point) -> Option<Doubt> {
        let coordinates = self.coordinates(point)?;
        let slice_row = self.slice_row(spot.slice);
        if self.len() < FEWEST_ROWS {
            // As wide as the interval of so few rows.
            return Some(Doubt { sigma: FEWEST_HALF_WIDTH / 1.645, disagreement: 0.0, coordinates, slice_row });
        }
        let values = self.values_of(near.rows());
        let Kriged { value, variance } = self.correlations(spot, near).solve(&values, self.correlation.nugget);
        // Without an axis of size no line is looked for: the mean of the nearest.
        let mean = hold(crate::predict::extrapolate::Near { along: None, ..self.near(spot, None, near, &values) });
        let sigma = self.sigma(variance, near.rows());
        Some(Doubt { sigma, disagreement: (value - mean).abs(), coordinates, slice_row })
    }

    /// A point on each of its axes, in correlation lengths: the sum of the absolute differences of two points is how far they are from
    /// telling about each other. `None` for another number of axes, or numbers that are negative or not finite.
    pub fn coordinates(&self, point: &Point) -> Option<SmallVec<[f64; 4]>> {
        let scale = &self.scale;
        if point.axes.len() != scale.shifts.len() || point.axes.iter().any(|at| !(at.is_finite() && *at >= 0.0)) {
            return None;
        }
        let mut coordinates = SmallVec::from_elem(0.0, point.axes.len());
        let mut varying = [0.0; MOST_AXES];
        scale.point(&point.axes, &mut varying);
        for ((axis, _), at) in scale.varying.iter().zip(varying) {
            coordinates[*axis] = at / SQRT_3;
        }
        for (axis, _, factor) in &scale.constant {
            coordinates[*axis] = scale.octaves(*axis, point.axes[*axis]) * factor / SQRT_3;
        }
        Some(coordinates)
    }

    /// Every row of a slice, predicted from the others; none of fewer than four rows, or of a slice that there is not.
    ///
    /// The ranges of the correlation were learnt from all rows: for figures of what is not known at all, see [`CrossValidation`](crate::predict::CrossValidation).
    pub fn residuals(&self, slice: usize) -> impl Iterator<Item = Residual> {
        let rows = self.forest.slices.get(slice).cloned().filter(|_| self.len() >= FEWEST_ROWS);
        rows.unwrap_or_default().map(|row| {
            let (near, Kriged { value, variance }) = self.without(row);
            Residual {
                row: self.row_numbers[row as usize],
                measured_us: self.times_us[row as usize],
                predicted_us: self.predicted_us(row, value),
                sigma: self.sigma(variance, near.rows()),
            }
        })
    }

    /// The least number of a row of a slice.
    fn slice_row(&self, slice: usize) -> u32 {
        self.first_rows.get(slice).copied().unwrap_or_default()
    }

    /// A row as its neighbours predict it, over the roofline.
    pub(crate) fn without(&self, row: u32) -> (Nearest<MOST_NEIGHBOURS>, Kriged) {
        self.krige_row(row, |other| other != row)
    }

    /// A row as the nearest rows that pass predict it, over the roofline.
    pub(crate) fn krige_row(&self, row: u32, passes: impl Fn(u32) -> bool) -> (Nearest<MOST_NEIGHBOURS>, Kriged) {
        self.krige(&Spot::of_row(self, row), passes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::{MatMul, Operands, Precision, Rows, Table};

    fn point(rows: f64, columns: f64) -> Point {
        Point::matmul(MatMul { rows, columns, inner: 1024.0 }, Operands::of(Precision::Bf16))
    }

    fn slice(start: u32, strange: Option<u32>) -> Rows {
        let mut rows = Rows::new(3);
        for number in 0..40 {
            let (size, columns) = (f64::from(1 << (number % 8)), f64::from(512 << (number / 8)));
            let time_us = 3.0 + size * columns / 1e4;
            let time_us = if strange == Some(number) { 3.0 * time_us } else { time_us };
            rows.push(start + number, &point(size, columns), time_us, None);
        }
        rows
    }

    #[test]
    fn a_row_is_predicted_from_the_others() {
        let table = Table::new(vec![slice(100, Some(20)), slice(500, None)], Some(0));
        let (model, within) = table.model(0).expect("there are rows");
        let mut residuals: Vec<Residual> = model.residuals(within).collect();
        residuals.sort_by_key(|residual| residual.row);
        assert_eq!(residuals.iter().map(|residual| residual.row).collect::<Vec<_>>(), (100..140).collect::<Vec<_>>());
        let worst = residuals.iter().max_by(|a, b| a.error().abs().total_cmp(&b.error().abs())).expect("rows");
        assert_eq!((worst.row, worst.measured_us), (120, 3.0 * (3.0 + 16.0 * 2048.0 / 1e4)));
        assert!((worst.error() + 3f64.ln()).abs() < 0.3, "{worst:?}");
        assert_eq!(model.residuals(7).count(), 0);
    }

    #[test]
    fn doubt_grows_with_the_distance_and_names_the_slice() {
        let table = Table::new(vec![slice(100, None), slice(500, None)], Some(0));
        let (model, within) = table.model(1).expect("there are rows");
        let doubt = |rows, columns| model.doubt(within, &point(rows, columns)).expect("an answer");
        let (near, far) = (doubt(24.0, 2048.0), doubt(5000.0, 65536.0));
        assert!(near.sigma < far.sigma && near.disagreement < far.disagreement, "{near:?} {far:?}");
        assert_eq!((near.slice_row, far.slice_row), (500, 500));
        let lengths = model.lengths();
        let (axis, length) = lengths[0];
        assert_eq!(axis, 0);
        let apart = far.coordinates[0] - near.coordinates[0];
        assert!((apart - (5000f64 / 24.0).log2() / length).abs() < 1e-9, "{apart} {length}");
        assert_eq!(model.doubt(2, &point(1.0, 1.0)), None);
    }
}
