//! Ordinary kriging of a point from a few rows near it: Cressie, *Statistics for Spatial Data*, 1993, section 3.2. The correlation is that
//! of Matérn with ν = 3/2: Rasmussen and Williams, *Gaussian Processes for Machine Learning*, 2006, equation 4.17.

use crate::predict::forest::{Forest, with_dims};

/// Neighbours of a point at most.
pub(crate) const MOST_NEIGHBOURS: usize = 24;
/// How many times longer the long range of the correlation is.
pub(crate) const LONG: f64 = 8.0;
/// Matérn 3/2 takes distances times the square root of three.
pub(crate) const SQRT_3: f64 = 1.732_050_807_568_877_2;

/// How alike two points are: a short range and one eight times as long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Correlation {
    /// The share of the long range.
    pub(crate) long_share: f64,
    /// What even two calls of one point differ by.
    pub(crate) nugget: f64,
}

/// The correlation of two points, as it is built up axis by axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CorrelationKernel {
    short: f64,
    long: f64,
    distance: f64,
}

impl CorrelationKernel {
    pub(crate) const SAME: CorrelationKernel = CorrelationKernel { short: 1.0, long: 1.0, distance: 0.0 };

    /// With a scaled difference (√3·|Δ|/ℓ) on one more axis.
    #[inline]
    pub(crate) fn and(self, difference: f64) -> CorrelationKernel {
        CorrelationKernel {
            short: self.short * (1.0 + difference),
            long: self.long * (1.0 + difference * (1.0 / LONG)),
            distance: self.distance + difference,
        }
    }

    #[inline]
    pub(crate) fn correlation(self, of: Correlation) -> f64 {
        let long = exp_of_minus(self.distance * (1.0 / LONG));
        let square = long * long;
        let fourth = square * square;
        (1.0 - of.long_share) * self.short * (fourth * fourth) + of.long_share * self.long * long
    }
}

/// Some correlation kernels, each part of them in an array of its own: several go through each step at once.
pub(crate) struct CorrelationKernels<const N: usize> {
    short: [f64; N],
    long: [f64; N],
    distance: [f64; N],
}

impl<const N: usize> CorrelationKernels<N> {
    #[inline]
    pub(crate) fn of(start: CorrelationKernel) -> Self {
        CorrelationKernels { short: [start.short; N], long: [start.long; N], distance: [start.distance; N] }
    }

    /// The first ones with a scaled difference each on one more axis.
    #[inline]
    pub(crate) fn and_each(&mut self, differences: impl Iterator<Item = f64>) {
        let all = self.short.iter_mut().zip(&mut self.long).zip(&mut self.distance).zip(differences);
        for (((short, long), distance), difference) in all {
            *short *= 1.0 + difference;
            *long *= 1.0 + difference * (1.0 / LONG);
            *distance += difference;
        }
    }

    /// One of them with scaled differences on more axes.
    #[inline]
    pub(crate) fn and(&mut self, index: usize, differences: [f64; 2]) {
        let kernel = differences.into_iter().fold(self.at(index), CorrelationKernel::and);
        (self.short[index], self.long[index], self.distance[index]) = (kernel.short, kernel.long, kernel.distance);
    }

    #[inline]
    fn at(&self, index: usize) -> CorrelationKernel {
        CorrelationKernel { short: self.short[index], long: self.long[index], distance: self.distance[index] }
    }

    /// The correlations of the first ones.
    #[inline]
    pub(crate) fn correlations(&self, count: usize, of: Correlation) -> [f64; N] {
        let mut correlations = [0.0; N];
        for (index, correlation) in correlations.iter_mut().enumerate().take(count) {
            *correlation = self.at(index).correlation(of);
        }
        correlations
    }
}

/// exp(−x) for x from zero on, to 13 digits: without a call, and the same on every platform.
#[inline]
pub(crate) fn exp_of_minus(x: f64) -> f64 {
    /// Added and taken off again, it rounds to an integer.
    const ROUNDING: f64 = 6_755_399_441_055_744.0;
    /// ln 2, in two parts of which the first has few digits.
    const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    /// 1/n! from 11 down to 2.
    const TERMS: [f64; 10] = [
        2.505_210_838_544_172e-8,
        2.755_731_922_398_589e-7,
        2.755_731_922_398_589_3e-6,
        2.480_158_730_158_73e-5,
        1.984_126_984_126_984e-4,
        1.388_888_888_888_889e-3,
        8.333_333_333_333_333e-3,
        4.166_666_666_666_666_4e-2,
        0.166_666_666_666_666_66,
        0.5,
    ];
    let x = -x.min(700.0);
    // The last bits of the sum are the integer.
    let rounded = x * std::f64::consts::LOG2_E + ROUNDING;
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    let doublings = rounded - ROUNDING;
    let rest = (x - doublings * LN_2[0]) - doublings * LN_2[1];
    let sum = TERMS.iter().fold(0.0, |sum, term| sum * rest + term);
    ((sum * rest + 1.0) * rest + 1.0) * power
}

/// Pairs of neighbours.
const BELOW: usize = MOST_NEIGHBOURS * (MOST_NEIGHBOURS - 1) / 2;

/// Where a row below the diagonal starts; it has as many numbers as there are rows above it.
#[inline]
const fn start_of(row: usize) -> usize {
    row * row.saturating_sub(1) / 2
}

/// Correlations of some rows with each other and with a point.
#[derive(Debug)]
pub(crate) struct Correlations {
    pub(crate) count: usize,
    /// Below the diagonal, row after row.
    between: [f64; BELOW],
    pub(crate) with_place: [f64; MOST_NEIGHBOURS],
}

/// What kriging says of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Kriged {
    pub(crate) value: f64,
    /// In units of the variance of the field.
    pub(crate) variance: f64,
}

/// Correlations of one point with the first `count` of some rows; `apart` are the penalties between two slices.
#[inline]
fn along<const D: usize>(
    near: &[[f64; MOST_NEIGHBOURS]; D],
    count: usize,
    point: &[f64; D],
    start: CorrelationKernel,
    of: Correlation,
    apart: impl Fn(usize) -> Option<[f64; 2]>,
) -> [f64; MOST_NEIGHBOURS] {
    let count = count.min(MOST_NEIGHBOURS);
    let mut kernels = CorrelationKernels::<MOST_NEIGHBOURS>::of(start);
    for (values, own) in near.iter().zip(point) {
        kernels.and_each(values[..count].iter().map(|value| (value - own).abs()));
    }
    for index in 0..count {
        if let Some(penalties) = apart(index) {
            kernels.and(index, penalties);
        }
    }
    kernels.correlations(count, of)
}

/// A point of a slice that is predicted.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) slice: usize,
    pub(crate) point: &'a [f64],
    /// How it differs on axes on which no row varies.
    pub(crate) beside: CorrelationKernel,
}

impl Correlations {
    pub(crate) fn new(count: usize) -> Correlations {
        Correlations { count: count.min(MOST_NEIGHBOURS), between: [0.0; BELOW], with_place: [0.0; MOST_NEIGHBOURS] }
    }

    /// Of rows of a forest and a point.
    #[inline]
    pub(crate) fn of(forest: &Forest, rows: &[u32], target: Target<'_>, of: Correlation) -> Correlations {
        with_dims!(forest.dims, D => Self::in_dims::<D>(forest, rows, target, of))
    }

    #[inline]
    fn in_dims<const D: usize>(forest: &Forest, rows: &[u32], target: Target<'_>, of: Correlation) -> Correlations {
        let Target { slice, point, beside } = target;
        let mut all = Correlations::new(rows.len());
        // By axis, so that the loops below run along memory.
        let mut near = [[0.0; MOST_NEIGHBOURS]; D];
        let mut slices = [slice; MOST_NEIGHBOURS];
        for (index, row) in rows.iter().take(all.count).enumerate() {
            for (axis, value) in forest.row(*row)[..D].iter().enumerate() {
                near[axis][index] = *value;
            }
            slices[index] = forest.slice_of(*row);
        }
        let is_joint = forest.slices.len() > 1;
        let own: [f64; D] = std::array::from_fn(|axis| point[axis]);
        all.with_place = along(&near, all.count, &own, beside, of, |index| {
            (is_joint && slices[index] != slice).then(|| [forest.penalties[slices[index]], forest.penalties[slice]])
        });
        for i in 1..all.count {
            let own: [f64; D] = std::array::from_fn(|axis| near[axis][i]);
            let with_earlier = along(&near, i, &own, CorrelationKernel::SAME, of, |j| {
                (is_joint && slices[j] != slices[i]).then(|| [forest.penalties[slices[i]], forest.penalties[slices[j]]])
            });
            all.with_earlier(i).copy_from_slice(&with_earlier[..i]);
        }
        all
    }

    /// The correlations of a row with those before it.
    #[inline]
    pub(crate) fn with_earlier(&mut self, row: usize) -> &mut [f64] {
        &mut self.between[start_of(row)..start_of(row + 1)]
    }

    /// Solves for the value at the point; `values` are those of the rows.
    #[inline]
    pub(crate) fn solve(&self, values: &[f64; MOST_NEIGHBOURS], nugget: f64) -> Kriged {
        let ([value], variance) = self.solve_all([values], nugget);
        Kriged { value, variance }
    }

    /// Solves for the values of several fields at the point, and the variance that they have in common.
    #[inline]
    pub(crate) fn solve_all<const N: usize>(
        &self,
        values: [&[f64; MOST_NEIGHBOURS]; N],
        nugget: f64,
    ) -> ([f64; N], f64) {
        let count = self.count;
        // What is left of the matrix (below the diagonal), and of the right sides, once earlier columns are eliminated.
        let mut rest = self.between;
        let mut diagonal = [1.0 + nugget; MOST_NEIGHBOURS];
        let (mut points, mut ones, mut forward) =
            (self.with_place, [1.0; MOST_NEIGHBOURS], values.map(|values| *values));
        let (mut cc, mut oo, mut co, mut ov, mut cv) = (0.0, 0.0, 0.0, [0.0; N], [0.0; N]);
        for column in 0..count {
            let scale = 1.0 / diagonal[column].max(1e-9).sqrt();
            let (c, one) = (points[column] * scale, ones[column] * scale);
            let value = forward.map(|forward| forward[column] * scale);
            cc += c * c;
            oo += one * one;
            co += c * one;
            for field in 0..N {
                ov[field] += one * value[field];
                cv[field] += c * value[field];
            }
            let mut factor = [0.0; MOST_NEIGHBOURS];
            for row in column + 1..count {
                factor[row] = rest[start_of(row) + column] * scale;
            }
            for row in column + 1..count {
                let own = factor[row];
                diagonal[row] -= own * own;
                points[row] -= own * c;
                ones[row] -= own * one;
                for field in 0..N {
                    forward[field][row] -= own * value[field];
                }
                let start = start_of(row);
                for (entry, other) in rest[start + column + 1..start + row].iter_mut().zip(&factor[column + 1..row]) {
                    *entry -= own * other;
                }
            }
        }
        let variance = (1.0 + nugget - cc + (1.0 - co) * (1.0 - co) / oo).max(1e-6);
        (std::array::from_fn(|field| ov[field] / oo * (1.0 - co) + cv[field]), variance)
    }

    /// The weights of the rows in the value.
    pub(crate) fn weights(self, nugget: f64) -> Vec<f64> {
        let count = self.count;
        // The value is linear in the values of the rows: that of the unit vectors is the weight.
        (0..count)
            .map(|index| {
                let mut unit = [0.0; MOST_NEIGHBOURS];
                unit[index] = 1.0;
                self.solve(&unit, nugget).value
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
