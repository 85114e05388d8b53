//! Sequences that share a tensor: running sums of their lengths, and tables of the cache blocks they lie in.

use std::ops::Range;

use crate::kernels::error::KernelError;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{indices, rank, require};

/// The places of each sequence, from the running sums of their lengths (`rejected` unless they grow up to `total` at most).
pub fn sequences(ends: &[i64], total: usize) -> Result<Vec<Range<usize>>, KernelError> {
    let mut start = 0;
    ends.iter()
        .map(|end| {
            let end = usize::try_from(*end).ok().filter(|end| (start..=total).contains(end));
            let end = end.ok_or_else(|| KernelError::rejected(format!("sequence ends {ends:?} in {total} tokens")))?;
            let range = start..end;
            start = end;
            Ok(range)
        })
        .collect()
}

/// Which blocks of a cache hold a sequence: one row per sequence.
#[derive(Debug)]
pub(crate) struct BlockTable {
    blocks: Vec<usize>,
    rows: usize,
    width: usize,
    block_size: usize,
}

impl BlockTable {
    /// The table of a cache of `count` blocks of `block_size` positions.
    pub(crate) fn new(table: &Tensor, count: usize, block_size: usize) -> Result<Self, KernelError> {
        let [rows, width] = rank(table, "block_table")?;
        require(block_size > 0, || "blocks without positions".to_owned())?;
        Ok(Self { blocks: indices(table, count)?, rows, width, block_size })
    }

    /// Number of sequences.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Positions that a sequence can have.
    pub(crate) fn capacity(&self) -> usize {
        self.width * self.block_size
    }

    /// Line of the cache (block · block size + offset) for each of the first `length` positions of a sequence.
    pub(crate) fn lines(&self, sequence: usize, length: usize) -> Result<Vec<usize>, KernelError> {
        require(sequence < self.rows && length <= self.capacity(), || {
            format!(
                "{length} positions of sequence {sequence} in a block table of shape [{}, {}]",
                self.rows, self.width
            )
        })?;
        let row = &self.blocks[sequence * self.width..(sequence + 1) * self.width];
        Ok((0..length).map(|at| row[at / self.block_size] * self.block_size + at % self.block_size).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tensor::Data;

    #[test]
    fn running_sums_become_ranges() {
        assert_eq!(sequences(&[2, 2, 5], 6).expect("ranges"), [0..2, 2..2, 2..5]);
        assert!(sequences(&[2, 1], 6).is_err());
        assert!(sequences(&[7], 6).is_err());
        assert!(sequences(&[-1], 6).is_err());
    }

    #[test]
    fn positions_follow_their_blocks() {
        let table = Tensor::new([2, 2], Data::Int32(vec![4, 1, 2, 0])).expect("four entries");
        let table = BlockTable::new(&table, 5, 4).expect("a table");
        assert_eq!(table.lines(0, 6).expect("lines"), [16, 17, 18, 19, 4, 5]);
        assert!(table.lines(2, 1).is_err() && table.lines(1, 9).is_err());
        let outside = Tensor::new([1, 1], Data::Int32(vec![5])).expect("one entry");
        assert!(BlockTable::new(&outside, 5, 4).is_err());
    }
}
