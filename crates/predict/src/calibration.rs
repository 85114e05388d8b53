//! How wide an interval must be: the residuals of rows that were left out in the way the question is asked.

mod few;

pub(crate) use few::{FEW, FEW_TOGETHER};

use crate::beyond::{Method, Near, hold, plane};
use crate::class::Class;
use crate::kriging::{Correlations, Likeness};
use crate::model::{Model, Spot};
use crate::rows::choose;
use perfdb_roofline::Work;

/// The share of the truth that an interval shall hold.
pub const COVERAGE: f64 = 0.9;
/// The share of left-out rows that it holds for that: a little more, since the ranges of the correlation were chosen to predict rows of
/// the same table.
const HELD: f64 = 0.91;

/// Rows that are left out one by one.
const MOST_ROWS: usize = 1000;
/// With all rows nearer than so many median distances.
const LEVELS: [f64; 5] = [0.0, 1.5, 3.0, 6.0, 12.0];
const MOST_CONFIGURATIONS: usize = 24;
const MOST_OF_A_CONFIGURATION: usize = 40;
const LARGEST_SIZES: usize = 3;
const MOST_OF_A_SIZE: usize = 200;
/// Scores that a quantile is taken of, and how many places on a new one is taken.
const WINDOW: usize = 300;
const STRIDE: usize = 20;
/// Scores of a class below which those of all classes count.
const FEWEST_SCORES: usize = 20;
/// Residuals of a class below which it is kriged.
const FEWEST_TO_CHOOSE: usize = 12;
/// Neighbours looked through for those far enough.
pub(crate) const WIDE: usize = 128;

/// A row that was left out.
struct Residual {
    /// That of kriging: what follows from where the rows lie alone.
    variance: f64,
    class: Class,
    /// By how much each way misses, with its sign.
    kriging: f64,
    hold: f64,
    plane: f64,
    sigma: f64,
}

impl Residual {
    fn of(&self, method: Method) -> f64 {
        method.of(self.kriging, || self.hold, || self.plane).abs()
    }
}

/// What was learnt from the residuals, by class.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calibration {
    classes: [OfClass; 3],
}

#[derive(Debug, Clone, Default)]
struct OfClass {
    method: Method,
    /// From which variance on which multiple of sigma holds the truth; the first counts from nought.
    steps: Vec<(f64, f64)>,
}

impl Calibration {
    /// The memory that it holds beside itself.
    pub(crate) fn bytes(&self) -> usize {
        self.classes.iter().map(|class| size_of_val(&*class.steps)).sum()
    }

    /// How values of a class are found.
    pub(crate) fn method(&self, class: Class) -> Method {
        class.index().map_or(Method::Kriging, |index| self.classes[index].method)
    }

    /// Half the width of an interval in sigmas.
    pub(crate) fn multiple(&self, class: Class, variance: f64) -> f64 {
        let Some(steps) = class.index().map(|index| &self.classes[index].steps) else { return 0.0 };
        let later = steps.get(1..).unwrap_or_default();
        steps.get(later.partition_point(|(from, _)| *from < variance)).map_or(0.0, |(_, multiple)| *multiple)
    }

    /// Leaves rows of the model out and looks how far it is off. `works` are those of the rows where they are few.
    pub(crate) fn of(model: &Model, median_distance: f64, works: Option<&[Work]>) -> Calibration {
        let configurations = configurations(model);
        let mut all = works.map(|works| few::residuals(model, works, &configurations)).unwrap_or_default();
        if all.is_empty() {
            all = of_many(model, median_distance, &configurations);
        }
        let methods = [
            Method::Kriging,
            best_method(&all, Class::Beyond, &Method::ALL),
            // One configuration alone tells how far another one is from it, not which way to go between two.
            if configurations.len() > 2 {
                best_method(&all, Class::NewConfiguration, &[Method::Kriging, Method::Plane])
            } else {
                Method::Kriging
            },
        ];
        let method_of = |class: Class| class.index().map_or(Method::Kriging, |index| methods[index]);
        let mut scores: Vec<(f64, f64, Class)> =
            all.iter().map(|one| (one.variance, one.of(method_of(one.class)) / one.sigma, one.class)).collect();
        scores.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let of_class = |class: Class| {
            let mut own: Vec<(f64, f64)> =
                scores.iter().filter(|score| score.2 == class).map(|score| (score.0, score.1)).collect();
            if own.len() < FEWEST_SCORES {
                own = scores.iter().map(|score| (score.0, score.1)).collect();
            }
            OfClass { method: method_of(class), steps: steps(&own) }
        };
        Calibration { classes: [Class::Inside, Class::Beyond, Class::NewConfiguration].map(of_class) }
    }
}

/// Rows of which a roofline and ranges know hardly anything.
fn of_many(model: &Model, median_distance: f64, configurations: &[u32]) -> Vec<Residual> {
    let mut all = Vec::new();
    by_distance(model, &choose(model.len(), MOST_ROWS, 5), median_distance, &mut all);
    by_configuration(model, configurations, &mut all);
    by_size(model, &mut all);
    if all.is_empty() {
        all.extend((0..model.len() as u32).filter_map(|row| leave_out(model, row, |other| other != row)));
    }
    all
}

/// Single rows, together with all that is near them.
fn by_distance(model: &Model, chosen: &[usize], median_distance: f64, all: &mut Vec<Residual>) {
    for level in LEVELS {
        let radius = level * median_distance;
        let found: Vec<Residual> = chosen
            .iter()
            .filter_map(|row| {
                let row = *row as u32;
                let wide = model.forest.nearest::<WIDE>(
                    model.forest.slice_of(row),
                    model.forest.row(row),
                    8 * model.neighbours,
                    |_| true,
                );
                let pairs = wide.rows().iter().zip(wide.distances());
                let far: Vec<(u32, f64)> = pairs
                    .filter(|(other, distance)| **other != row && **distance >= radius)
                    .map(|(other, distance)| (*other, *distance))
                    .take(model.neighbours)
                    .collect();
                (far.len() >= model.neighbours.min(4)).then(|| {
                    let found = residual(model, row, &far);
                    if level == 0.0 { blind(model, row, &far, found) } else { found }
                })
            })
            .collect();
        if level > 0.0 && found.len() * 2 < chosen.len() {
            return;
        }
        if found.len() >= 5 {
            all.extend(found);
        }
    }
}

/// The hashes of all configurations.
fn configurations(model: &Model) -> Vec<u32> {
    let mut configurations = model.configuration_of.clone();
    configurations.sort_unstable();
    configurations.dedup();
    configurations
}

/// Whole configurations.
fn by_configuration(model: &Model, configurations: &[u32], all: &mut Vec<Residual>) {
    if configurations.len() < 2 {
        return;
    }
    for chosen in choose(configurations.len(), MOST_CONFIGURATIONS, 13) {
        let of = configurations[chosen];
        let rows: Vec<u32> =
            (0..model.len() as u32).filter(|row| model.configuration_of[*row as usize] == of).collect();
        if model.len() - rows.len() < model.neighbours {
            continue;
        }
        for index in choose(rows.len(), MOST_OF_A_CONFIGURATION, 9) {
            all.extend(leave_out(model, rows[index], |other| model.configuration_of[other as usize] != of));
        }
    }
}

/// The largest sizes, from rows of at most a half and a quarter of them.
fn by_size(model: &Model, all: &mut Vec<Residual>) {
    let Some((_, octave)) = model.size_axis() else { return };
    let size = |row: u32| model.scale.size_of(model.forest.row(row));
    let mut values: Vec<f64> = (0..model.len() as u32).map(size).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    for top in values.iter().rev().take(LARGEST_SIZES).rev() {
        let rows: Vec<u32> = (0..model.len() as u32).filter(|row| (size(*row) - top).abs() < 1e-9).collect();
        let chosen = choose(rows.len(), MOST_OF_A_SIZE, 9);
        for octaves in [1.0, 2.0] {
            let end = top - octaves * octave + 1e-9;
            let known = (0..model.len() as u32).filter(|row| size(*row) <= end).count();
            if known < model.neighbours.max(8) {
                continue;
            }
            all.extend(chosen.iter().filter_map(|index| leave_out(model, rows[*index], |other| size(other) <= end)));
        }
    }
}

fn leave_out(model: &Model, row: u32, passes: impl Fn(u32) -> bool) -> Option<Residual> {
    let slice = model.forest.slice_of(row);
    let near = model.forest.nearest::<16>(slice, model.forest.row(row), model.neighbours, passes);
    let pairs: Vec<(u32, f64)> = near.rows().iter().copied().zip(near.distances().iter().copied()).collect();
    (!pairs.is_empty()).then(|| residual(model, row, &pairs))
}

/// By how much a row is missed from these others.
fn residual(model: &Model, row: u32, from: &[(u32, f64)]) -> Residual {
    let rows: Vec<u32> = from.iter().map(|(row, _)| *row).collect();
    let distances: Vec<f64> = from.iter().map(|(_, distance)| *distance).collect();
    let slice = model.forest.slice_of(row);
    let place = model.forest.row(row);
    let correlations = Correlations::of(&model.forest, &rows, slice, place, Likeness::SAME, model.correlation);
    let values = model.values_of(&rows);
    let kriged = correlations.solve(&values, model.correlation.nugget);
    let near = Near {
        forest: &model.forest,
        values: &values,
        rows: &rows,
        distances: &distances,
        slice,
        place,
        beside: 0.0,
        size: model.size_axis().map(|(axis, _)| axis),
    };
    let truth = model.residuals[row as usize];
    let spot = Spot::of_row(model, row);
    Residual {
        variance: kriged.variance,
        class: model.class(&spot, &rows),
        kriging: kriged.value - truth,
        hold: hold(near) - truth,
        plane: plane(near) - truth,
        sigma: model.sigma(kriged.variance, &rows),
    }
}

/// The residual with the difficulty that its neighbours would have had without the row: an odd row makes its neighbours look hard to
/// predict, and would seem to have been expected.
fn blind(model: &Model, row: u32, from: &[(u32, f64)], found: Residual) -> Residual {
    let with: f64 = from.iter().map(|(other, _)| f64::from(model.difficulty[*other as usize])).sum();
    let without: f64 = from.iter().map(|(other, _)| difficulty_without(model, *other, row)).sum();
    let common = 4.0 * model.typical;
    Residual { sigma: found.sigma * ((without + common) / (with + common)).sqrt(), ..found }
}

/// How hard a row would be to predict if another one were not known.
fn difficulty_without(model: &Model, row: u32, unknown: u32) -> f64 {
    let (_, kriged) = model.krige_row(row, |other| other != row && other != unknown);
    let residual = kriged.value - model.residuals[row as usize];
    (residual * residual / kriged.variance).min(model.hardest)
}

fn best_method(all: &[Residual], class: Class, methods: &[Method]) -> Method {
    let own: Vec<&Residual> = all.iter().filter(|one| one.class == class).collect();
    if own.len() < FEWEST_TO_CHOOSE {
        return Method::Kriging;
    }
    let loss = |method: Method| own.iter().map(|one| one.of(method)).sum::<f64>();
    let best = methods.iter().min_by(|a, b| loss(**a).total_cmp(&loss(**b)));
    best.copied().unwrap_or_default()
}

/// For every [`STRIDE`]th window over scores by variance: from where it counts, and its quantile.
fn steps(scores: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let window = scores.len().min(WINDOW);
    let last = scores.len() - window;
    (0..=last / STRIDE)
        .map(|step| {
            let start = (step * STRIDE).min(last);
            let from = if step == 0 { 0.0 } else { scores[start + window / 2 - 1].0 };
            (from, quantile(&scores[start..start + window]))
        })
        .collect()
}

/// The score that holds the asked share of so many and one more.
fn quantile(scores: &[(f64, f64)]) -> f64 {
    let mut sorted: Vec<f64> = scores.iter().map(|score| score.1).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = ((sorted.len() + 1) as f64 * HELD).ceil() as usize - 1;
    sorted.get(at).copied().unwrap_or_else(|| sorted.last().map_or(1.0, |last| last * 1.5))
}

#[cfg(test)]
mod tests;
