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
        let long = (-self.distance * (1.0 / LONG)).exp();
        let square = long * long;
        let fourth = square * square;
        (1.0 - of.long_share) * self.short * (fourth * fourth) + of.long_share * self.long * long
    }
}

/// Correlations of some rows with each other and with a place.
#[derive(Debug, Clone)]
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
        let mut near = [[0.0; D]; MOST_NEIGHBOURS];
        let mut slices = [0; MOST_NEIGHBOURS];
        for (index, row) in rows.iter().take(all.count).enumerate() {
            near[index].copy_from_slice(&forest.row(*row)[..D]);
            slices[index] = forest.slice_of(*row);
        }
        let apart = |likeness: Likeness, one: usize, other: usize| {
            if one == other { likeness } else { likeness.and(forest.penalties[one]).and(forest.penalties[other]) }
        };
        for i in 0..all.count {
            let mut likeness = apart(beside, slices[i], slice);
            for axis in 0..D {
                likeness = likeness.and((near[i][axis] - place[axis]).abs());
            }
            all.with_place[i] = likeness.correlation(of);
            for j in 0..i {
                let mut likeness = apart(Likeness::SAME, slices[i], slices[j]);
                for axis in 0..D {
                    likeness = likeness.and((near[i][axis] - near[j][axis]).abs());
                }
                all.between[i][j] = likeness.correlation(of);
            }
        }
        all
    }

    /// Solves for the value at the place; `values` are those of the rows.
    #[inline]
    pub(crate) fn solve(mut self, values: &[f64; MOST_NEIGHBOURS], nugget: f64) -> Kriged {
        let count = self.count;
        let factor = &mut self.between;
        let mut places = [0.0; MOST_NEIGHBOURS];
        let mut ones = [0.0; MOST_NEIGHBOURS];
        let mut forward = [0.0; MOST_NEIGHBOURS];
        let (mut cc, mut oo, mut co, mut ov, mut cv) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for i in 0..count {
            let mut c = self.with_place[i];
            let mut one = 1.0;
            let mut value = values[i];
            let mut diagonal = 1.0 + nugget;
            for j in 0..i {
                let mut entry = factor[i][j];
                for m in 0..j {
                    entry -= factor[i][m] * factor[j][m];
                }
                // The diagonal holds reciprocals.
                entry *= factor[j][j];
                factor[i][j] = entry;
                c -= entry * places[j];
                one -= entry * ones[j];
                value -= entry * forward[j];
                diagonal -= entry * entry;
            }
            let scale = 1.0 / diagonal.max(1e-9).sqrt();
            factor[i][i] = scale;
            let (c, one, value) = (c * scale, one * scale, value * scale);
            (places[i], ones[i], forward[i]) = (c, one, value);
            cc += c * c;
            oo += one * one;
            co += c * one;
            ov += one * value;
            cv += c * value;
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
                self.clone().solve(&unit, nugget).value
            })
            .collect()
    }
}
