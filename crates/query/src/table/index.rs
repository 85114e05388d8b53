//! Finding the rows that could answer a query without looking at the others.

use super::pool::Shapes;
use std::ops::Deref;

/// Rows by a hash of what they have in common with every query that they fit. Rows of other shapes may share it by chance: whoever asks compares.
#[derive(Debug)]
pub(crate) struct RowIndex {
    /// The first row of a chain plus one, by the low bits of its key.
    slots: Box<[u32]>,
    /// The key of each row.
    keys: Box<[u32]>,
    /// The next row of the same key plus one.
    next: Box<[u32]>,
}

impl RowIndex {
    /// An index of this many rows; rows without a key are left out.
    pub(crate) fn new(rows: usize, key: impl Fn(u32) -> Option<u64>) -> Self {
        let size = (rows * 3 / 2 + 1).next_power_of_two();
        let mut index =
            RowIndex { slots: vec![0; size].into(), keys: vec![0; rows].into(), next: vec![0; rows].into() };
        // From the end, so that each chain is in file order.
        for row in (0..rows as u32).rev() {
            if let Some(key) = key(row) {
                let key = folded(key);
                let slot = index.slot_of(key);
                index.keys[row as usize] = key;
                index.next[row as usize] = index.slots[slot];
                index.slots[slot] = row + 1;
            }
        }
        index
    }

    /// The slot of a key: where its chain begins, or a free one.
    #[inline]
    fn slot_of(&self, key: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = key as usize & mask;
        loop {
            let first = self.slots[slot];
            if first == 0 || self.keys[first as usize - 1] == key {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The rows of a key in file order.
    #[inline]
    pub(crate) fn rows(&self, key: u64) -> impl Iterator<Item = u32> {
        let mut at = self.slots[self.slot_of(folded(key))];
        std::iter::from_fn(move || {
            let row = at.checked_sub(1)?;
            at = self.next[row as usize];
            Some(row)
        })
    }
}

#[inline]
fn folded(key: u64) -> u32 {
    (key ^ (key >> 32)) as u32
}

/// How alike shapes with the same key are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShapeMatch {
    /// The same dimensions, for any order and however many ones.
    Same,
    /// The same blocks of 64: also everything to which a kernel rounds up.
    Padded,
}

/// The key of shapes: equal for those of a row and those of every query that it fits by leaving out or adding dimensions of 1, by another order of
/// dimensions or, if asked for, by padding.
#[inline]
pub(crate) fn key(matching: ShapeMatch, shapes: impl Iterator<Item = impl Deref<Target = [i64]>>) -> u64 {
    let mut keyed = Keyed::new(matching);
    for shape in shapes {
        keyed.begin();
        shape.iter().for_each(|dimension| keyed.dimension(*dimension));
    }
    keyed.finished()
}

/// The key of the first `count` shapes of a row.
#[inline]
pub(crate) fn key_of_row(matching: ShapeMatch, shapes: Shapes<'_>, count: usize) -> u64 {
    let mut keyed = Keyed::new(matching);
    shapes.walk(count, &mut keyed, Keyed::begin, Keyed::dimension);
    keyed.finished()
}

/// The key of the shapes so far.
struct Keyed {
    matching: ShapeMatch,
    before: u64,
    /// Of the dimensions of the last shape: a sum, so that their order does not matter.
    sum: u64,
    is_first: bool,
}

impl Keyed {
    #[inline]
    fn new(matching: ShapeMatch) -> Self {
        Keyed { matching, before: 1, sum: 0, is_first: true }
    }

    /// A shape follows.
    #[inline]
    fn begin(&mut self) {
        if !self.is_first {
            self.before = scrambled(self.before.wrapping_add(self.sum));
            self.sum = 0;
        }
        self.is_first = false;
    }

    /// Blocks of 1 are left out, because any number of them can stand in front.
    #[inline]
    fn dimension(&mut self, dimension: i64) {
        let counted = match self.matching {
            ShapeMatch::Same => dimension,
            ShapeMatch::Padded => block(dimension),
        };
        if counted != 1 {
            self.sum = self.sum.wrapping_add(scrambled(counted as u64));
        }
    }

    #[inline]
    fn finished(mut self) -> u64 {
        self.begin();
        self.before
    }
}

/// Equal for a dimension and everything to which a kernel rounds it up: 64 is the largest multiple, the others divide it. Nothing negative is
/// rounded up to more than 0.
#[inline]
pub(crate) fn block(dimension: i64) -> i64 {
    dimension.max(0).saturating_add(63) / 64
}

#[inline]
fn scrambled(number: u64) -> u64 {
    // The golden ratio; its product carries upwards only, so the upper half is folded down.
    let product = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn chains_are_in_file_order() {
        let index = RowIndex::new(7, |row| (row != 3).then_some(u64::from(row) % 2));
        assert_eq!(index.rows(0).collect::<Vec<_>>(), [0, 2, 4, 6]);
        assert_eq!(index.rows(1).collect::<Vec<_>>(), [1, 5]);
        assert_eq!(index.rows(2).count(), 0);
        assert_eq!(RowIndex::new(0, |_| None).rows(0).count(), 0);
    }

    #[test]
    fn keys_tell_shapes_and_their_number_apart() {
        for matching in [ShapeMatch::Same, ShapeMatch::Padded] {
            let of = |shapes: &[&[i64]]| key(matching, shapes.iter().copied());
            let different: [&[&[i64]]; 7] =
                [&[], &[&[1]], &[&[65]], &[&[129]], &[&[65, 65]], &[&[65], &[65]], &[&[65], &[129]]];
            for (at, shapes) in different.iter().enumerate() {
                assert!(different[..at].iter().all(|other| of(other) != of(shapes)), "{shapes:?}");
            }
            assert_ne!(of(&[&[129], &[65]]), of(&[&[65], &[129]]));
            assert_eq!(of(&[&[1, 300, 65]]), of(&[&[65, 300]]));
            assert_eq!(of(&[&[1, 300, 65]]) == of(&[&[65, 320]]), matching == ShapeMatch::Padded);
        }
    }

    proptest! {
        #[test]
        fn a_rounded_dimension_keeps_its_block(dimension in -1000i64..5000) {
            for multiple in [8, 16, 32, 64] {
                let rounded = (dimension + multiple - 1) / multiple * multiple;
                prop_assert_eq!(block(dimension), block(rounded));
            }
        }

        #[test]
        fn every_row_is_in_the_chain_of_its_key(keys in prop::collection::vec(0..20u64, 0..60)) {
            let index = RowIndex::new(keys.len(), |row| Some(keys[row as usize]));
            for key in 0..21 {
                let expected = (0..keys.len() as u32).filter(|&row| keys[row as usize] == key);
                prop_assert!(index.rows(key).eq(expected));
            }
        }
    }
}
