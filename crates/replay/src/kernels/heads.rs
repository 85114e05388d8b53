//! Attention of all heads of several sequences, in blocks of queries.

use std::ops::Range;

use crate::kernels::attention::Attended;
use crate::kernels::element::Wide;
use crate::kernels::error::KernelError;
use crate::kernels::jobs::collect;

/// Rows of queries per block, at least one query.
const ROWS: usize = 128;
/// Blocks whose results are held at a time.
const WAVE: usize = 64;

/// A block of queries of one sequence, with all query heads that share a key head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number of the sequence.
    pub sequence: usize,
    /// Number of the key head.
    pub key_head: usize,
    /// The query heads that share it.
    pub heads: Range<usize>,
    /// The queries, counted from the start of the sequence.
    pub queries: Range<usize>,
}

impl Block {
    /// Head and query of each row, in the order of rows.
    pub fn rows(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.heads.clone().flat_map(|head| self.queries.clone().map(move |query| (head, query)))
    }
}

/// All blocks of sequences with these numbers of queries. `group` query heads share a key head.
pub fn blocks(query_counts: impl Iterator<Item = usize>, key_heads: usize, group: usize) -> Vec<Block> {
    let step = (ROWS / group.max(1)).max(1);
    let mut blocks = Vec::new();
    for (sequence, count) in query_counts.enumerate() {
        for key_head in 0..key_heads {
            let heads = key_head * group..(key_head + 1) * group;
            for start in (0..count).step_by(step) {
                blocks.push(Block {
                    sequence,
                    key_head,
                    heads: heads.clone(),
                    queries: start..count.min(start + step),
                });
            }
        }
    }
    blocks
}

/// Computes every block on many threads and hands the results on in the order of the blocks.
pub fn each_block<W: Wide>(
    blocks: &[Block],
    compute: impl Fn(&Block) -> Attended<W> + Sync,
    mut store: impl FnMut(&Block, &Attended<W>),
) -> Result<(), KernelError> {
    for wave in blocks.chunks(WAVE) {
        crate::kernels::context::proceed()?;
        let results = collect(wave.len(), |at| compute(&wave[at]));
        for (block, result) in wave.iter().zip(&results) {
            store(block, result);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_of_every_head_is_in_one_block() {
        let all = blocks([300, 0, 1].into_iter(), 2, 4);
        let mut rows: Vec<_> =
            all.iter().flat_map(|block| block.rows().map(|(head, query)| (block.sequence, head, query))).collect();
        assert!(all.iter().all(|block| block.queries.len() <= 32 && block.heads.start == block.key_head * 4));
        rows.sort_unstable();
        let expected: Vec<_> = [(0, 300), (2, 1)]
            .into_iter()
            .flat_map(|(s, n)| (0..8).flat_map(move |h| (0..n).map(move |q| (s, h, q))))
            .collect();
        assert_eq!(rows, expected);
        assert_eq!(blocks([2].into_iter(), 1, 1000).len(), 2, "one query at least");
    }
}
