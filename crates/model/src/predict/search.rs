//! The correlation that predicts rows best that are left out: alone, and along with all rows of about their size on one axis.

use crate::predict::forest::Forest;
use crate::predict::kriging::{
    Correlation, CorrelationKernel, CorrelationKernels, Correlations, MOST_NEIGHBOURS, SQRT_3,
};
use crate::predict::rows::choose;
use crate::predict::side::SAME;
use std::ops::Range;

/// Rows that are left out at most: more where there are more lengths that they must tell.
fn most_left_out(axes: usize) -> usize {
    if axes <= 2 { 400 } else { 800 }
}
/// Neighbours that a value is based on: 12, and twice as many where the axes are too many for 12 rows.
pub fn neighbours(axes: usize) -> usize {
    if axes <= FEW_AXES { 12 } else { MOST_NEIGHBOURS }
}
/// Axes up to which 12 rows tell them apart.
const FEW_AXES: usize = 4;
/// Descents at most: one or two axes are found soon; with many, and their neighbours, each takes long.
pub(crate) fn most_descents(axes: usize) -> usize {
    if (3..=FEW_AXES).contains(&axes) { 4 } else { 2 }
}
/// What counts as good as the best.
const AS_GOOD: f64 = 1.05;
/// Pairs of a row that is left out and its neighbours.
const MOST_PAIRS: usize = MOST_NEIGHBOURS * (MOST_NEIGHBOURS + 1) / 2;
const LENGTHS: [f64; 8] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
const NUGGETS: [f64; 6] = [1e-4, 1e-3, 1e-2, 0.05, 0.2, 0.5];
const LONG_SHARES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 0.9];
/// Octaves up to which two sizes are about the same.
const ABOUT: f64 = 0.05;
/// What a change must win.
const GAIN: f64 = 0.999;

/// What was found: how far rows are alike on each axis, and between slices.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranges {
    pub(crate) lengths: Vec<f64>,
    /// For each slice; of no matter where there is one.
    pub(crate) slice_lengths: Vec<f64>,
    pub(crate) correlation: Correlation,
}

/// Rows as the search sees them: coordinates in octaves, and what is to be predicted.
pub(crate) struct Field<'f> {
    pub(crate) dims: usize,
    pub(crate) coordinates: &'f [f64],
    pub(crate) values: &'f [f64],
    pub(crate) slices: &'f [Range<usize>],
    /// One median grid step of each axis.
    pub(crate) steps: &'f [f64],
    /// Whether each slice has many rows. Of few, one that cannot be right would choose the lengths where sizes are left out.
    pub(crate) has_many: bool,
}

/// What a trial changes.
#[derive(Debug, Clone, Copy)]
enum Change {
    Length(usize, f64),
    SliceLength(usize, f64),
    Nugget(f64),
    LongShare(f64),
}

impl Ranges {
    fn with(&self, change: Change) -> Ranges {
        let mut changed = self.clone();
        match change {
            Change::Length(axis, value) => changed.lengths[axis] = value,
            Change::SliceLength(slice, value) => changed.slice_lengths[slice] = value,
            Change::Nugget(value) => changed.correlation.nugget = value,
            Change::LongShare(value) => changed.correlation.long_share = value,
        }
        changed
    }
}

impl Field<'_> {
    /// A forest of the rows, and its order, in a metric of these lengths.
    pub(crate) fn plant(&self, lengths: &[f64], slice_lengths: &[f64]) -> (Forest, Vec<u32>) {
        let factors: Vec<f64> = lengths.iter().map(|length| SQRT_3 / length).collect();
        let scaled: Vec<f64> = self
            .coordinates
            .chunks_exact(self.dims)
            .flat_map(|row| row.iter().zip(&factors).map(|(u, f)| u * f))
            .collect();
        let penalties = slice_lengths.iter().map(|length| SQRT_3 / length).collect();
        Forest::plant(self.dims, &scaled, self.slices, penalties)
    }

    /// Coordinate descent from a fixed start, some times: each with the neighbours that the one before found to be near. What is near
    /// changes with the lengths, so that a descent may end where rows are predicted much worse: the last is taken that is as good as any.
    pub(crate) fn search(&self, neighbours: usize, descents: usize) -> Ranges {
        let slice_count = self.slices.len();
        let mut ranges = Ranges {
            lengths: self.steps.iter().map(|step| (4.0 * step).max(2.0)).collect(),
            slice_lengths: vec![4.0; slice_count],
            correlation: Correlation { long_share: 0.5, nugget: 1e-2 },
        };
        let chosen = choose(self.values.len(), most_left_out(self.dims), 11);
        let errors_of = |cases: &[Case], ranges: &Ranges| cases.iter().map(|case| case.error(ranges)).collect();
        let axes = self.axes_left_out();
        let mut cases = self.cases(&chosen, &axes, self.steps, &vec![1.0; slice_count], neighbours);
        let mut errors: Vec<f64> = errors_of(&cases, &ranges);
        let mut found: Vec<(f64, Ranges)> = Vec::new();
        for _ in 0..descents {
            self.descend(&mut ranges, &cases, errors);
            if found.iter().any(|(_, earlier)| *earlier == ranges) {
                break;
            }
            cases = self.cases(&chosen, &axes, &ranges.lengths, &ranges.slice_lengths, neighbours);
            errors = errors_of(&cases, &ranges);
            found.push((mean(&errors), ranges.clone()));
        }
        let least = found.iter().map(|(loss, _)| *loss).fold(f64::INFINITY, f64::min);
        let is_good = |(loss, _): &(f64, Ranges)| *loss <= least * AS_GOOD;
        found.into_iter().rfind(is_good).map_or(ranges, |(_, good)| good)
    }

    /// Changes ranges as long as that predicts the cases better; `errors` are theirs with the ranges as they are.
    fn descend(&self, ranges: &mut Ranges, cases: &[Case], mut errors: Vec<f64>) {
        let slice_count = self.slices.len();
        let mut best = mean(&errors);
        let changes = || {
            let of_axis = |axis| LENGTHS.map(|length| Change::Length(axis, length));
            let of_slice = |slice| LENGTHS.map(|length| Change::SliceLength(slice, length));
            let slices = if slice_count > 1 { 0..slice_count } else { 0..0 };
            (0..self.dims).flat_map(of_axis).chain(slices.flat_map(of_slice)).chain(NUGGETS.map(Change::Nugget))
        };
        let changes: Vec<Change> = changes().chain(LONG_SHARES.map(Change::LongShare)).collect();
        // How many changes had won when each was tried last: without a new one it would lose again.
        let mut tried_after = vec![usize::MAX; changes.len()];
        let mut won = 0;
        for _ in 0..2 {
            for (change, tried_after) in changes.iter().zip(&mut tried_after) {
                let trial = ranges.with(*change);
                if trial == *ranges || std::mem::replace(tried_after, won) == won {
                    continue;
                }
                let touched = |case: &Case| match *change {
                    Change::SliceLength(slice, _) => case.is_across(slice),
                    _ => true,
                };
                let of_case = |(case, error): (&Case, &f64)| if touched(case) { case.error(&trial) } else { *error };
                let found = within(best * GAIN, cases.iter().zip(&errors).map(of_case), cases.len());
                if let Some((found, mean)) = found {
                    (*ranges, errors, best) = (trial, found, mean);
                    won += 1;
                }
            }
        }
    }

    /// The chosen rows, each with its neighbours in a metric; every second one without those of about its size on one of some axes, in turn.
    fn cases(
        &self,
        chosen: &[usize],
        axes: &[usize],
        lengths: &[f64],
        slice_lengths: &[f64],
        neighbours: usize,
    ) -> Vec<Case> {
        let (forest, order) = self.plant(lengths, slice_lengths);
        let mut place_of = vec![0; order.len()];
        for (point, row) in order.iter().enumerate() {
            place_of[*row as usize] = point as u32;
        }
        let case = |(number, row): (usize, &usize)| {
            let point = place_of[*row];
            let slice = forest.slice_of(point);
            let axis = (number.is_multiple_of(2) && !axes.is_empty()).then(|| axes[number / 2 % axes.len()]);
            let is_about = |other: u32| {
                let at = |row: usize, axis: usize| self.coordinates[row * self.dims + axis];
                axis.is_some_and(|axis| (at(order[other as usize] as usize, axis) - at(*row, axis)).abs() <= ABOUT)
            };
            let passes = |other| other != point && !is_about(other);
            let near = forest.nearest::<MOST_NEIGHBOURS>(slice, forest.row(point), neighbours, &passes);
            let rows = near.rows().iter().map(|point| order[*point as usize] as usize);
            Case::new(self, std::iter::once(*row).chain(rows).collect())
        };
        chosen.iter().enumerate().map(case).collect()
    }

    /// The axes on which every second row is left out along with all of about its size. Sizes that are asked for lie between measured ones; where
    /// these come in pairs, 256 and 257, the other one of a pair tells a row, but nothing of what lies between.
    fn axes_left_out(&self) -> Vec<usize> {
        let has_pairs =
            |axis: usize| steps(self.coordinates, self.dims, axis).iter().any(|step| (SAME..=ABOUT).contains(step));
        (0..self.dims).filter(|axis| self.has_many || has_pairs(*axis)).collect()
    }

    fn slice_of(&self, row: usize) -> usize {
        self.slices.partition_point(|slice| slice.end <= row)
    }
}

/// The differences of neighbouring values on an axis.
pub(crate) fn steps(coordinates: &[f64], dims: usize, axis: usize) -> Vec<f64> {
    let mut values: Vec<f64> = coordinates.iter().skip(axis).step_by(dims).copied().collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    values.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Errors and their mean, if that is less than a limit; given up as soon as it cannot be.
fn within(limit: f64, errors: impl Iterator<Item = f64>, count: usize) -> Option<(Vec<f64>, f64)> {
    let count_or_one = count.max(1) as f64;
    let (mut found, mut sum) = (Vec::with_capacity(count), 0.0);
    for error in errors {
        found.push(error);
        sum += error;
        if sum / count_or_one >= limit {
            return None;
        }
    }
    let mean = sum / count_or_one;
    (mean < limit).then_some((found, mean))
}

/// A row that is left out, and its neighbours.
struct Case {
    count: usize,
    truth: f64,
    values: [f64; MOST_NEIGHBOURS],
    /// On each axis, of each pair of a neighbour and what comes before it (the row itself first): differences times √3.
    differences: Vec<f64>,
    /// The slices of the row and its neighbours; empty where all are of one.
    slices: Vec<usize>,
}

impl Case {
    fn new(field: &Field<'_>, rows: Vec<usize>) -> Case {
        let dims = field.dims;
        let at = |row: usize| &field.coordinates[row * dims..(row + 1) * dims];
        let mut differences = Vec::with_capacity(rows.len() * (rows.len() - 1) / 2 * dims);
        for axis in 0..dims {
            for (index, row) in rows.iter().enumerate() {
                differences
                    .extend(rows[..index].iter().map(|earlier| (at(*row)[axis] - at(*earlier)[axis]).abs() * SQRT_3));
            }
        }
        let mut values = [0.0; MOST_NEIGHBOURS];
        for (value, row) in values.iter_mut().zip(&rows[1..]) {
            *value = field.values[*row];
        }
        let mut slices: Vec<usize> = rows.iter().map(|row| field.slice_of(*row)).collect();
        if slices.iter().all(|slice| *slice == slices[0]) {
            slices.clear();
        }
        Case { count: rows.len() - 1, truth: field.values[rows[0]], values, differences, slices }
    }

    /// Whether it has rows of this slice and of others.
    fn is_across(&self, slice: usize) -> bool {
        self.slices.contains(&slice)
    }

    /// By how much the row is missed.
    fn error(&self, ranges: &Ranges) -> f64 {
        if self.count == 0 {
            return self.truth.abs();
        }
        let pairs = self.count * (self.count + 1) / 2;
        let mut kernels = CorrelationKernels::<MOST_PAIRS>::of(CorrelationKernel::SAME);
        for (differences, length) in self.differences.chunks_exact(pairs).zip(&ranges.lengths) {
            let factor = 1.0 / length;
            kernels.and_each(differences.iter().map(|difference| difference * factor));
        }
        let pair = |i: usize, j: usize| i * (i - 1) / 2 + j;
        if !self.slices.is_empty() {
            let penalty = |slice: usize| SQRT_3 / ranges.slice_lengths[slice];
            for i in 1..=self.count {
                for j in (0..i).filter(|j| self.slices[i] != self.slices[*j]) {
                    kernels.and(pair(i, j), [penalty(self.slices[i]), penalty(self.slices[j])]);
                }
            }
        }
        let all = kernels.correlations(pairs, ranges.correlation);
        let mut correlations = Correlations::new(self.count);
        for i in 1..=self.count {
            correlations.with_place[i - 1] = all[pair(i, 0)];
            correlations.with_earlier(i - 1).copy_from_slice(&all[pair(i, 1)..pair(i, i)]);
        }
        (correlations.solve(&self.values, ranges.correlation.nugget).value - self.truth).abs()
    }
}

#[cfg(test)]
mod tests;
