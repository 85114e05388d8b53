//! What predictions between rows are worth: rows are left out, and predicted from the others.

use crate::predict::estimate::Estimate;
use crate::predict::model::Model;
use crate::predict::point::Point;
use crate::predict::rows::{Measured, Rows, Settled, choose};
use crate::predict::table::together;
use std::collections::HashMap;

/// Rows that are left out one by one at most, and in how many rounds.
const MOST_ROWS: usize = 1000;
const ROUNDS: usize = 20;
/// Values of an axis, or configurations, that are left out at most, and rows that are asked of each.
const MOST_VALUES: usize = 12;
const MOST_OF_A_VALUE: usize = 40;

/// What was not known when a row was predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeftOut {
    /// The row, those of its sizes in other slices, and a twentieth of the others at most.
    Row,
    /// All rows that have its number on this axis.
    Value(usize),
    /// All rows of its configuration.
    Configuration,
}

/// A row that was predicted from others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// The number of the row; of repeats the least.
    pub row: u32,
    /// What was not known.
    pub left_out: LeftOut,
    /// How long it took; of repeats the median.
    pub measured_us: f64,
    /// What was said of it.
    pub estimate: Estimate,
}

/// What a round leaves out, and which rows it asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOutRows<'t> {
    /// What is not known.
    pub left_out: LeftOut,
    /// The axes of the points that are left out, in every slice.
    pub hidden: Vec<&'t [f64]>,
    /// The numbers of the rows that are asked for, of repeats the least, with their durations, of repeats the median.
    pub asked: Vec<(u32, f64)>,
}

/// The trials of the slices of a table, in rounds that can run side by side.
#[derive(Debug)]
pub struct CrossValidation {
    size: Option<usize>,
    parts: Vec<Part>,
    rounds: Vec<Round>,
}

/// Slices that are learnt from together.
#[derive(Debug)]
struct Part {
    slices: Vec<Settled>,
    /// The slice of every point, and its number there.
    points: Vec<(usize, usize)>,
    /// The points by their axes: those of one group are the same sizes in different slices (data type, format, bias), and are hidden together.
    groups: Vec<Vec<usize>>,
    /// The group of every point.
    group_of: Vec<usize>,
}

/// Places that are left out together.
#[derive(Debug)]
struct Round {
    part: usize,
    left_out: LeftOut,
    /// In order.
    hidden: Vec<usize>,
    asked: Vec<usize>,
}

impl Part {
    fn new(slices: Vec<Rows>) -> Part {
        let slices: Vec<Settled> = slices.into_iter().map(Rows::settle).collect();
        let of_slice =
            |(slice, settled): (usize, &Settled)| (0..settled.measured.len()).map(move |index| (slice, index));
        let points: Vec<(usize, usize)> = slices.iter().enumerate().flat_map(of_slice).collect();
        let mut part = Part { slices, group_of: vec![0; points.len()], groups: Vec::new(), points };
        let mut numbers: HashMap<Vec<u64>, usize> = HashMap::new();
        for point in 0..part.points.len() {
            let key = part.axes(point).iter().map(|value| value.to_bits()).collect();
            let group = *numbers.entry(key).or_insert(part.groups.len());
            if group == part.groups.len() {
                part.groups.push(Vec::new());
            }
            part.groups[group].push(point);
            part.group_of[point] = group;
        }
        part
    }

    /// All points with the sizes of these, in order.
    fn of_same_sizes(&self, points: &[usize]) -> Vec<usize> {
        let mut groups: Vec<usize> = points.iter().map(|point| self.group_of[*point]).collect();
        groups.sort_unstable();
        groups.dedup();
        let mut all: Vec<usize> = groups.into_iter().flat_map(|group| &self.groups[group]).copied().collect();
        all.sort_unstable();
        all
    }

    fn axes(&self, point: usize) -> &[f64] {
        let (slice, index) = self.points[point];
        self.slices[slice].axes(index)
    }

    fn measured(&self, point: usize) -> &Measured {
        let (slice, index) = self.points[point];
        &self.slices[slice].measured[index]
    }

    /// Whether points differ on an axis.
    fn varies(&self, axis: usize) -> bool {
        (1..self.points.len()).any(|point| self.axes(point)[axis] != self.axes(0)[axis])
    }

    /// All rounds of what is left out; none of a single point.
    fn rounds(&self, part: usize) -> Vec<Round> {
        let count = self.groups.len();
        if count < 2 {
            return Vec::new();
        }
        let most_groups = (MOST_ROWS * count / self.points.len()).max(1);
        let chosen = choose(count, most_groups, 17);
        let most = ROUNDS.min(chosen.len());
        let by_row = (0..most).map(|round| {
            let groups = chosen.iter().skip(round).step_by(most);
            let mut hidden: Vec<usize> = groups.flat_map(|group| &self.groups[*group]).copied().collect();
            hidden.sort_unstable();
            Round { part, left_out: LeftOut::Row, asked: hidden.clone(), hidden }
        });
        let mut rounds: Vec<Round> = by_row.collect();
        let varying: Vec<usize> = (0..self.axes(0).len()).filter(|axis| self.varies(*axis)).collect();
        // On a line, the value of a row is the row.
        for axis in varying.iter().copied().filter(|_| varying.len() > 1) {
            rounds.extend(self.by_key(part, LeftOut::Value(axis), |point| self.axes(point)[axis].to_bits()));
        }
        rounds.extend(self.by_key(part, LeftOut::Configuration, |point| self.measured(point).configuration));
        rounds
    }

    /// Rounds that each leave out all points of one key, where there are several.
    fn by_key(&self, part: usize, left_out: LeftOut, key: impl Fn(usize) -> u64) -> Vec<Round> {
        let mut points: Vec<(u64, usize)> = (0..self.points.len()).map(|point| (key(point), point)).collect();
        points.sort_unstable();
        let groups: Vec<&[(u64, usize)]> = points.chunk_by(|a, b| a.0 == b.0).collect();
        if groups.len() < 2 {
            return Vec::new();
        }
        let round = |chosen: usize| {
            let own: Vec<usize> = groups[chosen].iter().map(|(_, point)| *point).collect();
            let asked = choose(own.len(), MOST_OF_A_VALUE, 9).into_iter().map(|index| own[index]).collect();
            Round { part, left_out, hidden: self.of_same_sizes(&own), asked }
        };
        choose(groups.len(), MOST_VALUES, 13).into_iter().map(round).collect()
    }

    /// The slices without the points that a round hides.
    fn known(&self, round: &Round) -> Vec<Rows> {
        let mut hidden: Vec<Vec<usize>> = vec![Vec::new(); self.slices.len()];
        for (slice, index) in round.hidden.iter().map(|point| self.points[*point]) {
            hidden[slice].push(index);
        }
        self.slices.iter().zip(&hidden).map(|(slice, hidden)| slice.without(hidden)).collect()
    }
}

impl CrossValidation {
    /// Of the rows of some slices, which are learnt from as a [`Table`](crate::predict::Table) does, but for rows of other slices at the same point:
    /// a point that was not measured at all has none. `size` is the axis along which calls grow.
    pub fn of(slices: Vec<Rows>, size: Option<usize>) -> CrossValidation {
        let parts: Vec<Part> = together(slices).into_iter().map(Part::new).collect();
        let rounds = parts.iter().enumerate().flat_map(|(number, part)| part.rounds(number)).collect();
        CrossValidation { size, parts, rounds }
    }

    /// How many points there are.
    pub fn points(&self) -> usize {
        self.parts.iter().map(|part| part.points.len()).sum()
    }

    /// How many rounds there are; each learns from the rows that are left, which takes most of the time.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// What a round leaves out and asks for, for those who predict in their own way.
    pub fn round(&self, round: usize) -> Option<LeftOutRows<'_>> {
        let round = self.rounds.get(round)?;
        let part = &self.parts[round.part];
        let row = |point: &usize| {
            let measured = part.measured(*point);
            (measured.row, measured.time_us)
        };
        Some(LeftOutRows {
            left_out: round.left_out,
            hidden: round.hidden.iter().map(|point| part.axes(*point)).collect(),
            asked: round.asked.iter().map(row).collect(),
        })
    }

    /// The trials of a round; none if the round is missing. A slice of which no row is left is not asked.
    pub fn run(&self, round: usize) -> Vec<Trial> {
        let Some(round) = self.rounds.get(round) else { return Vec::new() };
        let part = &self.parts[round.part];
        let known = part.known(round);
        let has_rows: Vec<bool> = known.iter().map(|rows| !rows.is_empty()).collect();
        let Some(model) = Model::build(known, self.size) else { return Vec::new() };
        let trial = |asked: &usize| {
            let ((slice, _), row) = (part.points[*asked], part.measured(*asked));
            let point = Point {
                axes: part.axes(*asked).iter().copied().collect(),
                work: row.work,
                other_work: row.other_work,
                configuration: row.configuration,
                coupling: part.slices[slice].coupling,
                terms: part.slices[slice].terms,
            };
            let estimate = model.predict(slice, &point).filter(|_| has_rows[slice])?;
            Some(Trial { row: row.row, left_out: round.left_out, measured_us: row.time_us, estimate })
        };
        round.asked.iter().filter_map(trial).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::{MatMul, Operands, Precision};

    fn rows(strange: Option<usize>) -> Rows {
        let mut rows = Rows::new(3);
        let mut number = 0;
        for columns in [512.0, 2048.0] {
            for size in [1.0, 8.0, 64.0, 512.0, 4096.0] {
                let product = MatMul { rows: size, columns, inner: 1024.0 };
                let time_us = 3.0 + size * columns / 1e4;
                let time_us = if strange == Some(number) { time_us * 50.0 } else { time_us };
                rows.push(number as u32, &Point::matmul(product, Operands::of(Precision::Bf16)), time_us, None);
                number += 1;
            }
        }
        rows
    }

    fn run(rows: Rows) -> Vec<Trial> {
        let trials = CrossValidation::of(vec![rows], Some(0));
        (0..trials.rounds()).flat_map(|round| trials.run(round)).collect()
    }

    #[test]
    fn a_row_says_nothing_about_itself() {
        let (plain, strange) = (run(rows(None)), run(rows(Some(4))));
        let of_row =
            |trials: &[Trial]| -> Vec<Trial> { trials.iter().copied().filter(|trial| trial.row == 4).collect() };
        let (plain, strange) = (of_row(&plain), of_row(&strange));
        assert!(plain.iter().any(|trial| trial.left_out == LeftOut::Row));
        for (plain, strange) in plain.iter().zip(&strange) {
            assert_eq!(strange.measured_us, plain.measured_us * 50.0);
            // The unit of time within a model is the median: digits may differ, no more.
            let change = strange.estimate.duration_us / plain.estimate.duration_us;
            assert!((change - 1.0).abs() < 1e-6, "{:?}: {change}", plain.left_out);
        }
    }

    #[test]
    fn every_row_is_left_out_alone_by_value_and_with_its_configuration() {
        let trials = run(rows(None));
        let count = |left_out| trials.iter().filter(|trial| trial.left_out == left_out).count();
        assert_eq!([LeftOut::Row, LeftOut::Value(0), LeftOut::Value(1), LeftOut::Configuration].map(count), [10; 4]);
        assert_eq!(count(LeftOut::Value(2)), 0);
        let is_known = |trial: &&Trial| trial.estimate.class == crate::predict::Class::Measured;
        assert_eq!(trials.iter().find(is_known), None);
    }

    #[test]
    fn slices_that_are_learnt_from_together_are_left_out_together() {
        let mut single = Rows::new(3);
        let product = MatMul { rows: 8.0, columns: 512.0, inner: 1024.0 };
        single.push(99, &Point::matmul(product, Operands::of(Precision::Fp8)), 5.0, None);
        let trials = CrossValidation::of(vec![rows(None), single], Some(0));
        assert_eq!(trials.points(), 11);
        let found: Vec<Trial> = (0..trials.rounds()).flat_map(|round| trials.run(round)).collect();
        let count = |left_out| found.iter().filter(|trial| trial.left_out == left_out).count();
        // The only row of a slice is never asked, but tells something of the others.
        assert_eq!([LeftOut::Row, LeftOut::Value(0), LeftOut::Configuration].map(count), [10; 3]);
        assert!(found.iter().all(|trial| trial.row != 99));
        let alone = run(rows(None));
        let of_row =
            |trials: &[Trial]| trials.iter().find(|trial| trial.row == 4).map(|trial| trial.estimate.duration_us);
        assert_ne!(of_row(&found), of_row(&alone));
    }

    /// The share of rows, left out one by one, that their intervals hold; of tables of this many slices of six rows, each with its own
    /// speed, and with what no model knows: up to an eighth either way.
    fn held(slices: u64) -> f64 {
        let share = |bits: u64| (crate::predict::point::mix(bits) >> 11) as f64 / (1u64 << 53) as f64;
        let (mut asked, mut held) = (0, 0);
        for table in 0..24 / slices {
            let slices = (0..slices).map(|slice| {
                let mut rows = Rows::new(3);
                for row in 0..6u64 {
                    let (size, columns) = (f64::from(1u32 << (2 * row)), f64::from(512u32 << (row % 3)));
                    let product = MatMul { rows: size, columns, inner: 1024.0 };
                    let seed = 1000 * table + 10 * slice;
                    let time_us = (3.0 + size * columns / 1e4)
                        * (1.0 + share(seed))
                        * ((share(seed + row + 1) - 0.5) / 4.0).exp();
                    let number = (100 * slice + row) as u32;
                    rows.push(number, &Point::matmul(product, Operands::of(Precision::Bf16)), time_us, None);
                }
                rows
            });
            let trials = CrossValidation::of(slices.collect(), Some(0));
            let found = (0..trials.rounds()).flat_map(|round| trials.run(round));
            for trial in found.filter(|trial| trial.left_out == LeftOut::Row) {
                let Estimate { low_us, high_us, .. } = trial.estimate;
                asked += 1;
                held += usize::from(low_us <= trial.measured_us && trial.measured_us <= high_us);
            }
        }
        held as f64 / f64::from(asked)
    }

    #[test]
    fn intervals_of_a_few_rows_in_several_slices_hold_what_they_should() {
        let [few, more] = [3, 8].map(held);
        assert!((0.8..0.99).contains(&few) && (0.8..0.99).contains(&more), "{few} {more}");
    }

    /// The median error of single rows where durations are noise, also where another slice has the same durations once more, and half
    /// the median interval.
    fn medians_of_noise(slices: usize) -> [f64; 2] {
        let share = |bits: u64| (crate::predict::point::mix(bits) >> 11) as f64 / (1u64 << 53) as f64;
        let slice = |slice: usize| {
            let mut rows = Rows::new(3);
            for number in 0..26u32 {
                let (size, columns) = (f64::from(1u32 << (number / 2)), f64::from(512u32 << (3 * (number % 2))));
                let product = MatMul { rows: size, columns, inner: 1024.0 };
                let noise = (0..12).map(|draw| share(u64::from(1000 * number + draw))).sum::<f64>() - 6.0;
                let time_us = (3.0 + size * columns / 1e4) * (0.4 * noise).exp();
                let row = slice as u32 * 100 + number;
                rows.push(row, &Point::matmul(product, Operands::of(Precision::Bf16)), time_us, None);
            }
            rows
        };
        let trials = CrossValidation::of((0..slices).map(slice).collect(), Some(0));
        let found = (0..trials.rounds()).flat_map(|round| trials.run(round));
        let single: Vec<Trial> = found.filter(|trial| trial.left_out == LeftOut::Row).collect();
        let error = |trial: &Trial| (trial.estimate.duration_us / trial.measured_us).ln().abs();
        let half_width = |trial: &Trial| (trial.estimate.high_us / trial.estimate.low_us).ln() / 2.0;
        let median = |value: &dyn Fn(&Trial) -> f64| {
            let mut values: Vec<f64> = single.iter().map(value).collect();
            values.sort_unstable_by(f64::total_cmp);
            values[values.len() / 2]
        };
        [median(&error), median(&half_width)]
    }

    #[test]
    fn the_same_durations_in_another_slice_do_not_flatter() {
        let [alone, twice, thrice] = [1, 2, 3].map(medians_of_noise);
        assert!(
            alone[0] > 0.2 && [twice, thrice].iter().all(|more| more[0] > 0.7 * alone[0]),
            "{alone:?} {twice:?} {thrice:?}"
        );
        // Nor do they tell less than the durations alone.
        let is_as_wide = |more: [f64; 2]| (0.7..1.3).contains(&(more[1] / alone[1]));
        assert!(is_as_wide(twice) && is_as_wide(thrice), "{alone:?} {twice:?} {thrice:?}");
    }

    #[test]
    fn one_row_is_no_trial() {
        let mut one = Rows::new(1);
        one.push(0, &Point::sizes(&[4.0]), 1.0, None);
        one.push(1, &Point::sizes(&[4.0]), 2.0, None);
        assert_eq!(CrossValidation::of(vec![one], Some(0)).rounds(), 0);
    }
}
