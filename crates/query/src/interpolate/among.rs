//! Which points of a table an answer lies among.

use super::axes::{Coordinates, MOST_AXES};
use super::points::{IndexName, PointSet};
use super::slice::Slice;
use crate::table::KernelRows;

/// Which points of a table an answer lies among: what finds them again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Among {
    index: IndexName,
    set: u32,
    /// The number of the set of axes that are varied.
    axes: usize,
    /// The coordinates of the call, as bits: those that it lacks are not numbers.
    target: [u64; MOST_AXES],
}

impl Among {
    pub(crate) fn new(index: IndexName, points: &PointSet, axes: usize, target: &Coordinates) -> Among {
        Among { index, set: points.number, axes, target: target.map(f64::to_bits) }
    }

    /// The coordinates of the call on all axes.
    pub(crate) fn target(&self) -> Coordinates {
        self.target.map(f64::from_bits)
    }

    /// Whether the points have their durations from the preferred column.
    pub(crate) fn is_preferred(&self) -> bool {
        self.set.is_multiple_of(2)
    }

    /// Looks at the points with the places of those that agree with the call in all other axes.
    pub(crate) fn look<R>(&self, table: &KernelRows, look: impl FnOnce(&PointSet, &Slice) -> R) -> Option<R> {
        let index = table.points.get(self.index)?;
        let points = index.set(self.set)?;
        let slice = points.near(self.axes, &self.target())?;
        Some(look(points, &slice))
    }
}
