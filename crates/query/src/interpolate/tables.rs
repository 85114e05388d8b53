//! What is learnt of the points of a table: a slice for each set of points, small slices together.

use super::axes::{AxisSet, RowPoint};
use super::kept::Kept;
use super::kind::{Kind, pattern};
use super::points::{PointIndex, PointSet};
use perfdb_model::predict::{Point, Rows, Table};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What was learnt of the points of an index, by the axes that they have, as bits.
pub(crate) type Tables = Kept<u8, Learning>;

/// The slices of the points that have some axes, each learnt from when it is first asked for.
#[derive(Debug)]
pub(crate) struct Learning {
    /// The sets of points, by slice.
    sets: Vec<u32>,
    slice_of: FxHashMap<u32, usize>,
    pub(super) table: Table,
}

impl Learning {
    /// From the points that have the axes of a pattern.
    pub(super) fn new(index: &PointIndex, bits: u8) -> Learning {
        let kind = Kind::of(index.axes);
        let (mut sets, mut slices) = (Vec::new(), Vec::new());
        for set in index.sets_in_order() {
            let mut rows: Option<Rows> = None;
            for (place, point) in kind.places(&set.points, set.setting, bits) {
                let rows = rows.get_or_insert_with(|| Rows::new(place.axes.len()));
                rows.push(point.row, &place, point.duration_us, point.deviation_us());
            }
            if let Some(rows) = rows {
                sets.push(set.number);
                slices.push(rows);
            }
        }
        let slice_of = sets.iter().enumerate().map(|(slice, set)| (*set, slice)).collect();
        Learning { sets, slice_of, table: Table::new(slices, Some(kind.size(bits))) }
    }

    /// The slice of a set of points; `None` if none of them has the axes.
    pub(super) fn slice_of(&self, set: &PointSet) -> Option<usize> {
        self.slice_of.get(&set.number).copied()
    }

    /// The set of points of a slice.
    pub(super) fn set_of<'i>(&self, index: &'i PointIndex, slice: usize) -> Option<&'i PointSet> {
        index.set(*self.sets.get(slice)?)
    }
}

/// The points of an index that have the same axes, as they are learnt from.
pub(crate) struct Learnt {
    /// What the axes of places mean.
    pub(crate) axes: SmallVec<[&'static str; 5]>,
    /// That along which calls grow.
    pub(crate) size: usize,
    /// The points of each set that has any.
    pub(crate) slices: Vec<Vec<(Point, RowPoint)>>,
}

/// All that are learnt from an index, by the axes that points have.
pub(super) fn learnt(index: &PointIndex) -> Vec<Learnt> {
    let kind = Kind::of(index.axes);
    let sets = index.sets_in_order();
    let points = || sets.iter().flat_map(|set| &set.points);
    let mut patterns: Vec<(u8, AxisSet)> = points().filter_map(|point| pattern(kind, &point.at)).collect();
    patterns.sort_unstable();
    patterns.dedup();
    let learnt = |(bits, axes): (u8, AxisSet)| Learnt {
        axes: kind.axis_names(index.axes, axes),
        size: kind.size(bits),
        slices: sets
            .iter()
            .map(|set| kind.places(&set.points, set.setting, bits).collect::<Vec<_>>())
            .filter(|slice| !slice.is_empty())
            .collect(),
    };
    patterns.into_iter().map(learnt).collect()
}
