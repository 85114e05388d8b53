//! Few rows: the roofline is fitted again without those that are left out. Three numbers that were fitted to few rows follow each of
//! them, so that a row that was fitted to seems easier to predict than a new one is.

use super::LARGEST_SIZES;
use super::residuals::{Residual, leave_out};
use crate::predict::build::fit_means;
use crate::predict::model::Model;
use crate::roofline::Work;

/// Rows up to which the roofline is fitted again; with more, one of them moves it too little.
pub(crate) const FEW: usize = 32;
/// The same of several slices: what is fitted to each alone follows its few rows, however many there are in all.
pub(crate) const FEW_TOGETHER: usize = 200;
/// Rows to which a roofline can be fitted.
const FEWEST_FITTED: usize = 3;

/// Single rows, whole configurations and the largest sizes, each predicted from a roofline and neighbours that do not know them. `works`
/// are those of the rows, in tree order.
pub(super) fn residuals(model: &Model, works: &[Work], configurations: &[u32]) -> Vec<Residual> {
    let rows = || 0..model.len() as u32;
    let mut all = Vec::new();
    for own in rows() {
        leave_out_few(model, works, |row| row == own, |row| row == own, &mut all);
    }
    if configurations.len() > 1 {
        for &of in configurations {
            let is_own = |row: u32| model.configuration_of[row as usize] == of;
            leave_out_few(model, works, is_own, is_own, &mut all);
        }
    }
    let Some((_, octave)) = model.size_axis() else { return all };
    let size = |row: u32| model.scale.size_of(model.forest.row(row));
    let mut sizes: Vec<f64> = rows().map(size).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    for top in sizes.into_iter().rev().take(LARGEST_SIZES) {
        for octaves in [1.0, 2.0] {
            let end = top - octaves * octave + 1e-9;
            leave_out_few(model, works, |row| size(row) > end, |row| (size(row) - top).abs() < 1e-9, &mut all);
        }
    }
    all
}

/// Predicts the rows that are asked from those that are not hidden.
fn leave_out_few(
    model: &Model,
    works: &[Work],
    is_hidden: impl Fn(u32) -> bool,
    is_asked: impl Fn(u32) -> bool,
    all: &mut Vec<Residual>,
) {
    let rows = || 0..model.len() as u32;
    let log = |row: u32| (model.times_us[row as usize] / model.reference_us).ln();
    let mut known: Vec<Vec<(Work, f64)>> = vec![Vec::new(); model.means.len()];
    for row in rows().filter(|row| !is_hidden(*row)) {
        known[model.forest.slice_of(row)].push((works[row as usize], log(row)));
    }
    if known.iter().map(Vec::len).sum::<usize>() < FEWEST_FITTED {
        return;
    }
    let Some(means) = fit_means(&known) else { return };
    let residual =
        |row: u32| log(row) + model.moved_by(row) - means[model.forest.slice_of(row)].log(works[row as usize]);
    let blind = Model { residuals: rows().map(residual).collect(), ..model.clone() };
    // A slice of which nothing is known is not asked.
    let asked = rows().filter(|row| is_asked(*row) && !known[model.forest.slice_of(*row)].is_empty());
    all.extend(asked.filter_map(|row| leave_out(&blind, None, row, |other| !is_hidden(other))));
}
