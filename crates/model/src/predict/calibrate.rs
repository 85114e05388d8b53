//! Calibration: the residuals of rows that were left out in the way the question is asked.

mod few;
mod process;
mod residuals;
mod values;

use crate::predict::calibration::{Calibration, OfClass, Steps, Way};
use crate::predict::class::Class;
use crate::predict::extrapolate::Method;
use crate::predict::model::Model;
use crate::predict::process::Inverses;
use crate::predict::repeats::NINE_OF_TEN;
use crate::predict::side::Side;
use crate::roofline::Work;
use crate::statistics::t_quantile;
use residuals::{Asked, Residual, configurations, of_many};

/// The share of left-out rows that it holds for that: a little more, since the ranges of the correlation were chosen to predict rows of
/// the same table.
const HELD: f64 = 0.91;

/// Rows that are left out one by one.
const MOST_ROWS: usize = 1000;
const LARGEST_SIZES: usize = 3;
/// Scores that a quantile is taken of, and how many points on a new one is taken.
const WINDOW: usize = 300;
const STRIDE: usize = 20;
/// Scores of a class below which those of all classes count.
const FEWEST_SCORES: usize = 20;
/// Residuals on one side of the rows below which all of the class count.
const FEWEST_OF_A_SIDE: usize = 60;
/// Residuals of a class below which it is kriged, and no other slice counts.
const FEWEST_TO_CHOOSE: usize = 12;
/// Residuals, one after another by their variance, that another slice's share is chosen on.
const CHUNK: usize = 400;
/// What another slice must win, as a share of the error and in standard errors.
const GAIN: f64 = 0.02;
const GAIN_ERRORS: f64 = 2.0;

impl Way {
    fn missed(&self, one: &Residual) -> f64 {
        one.missed_with(self.method, self.share(one.variance), self.process_share(one.variance))
    }
}

impl Calibration {
    /// Leaves rows of the model out and looks how far it is off. `works` are those of the rows where they are few.
    pub(crate) fn of(model: &Model, works: Option<&[Work]>, inverses: &[Option<Inverses>]) -> Calibration {
        let rows: Vec<u32> = (0..model.len() as u32).collect();
        let configurations = configurations(model, &rows);
        let mut all = works.map(|works| few::residuals(model, works, &configurations, inverses)).unwrap_or_default();
        if all.is_empty() {
            all = of_many(model, Asked { rows: &rows, collocated: None, inverses }, &configurations);
        }
        let way = |class: Class, side: Option<Side>, own: &[&Residual]| {
            let method = match class {
                // One configuration alone tells how far another one is from it, not which way to go between two.
                Class::NewConfiguration if configurations.len() <= 2 => Method::Kriging,
                _ => best_method(own, methods_of(class, side)),
            };
            Way { process: process::shares(own, method), ..Way::alone(method) }
        };
        Calibration::of_residuals(&all, way)
    }

    /// The same where another slice has a row at the point of the question, as it has at these rows; `values` is what it has there, and
    /// what it has, or would have, at all others. `None` if it tells nothing.
    pub(crate) fn with_collocated(model: &Model, rows: &[u32], values: &[f32]) -> Option<Calibration> {
        let all = of_many(model, Asked { rows, collocated: Some(values), inverses: &[] }, &configurations(model, rows));
        let way = |class: Class, side: Option<Side>, own: &[&Residual]| {
            with_share(own, methods_of(class, side), model.calibration.learnt(class, side).method())
        };
        let calibration = Calibration::of_residuals(&all, way);
        let mut learnt = calibration.classes.iter().chain(calibration.sides.iter().map(|(_, of)| of));
        learnt.any(|of| !of.way.shares.is_empty()).then_some(calibration)
    }

    /// From residuals; `way` chooses how to find those of a class, or of a class on a side.
    fn of_residuals(all: &[Residual], way: impl Fn(Class, Option<Side>, &[&Residual]) -> Way) -> Calibration {
        let of = |class: Class| all.iter().filter(|one| one.class == class).collect::<Vec<_>>();
        let ways = Class::PREDICTED.map(|class| way(class, None, &of(class)));
        let scores = scores(all.iter(), |one| one.class.index().map_or(0.0, |index| ways[index].missed(one)));
        let of = |passes: &dyn Fn(Class, bool) -> bool| -> Vec<(f64, f64)> {
            scores.iter().filter(|(_, one)| passes(one.class, one.is_seen)).map(|(score, _)| *score).collect()
        };
        // Where they are too few, those of other classes count, and at last all.
        let steps_of = |asked: Class, asked_seen: bool| {
            let own = of(&|class, is_seen| class == asked && is_seen == asked_seen);
            if own.len() >= FEWEST_SCORES {
                return widened(steps(&own), asked, all.iter().filter(|one| one.class == asked));
            }
            let alike = of(&|_, is_seen| is_seen == asked_seen);
            steps(&if alike.len() >= FEWEST_SCORES { alike } else { of(&|_, _| true) })
        };
        let steps = Class::PREDICTED.map(|class| [steps_of(class, false), steps_of(class, true)]);
        let mut classes = ways.into_iter().zip(steps).map(|(way, [steps, seen])| OfClass { way, steps, seen });
        let classes = std::array::from_fn(|_| classes.next().unwrap_or_default());
        Calibration { sides: by_side(all, &classes, way), classes }
    }
}

/// Multiples for queries of a configuration that no row has, learnt from these residuals. If the rows of one configuration erred alike, these would tell
/// as much as their configurations are many: of numbers from a normal distribution around zero. They do in part: half way to that.
fn widened<'r>(steps: Steps, class: Class, own: impl Iterator<Item = &'r Residual>) -> Steps {
    if class != Class::NewConfiguration {
        return steps;
    }
    let mut configurations: Vec<u64> = own.map(|one| one.group >> 32).collect();
    configurations.sort_unstable();
    configurations.dedup();
    let factor = (t_quantile(0.1, configurations.len() as f64) / NINE_OF_TEN).sqrt();
    steps.into_iter().map(|(from, multiple)| (from, factor * multiple)).collect()
}

/// The scores of residuals in the order of their variance.
fn scores<'r>(
    all: impl Iterator<Item = &'r Residual>,
    missed: impl Fn(&Residual) -> f64,
) -> Vec<((f64, f64), &'r Residual)> {
    let mut scores: Vec<_> = all.map(|one| ((one.variance, missed(one) / one.sigma), one)).collect();
    scores.sort_by(|(a, _), (b, _)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    scores
}

/// What residuals on one side of the rows tell, where they are enough; `classes` says what all of their classes tell.
fn by_side(
    all: &[Residual],
    classes: &[OfClass; 3],
    way: impl Fn(Class, Option<Side>, &[&Residual]) -> Way,
) -> Vec<((Class, Side), OfClass)> {
    let key_of = |one: &Residual| one.side.map(|side| (one.class, side));
    let mut keys: Vec<(Class, Side)> = Vec::new();
    for key in all.iter().filter_map(key_of) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let learnt = |(class, side): (Class, Side)| {
        let own: Vec<&Residual> = all.iter().filter(|one| key_of(one) == Some((class, side))).collect();
        if own.len() < FEWEST_OF_A_SIDE {
            return None;
        }
        let way = way(class, Some(side), &own);
        let scores = scores(own.iter().copied(), |one| way.missed(one));
        let of_class = &classes[class.index()?];
        let steps_of = |is_seen: bool, of_class: &Steps| {
            let seen = scores.iter().filter(|(_, one)| one.is_seen == is_seen);
            let seen: Vec<(f64, f64)> = seen.map(|(score, _)| *score).collect();
            if seen.len() < FEWEST_OF_A_SIDE {
                return of_class.clone();
            }
            widened(steps(&seen), class, own.iter().copied())
        };
        let (steps, seen) = (steps_of(false, &of_class.steps), steps_of(true, &of_class.seen));
        Some(((class, side), OfClass { way, steps, seen }))
    };
    keys.into_iter().filter_map(learnt).collect()
}

/// The methods that are tried for queries of a class, or of a class on a side.
fn methods_of(class: Class, side: Option<Side>) -> &'static [Method] {
    match class {
        _ if side.and_then(Side::outside).is_some() => &Method::BEYOND,
        _ if side.and_then(Side::between).is_some() => &Method::BETWEEN,
        Class::Beyond => &Method::BEYOND,
        Class::NewConfiguration => &[Method::Kriging, Method::Plane],
        _ => &[Method::Kriging],
    }
}

fn best_method(own: &[&Residual], methods: &[Method]) -> Method {
    if own.len() < FEWEST_TO_CHOOSE {
        return Method::Kriging;
    }
    let loss = |method: Method| own.iter().map(|one| one.missed(method, 0.0)).sum::<f64>();
    let best = methods.iter().min_by(|a, b| loss(**a).total_cmp(&loss(**b)));
    best.copied().unwrap_or_default()
}

/// The best way with another slice, or that without one where it does not win enough.
fn with_share(own: &[&Residual], methods: &[Method], alone: Method) -> Way {
    let mut own = own.to_vec();
    if own.len() < FEWEST_TO_CHOOSE {
        return Way::alone(alone);
    }
    own.sort_by(|a, b| a.variance.total_cmp(&b.variance));
    let ways = methods.iter().map(|&method| Way { shares: shares(&own, method), ..Way::alone(method) });
    let loss = |way: &Way| own.iter().map(|one| way.missed(one)).sum::<f64>();
    let best = ways.min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap_or_default();
    if best.shares.iter().any(|(_, share)| *share > 0.0)
        && wins(&own, |one| one.missed(alone, 0.0), |one| best.missed(one))
    {
        best
    } else {
        Way::alone(alone)
    }
}

/// The shares with which a way misses least, of residuals in the order of their variance.
fn shares(own: &[&Residual], method: Method) -> Steps {
    let chunks = (own.len() / CHUNK).max(1);
    let of_chunk = |chunk: usize| {
        let chunk = &own[chunk * own.len() / chunks..(chunk + 1) * own.len() / chunks];
        let share = best_share(chunk, |one| (one.own.of(method), one.collocated.of(method)));
        let wins = wins(chunk, |one| one.missed(method, 0.0), |one| one.missed(method, share));
        (chunk[0].variance, if wins { share } else { 0.0 })
    };
    (0..chunks).map(of_chunk).collect()
}

/// The share, of zero to one, with which a way misses least: a weighted median.
fn best_share(own: &[&Residual], of: impl Fn(&Residual) -> (f64, f64)) -> f64 {
    let mut ratios: Vec<(f64, f64)> = own
        .iter()
        .map(|one| of(one))
        .filter(|(_, collocated)| *collocated != 0.0)
        .map(|(own, collocated)| (own / collocated, collocated.abs()))
        .collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = ratios.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let at_half = ratios.iter().find(|(_, weight)| {
        sum += weight;
        sum >= half
    });
    at_half.map_or(0.0, |(ratio, _)| ratio.clamp(0.0, 1.0))
}

/// Whether what is missed less in another way is more than chance, and worth having.
fn wins(own: &[&Residual], before: impl Fn(&Residual) -> f64, after: impl Fn(&Residual) -> f64) -> bool {
    let gains: Vec<f64> = own.iter().map(|one| before(one) - after(one)).collect();
    let loss: f64 = own.iter().map(|one| before(one)).sum();
    gains.iter().sum::<f64>() > GAIN * loss && is_gain(&gains, GAIN_ERRORS)
}

/// Whether the sum of gains is greater than its standard error times `errors`.
fn is_gain(gains: &[f64], errors: f64) -> bool {
    let (count, sum) = (gains.len() as f64, gains.iter().sum::<f64>());
    let squares: f64 = gains.iter().map(|gain| (gain - sum / count).powi(2)).sum();
    sum > errors * (squares / (count - 1.0).max(1.0) * count).sqrt()
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

/// The score that holds the asked share of this many and one more.
fn quantile(scores: &[(f64, f64)]) -> f64 {
    let mut sorted: Vec<f64> = scores.iter().map(|score| score.1).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = ((sorted.len() + 1) as f64 * HELD).ceil() as usize - 1;
    sorted.get(at).copied().unwrap_or_else(|| sorted.last().map_or(1.0, |last| last * 1.5))
}

#[cfg(test)]
mod tests;
