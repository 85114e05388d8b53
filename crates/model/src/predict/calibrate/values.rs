//! Whole values of each axis that are left out: queries with a value that no row has are predicted so.

use super::residuals::{Asked, Residual, leave_out, process_misses, some, with_process};
use crate::predict::model::Model;
use crate::predict::rows::choose;
use crate::predict::side::SAME;
use std::ops::Range;

/// Values between others that are left out of an axis, and rows that are predicted of each.
const MOST_BETWEEN: usize = 10;
const MOST_OF_A_VALUE: usize = 40;
/// The same at each end of an axis.
const ENDS: usize = 2;
const MOST_OF_AN_END: usize = 60;
/// Rows of a value, on average, below which leaving them out is not more than leaving out single rows.
const FEWEST_OF_A_VALUE: usize = 4;

/// Of each axis some values between others, and those at either end with all that are farther out.
pub(super) fn by_value(model: &Model, asked: Asked<'_>, all: &mut Vec<Residual>) {
    for axis in 0..model.forest.dims {
        let values = Values::on(model, axis);
        let count = values.count;
        if count < 3 || model.len() < FEWEST_OF_A_VALUE * count {
            continue;
        }
        for before in choose(count - 2, MOST_BETWEEN, 13) {
            let value = before + 1;
            all.extend(values.left_out(model, asked, value, value..value + 1, MOST_OF_A_VALUE));
        }
        for from_end in 0..ENDS.min(count - 2) {
            let top = count - 1 - from_end;
            all.extend(values.left_out(model, asked, from_end, 0..from_end + 1, MOST_OF_AN_END));
            all.extend(values.left_out(model, asked, top, top..count, MOST_OF_AN_END));
        }
    }
}

/// The values of an axis, counted from the least.
struct Values {
    count: usize,
    of_row: Vec<usize>,
}

impl Values {
    fn on(model: &Model, axis: usize) -> Values {
        let octaves = |row: u32| model.scale.uncoupled(model.forest.row(row))[axis];
        let rows = || 0..model.len() as u32;
        let mut values: Vec<f64> = rows().map(octaves).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup_by(|a, b| (*a - *b).abs() < SAME);
        let of_row = rows().map(|row| values.partition_point(|value| *value < octaves(row) - SAME)).collect();
        Values { count: values.len(), of_row }
    }

    /// Rows of one value, predicted from those without any of the hidden values; none where these are too few.
    fn left_out(
        &self,
        model: &Model,
        asked: Asked<'_>,
        value: usize,
        hidden: Range<usize>,
        most: usize,
    ) -> Vec<Residual> {
        let is_hidden = |row: u32| hidden.contains(&self.of_row[row as usize]);
        if (0..model.len() as u32).filter(|row| !is_hidden(*row)).count() < model.neighbours {
            return Vec::new();
        }
        let rows: Vec<u32> = asked.rows.iter().copied().filter(|row| self.of_row[*row as usize] == value).collect();
        let known = process_misses(model, asked.inverses, is_hidden);
        let predicted =
            |row: u32| with_process(leave_out(model, asked.collocated, row, |other| !is_hidden(other)), row, &known);
        some(&rows, most, 9).filter_map(predicted).collect()
    }
}
