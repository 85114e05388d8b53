//! Which pass the rows of a file belong to, block by block.

use super::profile_rows::{BlockRow, BlockRows, Class};
use super::rows::relative;
use rustc_hash::FxHashMap;

/// Which pass a row belongs to.
#[derive(Debug)]
pub(super) struct Boundaries {
    pub(super) origin_ps: i128,
    /// Start of the first kernel of a pass, and the pass: from there on rows belong to it.
    pub(super) changes: Vec<(i64, usize)>,
    /// The pass of each step, where there are steps.
    pub(super) steps: FxHashMap<Box<str>, usize>,
}

impl Boundaries {
    /// The pass of a row of a block.
    pub(super) fn pass_of(&self, block: &BlockRows, row: &BlockRow) -> usize {
        if let Some(pass) = self.pass_of_step(&block.classes[row.class as usize]) {
            return pass;
        }
        let start_ps = relative(row.start_ps, self.origin_ps);
        let behind = self.changes.partition_point(|&(change_ps, _)| change_ps <= start_ps);
        behind.checked_sub(1).map_or(0, |at| self.changes[at].1)
    }

    /// The pass of the step that rows of a class belong to.
    pub(super) fn pass_of_step(&self, class: &Class) -> Option<usize> {
        self.steps.get(class.step.as_deref()?).copied()
    }
}

/// The blocks that a file was read in.
#[derive(Debug, Default)]
pub(super) struct BlockPasses(pub(super) Vec<BlockPass>);

/// One block of whole rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockPass {
    pub(super) bytes: usize,
    rows: usize,
    is_dense: bool,
    /// The first and the last of the passes that its rows belong to.
    passes: Option<(usize, usize)>,
}

impl BlockPass {
    /// The pass that all of its bytes belong to, but those of the header; none where there are several.
    pub(super) fn only_pass(&self) -> Option<usize> {
        self.passes.filter(|(first, last)| first == last && self.is_dense).map(|(pass, _)| pass)
    }

    /// Whether a row of it may belong to one of these passes.
    pub(super) fn may_hold(&self, mut passes: impl Iterator<Item = usize>) -> bool {
        self.passes.is_some_and(|(first, last)| passes.any(|pass| (first..=last).contains(&pass)))
    }
}

impl BlockPasses {
    /// Adds a block whose passes are not known yet.
    pub(super) fn push(&mut self, block: &BlockRows) {
        self.0.push(BlockPass {
            bytes: block.text.len(),
            rows: block.rows.len(),
            is_dense: block.is_dense,
            passes: None,
        });
    }

    /// Notes the passes of all blocks; `passes` are those of all rows of the file.
    pub(super) fn fill(&mut self, passes: &mut impl Iterator<Item = usize>) {
        (0..self.0.len()).for_each(|at| self.fill_one(at, passes));
    }

    /// Notes the pass of one block; `passes` gives those of its rows, and maybe of others behind it.
    pub(super) fn fill_one(&mut self, at: usize, passes: &mut impl Iterator<Item = usize>) {
        let block = &mut self.0[at];
        for pass in passes.take(block.rows) {
            let (first, last) = block.passes.unwrap_or((pass, pass));
            block.passes = Some((first.min(pass), last.max(pass)));
        }
    }
}
