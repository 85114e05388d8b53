//! Ordinary kriging of a place from a few rows near it.

use crate::forest::{Forest, with_dims};

/// Neighbours of a place at most.
pub(crate) const MOST_NEIGHBOURS: usize = 16;
/// How many times longer the long range of the correlation is.
pub(crate) const LONG: f64 = 8.0;
/// Matérn 3/2 takes distances times the square root of three.
pub(crate) const SQRT_3: f64 = 1.732_050_807_568_877_2;

/// How alike two places are: a short range and one eight times as long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Correlation {
    /// The share of the long range.
    pub(crate) long_share: f64,
    /// What even two calls of one place differ by.
    pub(crate) nugget: f64,
}

/// The correlation of two places, as it is built up axis by axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Likeness {
    short: f64,
    long: f64,
    distance: f64,
}

impl Likeness {
    pub(crate) const SAME: Likeness = Likeness { short: 1.0, long: 1.0, distance: 0.0 };

    /// With a scaled difference (√3·|Δ|/ℓ) on one more axis.
    #[inline]
    pub(crate) fn and(self, difference: f64) -> Likeness {
        Likeness {
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

/// exp(−x) for x from nought on, to 13 digits: without a call, and the same on every platform.
#[inline]
fn exp_of_minus(x: f64) -> f64 {
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

/// Correlations of some rows with each other and with a place.
#[derive(Debug)]
pub(crate) struct Correlations {
    pub(crate) count: usize,
    /// Below the diagonal.
    pub(crate) between: [[f64; MOST_NEIGHBOURS]; MOST_NEIGHBOURS],
    pub(crate) with_place: [f64; MOST_NEIGHBOURS],
}

/// What kriging says of a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Kriged {
    pub(crate) value: f64,
    /// In units of the variance of the field.
    pub(crate) variance: f64,
}

/// Correlations of one place with the first `count` of some rows; `apart` are the penalties between two slices.
#[inline]
fn along<const D: usize>(
    near: &[[f64; MOST_NEIGHBOURS]; D],
    count: usize,
    place: &[f64; D],
    start: Likeness,
    of: Correlation,
    apart: impl Fn(usize) -> Option<[f64; 2]>,
) -> [f64; MOST_NEIGHBOURS] {
    let count = count.min(MOST_NEIGHBOURS);
    // As `Likeness`, but each part of it in an array of its own: several places go through each step at once.
    let mut short = [start.short; MOST_NEIGHBOURS];
    let mut long = [start.long; MOST_NEIGHBOURS];
    let mut distance = [start.distance; MOST_NEIGHBOURS];
    for (values, own) in near.iter().zip(place) {
        for index in 0..count {
            let difference = (values[index] - own).abs();
            short[index] *= 1.0 + difference;
            long[index] *= 1.0 + difference * (1.0 / LONG);
            distance[index] += difference;
        }
    }
    for index in 0..count {
        if let Some([one, other]) = apart(index) {
            let likeness = Likeness { short: short[index], long: long[index], distance: distance[index] };
            let likeness = likeness.and(one).and(other);
            (short[index], long[index], distance[index]) = (likeness.short, likeness.long, likeness.distance);
        }
    }
    let mut correlations = [0.0; MOST_NEIGHBOURS];
    for index in 0..count {
        let likeness = Likeness { short: short[index], long: long[index], distance: distance[index] };
        correlations[index] = likeness.correlation(of);
    }
    correlations
}

impl Correlations {
    pub(crate) fn new(count: usize) -> Correlations {
        Correlations {
            count: count.min(MOST_NEIGHBOURS),
            between: [[0.0; MOST_NEIGHBOURS]; MOST_NEIGHBOURS],
            with_place: [0.0; MOST_NEIGHBOURS],
        }
    }

    /// Of rows of a forest and a place; `beside` is how it differs on axes on which no row varies.
    #[inline]
    pub(crate) fn of(
        forest: &Forest,
        rows: &[u32],
        slice: usize,
        place: &[f64],
        beside: Likeness,
        of: Correlation,
    ) -> Correlations {
        with_dims!(forest.dims, D => Self::in_dims::<D>(forest, rows, slice, place, beside, of))
    }

    #[inline]
    fn in_dims<const D: usize>(
        forest: &Forest,
        rows: &[u32],
        slice: usize,
        place: &[f64],
        beside: Likeness,
        of: Correlation,
    ) -> Correlations {
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
        let own: [f64; D] = std::array::from_fn(|axis| place[axis]);
        all.with_place = along(&near, all.count, &own, beside, of, |index| {
            (is_joint && slices[index] != slice).then(|| [forest.penalties[slices[index]], forest.penalties[slice]])
        });
        for i in 1..all.count {
            let own: [f64; D] = std::array::from_fn(|axis| near[axis][i]);
            all.between[i] = along(&near, i, &own, Likeness::SAME, of, |j| {
                (is_joint && slices[j] != slices[i]).then(|| [forest.penalties[slices[i]], forest.penalties[slices[j]]])
            });
        }
        all
    }

    /// Solves for the value at the place; `values` are those of the rows.
    #[inline]
    pub(crate) fn solve(&self, values: &[f64; MOST_NEIGHBOURS], nugget: f64) -> Kriged {
        let count = self.count;
        // What is left of the matrix (below the diagonal), and of the three right sides, once earlier columns are eliminated.
        let mut rest = self.between;
        let mut diagonal = [1.0 + nugget; MOST_NEIGHBOURS];
        let (mut places, mut ones, mut forward) = (self.with_place, [1.0; MOST_NEIGHBOURS], *values);
        let (mut cc, mut oo, mut co, mut ov, mut cv) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for column in 0..count {
            let scale = 1.0 / diagonal[column].max(1e-9).sqrt();
            let (c, one, value) = (places[column] * scale, ones[column] * scale, forward[column] * scale);
            cc += c * c;
            oo += one * one;
            co += c * one;
            ov += one * value;
            cv += c * value;
            let mut factor = [0.0; MOST_NEIGHBOURS];
            for row in column + 1..count {
                factor[row] = rest[row][column] * scale;
            }
            for row in column + 1..count {
                let own = factor[row];
                diagonal[row] -= own * own;
                places[row] -= own * c;
                ones[row] -= own * one;
                forward[row] -= own * value;
                for (entry, other) in rest[row][column + 1..row].iter_mut().zip(&factor[column + 1..row]) {
                    *entry -= own * other;
                }
            }
        }
        let mean = ov / oo;
        Kriged { value: mean * (1.0 - co) + cv, variance: (1.0 + nugget - cc + (1.0 - co) * (1.0 - co) / oo).max(1e-6) }
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
