//! From the numbers on the axes of a place to coordinates between which distances are taken, and back.

use crate::predict::place::MOST_AXES;
use smallvec::SmallVec;

/// From axes to coordinates.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    /// Added before the logarithm: one on axes on which zero occurs.
    pub(crate) shifts: Vec<f64>,
    /// The axes on which rows differ, each with √3 over its length.
    pub(crate) varying: Vec<(usize, f64)>,
    /// The others: the axis, its coordinate in octaves, and √3 over its length.
    pub(crate) constant: Vec<(usize, f64, f64)>,
    /// The least number above zero on each axis: what is below it counts as half of it.
    pub(crate) least: Vec<f64>,
    /// The axis along which calls grow.
    pub(crate) size: Option<usize>,
    /// Varying axes, by position, of which an octave adds so much to the coordinate of the size.
    pub(crate) lean: Vec<(usize, f64)>,
}

impl Scale {
    /// The position of the size among the varying axes.
    pub(crate) fn size_index(&self) -> Option<usize> {
        let size = self.size?;
        self.varying.iter().position(|(axis, _)| *axis == size)
    }

    /// Lets the size of a place lean; the place has octaves on varying axes.
    pub(crate) fn lean(&self, place: &mut [f64]) {
        if let Some(size) = self.size_index() {
            place[size] += self.lean.iter().map(|(index, share)| share * place[*index]).sum::<f64>();
        }
    }

    /// The coordinates of a place on varying axes, over their lengths.
    pub(crate) fn place(&self, axes: &[f64], at: &mut [f64; MOST_AXES]) {
        for (at, (axis, _)) in at.iter_mut().zip(&self.varying) {
            *at = self.octaves(*axis, axes[*axis]);
        }
        self.lean(at);
        for (at, (_, factor)) in at.iter_mut().zip(&self.varying) {
            *at *= factor;
        }
    }

    /// The size of a row or a place, in octaves over the length of its axis, as if nothing leant; zero without an axis of size.
    pub(crate) fn size_of(&self, place: &[f64]) -> f64 {
        let Some(index) = self.size_index() else { return 0.0 };
        let leant = |(axis, share): &(usize, f64)| share * place[*axis] * self.varying[index].1 / self.varying[*axis].1;
        place[index] - self.lean.iter().map(leant).sum::<f64>()
    }

    /// The numbers on all axes of the coordinates of a row, but for rounding.
    pub(crate) fn axes(&self, row: &[f64]) -> SmallVec<[f64; 4]> {
        let mut octaves = SmallVec::<[f64; 4]>::from_elem(0.0, self.shifts.len());
        for ((axis, factor), at) in self.varying.iter().zip(row) {
            octaves[*axis] = at / factor;
        }
        if let (Some(size), Some((_, factor))) = (self.size, self.size_index().map(|index| self.varying[index])) {
            octaves[size] = self.size_of(row) / factor;
        }
        for (axis, coordinate, _) in &self.constant {
            octaves[*axis] = *coordinate;
        }
        octaves.iter().zip(&self.shifts).map(|(octaves, shift)| (octaves.exp2() - shift).max(0.0)).collect()
    }

    /// The coordinate of a number in octaves.
    pub(crate) fn octaves(&self, axis: usize, value: f64) -> f64 {
        let shifted = value + self.shifts[axis];
        shifted.max(self.least[axis] / 2.0).log2()
    }
}
