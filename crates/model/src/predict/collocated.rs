//! Rows of another slice at the same points: what they have more than their neighbours say, a row of this slice has in part as well.
//!
//! One data type beside another, one distribution of tokens over experts beside another: where a kernel fills its tiles badly, or
//! crosses the size of a cache, it does so in both. Collocated cokriging, as it is called elsewhere, of two slices: kriged is what one
//! has more than a share of the other, and the share of what the other has at the point comes on top.

use crate::predict::calibration::Calibration;
use crate::predict::class::Class;
use crate::predict::kriging::MOST_NEIGHBOURS;
use crate::predict::side::Side;

/// What another slice says about the points of a model.
#[derive(Debug, Clone)]
pub(crate) struct Collocated {
    /// Which one, among those that were tried.
    pub(crate) slice: usize,
    /// The logarithm over its roofline of what it has, or would have, at each row of the model.
    pub(super) values: Vec<f32>,
    pub(crate) calibration: Calibration,
}

/// A row of another slice at the point that is asked for, which tells something of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollocatedRow {
    /// Its number.
    pub row: u32,
    pub slice: usize,
    /// By how much longer it took than its slice does around the point, relatively: 0.03 for 3 % longer.
    pub excess: f64,
    /// How much of the logarithm of that counts for the question.
    pub share: f64,
}

/// What the other slice has at a point that is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'t> {
    pub(super) collocated: &'t Collocated,
    /// The number of the other slice's row.
    pub(super) row: u32,
    /// The logarithm over its roofline.
    pub(super) value: f64,
}

impl Seen<'_> {
    pub(crate) fn calibration(&self) -> &Calibration {
        &self.collocated.calibration
    }

    /// Whether it tells something of queries of a class on a side of the rows.
    pub(crate) fn tells(&self, class: Class, side: Option<Side>) -> bool {
        self.collocated.calibration.learnt(class, side).has_share()
    }

    /// What the other slice has, or would have, at rows of the model.
    pub(crate) fn values_of(&self, rows: &[u32]) -> [f64; MOST_NEIGHBOURS] {
        values_of(&self.collocated.values, rows)
    }

    /// The row, where this is what follows for the point from what the other slice has at rows of the model.
    pub(crate) fn row(&self, share: f64, expected: f64) -> CollocatedRow {
        let excess = (self.value - expected).exp_m1();
        CollocatedRow { row: self.row, slice: self.collocated.slice, excess, share }
    }
}

impl CollocatedRow {
    /// What is added to the logarithm of the duration.
    pub(crate) fn counts(&self) -> f64 {
        self.share * self.excess.ln_1p()
    }
}

impl Collocated {
    /// The memory that it holds beside itself.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.values) + self.calibration.bytes()
    }
}

/// What another slice has at some rows.
pub(crate) fn values_of(collocated: &[f32], rows: &[u32]) -> [f64; MOST_NEIGHBOURS] {
    let mut values = [0.0; MOST_NEIGHBOURS];
    for (value, row) in values.iter_mut().zip(rows) {
        *value = f64::from(collocated[*row as usize]);
    }
    values
}
