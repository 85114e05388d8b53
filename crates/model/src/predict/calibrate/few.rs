//! Few rows: the roofline is fitted again without those that are left out. Three numbers that were fitted to few rows follow each of
//! them, so that a row that was fitted to seems easier to predict than a new one is.

use super::LARGEST_SIZES;
use super::residuals::{Residual, leave_out, process_misses, with_process};
use crate::predict::build::fit_means;
use crate::predict::model::Model;
use crate::predict::power::{FEWEST_PER_POWER, Power};
use crate::predict::process::Inverses;
use crate::predict::rows::choose;
use crate::roofline::Work;
use smallvec::SmallVec;

/// Rows of a slice, on average, from which powers are learnt again.
const MOST_RELEARNT: usize = 400;
/// Rows to which a roofline can be fitted.
const FEWEST_FITTED: usize = 3;

/// Single rows, whole configurations and the largest sizes, each predicted from a roofline and neighbours that do not know them. `works`
/// are those of the rows, in tree order.
pub(super) fn residuals(
    model: &Model,
    works: &[Work],
    configurations: &[u32],
    inverses: &[Option<Inverses>],
) -> Vec<Residual> {
    let known = Known { model, works, inverses };
    let rows = || 0..model.len() as u32;
    let mut all = Vec::new();
    for own in rows() {
        leave_out_few(known, |row| row == own, |row| row == own, &mut all);
        // A point that no slice has is farther from what is known than one that another slice has.
        let is_here = |row: u32| model.forest.row(row) == model.forest.row(own);
        if rows().any(|row| row != own && is_here(row)) {
            leave_out_few(known, is_here, |row| row == own, &mut all);
        }
    }
    by_configuration(known, configurations, &mut all);
    by_size(known, &mut all);
    all
}

/// Whole configurations, and of several slices those of one alone.
fn by_configuration(known: Known<'_>, configurations: &[u32], all: &mut Vec<Residual>) {
    let model = known.model;
    if configurations.len() < 2 {
        return;
    }
    let before = all.len();
    for &of in configurations {
        let is_own = |row: u32| model.configuration_of[row as usize] == of;
        leave_out_few(known, is_own, is_own, all);
        let slices: Vec<_> = model.forest.slices.iter().filter(|rows| (*rows).clone().any(is_own)).collect();
        for rows in slices.iter().filter(|_| slices.len() > 1) {
            let is_of_slice = |row: u32| rows.contains(&row) && is_own(row);
            leave_out_few(known, is_of_slice, is_of_slice, all);
        }
    }
    all[before..].iter_mut().for_each(|one| one.configuration = Some(one.group));
}

/// The largest sizes, from rows of at most a half and a quarter of them.
fn by_size(known: Known<'_>, all: &mut Vec<Residual>) {
    let model = known.model;
    let Some((_, octave)) = model.size_axis() else { return };
    let size = |row: u32| model.scale.size_of(model.forest.row(row));
    let mut sizes: Vec<f64> = (0..model.len() as u32).map(size).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    for top in sizes.into_iter().rev().take(LARGEST_SIZES) {
        for octaves in [1.0, 2.0] {
            let end = top - octaves * octave + 1e-9;
            leave_out_few(known, |row| size(row) > end, |row| (size(row) - top).abs() < 1e-9, all);
        }
    }
}

/// The model as it would be if work and roofline had been learnt without some rows; `None` where the work is not learnt, or nothing is left of
/// a slice.
pub(super) fn relearnt(model: &Model, is_hidden: impl Fn(u32) -> bool) -> Option<Model> {
    if model.powers.is_empty() {
        return None;
    }
    let slices = &model.forest.slices;
    let log = |row: u32| (model.times_us[row as usize] / model.reference_us).ln();
    let mut known: Vec<Vec<(SmallVec<[f64; 4]>, f64)>> = vec![Vec::new(); slices.len()];
    let shown: Vec<u32> = (0..model.len() as u32).filter(|row| !is_hidden(*row)).collect();
    for at in choose(shown.len(), MOST_RELEARNT * slices.len(), 23) {
        known[model.forest.slice_of(shown[at])].push((model.axes_of(shown[at]), log(shown[at])));
    }
    let fit = |rows: &[(SmallVec<[f64; 4]>, f64)]| {
        Power::fit(&rows.iter().map(|(axes, log)| (&axes[..], *log)).collect::<Vec<_>>())
    };
    let all = known.concat();
    let fewest = FEWEST_PER_POWER * (all.first()?.0.len() + 2);
    let powers: Vec<Power> = known.iter().map(|rows| fit(if rows.len() < fewest { &all } else { rows })).collect();
    let works: Vec<Vec<(Work, f64)>> = known
        .iter()
        .zip(&powers)
        .map(|(rows, power)| rows.iter().map(|(axes, log)| (power.work(axes), *log)).collect())
        .collect();
    if works.iter().any(Vec::is_empty) {
        return None;
    }
    let means = fit_means(&works, model.terms())?;
    let residual = |row: u32| {
        let slice = model.forest.slice_of(row);
        log(row) + model.moved_by(row) - means[slice].log(powers[slice].work(&model.axes_of(row)))
    };
    Some(Model { residuals: (0..model.len() as u32).map(residual).collect(), ..model.clone() })
}

/// The model with the works of its rows, in tree order, and what leaves rows out of its processes.
#[derive(Clone, Copy)]
struct Known<'a> {
    model: &'a Model,
    works: &'a [Work],
    inverses: &'a [Option<Inverses>],
}

/// Predicts the rows that are asked from those that are not hidden.
fn leave_out_few(
    known: Known<'_>,
    is_hidden: impl Fn(u32) -> bool,
    is_asked: impl Fn(u32) -> bool,
    all: &mut Vec<Residual>,
) {
    let Known { model, works, inverses } = known;
    let rows = || 0..model.len() as u32;
    let predicted = |blind: &Model, row: u32, misses: &[(u32, f64)]| {
        with_process(leave_out(blind, None, row, |other| !is_hidden(other)), row, misses)
    };
    if let Some(blind) = relearnt(model, &is_hidden) {
        let misses = process_misses(&blind, inverses, &is_hidden);
        all.extend(rows().filter(|row| is_asked(*row)).filter_map(|row| predicted(&blind, row, &misses)));
        return;
    }
    let log = |row: u32| (model.times_us[row as usize] / model.reference_us).ln();
    let mut known: Vec<Vec<(Work, f64)>> = vec![Vec::new(); model.means.len()];
    for row in rows().filter(|row| !is_hidden(*row)) {
        known[model.forest.slice_of(row)].push((works[row as usize], log(row)));
    }
    if known.iter().map(Vec::len).sum::<usize>() < FEWEST_FITTED {
        return;
    }
    let Some(means) = fit_means(&known, model.terms()) else { return };
    let residual =
        |row: u32| log(row) + model.moved_by(row) - means[model.forest.slice_of(row)].log(works[row as usize]);
    let blind = Model { residuals: rows().map(residual).collect(), ..model.clone() };
    // A slice of which nothing is known is not asked.
    let asked = rows().filter(|row| is_asked(*row) && !known[model.forest.slice_of(*row)].is_empty());
    let misses = process_misses(&blind, inverses, &is_hidden);
    all.extend(asked.filter_map(|row| predicted(&blind, row, &misses)));
}
