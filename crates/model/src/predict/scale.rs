//! From the numbers on the axes of a point to coordinates between which distances are taken, and back.

use crate::predict::point::MOST_AXES;
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
    /// Positions of varying axes, each with another one whose octaves are added to its own.
    pub(crate) coupling: Vec<[usize; 2]>,
}

impl Scale {
    /// The position of the size among the varying axes.
    pub(crate) fn size_index(&self) -> Option<usize> {
        let size = self.size?;
        self.varying.iter().position(|(axis, _)| *axis == size)
    }

    /// Applies the couplings to a point; it has octaves on varying axes.
    pub(crate) fn couple(&self, point: &mut [f64]) {
        for [axis, by] in &self.coupling {
            point[*axis] += point[*by];
        }
    }

    /// The octaves of a row or a point, as if nothing were coupled.
    pub(crate) fn uncoupled(&self, point: &[f64]) -> [f64; MOST_AXES] {
        let mut octaves = [0.0; MOST_AXES];
        for ((octaves, at), (_, factor)) in octaves.iter_mut().zip(point).zip(&self.varying) {
            *octaves = at / factor;
        }
        for [axis, by] in self.coupling.iter().rev() {
            octaves[*axis] -= octaves[*by];
        }
        octaves
    }

    /// The coordinates of a point on varying axes, over their lengths.
    pub(crate) fn point(&self, axes: &[f64], at: &mut [f64; MOST_AXES]) {
        for (at, (axis, _)) in at.iter_mut().zip(&self.varying) {
            *at = self.octaves(*axis, axes[*axis]);
        }
        self.couple(at);
        for (at, (_, factor)) in at.iter_mut().zip(&self.varying) {
            *at *= factor;
        }
    }

    /// The size of a row or a point, in octaves over the length of its axis, as if nothing were coupled; zero without an axis of size.
    pub(crate) fn size_of(&self, point: &[f64]) -> f64 {
        let Some(index) = self.size_index() else { return 0.0 };
        if !self.coupling.iter().any(|[axis, _]| *axis == index) {
            return point[index];
        }
        self.uncoupled(point)[index] * self.varying[index].1
    }

    /// The numbers on all axes of the coordinates of a row, but for rounding.
    pub(crate) fn axes(&self, row: &[f64]) -> SmallVec<[f64; 4]> {
        let mut octaves = SmallVec::<[f64; 4]>::from_elem(0.0, self.shifts.len());
        for ((axis, _), at) in self.varying.iter().zip(self.uncoupled(row)) {
            octaves[*axis] = at;
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
