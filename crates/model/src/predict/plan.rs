//! What to measure next: the points that tell most about the others.
//!
//! First points far from all that is known; once a tenth is known, those of which the model is unsure and about which its two ways of
//! predicting disagree. Measure them in batches of [`batch`], so that each batch learns from the one before.

use crate::predict::doubt::Doubt;
use crate::predict::model::Model;
use crate::predict::point::Point;
use crate::predict::rows::Rows;

/// The share of points that are chosen by distance alone.
const FIRST_SHARE: f64 = 0.1;
/// Measured rows below which nothing is learnt.
const FEWEST_MEASURED: usize = 8;
/// The part of the median disagreement that every point has: where both ways agree, doubt alone decides.
const COMMON_DISAGREEMENT: f64 = 0.2;
/// How much disagreement counts beside doubt.
const EXPONENT: f64 = 0.25;
/// A chosen point lowers the scores of its neighbours by exp(−4·d), d in correlation lengths.
const SPREAD: f64 = 4.0;

/// How many to measure before choosing again, where this many points are known.
pub fn batch(known: usize) -> usize {
    (known / 6).max(2)
}

/// The `count` open points of a slice to measure next, the most telling first, by their positions; `size` is the axis along which calls
/// grow. Places that the slice cannot have, by their number of axes or by numbers below zero, are never chosen.
///
/// ```
/// use perfdb_model::predict::{Point, Rows, plan};
///
/// let open: Vec<Point> = (0..=10).map(|power| Point::sizes(&[f64::from(1 << power)])).collect();
/// // The middle, then the end that lies farther from it where log2(size + 1) counts, then the other one.
/// let first = plan::next(&Rows::new(1), &open, Some(0), 3);
/// assert_eq!(first, [5, 10, 0]);
/// ```
pub fn next(known: &Rows, open: &[Point], size: Option<usize>, count: usize) -> Vec<usize> {
    let usable: Vec<usize> = (0..open.len()).filter(|at| known.can_hold(&open[*at])).collect();
    let points = known.points() + usable.len();
    let by_distance = ((FIRST_SHARE * points as f64).ceil() as usize).max(FEWEST_MEASURED);
    if known.points() >= by_distance
        && let Some(model) = Model::build(vec![known.clone()], size)
    {
        let doubts: Option<Vec<Doubt>> = usable.iter().map(|at| model.doubt(0, &open[*at])).collect();
        if let Some(doubts) = doubts {
            let scores = scores(&doubts.iter().collect::<Vec<_>>());
            let chosen = spread(&scores, &doubts.iter().map(|doubt| &*doubt.coordinates).collect::<Vec<_>>(), count);
            return chosen.into_iter().map(|at| usable[at]).collect();
        }
    }
    // Until there is something to learn from, no more than that is chosen by distance, unless nothing is measured in between.
    let open_axes: Vec<&[f64]> = usable.iter().map(|at| &*open[*at].axes).collect();
    let steps = in_steps(&known.axes().chain(open_axes.iter().copied()).collect::<Vec<_>>());
    let (known_steps, open_steps) = steps.split_at(steps.len() - open_axes.len());
    farthest(known_steps, open_steps, count).into_iter().map(|at| usable[at]).collect()
}

/// How much each of some open points of a slice would tell: sigma times the fourth root of the disagreement.
pub fn scores(doubts: &[&Doubt]) -> Vec<f64> {
    let mut disagreements: Vec<f64> = doubts.iter().map(|doubt| doubt.disagreement).collect();
    disagreements.sort_unstable_by(f64::total_cmp);
    let median = disagreements.get(disagreements.len() / 2).copied().unwrap_or(0.0);
    let common = COMMON_DISAGREEMENT * median + 1e-6;
    doubts.iter().map(|doubt| doubt.sigma * (doubt.disagreement + common).powf(EXPONENT)).collect()
}

/// The best `count` by score, spread out: each that is chosen lowers the scores of those near it. Coordinates are in correlation lengths; of
/// equal scores the first counts.
pub fn spread(scores: &[f64], coordinates: &[&[f64]], count: usize) -> Vec<usize> {
    let mut scores = scores.to_vec();
    let mut chosen = Vec::new();
    while chosen.len() < count {
        let Some(best) = greatest(&scores) else { break };
        chosen.push(best);
        for (score, at) in scores.iter_mut().zip(coordinates) {
            *score *= 1.0 - (-SPREAD * distance(at, coordinates[best])).exp();
        }
        scores[best] = f64::NEG_INFINITY;
    }
    chosen
}

/// The open points that are farthest from all known ones and from each other, the farthest first. Where nothing is known, the one in the middle
/// comes first.
pub fn farthest(known: &[Vec<f64>], open: &[Vec<f64>], count: usize) -> Vec<usize> {
    let mut nearest: Vec<f64> = open
        .iter()
        .map(|point| known.iter().map(|other| distance(point, other)).fold(f64::INFINITY, f64::min))
        .collect();
    let mut chosen = Vec::new();
    while chosen.len() < count.min(open.len()) {
        let is_first = known.is_empty() && chosen.is_empty();
        let Some(best) = (if is_first { middle(open) } else { greatest(&nearest) }) else { break };
        chosen.push(best);
        for (nearest, point) in nearest.iter_mut().zip(open) {
            *nearest = nearest.min(distance(point, &open[best]));
        }
        nearest[best] = f64::NEG_INFINITY;
    }
    chosen
}

/// Places in grid steps: the logarithm of each axis over the median distance of neighbouring values there.
pub fn in_steps(points: &[&[f64]]) -> Vec<Vec<f64>> {
    let axis_count = points.iter().map(|point| point.len()).max().unwrap_or(0);
    let octaves = |value: f64| (value.max(0.0) + 1.0).log2();
    let lengths: Vec<f64> = (0..axis_count)
        .map(|axis| {
            let mut values: Vec<f64> =
                points.iter().filter_map(|point| point.get(axis)).map(|at| octaves(*at)).collect();
            values.sort_unstable_by(f64::total_cmp);
            values.dedup();
            let mut steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
            steps.sort_unstable_by(f64::total_cmp);
            steps.get(steps.len() / 2).copied().unwrap_or(1.0)
        })
        .collect();
    points.iter().map(|point| point.iter().zip(&lengths).map(|(at, step)| octaves(*at) / step).collect()).collect()
}

/// The first of the greatest numbers above minus infinity.
fn greatest(values: &[f64]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (at, value) in values.iter().enumerate().filter(|(_, value)| **value > f64::NEG_INFINITY) {
        if best.is_none_or(|best| *value > values[best]) {
            best = Some(at);
        }
    }
    best
}

/// The point nearest to the medians of all axes.
fn middle(points: &[Vec<f64>]) -> Option<usize> {
    let axis_count = points.first()?.len();
    let medians: Vec<f64> = (0..axis_count)
        .map(|axis| {
            let mut values: Vec<f64> = points.iter().filter_map(|point| point.get(axis)).copied().collect();
            values.sort_unstable_by(f64::total_cmp);
            values[values.len() / 2]
        })
        .collect();
    let closeness: Vec<f64> = points.iter().map(|point| -distance(point, &medians)).collect();
    greatest(&closeness)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::{MatMul, Operands, Precision};

    fn product(rows: f64, columns: f64) -> Point {
        Point::matmul(MatMul { rows, columns, inner: 1024.0 }, Operands::of(Precision::Bf16))
    }

    #[test]
    fn what_is_far_from_everything_known_comes_first() {
        let grid: Vec<Vec<f64>> = (0..5).flat_map(|x| (0..5).map(move |y| vec![f64::from(x), f64::from(y)])).collect();
        let corners = farthest(&[vec![0.0, 0.0]], &grid, 3);
        assert_eq!(
            corners.iter().map(|at| grid[*at].clone()).collect::<Vec<_>>(),
            [[4.0, 4.0], [0.0, 4.0], [2.0, 2.0]]
        );
        assert_eq!(farthest(&[], &grid, 1), [12]);
        assert_eq!(farthest(&[], &[], 4), Vec::<usize>::new());
        let mut all = farthest(&[], &grid, 99);
        all.sort_unstable();
        assert_eq!(all, (0..25).collect::<Vec<_>>());
    }

    #[test]
    fn near_ones_of_a_chosen_place_wait() {
        let coordinates: Vec<[f64; 1]> = vec![[0.0], [0.01], [2.0]];
        let coordinates: Vec<&[f64]> = coordinates.iter().map(|at| at.as_slice()).collect();
        assert_eq!(spread(&[1.0, 0.9, 0.5], &coordinates, 3), [0, 2, 1]);
        assert_eq!(spread(&[1.0, 0.9, 0.5], &coordinates, 1), [0]);
    }

    #[test]
    fn where_durations_bend_is_measured_before_where_they_do_not() {
        // The same time up to 64 rows; beyond, a step at 256 that no roofline has.
        let time_us =
            |rows: f64, columns: f64| 5.0 + rows.max(64.0) * columns / 1e4 * if rows > 256.0 { 2.0 } else { 1.0 };
        let all: Vec<(f64, f64)> =
            (0..13).flat_map(|power| [512.0, 1024.0, 2048.0].map(|columns| (f64::from(1 << power), columns))).collect();
        let mut known = Rows::new(3);
        let mut open = Vec::new();
        for (number, (rows, columns)) in all.iter().enumerate() {
            match number % 2 {
                0 => known.push(number as u32, &product(*rows, *columns), time_us(*rows, *columns), None),
                _ => open.push((*rows, *columns)),
            }
        }
        let points: Vec<Point> = open.iter().map(|(rows, columns)| product(*rows, *columns)).collect();
        let chosen = next(&known, &points, Some(0), 4);
        let near_the_step = chosen.iter().filter(|at| (64.0..=2048.0).contains(&open[**at].0)).count();
        assert!(near_the_step >= 3, "{:?}", chosen.iter().map(|at| open[*at]).collect::<Vec<_>>());
        let mut wrong = points.clone();
        wrong[chosen[0]].axes = smallvec::smallvec![1.0];
        assert!(!next(&known, &wrong, Some(0), points.len()).contains(&chosen[0]));
    }
}
