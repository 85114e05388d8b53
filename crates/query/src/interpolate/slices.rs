//! The slices of points: for each set of axes those that agree in all others.

use super::axes::{AxisSet, Coordinates, MOST_AXES, RowPoint, swapped_bits};
use super::slice::Slice;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::iter;
use std::ops::Deref;
use std::sync::Arc;

/// The slices of a set of axes.
#[derive(Debug)]
pub(super) struct Slices {
    /// By the coordinates on which points agree.
    by_key: FxHashMap<[u64; MOST_AXES], Members>,
    slices: Vec<Slice>,
}

/// The points that agree.
#[derive(Debug, Clone, Copy)]
enum Members {
    /// A point by its place among all: where sizes have no grid most have no other.
    One(u32),
    /// A slice by its number.
    Several(u32),
}

impl Slices {
    pub(super) fn of(axes: AxisSet, points: &[RowPoint]) -> Slices {
        let mut members = Numbers::default();
        for (number, point) in having(axes, points) {
            members.entry(others(&point.at, axes)).or_default().push(number);
        }
        let mut slices = Vec::new();
        let by_key = members.into_iter().map(|(key, numbers)| {
            let members = match numbers[..] {
                [one] => Members::One(one),
                _ => {
                    slices.push(Slice::of(axes, numbers.iter().map(|number| &points[*number as usize])));
                    Members::Several(slices.len() as u32 - 1)
                }
            };
            (key, members)
        });
        Slices { by_key: by_key.collect(), slices }
    }

    /// Those that agree with a target in all axes but those of the set; `None` if there are none but a single one that is not where the target is.
    pub(super) fn around(&self, axes: AxisSet, points: &[RowPoint], target: &Coordinates) -> Option<SliceRef<'_>> {
        match *self.by_key.get(&others(target, axes))? {
            Members::One(number) => {
                let point = points.get(number as usize)?;
                let is_there = axes.iter().all(|axis| point.at[usize::from(*axis)] == target[usize::from(*axis)]);
                is_there.then(|| SliceRef::Shared(Arc::new(Slice::of(axes, iter::once(point)))))
            }
            Members::Several(number) => self.slices.get(number as usize).map(SliceRef::Kept),
        }
    }
}

/// The points that have all axes of a set, and their places among all.
pub(super) fn having(axes: AxisSet, points: &[RowPoint]) -> impl Iterator<Item = (u32, &RowPoint)> {
    (0..).zip(points).filter(|(_, point)| axes.iter().all(|axis| !point.at[usize::from(*axis)].is_nan()))
}

/// Numbers of points by the coordinates on which they agree.
pub(super) type Numbers = FxHashMap<[u64; MOST_AXES], SmallVec<[u32; 2]>>;

/// A slice of an index.
pub(crate) enum SliceRef<'p> {
    Kept(&'p Slice),
    Shared(Arc<Slice>),
}

impl Deref for SliceRef<'_> {
    type Target = Slice;

    fn deref(&self) -> &Slice {
        match self {
            SliceRef::Kept(slice) => slice,
            SliceRef::Shared(slice) => slice,
        }
    }
}

/// The coordinates on all axes but some, as bits.
pub(super) fn others(at: &Coordinates, axes: AxisSet) -> [u64; MOST_AXES] {
    let mut bits = at.map(swapped_bits);
    axes.iter().for_each(|axis| bits[usize::from(*axis)] = 0);
    bits
}
