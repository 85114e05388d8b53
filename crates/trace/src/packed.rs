//! Times and ids of rows in few bytes each, exact: a trace has millions of rows, and the list of the few that do not fit is short.

use crate::id::Id;
use crate::numbering::Numbering;
use crate::time::Picoseconds;

/// Numbers below this one stand for an entry of [`Times::far`].
const FAR: i64 = i64::MIN + (1 << 32);

/// Times by their distance from the first one, and durations, in eight bytes; those that do not fit are kept beside.
///
/// ```
/// use perfdb_trace::packed::Times;
/// let mut times = Times::default();
/// let far = 1_600_000_000_000_000_000_000;
/// let packed = [5, far, 4].map(|start| times.pack_start(start));
/// assert_eq!(packed.map(|start| times.start(start)), [5, far, 4]);
/// let packed = [7, far, -1].map(|duration| times.pack_duration(duration));
/// assert_eq!(packed.map(|duration| times.duration(duration)), [7, far, -1]);
/// ```
#[derive(Debug, Default)]
pub struct Times {
    first: Option<Picoseconds>,
    far: Vec<Picoseconds>,
}

impl Times {
    /// A start in eight bytes.
    #[inline]
    pub fn pack_start(&mut self, start: Picoseconds) -> i64 {
        let first = *self.first.get_or_insert(start);
        self.pack(start - first, start)
    }

    /// A duration in eight bytes.
    #[inline]
    pub fn pack_duration(&mut self, duration: Picoseconds) -> i64 {
        self.pack(duration, duration)
    }

    /// The start that was packed.
    #[inline]
    pub fn start(&self, packed: i64) -> Picoseconds {
        if packed < FAR { self.far(packed) } else { self.first.unwrap_or_default() + Picoseconds::from(packed) }
    }

    /// The duration that was packed.
    #[inline]
    pub fn duration(&self, packed: i64) -> Picoseconds {
        if packed < FAR { self.far(packed) } else { packed.into() }
    }

    #[inline]
    fn pack(&mut self, short: Picoseconds, whole: Picoseconds) -> i64 {
        match i64::try_from(short) {
            Ok(short) if short >= FAR => short,
            _ => self.pack_far(whole),
        }
    }

    #[cold]
    fn pack_far(&mut self, time: Picoseconds) -> i64 {
        self.far.push(time);
        i64::MIN + self.far.len() as i64 - 1
    }

    #[cold]
    fn far(&self, packed: i64) -> Picoseconds {
        self.far.get((packed - i64::MIN) as usize).copied().unwrap_or_default()
    }
}

/// No id.
const MISSING: u32 = u32::MAX;
/// Numbers from here on stand for an entry of [`Ids::others`].
const OTHERS: u32 = 1 << 31;

/// Ids in four bytes: small natural numbers stand for themselves, others are numbered.
///
/// ```
/// use perfdb_trace::{id::Id, packed::Ids};
/// let mut ids = Ids::default();
/// let all = [Id::of(7), Id::of(u32::MAX), Id::negative(0), Id::MISSING];
/// let packed = all.map(|id| ids.pack(id));
/// assert_eq!(packed.map(|id| ids.id(id)), all);
/// ```
#[derive(Debug, Default)]
pub struct Ids {
    others: Numbering<Id>,
}

impl Ids {
    /// An id in four bytes; equal ones are packed alike.
    #[inline]
    pub fn pack(&mut self, id: Id) -> u32 {
        match id.number().and_then(|number| u32::try_from(number).ok()) {
            Some(number) if number < OTHERS => number,
            _ if id.is_there() => OTHERS | self.others.number(id),
            _ => MISSING,
        }
    }

    /// The id that was packed.
    #[inline]
    pub fn id(&self, packed: u32) -> Id {
        match packed {
            0..OTHERS => Id::of(packed),
            MISSING => Id::MISSING,
            other => self.others.keys().get((other - OTHERS) as usize).copied().unwrap_or(Id::MISSING),
        }
    }

    /// Replaces ids that are not small numbers, one for one.
    pub fn rename(&mut self, rename: impl FnMut(Id) -> Id) {
        self.others.rename(rename);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::IdTable;
    use proptest::prelude::*;

    #[test]
    fn names_are_replaced_by_others() {
        let (mut ids, mut table) = (Ids::default(), IdTable::default());
        let (one, other) = (table.text("one"), table.text("other"));
        let packed = [one, Id::of(3)].map(|id| ids.pack(id));
        ids.rename(|id| if id == one { other } else { id });
        assert_eq!(packed.map(|id| ids.id(id)), [other, Id::of(3)]);
    }

    proptest! {
        #[test]
        fn times_come_back(starts in proptest::collection::vec(any::<i128>().prop_map(|time| time >> 32), 1..20), near in any::<i64>()) {
            let mut times = Times::default();
            let starts: Vec<Picoseconds> = starts.iter().flat_map(|start| [*start, start + i128::from(near)]).collect();
            let packed: Vec<(i64, i64)> = starts.iter().map(|time| (times.pack_start(*time), times.pack_duration(*time))).collect();
            for (packed, time) in packed.iter().zip(&starts) {
                prop_assert_eq!((times.start(packed.0), times.duration(packed.1)), (*time, *time));
            }
        }
    }
}
