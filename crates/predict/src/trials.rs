//! What predictions between rows are worth: rows are left out, and predicted from the others.

use crate::estimate::Estimate;
use crate::model::Model;
use crate::place::Place;
use crate::rows::{Rows, Settled, choose};

/// Rows that are left out one by one at most, and in how many rounds.
const MOST_ROWS: usize = 1000;
const ROUNDS: usize = 20;
/// Values of an axis, or configurations, that are left out at most, and rows that are asked of each.
const MOST_VALUES: usize = 12;
const MOST_OF_A_VALUE: usize = 40;

/// What was not known when a row was predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeftOut {
    /// The row, and a twentieth of the others at most.
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

/// The trials of one slice, in rounds that can run side by side.
#[derive(Debug)]
pub struct Trials {
    settled: Settled,
    size: Option<usize>,
    rounds: Vec<Round>,
}

/// Places that are left out together.
#[derive(Debug)]
struct Round {
    left_out: LeftOut,
    /// In order.
    hidden: Vec<usize>,
    asked: Vec<usize>,
}

impl Trials {
    /// Of the rows of one slice; `size` is the axis along which calls grow.
    pub fn of(rows: Rows, size: Option<usize>) -> Trials {
        let settled = rows.settle();
        let count = settled.measured.len();
        let mut rounds = Vec::new();
        if count > 1 {
            let asked = choose(count, MOST_ROWS, 17);
            let most = ROUNDS.min(asked.len());
            rounds.extend((0..most).map(|round| {
                let hidden: Vec<usize> = asked.iter().copied().skip(round).step_by(most).collect();
                Round { left_out: LeftOut::Row, asked: hidden.clone(), hidden }
            }));
            let varying: Vec<usize> = (0..settled.axis_count()).filter(|axis| settled.varies(*axis)).collect();
            // On a line, the value of a row is the row.
            for axis in varying.iter().copied().filter(|_| varying.len() > 1) {
                by_key(&settled, LeftOut::Value(axis), |index| settled.axes(index)[axis].to_bits(), &mut rounds);
            }
            by_key(&settled, LeftOut::Configuration, |index| settled.measured[index].configuration, &mut rounds);
        }
        Trials { settled, size, rounds }
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.settled.measured.len()
    }

    /// How many rounds there are; each learns from the rows that are left, which takes most of the time.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The trials of a round; none if there is no such round.
    pub fn run(&self, round: usize) -> Vec<Trial> {
        let Some(round) = self.rounds.get(round) else { return Vec::new() };
        let Some(model) = Model::build(vec![self.settled.without(&round.hidden)], self.size) else { return Vec::new() };
        let trial = |index: &usize| {
            let row = &self.settled.measured[*index];
            let place = Place {
                axes: self.settled.axes(*index).iter().copied().collect(),
                work: row.work,
                configuration: row.configuration,
                lean: self.settled.lean,
            };
            let estimate = model.predict(0, &place)?;
            Some(Trial { row: row.row, left_out: round.left_out, measured_us: row.time_us, estimate })
        };
        round.asked.iter().filter_map(trial).collect()
    }
}

/// Rounds that each leave out all places of one key, where there are several.
fn by_key(settled: &Settled, left_out: LeftOut, key: impl Fn(usize) -> u64, rounds: &mut Vec<Round>) {
    let mut places: Vec<(u64, usize)> = (0..settled.measured.len()).map(|index| (key(index), index)).collect();
    places.sort_unstable();
    let groups: Vec<&[(u64, usize)]> = places.chunk_by(|a, b| a.0 == b.0).collect();
    if groups.len() < 2 {
        return;
    }
    for chosen in choose(groups.len(), MOST_VALUES, 13) {
        let hidden: Vec<usize> = groups[chosen].iter().map(|(_, index)| *index).collect();
        let asked = choose(hidden.len(), MOST_OF_A_VALUE, 9).into_iter().map(|index| hidden[index]).collect();
        rounds.push(Round { left_out, hidden, asked });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MatMul, Operands, Precision};

    fn rows(strange: Option<usize>) -> Rows {
        let mut rows = Rows::new(3);
        let mut number = 0;
        for columns in [512.0, 2048.0] {
            for size in [1.0, 8.0, 64.0, 512.0, 4096.0] {
                let product = MatMul { rows: size, columns, inner: 1024.0 };
                let time_us = 3.0 + size * columns / 1e4;
                let time_us = if strange == Some(number) { time_us * 50.0 } else { time_us };
                rows.push(number as u32, &Place::matmul(product, Operands::of(Precision::Bf16)), time_us, None);
                number += 1;
            }
        }
        rows
    }

    fn run(rows: Rows) -> Vec<Trial> {
        let trials = Trials::of(rows, Some(0));
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
        let is_known = |trial: &&Trial| trial.estimate.class == crate::Class::Measured;
        assert_eq!(trials.iter().find(is_known), None);
    }

    #[test]
    fn one_row_is_no_trial() {
        let mut one = Rows::new(1);
        one.push(0, &Place::sizes(&[4.0]), 1.0, None);
        one.push(1, &Place::sizes(&[4.0]), 2.0, None);
        assert_eq!(Trials::of(one, Some(0)).rounds(), 0);
    }
}
