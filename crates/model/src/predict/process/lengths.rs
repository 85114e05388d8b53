//! The lengths of a process that make its rows likeliest.

use super::Shape;
use super::inverse::invert;
use crate::predict::kriging::{SQRT_3, exp_of_minus};
use crate::predict::point::MOST_AXES;

/// How often the likelihood is looked at.
const STEPS: usize = 32;
/// Where the search starts: octaves, and the share of what two calls of one point differ by.
const START: f64 = 4.0;
const START_NUGGET: f64 = 1e-3;
/// Between which lengths and nuggets lie.
const LENGTHS: [f64; 2] = [0.1, 512.0];
const NUGGETS: [f64; 2] = [1e-6, 1.0];
/// Lengths are likely within this factor of this many octaves: what rows do not tell stays there.
const LIKELY: f64 = 8.0;
const SPREAD: f64 = 2.0;
/// The first step of each logarithm, its growth and its limits.
const FIRST_STEP: f64 = 0.5;
const GROWTH: [f64; 2] = [0.5, 1.3];
const STEP: [f64; 2] = [0.02, 1.5];
/// Lengths are whole multiples of this part of an octave, so that rounding does not change them.
const ROUNDING: f64 = 4.0;

const MOST: usize = MOST_AXES + 1;

/// The length of each axis, and the nugget.
pub(super) fn learn(rows: &[f64], dims: usize, values: &[f64], shape: Shape) -> (Vec<f64>, f64) {
    let pairs = Pairs::of(rows, dims, values.len());
    let mut at = [START.ln(); MOST];
    at[dims] = START_NUGGET.ln();
    let mut best = (f64::INFINITY, at);
    let mut steps = [FIRST_STEP; MOST];
    let mut before = [0.0; MOST];
    for _ in 0..STEPS {
        let Some((loss, gradient)) = pairs.loss(&at, values, shape) else { break };
        if loss < best.0 {
            best = (loss, at);
        }
        // Resilient propagation: the sign of the slope decides, and whether it stayed the same.
        for number in 0..=dims {
            let turn = gradient[number] * before[number];
            let growth = if turn > 0.0 {
                GROWTH[1]
            } else if turn < 0.0 {
                GROWTH[0]
            } else {
                1.0
            };
            steps[number] = (steps[number] * growth).clamp(STEP[0], STEP[1]);
            let [low, high] = if number == dims { NUGGETS } else { LENGTHS };
            at[number] = (at[number] - steps[number] * gradient[number].signum()).clamp(low.ln(), high.ln());
        }
        before = gradient;
    }
    let rounded = |log: f64| ((log * std::f64::consts::LOG2_E * ROUNDING).round() / ROUNDING).exp2();
    (best.1[..dims].iter().map(|log| rounded(*log)).collect(), rounded(best.1[dims]))
}

/// Differences of all pairs of rows on each axis, times √3.
struct Pairs {
    dims: usize,
    count: usize,
    /// Pair after pair, of each row with those before it.
    differences: Vec<f64>,
}

impl Pairs {
    fn of(rows: &[f64], dims: usize, count: usize) -> Pairs {
        let row = |at: usize| &rows[at * dims..(at + 1) * dims];
        let pairs = (0..count).flat_map(|at| (0..at).map(move |before| (at, before)));
        let differences = pairs
            .flat_map(|(at, before)| row(at).iter().zip(row(before)).map(|(a, b)| (a - b).abs() * SQRT_3))
            .collect();
        Pairs { dims, count, differences }
    }

    /// The negative logarithm of the likelihood, and its slopes by the logarithms of lengths and nugget.
    fn loss(&self, at: &[f64; MOST], values: &[f64], shape: Shape) -> Option<(f64, [f64; MOST])> {
        let (dims, count) = (self.dims, self.count);
        let factors: Vec<f64> = at[..dims].iter().map(|length| (-length).exp()).collect();
        let nugget = at[dims].exp();
        let mut inverse = vec![0.0; count * count];
        let mut slopes = vec![0.0; self.differences.len()];
        let mut pairs = self.differences.chunks_exact(dims).zip(slopes.chunks_exact_mut(dims));
        for row in 0..count {
            for (entry, (differences, slopes)) in inverse[row * count..row * count + row].iter_mut().zip(&mut pairs) {
                *entry = correlation(differences, &factors, slopes, shape);
            }
            inverse[row * count + row] = 1.0 + nugget;
        }
        let log_determinant = invert(&mut inverse, count)?;
        let sums: Vec<f64> = inverse.chunks_exact(count).map(|row| row.iter().sum()).collect();
        let mean = sums.iter().zip(values).map(|(sum, value)| sum * value).sum::<f64>() / sums.iter().sum::<f64>();
        let own: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let weights = super::times(&inverse, &own);
        let square = weights.iter().zip(&own).map(|(weight, own)| weight * own).sum::<f64>().max(1e-300);
        let scale = count as f64 / square;
        let mut loss = count as f64 / 2.0 * (square / count as f64).ln() + log_determinant / 2.0;
        let mut gradient = [0.0; MOST];
        let mut slopes = slopes.chunks_exact(dims);
        for row in 0..count {
            let entries = inverse[row * count..row * count + row].iter().zip(&weights);
            for ((entry, other), slopes) in entries.zip(&mut slopes) {
                let factor = entry - scale * weights[row] * other;
                for (gradient, slope) in gradient.iter_mut().zip(slopes) {
                    *gradient += factor * slope;
                }
            }
            gradient[dims] += nugget / 2.0 * (inverse[row * count + row] - scale * weights[row] * weights[row]);
        }
        for (gradient, at) in gradient.iter_mut().zip(&at[..dims]) {
            let away = (at - LIKELY.ln()) / SPREAD;
            loss += away * away / 2.0;
            *gradient += away / SPREAD;
        }
        loss.is_finite().then_some((loss, gradient))
    }
}

/// The correlation of a pair, and its slopes by the logarithms of the lengths.
#[inline]
fn correlation(differences: &[f64], factors: &[f64], slopes: &mut [f64], shape: Shape) -> f64 {
    let scaled = || differences.iter().zip(factors).map(|(difference, factor)| difference * factor);
    match shape {
        Shape::Radial => {
            let distance = scaled().map(|difference| difference * difference).sum::<f64>().sqrt();
            let decay = exp_of_minus(distance);
            slopes.iter_mut().zip(scaled()).for_each(|(slope, difference)| *slope = decay * difference * difference);
            (1.0 + distance) * decay
        }
        Shape::Product => {
            let correlation = Shape::Product.correlation(scaled());
            for (slope, difference) in slopes.iter_mut().zip(scaled()) {
                *slope = correlation * difference * difference / (1.0 + difference);
            }
            correlation
        }
    }
}
