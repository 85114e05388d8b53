//! Finding the rows that could answer a query without looking at the others.

use rustc_hash::FxHashMap;

/// Rows by a hash of what they have in common with every query that they fit. Rows of other shapes may share it by chance: whoever asks compares.
#[derive(Debug)]
pub(crate) struct RowIndex {
    /// The first row of a key.
    first: FxHashMap<u64, usize>,
    /// The next row of the same key. Rows ascend, so that none is followed by row 0, which stands for the end.
    next: Vec<usize>,
}

impl RowIndex {
    /// An index of so many rows; rows without a key are left out.
    pub(crate) fn new(rows: usize, key: impl Fn(usize) -> Option<u64>) -> Self {
        let mut index = RowIndex { first: FxHashMap::default(), next: vec![0; rows] };
        // From the end, so that each chain is in file order.
        for row in (0..rows).rev() {
            if let Some(key) = key(row) {
                index.next[row] = index.first.insert(key, row).unwrap_or(0);
            }
        }
        index
    }

    /// The rows of a key in file order.
    pub(crate) fn rows(&self, key: u64) -> impl Iterator<Item = usize> {
        let next = |row: &usize| self.next.get(*row).copied().filter(|&next| next > 0);
        std::iter::successors(self.first.get(&key).copied(), next)
    }
}

/// The key of shapes: equal for those of a row and those of every query that it fits by leaving out or adding dimensions of 1, by padding or by
/// another order of dimensions.
#[inline]
pub(crate) fn key<'s>(shapes: impl Iterator<Item = &'s [i64]>) -> u64 {
    shapes.fold(1, |key, shape| scrambled(key.wrapping_add(of_shape(shape))))
}

/// A sum, so that the order of dimensions does not matter. Blocks of 1 are left out, because any number of them can stand in front.
fn of_shape(shape: &[i64]) -> u64 {
    let blocks = shape.iter().map(|&dimension| block(dimension)).filter(|&block| block != 1);
    blocks.fold(0, |sum, block| sum.wrapping_add(scrambled(block as u64)))
}

/// Equal for a dimension and everything to which a kernel rounds it up: 64 is the largest multiple, the others divide it. Nothing negative is
/// rounded up to more than 0.
pub(crate) fn block(dimension: i64) -> i64 {
    dimension.max(0).saturating_add(63) / 64
}

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
        let index = RowIndex::new(7, |row| (row != 3).then_some(row as u64 % 2));
        assert_eq!(index.rows(0).collect::<Vec<_>>(), [0, 2, 4, 6]);
        assert_eq!(index.rows(1).collect::<Vec<_>>(), [1, 5]);
        assert_eq!(index.rows(2).count(), 0);
        assert_eq!(RowIndex::new(0, |_| None).rows(0).count(), 0);
    }

    #[test]
    fn keys_tell_shapes_and_their_number_apart() {
        let of = |shapes: &[&[i64]]| key(shapes.iter().copied());
        let different: [&[&[i64]]; 7] =
            [&[], &[&[1]], &[&[65]], &[&[129]], &[&[65, 65]], &[&[65], &[65]], &[&[65], &[129]]];
        for (at, shapes) in different.iter().enumerate() {
            assert!(different[..at].iter().all(|other| of(other) != of(shapes)), "{shapes:?}");
        }
        assert_ne!(of(&[&[129], &[65]]), of(&[&[65], &[129]]));
        assert_eq!(of(&[&[1, 300, 65]]), of(&[&[65, 320]]));
    }

    proptest! {
        #[test]
        fn a_rounded_dimension_keeps_its_block(dimension in -1000i64..5000) {
            for multiple in [8, 16, 32, 64] {
                let rounded = (dimension + multiple - 1) / multiple * multiple;
                prop_assert_eq!(block(dimension), block(rounded));
            }
        }
    }
}
