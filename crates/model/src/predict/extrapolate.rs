//! Other ways than kriging: hold the last ratio or follow a local plane where rows lie on one side only, or the line between two of them.

use crate::predict::forest::Forest;
use crate::predict::kriging::MOST_NEIGHBOURS;
use crate::predict::point::MOST_AXES;

/// How a value is found beyond the rows or beside their configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Ordinary kriging.
    #[default]
    Kriging,
    /// The ratio to the roofline stays as it is at the nearest row.
    Hold,
    /// The ratio follows a plane through the neighbours.
    Plane,
    /// Half way between kriging and holding.
    KrigingAndHold,
    /// Half way between kriging and the plane.
    KrigingAndPlane,
    /// Half way between holding and the plane.
    HoldAndPlane,
    /// The ratio is on the line through the nearest row on either side that differs on one axis alone.
    Line,
    /// Half way between kriging and the line.
    KrigingAndLine,
}

impl Method {
    /// Those beyond the rows; of equally good ones the first is taken.
    pub(crate) const BEYOND: [Method; 6] = [
        Method::Kriging,
        Method::Hold,
        Method::Plane,
        Method::KrigingAndHold,
        Method::KrigingAndPlane,
        Method::HoldAndPlane,
    ];
    /// Those between two values of an axis.
    pub(crate) const BETWEEN: [Method; 3] = [Method::Kriging, Method::KrigingAndLine, Method::Line];

    /// The value, from that of kriging and the neighbours.
    pub(crate) fn value<'n>(self, kriging: f64, near: impl Fn() -> Near<'n>) -> f64 {
        self.of(kriging, || hold(near()), || plane(near()), || line(near()).unwrap_or(kriging))
    }

    /// The value, from those that are found in one way.
    pub(crate) fn of(
        self,
        kriging: f64,
        hold: impl Fn() -> f64,
        plane: impl Fn() -> f64,
        line: impl Fn() -> f64,
    ) -> f64 {
        match self {
            Method::Kriging => kriging,
            Method::Hold => hold(),
            Method::Plane => plane(),
            Method::KrigingAndHold => (kriging + hold()) / 2.0,
            Method::KrigingAndPlane => (kriging + plane()) / 2.0,
            Method::HoldAndPlane => (hold() + plane()) / 2.0,
            Method::Line => line(),
            Method::KrigingAndLine => (kriging + line()) / 2.0,
        }
    }
}

/// Neighbours that a held value is based on where none is on the same line.
const HELD: usize = 4;
/// How much a plane's slopes are drawn towards zero.
const RIDGE: f64 = 0.02;

/// Rows near a point, as these methods see them.
#[derive(Clone, Copy)]
pub(crate) struct Near<'n> {
    pub(crate) forest: &'n Forest,
    /// The values of the rows.
    pub(crate) values: &'n [f64; MOST_NEIGHBOURS],
    pub(crate) rows: &'n [u32],
    pub(crate) distances: &'n [f64],
    pub(crate) slice: usize,
    pub(crate) point: &'n [f64],
    /// How far the point lies from all rows on axes on which they do not vary.
    pub(crate) beside: f64,
    /// The axis along which the point is outside the rows.
    pub(crate) along: Option<usize>,
    /// The axis on which the point is between the rows.
    pub(crate) between: Option<usize>,
}

impl Near<'_> {
    /// Whether a row of the slice differs from the point on an axis alone.
    fn is_on_line(self, row: u32, along: usize) -> bool {
        let mut pairs = self.forest.row(row).iter().zip(self.point).enumerate();
        self.forest.slice_of(row) == self.slice && pairs.all(|(axis, (a, b))| axis == along || (a - b).abs() < 1e-9)
    }
}

/// The value of the nearest neighbour on the line of the point, or of the four nearest by inverse distance.
pub(crate) fn hold(near: Near<'_>) -> f64 {
    let line = near.along.filter(|_| near.beside == 0.0).and_then(|along| {
        let mut nearest: Option<(f64, f64)> = None;
        for (row, value) in near.rows.iter().zip(near.values) {
            let distance = (near.forest.row(*row)[along] - near.point[along]).abs();
            if near.is_on_line(*row, along) && nearest.is_none_or(|(before, _)| distance < before) {
                nearest = Some((distance, *value));
            }
        }
        nearest
    });
    if let Some((_, value)) = line {
        return value;
    }
    let (mut sum, mut weights) = (0.0, 0.0);
    for (value, distance) in near.values.iter().zip(near.distances).take(HELD) {
        let weight = 1.0 / (distance + near.beside).max(1e-6);
        sum += weight * value;
        weights += weight;
    }
    sum / weights.max(1e-300)
}

/// The value between the nearest rows on either side that differ from the point on the axis alone; `None` without both.
pub(crate) fn line(near: Near<'_>) -> Option<f64> {
    let axis = near.between?;
    let here = near.point[axis];
    let mut ends: [Option<(f64, f64)>; 2] = [None; 2];
    for (row, value) in near.rows.iter().zip(near.values) {
        let distance = near.forest.row(*row)[axis] - here;
        let end = &mut ends[usize::from(distance > 0.0)];
        if near.is_on_line(*row, axis) && end.is_none_or(|(before, _)| distance.abs() < before) {
            *end = Some((distance.abs(), *value));
        }
    }
    let [(below, low), (above, high)] = [ends[0]?, ends[1]?];
    Some((low * above + high * below) / (below + above))
}

/// Weighted least squares of the neighbours, slopes drawn towards zero, at the point. In units of the lengths.
pub(crate) fn plane(near: Near<'_>) -> f64 {
    let dims = near.forest.dims;
    let unknowns = dims + 1;
    let work_range = near.distances.last().map_or(1e-9, |distance| (distance + near.beside).max(1e-9));
    let mut matrix = [[0.0; MOST_AXES + 1]; MOST_AXES + 1];
    let mut right = [0.0; MOST_AXES + 1];
    for ((row, value), distance) in near.rows.iter().zip(near.values).zip(near.distances) {
        let mut x = [1.0; MOST_AXES + 1];
        for (axis, (there, here)) in near.forest.row(*row).iter().zip(near.point).enumerate() {
            x[axis + 1] = (there - here) / crate::predict::kriging::SQRT_3;
        }
        let part = (distance + near.beside) / (1.05 * work_range);
        let weight = (1.0 - part * part * part).powi(3) + 1e-3;
        for a in 0..unknowns {
            right[a] += weight * x[a] * value;
            for b in 0..unknowns {
                matrix[a][b] += weight * x[a] * x[b];
            }
        }
    }
    matrix[0][0] += 1e-9;
    for (axis, row) in matrix.iter_mut().enumerate().take(unknowns).skip(1) {
        row[axis] += RIDGE;
    }
    // Of the solution only the value at the point is wanted, so it is eliminated last.
    for column in (1..unknowns).rev() {
        for row in 0..column {
            let factor = matrix[row][column] / matrix[column][column];
            let pivot_row = matrix[column];
            for (entry, pivot) in matrix[row].iter_mut().zip(pivot_row).take(column) {
                *entry -= factor * pivot;
            }
            right[row] -= factor * right[column];
        }
    }
    right[0] / matrix[0][0]
}

#[cfg(test)]
mod tests;
