//! The correlation that leaving rows out one by one likes best.

use crate::forest::Forest;
use crate::kriging::{Correlation, Correlations, Likeness, MOST_NEIGHBOURS, SQRT_3};
use crate::rows::choose;
use std::ops::Range;

/// Rows that are left out at most.
const MOST_LEFT_OUT: usize = 400;
const LENGTHS: [f64; 8] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
const NUGGETS: [f64; 6] = [1e-4, 1e-3, 1e-2, 0.05, 0.2, 0.5];
const LONG_SHARES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 0.9];
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

    /// Coordinate descent from a fixed start, twice: the second time with the neighbours that the first one found to be near.
    pub(crate) fn search(&self, neighbours: usize) -> Ranges {
        let slice_count = self.slices.len();
        let mut ranges = Ranges {
            lengths: self.steps.iter().map(|step| (4.0 * step).max(2.0)).collect(),
            slice_lengths: vec![4.0; slice_count],
            correlation: Correlation { long_share: 0.5, nugget: 1e-2 },
        };
        let mut metric = (self.steps.to_vec(), vec![1.0; slice_count]);
        let chosen = choose(self.values.len(), MOST_LEFT_OUT, 11);
        for _ in 0..2 {
            let cases = self.cases(&chosen, &metric.0, &metric.1, neighbours);
            self.descend(&mut ranges, &cases);
            metric = (ranges.lengths.clone(), ranges.slice_lengths.clone());
        }
        ranges
    }

    fn descend(&self, ranges: &mut Ranges, cases: &[Case]) {
        let slice_count = self.slices.len();
        let mut errors: Vec<f64> = cases.iter().map(|case| case.error(ranges)).collect();
        let mut best = mean(&errors);
        let changes = || {
            let of_axis = |axis| LENGTHS.map(|length| Change::Length(axis, length));
            let of_slice = |slice| LENGTHS.map(|length| Change::SliceLength(slice, length));
            let slices = if slice_count > 1 { 0..slice_count } else { 0..0 };
            (0..self.dims).flat_map(of_axis).chain(slices.flat_map(of_slice)).chain(NUGGETS.map(Change::Nugget))
        };
        for _ in 0..2 {
            for change in changes().chain(LONG_SHARES.map(Change::LongShare)) {
                let trial = ranges.with(change);
                if trial == *ranges {
                    continue;
                }
                let touched = |case: &Case| match change {
                    Change::SliceLength(slice, _) => case.is_across(slice),
                    _ => true,
                };
                let found: Vec<f64> = cases
                    .iter()
                    .zip(&errors)
                    .map(|(case, error)| if touched(case) { case.error(&trial) } else { *error })
                    .collect();
                let loss = mean(&found);
                if loss < best * GAIN {
                    (*ranges, errors, best) = (trial, found, loss);
                }
            }
        }
    }

    /// The chosen rows, each with its neighbours in a metric.
    fn cases(&self, chosen: &[usize], lengths: &[f64], slice_lengths: &[f64], neighbours: usize) -> Vec<Case> {
        let (forest, order) = self.plant(lengths, slice_lengths);
        let mut place_of = vec![0; order.len()];
        for (place, row) in order.iter().enumerate() {
            place_of[*row as usize] = place as u32;
        }
        let case = |row: &usize| {
            let place = place_of[*row];
            let slice = forest.slice_of(place);
            let near = forest.nearest::<MOST_NEIGHBOURS>(slice, forest.row(place), neighbours, |other| other != place);
            let rows = near.rows().iter().map(|place| order[*place as usize] as usize);
            Case::new(self, std::iter::once(*row).chain(rows).collect())
        };
        chosen.iter().map(case).collect()
    }

    fn slice_of(&self, row: usize) -> usize {
        self.slices.partition_point(|slice| slice.end <= row)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// A row that is left out, and its neighbours.
struct Case {
    count: usize,
    truth: f64,
    values: [f64; MOST_NEIGHBOURS],
    /// Of each pair of a neighbour and what comes before it (the row itself first): differences times √3 on each axis.
    differences: Vec<f64>,
    dims: usize,
    /// The slices of the row and its neighbours; empty where all are of one.
    slices: Vec<usize>,
}

impl Case {
    fn new(field: &Field<'_>, rows: Vec<usize>) -> Case {
        let dims = field.dims;
        let at = |row: usize| &field.coordinates[row * dims..(row + 1) * dims];
        let mut differences = Vec::with_capacity(rows.len() * (rows.len() - 1) / 2 * dims);
        for (index, row) in rows.iter().enumerate() {
            for earlier in &rows[..index] {
                differences.extend(at(*row).iter().zip(at(*earlier)).map(|(a, b)| (a - b).abs() * SQRT_3));
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
        Case { count: rows.len() - 1, truth: field.values[rows[0]], values, differences, dims, slices }
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
        let mut factors = [0.0; crate::place::MOST_AXES];
        for (factor, length) in factors.iter_mut().zip(&ranges.lengths) {
            *factor = 1.0 / length;
        }
        let factors = &factors[..self.dims];
        let mut correlations = Correlations::new(self.count);
        let mut pairs = self.differences.chunks_exact(self.dims);
        for i in 1..=self.count {
            for j in 0..i {
                let pair = pairs.next().unwrap_or_default();
                let mut likeness = pair.iter().zip(factors).fold(Likeness::SAME, |all, (d, f)| all.and(d * f));
                if !self.slices.is_empty() && self.slices[i] != self.slices[j] {
                    let penalty = |slice: usize| SQRT_3 / ranges.slice_lengths[slice];
                    likeness = likeness.and(penalty(self.slices[i])).and(penalty(self.slices[j]));
                }
                let correlation = likeness.correlation(ranges.correlation);
                match j {
                    0 => correlations.with_place[i - 1] = correlation,
                    _ => correlations.between[i - 1][j - 1] = correlation,
                }
            }
        }
        (correlations.solve(&self.values, ranges.correlation.nugget).value - self.truth).abs()
    }
}

#[cfg(test)]
mod tests;
