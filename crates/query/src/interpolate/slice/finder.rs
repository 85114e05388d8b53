//! What finds places by their coordinates.

use crate::interpolate::axes::swapped_bits;
use rustc_hash::FxHashMap;

/// At most this many places are looked at one by one, which takes less memory, and fewer lines of it, than to find them as among many.
const FEW: usize = 16;

/// Coordinates on two or three axes, of two the third is 0.
type At = [f64; 3];

/// What finds places by their coordinates.
#[derive(Debug)]
pub(super) enum Finder {
    /// Along a single axis: the coordinates, rising, as are the places.
    Line(Box<[f64]>),
    /// The coordinates of a few places on several axes.
    Few(Box<[At]>),
    Many(Box<Many>),
}

/// What finds many places on several axes.
#[derive(Debug)]
pub(super) struct Many {
    /// The coordinates on each axis, rising.
    values: [Box<[f64]>; 3],
    by_bits: FxHashMap<Bits, u32>,
}

impl Finder {
    /// The number of the place at some coordinates.
    pub(super) fn number(&self, at: &[f64]) -> Option<u32> {
        match self {
            Finder::Line(values) => {
                let (above, wanted) = (self.above(*at.first()?)?, at.first()?);
                values.get(above).is_some_and(|own| own == wanted).then_some(above as u32)
            }
            Finder::Few(all) => Some(all.iter().position(|own| own[..at.len()] == *at)? as u32),
            Finder::Many(many) => many.by_bits.get(&bits(at)).copied(),
        }
    }

    /// How many places lie below a coordinate on a single axis.
    pub(super) fn above(&self, wanted: f64) -> Option<usize> {
        let Finder::Line(values) = self else { return None };
        Some(values.partition_point(|own| *own < wanted))
    }

    /// The nearest coordinates on both sides on an axis, which may be the same; `None` if one is missing.
    pub(super) fn bracket(&self, axis: usize, wanted: f64) -> Option<[f64; 2]> {
        match self {
            Finder::Line(values) => bracket(values, wanted),
            Finder::Few(all) => {
                let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
                for at in all {
                    let own = at[axis];
                    let (below, above) = (
                        if own <= wanted { own } else { f64::NEG_INFINITY },
                        if own >= wanted { own } else { f64::INFINITY },
                    );
                    low = if below > low { below } else { low };
                    high = if above < high { above } else { high };
                }
                (low.is_finite() && high.is_finite()).then_some([low, high])
            }
            Finder::Many(many) => bracket(&many.values[axis], wanted),
        }
    }

    /// How many coordinates places have on an axis.
    pub(super) fn coordinates(&self, axis: usize) -> usize {
        match self {
            Finder::Line(values) => values.len(),
            Finder::Few(all) => rising(all, axis).len(),
            Finder::Many(many) => many.values[axis].len(),
        }
    }
}

/// The coordinates of places, which are numbered as they come.
#[derive(Debug, Default)]
pub(super) struct Growing {
    all: Vec<At>,
    /// Of more than a few.
    by_bits: FxHashMap<Bits, u32>,
}

impl Growing {
    /// The number of the place at some coordinates, which may be a new one.
    pub(super) fn number_of(&mut self, at: At) -> usize {
        let new = self.all.len();
        let number = if new <= FEW {
            self.all.iter().position(|own| *own == at).unwrap_or(new)
        } else {
            *self.by_bits.entry(bits(&at)).or_insert(new as u32) as usize
        };
        if number == new {
            self.all.push(at);
            if new == FEW {
                self.by_bits = (0..).zip(&self.all).map(|(number, at)| (bits(at), number)).collect();
            }
        }
        number
    }

    /// What finds these places on one, two or three axes.
    pub(super) fn finder(self, axes: usize) -> Finder {
        let Growing { all, by_bits } = self;
        if axes == 1 {
            Finder::Line(rising(&all, 0))
        } else if all.len() <= FEW {
            Finder::Few(all.into())
        } else {
            Finder::Many(Box::new(Many { values: [0, 1, 2].map(|axis| rising(&all, axis)), by_bits }))
        }
    }
}

/// The coordinates of places on an axis, rising.
fn rising(all: &[At], axis: usize) -> Box<[f64]> {
    let mut values: Vec<f64> = all.iter().map(|at| at[axis]).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values.into()
}

/// The nearest coordinates on both sides among some that rise, which may be the same; `None` if one is missing.
fn bracket(rising: &[f64], wanted: f64) -> Option<[f64; 2]> {
    sides(rising, rising.partition_point(|own| *own < wanted), wanted)
}

/// The same, where the first one that is not below is known.
pub(in crate::interpolate) fn sides(rising: &[f64], above: usize, wanted: f64) -> Option<[f64; 2]> {
    let high = *rising.get(above)?;
    let low = if high == wanted { high } else { *rising.get(above.checked_sub(1)?)? };
    Some([low, high])
}

/// Coordinates as bits.
type Bits = [u64; 3];

fn bits(at: &[f64]) -> Bits {
    let mut bits = [0; 3];
    bits.iter_mut().zip(at).for_each(|(bits, coordinate)| *bits = swapped_bits(*coordinate));
    bits
}
