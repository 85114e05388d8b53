//! From measured rows to a model.

use crate::predict::around;
use crate::predict::calibration::{Calibration, FEW, FEW_TOGETHER};
use crate::predict::forest::Forest;
use crate::predict::kriging::{Correlation, Kriged, MOST_NEIGHBOURS, SQRT_3};
use crate::predict::model::{FEWEST_HALF_WIDTH, FEWEST_ROWS, Mean, Model, short};
use crate::predict::outliers;
use crate::predict::point::Coupling;
use crate::predict::power::{FEWEST_PER_POWER, Power};
use crate::predict::rows::{Rows, Settled, choose};
use crate::predict::scale::Scale;
use crate::predict::search::{Field, Ranges, most_descents, neighbours, steps};
use crate::predict::work_range::WorkRange;
use crate::roofline::{Roofline, Terms, Work};
use std::ops::Range;

/// Rows that a roofline is fitted to at most.
const MOST_FITTED: usize = 4000;
/// Rows below which a slice shares its roofline with the others.
const FEWEST_FOR_ROOFLINE: usize = 12;
/// Descents of the search for ranges, where the work is learnt.
const GENERIC_DESCENTS: usize = 5;
/// Rows of a slice, of described work, that are many.
const MANY: usize = 400;
/// The share of difficulties above which they are cut.
const CUT: f64 = 0.98;
/// Rows of a slice that two possible works are compared on, and how much less the second one must miss: a share of what the first one misses.
const MOST_COMPARED: usize = 1000;
const FOLLOWED: f64 = 0.25;
/// The length of an axis on which no row varies, in octaves.
const CONSTANT_LENGTH: f64 = 4.0;

impl Model {
    /// Learns from the rows of one slice, or of several at once; `size` is the axis along which calls grow.
    ///
    /// The order of the rows is of no matter. `None` without any usable row.
    ///
    /// # Panics
    /// With slices of different numbers of axes.
    pub fn build(slices: Vec<Rows>, size: Option<usize>) -> Option<Model> {
        let mut settled: Vec<Settled> = slices.into_iter().map(Rows::settle).collect();
        let powers = learn_work(&mut settled);
        let count: usize = settled.iter().map(|slice| slice.measured.len()).sum();
        if count == 0 {
            return None;
        }
        let axis_count = settled[0].axis_count();
        assert!(settled.iter().all(|slice| slice.axis_count() == axis_count), "slices of one model have the same axes");
        let reference_us =
            median(settled.iter().flat_map(|slice| slice.measured.iter().map(|row| row.time_us)).collect());
        let does_other = choose_work(&mut settled, reference_us);
        let samples: Vec<Vec<(Work, f64)>> = settled
            .iter()
            .map(|slice| {
                slice.measured.iter().map(|row| (row.work, steady((row.time_us / reference_us).ln()))).collect()
            })
            .collect();
        let terms = settled.iter().find(|slice| !slice.measured.is_empty()).map(|slice| slice.terms);
        let means = fit_means(&samples, terms.unwrap_or_default())?;
        let (mut scale, mut coordinates) = lay_out(&settled, axis_count, size);
        let dims = scale.varying.len().max(1);
        let values: Vec<f64> = samples
            .iter()
            .zip(&means)
            .flat_map(|(slice, mean)| slice.iter().map(|(work, log)| log - mean.log(*work)))
            .collect();
        drop(samples);
        let ranges = ranges_of(&settled);
        let steps = grid_steps(dims, &coordinates);
        // A slice without rows does not tell it.
        let coupling = settled.iter().map(|slice| slice.coupling).find(|coupling| !coupling.is_empty());
        scale.coupling = coupled(&scale, coupling.unwrap_or_default());
        coordinates.chunks_exact_mut(dims).for_each(|row| scale.couple(row));
        let within_reach: Vec<f64> = values.iter().map(|value| outliers::within_reach(*value)).collect();
        let field = Field {
            dims,
            coordinates: &coordinates,
            values: &within_reach,
            slices: &ranges,
            steps: &steps,
            has_many: powers.is_empty() && settled.iter().all(|slice| slice.measured.len() >= MANY),
        };
        // Sizes that nobody described need more rows to tell them apart, and what is found depends more on where the search began.
        let (most, descents) = if powers.is_empty() {
            (neighbours(dims), most_descents(dims))
        } else {
            (MOST_NEIGHBOURS, GENERIC_DESCENTS)
        };
        let neighbours = most.min(count.saturating_sub(1));
        let found = if count < FEWEST_ROWS { of_few(dims, ranges.len()) } else { field.search(neighbours, descents) };
        for ((_, factor), length) in scale.varying.iter_mut().zip(&found.lengths) {
            *factor = SQRT_3 / length;
        }
        let (forest, order) = field.plant(&found.lengths, &found.slice_lengths);
        drop((coordinates, within_reach));
        Some(Model::learn(
            scale,
            forest,
            &order,
            settled,
            &values,
            means,
            reference_us,
            found.correlation,
            powers,
            does_other,
        ))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a model, each made in its own step")]
    fn learn(
        scale: Scale,
        forest: Forest,
        order: &[u32],
        settled: Vec<Settled>,
        values: &[f64],
        means: Vec<Mean>,
        reference_us: f64,
        correlation: Correlation,
        powers: Vec<Power>,
        does_other: Vec<bool>,
    ) -> Model {
        let measured: Vec<_> = settled.iter().flat_map(|slice| slice.measured.iter()).collect();
        let first_row = |slice: &Settled| slice.measured.iter().map(|row| row.row).min().unwrap_or_default();
        let first_rows = settled.iter().map(first_row).collect();
        let shortest = settled
            .iter()
            .zip(&means)
            .map(|(slice, mean)| slice.measured.iter().map(|row| mean.log(row.work)).fold(f64::INFINITY, f64::min));
        let shortest = shortest.collect();
        let in_order = || order.iter().map(|row| measured[*row as usize]);
        let is_few = order.len() <= if means.len() > 1 { FEW_TOGETHER } else { FEW };
        let work_range = WorkRange::of(in_order().map(|row| row.work), is_few);
        let has_spreads = measured.iter().any(|row| row.spread.is_finite());
        let most = if powers.is_empty() { neighbours(forest.dims) } else { MOST_NEIGHBOURS };
        let mut model = Model {
            residuals: order.iter().map(|row| values[*row as usize]).collect(),
            times_us: in_order().map(|row| row.time_us).collect(),
            difficulty: vec![0.0; order.len()],
            row_numbers: in_order().map(|row| row.row).collect(),
            configuration_of: in_order().map(|row| short(row.configuration)).collect(),
            spreads: if has_spreads { in_order().map(|row| row.spread).collect() } else { Vec::new() },
            // Of few rows all count; else one can be left out.
            neighbours: if order.len() < FEWEST_ROWS { order.len() } else { most.min(order.len() - 1) },
            median_distance: 1e-6,
            calibration: Calibration::default(),
            processes: Vec::new(),
            outliers: Vec::new(),
            moved: Vec::new(),
            typical: 1e-12,
            hardest: f64::INFINITY,
            widest: FEWEST_HALF_WIDTH,
            ends: around::ends((0..order.len() as u32).map(|row| around::coordinates(&scale, forest.row(row)))),
            scale,
            forest,
            means,
            shortest,
            work_range,
            first_rows,
            reference_us,
            correlation,
            powers,
            does_other,
        };
        let works: Option<Vec<Work>> = is_few.then(|| in_order().map(|row| row.work).collect());
        drop(settled);
        if model.len() >= FEWEST_ROWS {
            model.move_within_reach();
            let mut left_out = model.leave_one_out();
            if model.mend_outliers(&left_out) {
                left_out = model.leave_one_out();
            }
            model.cut_difficulties();
            model.widest = model.widest_half_width();
            let distances = left_out.iter().map(|one| one.distance).collect();
            model.median_distance = median(distances).max(1e-6);
            let inverses = model.learn_processes();
            model.calibration = Calibration::of(&model, works.as_deref(), &inverses);
        }
        model
    }

    /// Half of the widest interval: the slowest of the rows over the fastest, each relative to its roofline, and at least a factor of three.
    /// A few rows do not tell less than three.
    fn widest_half_width(&self) -> f64 {
        if self.len() <= FEW {
            return FEWEST_HALF_WIDTH;
        }
        let ends = self
            .residuals
            .iter()
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [value.min(low), value.max(high)]);
        (ends[1] - ends[0]).max(FEWEST_HALF_WIDTH)
    }

    /// Predicts every row from the others: how hard each is.
    fn leave_one_out(&mut self) -> Vec<LeftOut> {
        let left_out: Vec<LeftOut> = (0..self.len() as u32)
            .map(|row| {
                let (near, Kriged { value, variance }) = self.without(row);
                let residual = value - self.residuals[row as usize];
                LeftOut { residual, variance, distance: near.distances().first().copied().unwrap_or_default() }
            })
            .collect();
        self.difficulty = left_out.iter().map(|one| (one.residual * one.residual / one.variance) as f32).collect();
        left_out
    }

    /// Cuts the greatest difficulties, and takes the mean.
    fn cut_difficulties(&mut self) {
        let count = self.len();
        let mut sorted = self.difficulty.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        let position = CUT * (count - 1) as f64;
        let (below, part) = (position as usize, position.fract() as f32);
        let cut = sorted[below] + part * (sorted[(below + 1).min(count - 1)] - sorted[below]);
        self.hardest = f64::from(cut);
        for difficulty in &mut self.difficulty {
            *difficulty = difficulty.min(cut);
        }
        self.typical =
            self.difficulty.iter().map(|difficulty| f64::from(*difficulty)).sum::<f64>() / count as f64 + 1e-12;
    }
}

/// A row as the others predict it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeftOut {
    /// The logarithm of predicted over measured.
    pub(crate) residual: f64,
    pub(crate) variance: f64,
    /// That of the nearest other row.
    distance: f64,
}

/// Where no row has any work, the powers of the sizes by which it goes, for each slice: of small slices those of all.
fn learn_work(settled: &mut [Settled]) -> Vec<Power> {
    if settled.iter().flat_map(|slice| &slice.measured).any(|row| row.work != Work::default()) {
        return Vec::new();
    }
    let chosen = |slice: &Settled| choose(slice.measured.len(), MOST_FITTED / 2, 7);
    let fit = |slices: &[Settled]| {
        let of_slice = |slice: &Settled| -> Vec<(Vec<f64>, f64)> {
            let row = |index: usize| (slice.axes(index).to_vec(), steady(slice.measured[index].time_us.ln()));
            chosen(slice).into_iter().map(row).collect()
        };
        let all: Vec<(Vec<f64>, f64)> = slices.iter().flat_map(of_slice).collect();
        let some = choose(all.len(), MOST_FITTED, 7);
        Power::fit(&some.iter().map(|at| (&all[*at].0[..], all[*at].1)).collect::<Vec<_>>())
    };
    let shared = fit(settled);
    let of_slice = |slice: &Settled| {
        if slice.measured.len() < FEWEST_PER_POWER * (slice.axis_count() + 2) {
            shared.clone()
        } else {
            fit(std::slice::from_ref(slice))
        }
    };
    let powers: Vec<Power> = settled.iter().map(of_slice).collect();
    for (slice, power) in settled.iter_mut().zip(&powers) {
        for index in 0..slice.measured.len() {
            slice.measured[index].work = power.work(slice.axes(index));
        }
    }
    powers
}

/// Whether the rows of each slice do what they may do instead, which they count with from then on: where times follow that more closely.
fn choose_work(settled: &mut [Settled], reference_us: f64) -> Vec<bool> {
    let mut does_other = vec![false; settled.len()];
    let asked = |slice: &usize| settled[*slice].measured.iter().any(|row| row.other_work.is_some());
    let asked: Vec<usize> = (0..settled.len()).filter(asked).collect();
    if asked.is_empty() {
        return does_other;
    }
    let terms = settled[asked[0]].terms;
    let rows: Vec<Vec<(Work, Work, f64)>> = settled
        .iter()
        .map(|slice| {
            let row = |index: usize| {
                let row = &slice.measured[index];
                (row.work, row.other_work.unwrap_or(row.work), steady((row.time_us / reference_us).ln()))
            };
            choose(slice.measured.len(), MOST_COMPARED, 31).into_iter().map(row).collect()
        })
        .collect();
    // By how much the rows of each slice are missed in all.
    let missed = |does_other: &[bool]| -> Option<Vec<f64>> {
        let of_slice = |(rows, does_other): (&Vec<(Work, Work, f64)>, &bool)| -> Vec<(Work, f64)> {
            rows.iter().map(|(work, other, log)| (if *does_other { *other } else { *work }, *log)).collect()
        };
        let samples: Vec<Vec<(Work, f64)>> = rows.iter().zip(does_other).map(of_slice).collect();
        let means = fit_means(&samples, terms)?;
        let of_slice = |(rows, mean): (&Vec<(Work, f64)>, &Mean)| {
            rows.iter().map(|(work, log)| (log - mean.log(*work)).abs()).sum::<f64>()
        };
        Some(samples.iter().zip(&means).map(of_slice).collect())
    };
    let Some(mut known) = missed(&does_other) else { return does_other };
    for slice in asked {
        does_other[slice] = true;
        match missed(&does_other) {
            Some(found) if known.iter().sum::<f64>() - found.iter().sum::<f64>() > FOLLOWED * known[slice] => {
                known = found;
            }
            _ => does_other[slice] = false,
        }
    }
    for (slice, _) in settled.iter_mut().zip(&does_other).filter(|(_, does_other)| **does_other) {
        slice.measured.iter_mut().for_each(|row| row.work = row.other_work.unwrap_or(row.work));
    }
    does_other
}

/// A logarithm without the last digits, so that times in another unit make the same choices.
fn steady(log: f64) -> f64 {
    const STEP: f64 = (1u64 << 32) as f64;
    (log * STEP).round() / STEP
}

/// The lower one of the two in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len().saturating_sub(1) / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn ranges_of(settled: &[Settled]) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut next = |slice: &Settled| {
        let range = start..start + slice.measured.len();
        start = range.end;
        range
    };
    settled.iter().map(&mut next).collect()
}

/// A roofline for each slice, of works with the logarithms of their times; small ones share one, moved by their median residual.
pub(crate) fn fit_means(slices: &[Vec<(Work, f64)>], terms: Terms) -> Option<Vec<Mean>> {
    let fit = |samples: Vec<(Work, f64)>| {
        let chosen: Vec<(Work, f64)> =
            choose(samples.len(), MOST_FITTED, 7).into_iter().map(|index| samples[index]).collect();
        Roofline::fit(&chosen, terms)
    };
    let times =
        |slice: &Vec<(Work, f64)>| -> Vec<(Work, f64)> { slice.iter().map(|(work, log)| (*work, log.exp())).collect() };
    let is_small = |slice: &Vec<(Work, f64)>| slice.len() < FEWEST_FOR_ROOFLINE;
    let is_shared = slices.len() > 1 && slices.iter().any(is_small);
    let shared = if is_shared { fit(slices.iter().flat_map(times).collect()) } else { None };
    slices
        .iter()
        .map(|slice| match shared.filter(|_| is_small(slice)) {
            Some(roofline) => {
                let count = slice.len() as f64;
                let shared = Mean { roofline, offset: 0.0 };
                let over: Vec<f64> = slice.iter().map(|(work, log)| log - shared.log(*work)).collect();
                let offset = if over.is_empty() { 0.0 } else { middle(over) * count / (count + 1.0) };
                Some(Mean { offset, ..shared })
            }
            None => fit(times(slice)).map(|roofline| Mean { roofline, offset: 0.0 }),
        })
        .collect()
}

/// The median, between the two in the middle of an even number.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    (values[values.len() / 2] + values[(values.len() - 1) / 2]) / 2.0
}

/// Which axes vary, and the coordinates of the rows on them in octaves.
fn lay_out(settled: &[Settled], axis_count: usize, size: Option<usize>) -> (Scale, Vec<f64>) {
    let rows = || settled.iter().flat_map(|slice| (0..slice.measured.len()).map(|index| slice.axes(index)));
    let bound = |axis: usize, start: f64, pick: fn(f64, f64) -> f64| rows().map(|row| row[axis]).fold(start, pick);
    let mut scale = Scale {
        shifts: Vec::new(),
        varying: Vec::new(),
        constant: Vec::new(),
        least: Vec::new(),
        size,
        coupling: Vec::new(),
    };
    for axis in 0..axis_count {
        let (low, high) = (bound(axis, f64::INFINITY, f64::min), bound(axis, 0.0, f64::max));
        scale.shifts.push(if low <= 0.0 { 1.0 } else { 0.0 });
        scale.least.push(if low <= 0.0 { 1.0 } else { low });
        if low < high {
            scale.varying.push((axis, SQRT_3));
        } else {
            let coordinate = scale.octaves(axis, low);
            scale.constant.push((axis, coordinate, SQRT_3 / CONSTANT_LENGTH));
        }
    }
    if scale.varying.is_empty() {
        // One point alone still needs an axis to lie on.
        return (scale, vec![0.0; rows().count()]);
    }
    let coordinates =
        rows().flat_map(|row| scale.varying.iter().map(|(axis, _)| scale.octaves(*axis, row[*axis]))).collect();
    (scale, coordinates)
}

/// Those of which both axes vary, by position.
fn coupled(scale: &Scale, coupling: &[Coupling]) -> Vec<[usize; 2]> {
    let position = |axis: usize| scale.varying.iter().position(|(varying, _)| *varying == axis);
    coupling.iter().filter_map(|coupling| Some([position(coupling.axis)?, position(coupling.by)?])).collect()
}

/// The median difference of neighbouring values on each axis.
fn grid_steps(dims: usize, coordinates: &[f64]) -> Vec<f64> {
    let step = |axis: usize| {
        let steps = steps(coordinates, dims, axis);
        if steps.is_empty() { 1.0 } else { middle(steps) }
    };
    (0..dims).map(step).collect()
}

fn of_few(dims: usize, slices: usize) -> Ranges {
    let correlation = Correlation { long_share: 0.5, nugget: 1e-2 };
    Ranges { lengths: vec![CONSTANT_LENGTH; dims], slice_lengths: vec![CONSTANT_LENGTH; slices], correlation }
}

#[cfg(test)]
mod tests;
