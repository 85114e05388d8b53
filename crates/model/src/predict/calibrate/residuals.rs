//! Rows of a model that are left out, alone or with others, and predicted from the rest.

use super::{LARGEST_SIZES, MOST_ROWS, few, values};
use crate::predict::class::Class;
use crate::predict::collocated::values_of;
use crate::predict::extrapolate::{Method, Near, hold, line, plane};
use crate::predict::forest::Nearest;
use crate::predict::kriging::{CorrelationKernel, Correlations, MOST_NEIGHBOURS, Target};
use crate::predict::model::{Model, Spot};
use crate::predict::process::Inverses;
use crate::predict::rows::choose;
use crate::predict::side::Side;

/// With all rows nearer than this many median distances.
const LEVELS: [f64; 5] = [0.0, 1.5, 3.0, 6.0, 12.0];
const MOST_CONFIGURATIONS: usize = 24;
const MOST_OF_A_CONFIGURATION: usize = 40;
const MOST_OF_A_SIZE: usize = 200;
/// Rows of the largest sizes together: where sizes are many, a few of them have too few.
const FEWEST_OF_LARGEST: usize = 60;
/// Rows that are left out with all that is near them of which a process is looked at, and how many may be near.
const MOST_WITH_PROCESS: usize = 150;
const MOST_NEAR: usize = 100;
/// Neighbours looked through for those far enough, for each that counts.
const WIDE: usize = 8;

/// A row that was left out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Residual {
    /// That of kriging: what follows from where the rows lie alone.
    pub(crate) variance: f64,
    pub(crate) class: Class,
    /// On which side of the known rows it is.
    pub(crate) side: Option<Side>,
    /// Its configuration above its slice.
    pub(crate) group: u64,
    /// Whether a row of another slice at its point was known.
    pub(crate) is_seen: bool,
    pub(crate) sigma: f64,
    pub(crate) own: Misses,
    /// By how much the same neighbours miss what another slice has there; zero without one.
    pub(crate) collocated: Misses,
    /// By how much a process over all rows that were known misses it, with its sign.
    pub(crate) process: Option<f64>,
    /// The configuration of a slice that was left out with it.
    pub(crate) configuration: Option<u64>,
}

/// By how much each way misses, with its sign.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Misses {
    pub(crate) kriging: f64,
    pub(crate) hold: f64,
    pub(crate) plane: f64,
    pub(crate) line: f64,
}

impl Misses {
    pub(crate) fn of(self, method: Method) -> f64 {
        method.of(self.kriging, || self.hold, || self.plane, || self.line)
    }
}

impl Residual {
    /// What is missed by a method that counts a share of what the other slice has more than its neighbours.
    pub(crate) fn missed(&self, method: Method, share: f64) -> f64 {
        self.missed_with(method, share, 0.0)
    }

    /// The same where a share of what a process says counts.
    pub(crate) fn missed_with(&self, method: Method, share: f64, process_share: f64) -> f64 {
        let own = self.own.of(method) - share * self.collocated.of(method);
        self.process.map_or(own, |process| own + process_share * (process - own)).abs()
    }
}

/// The rows of a model that may be left out, and what another slice has at all of them.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// In order.
    pub(crate) rows: &'a [u32],
    pub(crate) collocated: Option<&'a [f32]>,
    /// Of the processes of the slices.
    pub(crate) inverses: &'a [Option<Inverses>],
}

/// Rows of which a roofline and ranges know hardly anything.
pub(super) fn of_many(model: &Model, asked: Asked<'_>, configurations: &[u32]) -> Vec<Residual> {
    let mut all = Vec::new();
    by_distance(model, asked, &mut all);
    by_configuration(model, asked, configurations, &mut all);
    by_size(model, asked, &mut all);
    if model.has_sides() {
        values::by_value(model, asked, &mut all);
    }
    if all.is_empty() {
        all.extend(asked.rows.iter().filter_map(|row| leave_out(model, asked.collocated, *row, |other| other != *row)));
    }
    all
}

/// Some of the rows, in order.
pub(super) fn some(rows: &[u32], most: usize, seed: u64) -> impl Iterator<Item = u32> {
    choose(rows.len(), most, seed).into_iter().map(|index| rows[index])
}

/// A row with the others around it, the nearest first.
type Around = (u32, Vec<(u32, f64)>);

/// Single rows, together with all that is near them.
fn by_distance(model: &Model, asked: Asked<'_>, all: &mut Vec<Residual>) {
    // The others around each row, the nearest first.
    let around = |row: u32| -> Around {
        let (slice, point) = (model.forest.slice_of(row), model.forest.row(row));
        let near = model.forest.nearest::<{ WIDE * MOST_NEIGHBOURS }>(slice, point, WIDE * model.neighbours, &|_| true);
        (row, pairs(&near).into_iter().filter(|(other, _)| *other != row).collect())
    };
    let chosen: Vec<Around> = some(asked.rows, MOST_ROWS, 5).map(around).collect();
    for level in LEVELS {
        let radius = level * model.median_distance;
        let left_out = |(number, (row, around)): (usize, &Around)| {
            let is_far = |pair: &&(u32, f64)| pair.1 >= radius;
            let mut near = Nearest::<MOST_NEIGHBOURS>::new(model.neighbours);
            let far: Vec<(f64, u32)> =
                around.iter().filter(is_far).map(|(other, distance)| (*distance, *other)).collect();
            near.add(&far[..far.len().min(model.neighbours)]);
            let (slice, point) = (model.forest.slice_of(*row), model.forest.row(*row));
            model.add_sides(slice, point, &mut near, &|other| {
                other != *row && model.forest.distance(slice, point, other) >= radius
            });
            let far = pairs(&near);
            (far.len() >= model.neighbours.min(4)).then(|| {
                let found = residual(model, asked.collocated, *row, &far);
                let found = if level == 0.0 { blind(model, *row, &far, found) } else { found };
                let is_hidden =
                    |other: u32| other == *row || (level > 0.0 && model.forest.distance(slice, point, other) < radius);
                let most = if level == 0.0 || number < MOST_WITH_PROCESS { MOST_NEAR } else { 0 };
                Residual { process: process_miss(model, asked.inverses, *row, is_hidden, most), ..found }
            })
        };
        let found: Vec<Residual> = chosen.iter().enumerate().filter_map(left_out).collect();
        if level > 0.0 && found.len() * 2 < chosen.len() {
            return;
        }
        if found.len() >= 5 {
            all.extend(found);
        }
    }
}

/// The hashes of the configurations of some rows.
pub(super) fn configurations(model: &Model, rows: &[u32]) -> Vec<u32> {
    let mut configurations: Vec<u32> = rows.iter().map(|row| model.configuration_of[*row as usize]).collect();
    configurations.sort_unstable();
    configurations.dedup();
    configurations
}

/// Whole configurations, and of several slices those of one alone.
fn by_configuration(model: &Model, asked: Asked<'_>, configurations: &[u32], all: &mut Vec<Residual>) {
    if configurations.len() < 2 {
        return;
    }
    for chosen in choose(configurations.len(), MOST_CONFIGURATIONS, 13) {
        let of = configurations[chosen];
        leave_out_configuration(model, asked, |row| model.configuration_of[row as usize] == of, all);
    }
    let slices = &model.forest.slices;
    if slices.len() < 2 {
        return;
    }
    let pairs: Vec<(usize, u32)> =
        (0..slices.len()).flat_map(|slice| configurations.iter().map(move |of| (slice, *of))).collect();
    for chosen in choose(pairs.len(), MOST_CONFIGURATIONS, 17) {
        let (slice, of) = pairs[chosen];
        let is_of = |row: u32| slices[slice].contains(&row) && model.configuration_of[row as usize] == of;
        leave_out_configuration(model, asked, is_of, all);
    }
}

fn leave_out_configuration(
    model: &Model,
    asked: Asked<'_>,
    is_of: impl Fn(u32) -> bool + Copy,
    all: &mut Vec<Residual>,
) {
    let hidden = (0..model.len() as u32).filter(|row| is_of(*row)).count();
    let rows: Vec<u32> = asked.rows.iter().copied().filter(|row| is_of(*row)).collect();
    if rows.is_empty() || model.len() - hidden < model.neighbours {
        return;
    }
    // Powers that were learnt from the configuration follow it.
    let relearnt = few::relearnt(model, is_of);
    let model = relearnt.as_ref().unwrap_or(model);
    let known = process_misses(model, asked.inverses, is_of);
    for row in some(&rows, MOST_OF_A_CONFIGURATION, 9) {
        let found = with_process(leave_out(model, asked.collocated, row, |other| !is_of(other)), row, &known);
        all.extend(found.map(|found| Residual { configuration: Some(found.group), ..found }));
    }
}

/// The largest sizes, from rows of at most a half and a quarter of them.
pub(super) fn by_size(model: &Model, asked: Asked<'_>, all: &mut Vec<Residual>) {
    let Some((_, octave)) = model.size_axis() else { return };
    let size = |row: u32| model.scale.size_of(model.forest.row(row));
    let mut values: Vec<f64> = (0..model.len() as u32).map(size).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    let (mut largest, mut count) = (Vec::new(), 0);
    for top in values.into_iter().rev() {
        if largest.len() >= LARGEST_SIZES && count >= FEWEST_OF_LARGEST {
            break;
        }
        let rows: Vec<u32> = asked.rows.iter().copied().filter(|row| (size(*row) - top).abs() < 1e-9).collect();
        count += rows.len();
        largest.push((top, rows));
    }
    for (top, rows) in largest.iter().rev() {
        let chosen: Vec<u32> = some(rows, MOST_OF_A_SIZE, 9).collect();
        for octaves in [1.0, 2.0] {
            let end = top - octaves * octave + 1e-9;
            let known = (0..model.len() as u32).filter(|row| size(*row) <= end).count();
            if known < model.neighbours.max(8) {
                continue;
            }
            let known = process_misses(model, asked.inverses, |row| size(row) > end);
            let left_out = |row: &u32| {
                with_process(leave_out(model, asked.collocated, *row, |other| size(other) <= end), *row, &known)
            };
            all.extend(chosen.iter().filter_map(left_out));
        }
    }
}

/// By how much processes miss rows that they do not know, by row; none of a slice of which nothing or too much is hidden.
pub(super) fn process_misses(
    model: &Model,
    inverses: &[Option<Inverses>],
    is_hidden: impl Fn(u32) -> bool,
) -> Vec<(u32, f64)> {
    let of_slice = |slice: usize| {
        let hidden: Vec<u32> = model.forest.slices[slice].clone().filter(|row| is_hidden(*row)).collect();
        let misses = model.process_misses(inverses, slice, &hidden).unwrap_or_default();
        hidden.into_iter().zip(misses)
    };
    (0..inverses.len()).flat_map(of_slice).collect()
}

/// By how much the process of the slice of a row misses it, where at most `most` rows are hidden.
fn process_miss(
    model: &Model,
    inverses: &[Option<Inverses>],
    row: u32,
    is_hidden: impl Fn(u32) -> bool,
    most: usize,
) -> Option<f64> {
    let slice = model.forest.slice_of(row);
    inverses.get(slice)?.as_ref()?;
    let hidden: Vec<u32> = model.forest.slices[slice].clone().filter(|other| is_hidden(*other)).collect();
    let at = hidden.iter().position(|other| *other == row)?;
    let misses = (hidden.len() <= most).then(|| model.process_misses(inverses, slice, &hidden))?;
    misses.map(|misses| misses[at])
}

pub(super) fn with_process(found: Option<Residual>, row: u32, known: &[(u32, f64)]) -> Option<Residual> {
    let process = known.binary_search_by_key(&row, |(row, _)| *row).ok().map(|at| known[at].1);
    found.map(|found| Residual { process, ..found })
}

pub(super) fn leave_out(
    model: &Model,
    collocated: Option<&[f32]>,
    row: u32,
    passes: impl Fn(u32) -> bool,
) -> Option<Residual> {
    let slice = model.forest.slice_of(row);
    let from = pairs(&model.around(slice, model.forest.row(row), &passes));
    (!from.is_empty()).then(|| residual(model, collocated, row, &from))
}

/// Rows with their distances.
fn pairs<const K: usize>(near: &Nearest<K>) -> Vec<(u32, f64)> {
    near.rows().iter().copied().zip(near.distances().iter().copied()).collect()
}

/// By how much a row is missed from these others.
pub(super) fn residual(model: &Model, collocated: Option<&[f32]>, row: u32, from: &[(u32, f64)]) -> Residual {
    let rows: Vec<u32> = from.iter().map(|(row, _)| *row).collect();
    let distances: Vec<f64> = from.iter().map(|(_, distance)| *distance).collect();
    let slice = model.forest.slice_of(row);
    let point = model.forest.row(row);
    let spot = Spot::of_row(model, row);
    let target = Target { slice, point, beside: CorrelationKernel::SAME };
    let correlations = Correlations::of(&model.forest, &rows, target, model.correlation);
    let side = model.side(&spot, &rows);
    let missed = |values: [f64; MOST_NEIGHBOURS], truth: f64| {
        let kriged = correlations.solve(&values, model.correlation.nugget);
        let near = Near {
            forest: &model.forest,
            values: &values,
            rows: &rows,
            distances: &distances,
            slice,
            point,
            beside: 0.0,
            along: model.along(side),
            between: side.and_then(Side::between),
        };
        let missed = |value: f64| value - truth;
        let misses = Misses {
            kriging: missed(kriged.value),
            hold: missed(hold(near)),
            plane: missed(plane(near)),
            line: missed(line(near).unwrap_or(kriged.value)),
        };
        (misses, kriged.variance)
    };
    let (own, variance) = missed(model.values_of(&rows), model.residuals[row as usize]);
    let of_collocated =
        |collocated: &[f32]| missed(values_of(collocated, &rows), f64::from(collocated[row as usize])).0;
    Residual {
        variance,
        class: model.class(&spot, &rows),
        side,
        group: u64::from(spot.configuration) << 32 | slice as u64,
        is_seen: model.is_seen(&spot, &rows),
        sigma: model.sigma(variance, &rows),
        own,
        collocated: collocated.map(of_collocated).unwrap_or_default(),
        process: None,
        configuration: None,
    }
}

/// The residual with the difficulty that its neighbours would have had without the row: an odd row makes its neighbours look hard to
/// predict, and would seem to have been expected.
pub(super) fn blind(model: &Model, row: u32, from: &[(u32, f64)], found: Residual) -> Residual {
    let with: f64 = from.iter().map(|(other, _)| f64::from(model.difficulty[*other as usize])).sum();
    let without: f64 = from.iter().map(|(other, _)| difficulty_without(model, *other, row)).sum();
    let common = 4.0 * model.typical;
    Residual { sigma: found.sigma * ((without + common) / (with + common)).sqrt(), ..found }
}

/// How hard a row would be to predict if another one were not known.
pub(super) fn difficulty_without(model: &Model, row: u32, unknown: u32) -> f64 {
    let (slice, point) = (model.forest.slice_of(row), model.forest.row(row));
    if !model.around(slice, point, &|other| other != row).rows().contains(&unknown) {
        return f64::from(model.difficulty[row as usize]);
    }
    let near = model.around(slice, point, &|other| other != row && other != unknown);
    let rows = near.rows();
    let target = Target { slice, point, beside: CorrelationKernel::SAME };
    let correlations = Correlations::of(&model.forest, rows, target, model.correlation);
    let kriged = correlations.solve(&model.values_of(rows), model.correlation.nugget);
    let residual = kriged.value - model.residuals[row as usize];
    (residual * residual / kriged.variance).min(model.hardest)
}
