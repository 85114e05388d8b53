//! What is kept of measured rows to predict others.

use crate::predict::calibration::Calibration;
use crate::predict::class::Class;
use crate::predict::collocated::{CollocatedRow, Seen};
use crate::predict::estimate::{Estimate, measured_interval};
use crate::predict::extrapolate::{Method, Near};
use crate::predict::forest::{Forest, Nearest};
use crate::predict::kriging::{Correlation, CorrelationKernel, Correlations, Kriged, MOST_NEIGHBOURS, SQRT_3, Target};
use crate::predict::outliers::{Moved, Outlier};
use crate::predict::point::{MOST_AXES, Point};
use crate::predict::power::Power;
use crate::predict::process::Process;
use crate::predict::repeats::Timed;
use crate::predict::scale::Scale;
use crate::predict::side::Side;
use crate::predict::work_range::WorkRange;
use crate::roofline::{Roofline, Terms, Work};
use smallvec::SmallVec;

/// Rows of one slice, or of several small ones, ready to predict.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) scale: Scale,
    pub(crate) forest: Forest,
    /// The ends of the rows on each of their coordinates.
    pub(crate) ends: Vec<[f64; 2]>,
    /// Logarithm of the time over the roofline's, in tree order, as all that follows. That of an outlier is what its neighbours say.
    pub(crate) residuals: Vec<f64>,
    pub(crate) times_us: Vec<f64>,
    /// How hard a row is to predict from its neighbours: the square of its residual in units of the variance.
    pub(crate) difficulty: Vec<f32>,
    pub(crate) row_numbers: Vec<u32>,
    /// Hashes of the configurations.
    pub(crate) configuration_of: Vec<u32>,
    /// The deviation of the logarithm; empty where no row has one.
    pub(crate) spreads: Vec<f32>,
    /// One for each slice.
    pub(crate) means: Vec<Mean>,
    /// The least logarithm of the time that the roofline of each slice gives one of its rows.
    pub(crate) shortest: Vec<f64>,
    /// What the rows do.
    pub(crate) work_range: WorkRange,
    /// The least row number of each slice.
    pub(crate) first_rows: Vec<u32>,
    /// Times within are relative to this.
    pub(crate) reference_us: f64,
    pub(crate) correlation: Correlation,
    /// By which the work of each slice goes, where it is learnt.
    pub(crate) powers: Vec<Power>,
    /// Whether the rows of each slice do what they may do instead ([`Point::other_work`]).
    pub(crate) does_other: Vec<bool>,
    /// The mean difficulty.
    pub(crate) typical: f64,
    /// Where difficulties are cut.
    pub(crate) hardest: f64,
    /// Half of the widest interval of a call that does no more and no less than the rows.
    pub(crate) widest: f64,
    pub(crate) neighbours: usize,
    /// How far a row is from the nearest other one.
    pub(crate) median_distance: f64,
    pub(crate) calibration: Calibration,
    /// Over all rows of each slice; empty where no slice has one.
    pub(crate) processes: Vec<Option<Process>>,
    pub(crate) outliers: Vec<Outlier>,
    /// By row.
    pub(crate) moved: Vec<Moved>,
}

/// The time that a slice would take if all of its rows were as efficient as each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mean {
    /// In units of the model's reference.
    pub(crate) roofline: Roofline,
    /// Of slices too small for a roofline of their own.
    pub(crate) offset: f64,
}

impl Mean {
    /// The logarithm of the time.
    pub(crate) fn log(&self, work: Work) -> f64 {
        self.roofline.time_us(work).ln() + self.offset
    }
}

/// Where a question lies.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    pub(crate) slice: usize,
    pub(crate) point: [f64; MOST_AXES],
    /// How it differs on axes on which no row varies.
    pub(crate) beside: CorrelationKernel,
    pub(crate) beside_distance: f64,
    /// The hash of its configuration.
    pub(crate) configuration: u32,
    /// Larger than all rows, where all have one size.
    pub(crate) is_larger: bool,
}

impl Spot {
    pub(crate) fn of_row(model: &Model, row: u32) -> Spot {
        let mut point = [0.0; MOST_AXES];
        point[..model.forest.dims].copy_from_slice(model.forest.row(row));
        Spot {
            slice: model.forest.slice_of(row),
            point,
            beside: CorrelationKernel::SAME,
            beside_distance: 0.0,
            configuration: model.configuration_of[row as usize],
            is_larger: false,
        }
    }
}

/// A hash of a configuration in half the space: two of a table are hardly ever mistaken for each other.
pub(crate) fn short(configuration: u64) -> u32 {
    (configuration >> 32) as u32
}

/// A value with what it is based on.
pub(crate) struct Found {
    pub(crate) near: Nearest<MOST_NEIGHBOURS>,
    pub(crate) class: Class,
    pub(crate) side: Option<Side>,
    /// Logarithm over the roofline.
    pub(crate) value: f64,
    /// Half of the interval.
    pub(crate) half_width: f64,
    /// By which the value was found.
    pub(crate) method: Method,
    /// What another slice says about it.
    pub(crate) collocated: Option<CollocatedRow>,
}

/// Places that are less far from each other are one: coordinates went through a logarithm.
const SAME: f64 = 1e-9;
/// Rows below which there is nothing to krige with.
pub(crate) const FEWEST_ROWS: usize = 4;
/// A tenth of the least time of the rows, as a logarithm: down to that, calls are as their roofline has them.
const FAR_BELOW: f64 = std::f64::consts::LN_10;
/// Half of the interval of fewer rows: a factor of three on either side.
pub(crate) const FEWEST_HALF_WIDTH: f64 = 1.098_612_288_668_109_8;

impl Model {
    /// How many points are known.
    pub fn len(&self) -> usize {
        self.residuals.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.residuals.is_empty()
    }

    /// The fitted roofline of a slice, in microseconds.
    pub fn roofline(&self, slice: usize) -> Option<Roofline> {
        let mean = self.means.get(slice)?;
        let factor = mean.offset.exp() * self.reference_us;
        Some(Roofline {
            overhead_us: mean.roofline.overhead_us * factor,
            operations_per_us: mean.roofline.operations_per_us / factor,
            bytes_per_us: mean.roofline.bytes_per_us / factor,
            terms: mean.roofline.terms,
        })
    }

    /// How operations and bytes of its calls go together.
    pub(crate) fn terms(&self) -> Terms {
        self.means.first().map(|mean| mean.roofline.terms).unwrap_or_default()
    }

    /// How long a call takes; `None` for a slice or a number of axes that the model does not have.
    pub fn predict(&self, slice: usize, point: &Point) -> Option<Estimate> {
        self.predict_with(slice, point, || None)
    }

    /// The same, where another slice may have a row.
    pub(crate) fn predict_with<'t>(
        &self,
        slice: usize,
        point: &Point,
        seen: impl FnOnce() -> Option<Seen<'t>>,
    ) -> Option<Estimate> {
        let spot = self.spot(slice, point)?;
        let work = self.work(slice, point);
        let found = self.find(&spot, work, seen);
        if let Some(row) = self.row_at(&spot, &found.near) {
            return Some(self.measured(row));
        }
        Some(self.estimate(slice, work, &found))
    }

    /// The work of a call: what is said of it, or what was learnt.
    pub(crate) fn work(&self, slice: usize, point: &Point) -> Work {
        match self.powers.get(slice) {
            Some(power) => power.work(&point.axes),
            None => point.other_work.filter(|_| self.does_other[slice]).unwrap_or(point.work),
        }
    }

    /// Where a question lies.
    pub(crate) fn spot(&self, slice: usize, point: &Point) -> Option<Spot> {
        self.spot_at(slice, &point.axes, short(point.configuration))
    }

    /// Where numbers on its axes lie, of a configuration.
    pub(crate) fn spot_at(&self, slice: usize, axes: &[f64], configuration: u32) -> Option<Spot> {
        let scale = &self.scale;
        if slice >= self.means.len() || axes.len() != scale.shifts.len() {
            return None;
        }
        if !axes.iter().all(|value| value.is_finite() && *value >= 0.0) {
            return None;
        }
        let mut spot = Spot {
            slice,
            point: [0.0; MOST_AXES],
            beside: CorrelationKernel::SAME,
            beside_distance: 0.0,
            configuration,
            is_larger: false,
        };
        scale.point(axes, &mut spot.point);
        for (axis, coordinate, factor) in &scale.constant {
            let here = scale.octaves(*axis, axes[*axis]);
            let difference = (here - coordinate).abs() * factor;
            if difference > 0.0 {
                spot.beside = spot.beside.and(difference);
                spot.beside_distance += difference;
                spot.is_larger |= scale.size == Some(*axis) && here > coordinate + 1e-9;
            }
        }
        Some(spot)
    }

    /// Predicts a spot of this work, at which another slice may have a row; that is looked for where no row is the spot itself.
    pub(crate) fn find<'t>(&self, spot: &Spot, work: Work, seen: impl FnOnce() -> Option<Seen<'t>>) -> Found {
        let near = self.around(spot.slice, &spot.point, &|_| true);
        let class = self.class(spot, near.rows());
        let side = self.side(spot, near.rows());
        if self.len() < FEWEST_ROWS || near.rows().is_empty() {
            let value = self.residuals.iter().sum::<f64>() / self.len().max(1) as f64;
            let (half_width, method) = (FEWEST_HALF_WIDTH, Method::Hold);
            return Found { near, class, side, value, half_width, method, collocated: None };
        }
        let values = self.values_of(near.rows());
        let correlations = self.correlations(spot, &near);
        let seen = if self.row_at(spot, &near).is_none() { seen() } else { None };
        let seen = seen.filter(|seen| seen.tells(class, side)).map(|seen| (seen, seen.values_of(near.rows())));
        let nugget = self.correlation.nugget;
        let ([kriged, kriged_collocated], variance) = match &seen {
            Some((_, of_collocated)) => correlations.solve_all([&values, of_collocated], nugget),
            None => {
                let ([kriged], variance) = correlations.solve_all([&values], nugget);
                ([kriged, 0.0], variance)
            }
        };
        let calibration = seen.as_ref().map_or(&self.calibration, |(seen, _)| seen.calibration());
        let learnt = calibration.learnt(class, side);
        let is_seen = self.is_seen(spot, near.rows());
        let half_width = self.sigma(variance, near.rows()) * learnt.multiple(is_seen, variance);
        let half_width = half_width.min(self.widest);
        let method = learnt.method();
        let found = |kriged: f64, values: &[f64; MOST_NEIGHBOURS]| {
            method.value(kriged, || self.near(spot, side, &near, values))
        };
        let mut value = found(kriged, &values);
        let share = learnt.share(variance);
        let collocated = seen.filter(|_| share > 0.0);
        let collocated =
            collocated.map(|(seen, of_collocated)| seen.row(share, found(kriged_collocated, &of_collocated)));
        if let Some(collocated) = collocated {
            value += collocated.counts();
        }
        let share = learnt.process_share(variance);
        if share > 0.0
            && let Some(process) = self.process_value(spot, self.means[spot.slice].log(work))
        {
            value += share * (process - value);
        }
        Found { near, class, side, value, half_width, method, collocated }
    }

    /// A spot as the nearest rows that pass predict it, over the roofline.
    pub(crate) fn krige(&self, spot: &Spot, passes: impl Fn(u32) -> bool) -> (Nearest<MOST_NEIGHBOURS>, Kriged) {
        let near = self.around(spot.slice, &spot.point, &passes);
        let kriged = self.correlations(spot, &near).solve(&self.values_of(near.rows()), self.correlation.nugget);
        (near, kriged)
    }

    pub(crate) fn correlations(&self, spot: &Spot, near: &Nearest<MOST_NEIGHBOURS>) -> Correlations {
        let target = Target { slice: spot.slice, point: &spot.point, beside: spot.beside };
        Correlations::of(&self.forest, near.rows(), target, self.correlation)
    }

    pub(crate) fn near<'n>(
        &'n self,
        spot: &'n Spot,
        side: Option<Side>,
        near: &'n Nearest<MOST_NEIGHBOURS>,
        values: &'n [f64; MOST_NEIGHBOURS],
    ) -> Near<'n> {
        Near {
            forest: &self.forest,
            values,
            rows: near.rows(),
            distances: near.distances(),
            slice: spot.slice,
            point: &spot.point,
            beside: spot.beside_distance,
            along: self.along(side),
            between: side.and_then(Side::between),
        }
    }

    /// The row that is the question itself.
    pub(crate) fn row_at(&self, spot: &Spot, near: &Nearest<MOST_NEIGHBOURS>) -> Option<u32> {
        if spot.beside_distance != 0.0 {
            return None;
        }
        let same = near.rows().iter().zip(near.distances()).take_while(|(_, distance)| **distance == 0.0);
        let mut same = same.map(|(row, _)| *row);
        same.find(|row| {
            self.configuration_of[*row as usize] == spot.configuration && self.forest.slice_of(*row) == spot.slice
        })
    }

    /// The row of the configuration of a spot at its point, but for rounding; `None` if there is none.
    pub(crate) fn row_of(&self, spot: &Spot) -> Option<u32> {
        if spot.beside_distance >= SAME {
            return None;
        }
        let is_of = |row: u32| self.configuration_of[row as usize] == spot.configuration;
        let near = self.forest.nearest::<1>(spot.slice, &spot.point, 1, &is_of);
        let is_same = near.distances().first().is_some_and(|distance| *distance < SAME);
        near.rows().first().copied().filter(|_| is_same)
    }

    /// The numbers of a row on all axes.
    pub(crate) fn axes_of(&self, row: u32) -> SmallVec<[f64; 4]> {
        self.scale.axes(self.forest.row(row))
    }

    /// A row as an answer.
    pub(crate) fn measured(&self, row: u32) -> Estimate {
        let duration_us = self.times_us[row as usize];
        let spread = self.spreads.get(row as usize).copied().filter(|spread| spread.is_finite()).map(f64::from);
        measured_interval(Timed::Kernel, duration_us, spread)
    }

    pub(crate) fn estimate(&self, slice: usize, work: Work, found: &Found) -> Estimate {
        let mut log = self.means[slice].log(work) + found.value;
        let mut half_width = found.half_width;
        if let [only_us] = self.times_us[..] {
            // One row does not tell how much of its time every call takes, and how much goes with the work: the truth lies between
            // its own time and one that grows as the work does.
            let same = (only_us / self.reference_us).ln();
            let Mean { roofline, offset } = self.means[slice];
            let growing = |time_us: f64| time_us - roofline.overhead_us;
            let own = growing((same - self.residuals[0] - offset).exp());
            let growth = (growing(roofline.time_us(work)) / own).ln();
            let half_way = if growth.is_finite() { growth / 2.0 } else { 0.0 };
            half_width += half_way.abs();
            log = same + half_way;
        } else {
            half_width = self.work_range.widen(half_width, work);
        }
        let below = self.shortest[slice] - self.means[slice].log(work) - FAR_BELOW;
        if self.len() > 1 && below.is_finite() && below > 0.0 {
            // Next to nothing of what any row takes: what every call takes counts here, and no row tells it apart from the work.
            log += below / 2.0;
            half_width = half_width.max(below);
        }
        Estimate {
            duration_us: log.exp() * self.reference_us,
            low_us: (log - half_width).exp() * self.reference_us,
            high_us: (log + half_width).exp() * self.reference_us,
            class: found.class,
        }
    }

    pub(crate) fn values_of(&self, rows: &[u32]) -> [f64; MOST_NEIGHBOURS] {
        let mut values = [0.0; MOST_NEIGHBOURS];
        for (value, row) in values.iter_mut().zip(rows) {
            *value = self.residuals[*row as usize];
        }
        values
    }

    /// How these rows lie to a spot.
    pub(crate) fn class(&self, spot: &Spot, rows: &[u32]) -> Class {
        // What other slices have of the configuration tells less than rows of its own.
        let is_known = |row: &u32| {
            spot.configuration == self.configuration_of[*row as usize] && spot.slice == self.forest.slice_of(*row)
        };
        if !rows.iter().any(is_known) {
            return Class::NewConfiguration;
        }
        if self.size_axis().is_none() {
            return if spot.is_larger { Class::Beyond } else { Class::Inside };
        }
        let end = self.scale.size_of(&spot.point) - 1e-9;
        let is_smaller = |row: &u32| self.scale.size_of(self.forest.row(*row)) < end;
        if rows.iter().all(is_smaller) { Class::Beyond } else { Class::Inside }
    }

    /// Whether one of these rows lies at the spot: one of another slice, unless the spot is a row itself.
    pub(crate) fn is_seen(&self, spot: &Spot, rows: &[u32]) -> bool {
        let point = &spot.point[..self.forest.dims];
        let is_here = |row: &u32| self.forest.row(*row) == point;
        self.forest.slices.len() > 1 && spot.beside_distance == 0.0 && rows.iter().any(is_here)
    }

    /// The size among the coordinates, and how long an octave is there.
    pub(crate) fn size_axis(&self) -> Option<(usize, f64)> {
        let index = self.scale.size_index()?;
        Some((index, self.scale.varying[index].1))
    }

    /// The standard deviation of a value of this variance between these rows: wide where they themselves are hard to predict.
    pub(crate) fn sigma(&self, variance: f64, rows: &[u32]) -> f64 {
        let sum: f64 = rows.iter().map(|row| f64::from(self.difficulty[*row as usize])).sum();
        (variance * (sum + 4.0 * self.typical) / (rows.len() as f64 + 4.0)).sqrt()
    }

    /// The memory that it holds.
    pub fn bytes(&self) -> usize {
        use std::mem::size_of_val;
        size_of_val(self)
            + self.forest.bytes()
            + size_of_val(&*self.residuals)
            + size_of_val(&*self.times_us)
            + size_of_val(&*self.difficulty)
            + size_of_val(&*self.row_numbers)
            + size_of_val(&*self.configuration_of)
            + size_of_val(&*self.spreads)
            + size_of_val(&*self.shortest)
            + size_of_val(&*self.first_rows)
            + size_of_val(&*self.outliers)
            + size_of_val(&*self.moved)
            + self.processes.iter().flatten().map(Process::bytes).sum::<usize>()
            + self.calibration.bytes()
    }

    /// The distance at which rows are not alike any more, in octaves, of each axis on which they vary.
    pub fn lengths(&self) -> Vec<(usize, f64)> {
        self.scale.varying.iter().map(|(axis, factor)| (*axis, SQRT_3 / factor)).collect()
    }
}

#[cfg(test)]
mod tests;
