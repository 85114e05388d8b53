//! Blocks: calls of an operation. A block is one kernel, or several that do one piece of work together: a matrix product and
//! the reduction of its split-K parts, attention and its combine, all kernels of a MoE layer.

use std::ops::Range;

use crate::family::Family;
use crate::names::NameId;

/// What matters about a kernel for blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) family: Family,
    pub(crate) role: Role,
    pub(crate) name: NameId,
    /// Picoseconds.
    pub(crate) time: u64,
}

/// What a kernel does within its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The work itself.
    Core,
    /// Adds up the parts of a matrix product.
    SplitReduce,
    /// Puts the parts of an attention together.
    Combine,
    /// Fills memory.
    Fill,
    /// Sorts tokens to experts, or their results back.
    Routing,
}

impl Role {
    /// The role that follows from a name and a class.
    pub(crate) fn of(name: &str, class: &str) -> Role {
        let lower = name.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        match Family::of(class) {
            Family::Gemm if has(&["splitk_reduce", "splitkreduce", "split_k_reduce", "postgsu", "reduce_1block"]) => {
                Role::SplitReduce
            }
            Family::Attention if has(&["combine", "reduce_segments", "mergestate", "merge_state"]) => Role::Combine,
            Family::Moe if matches!(class, "MoE Routing" | "MoE Finalize") => Role::Routing,
            Family::Elementwise if has(&["fillbuffer", "memset", "fillfunctor"]) => Role::Fill,
            _ => Role::Core,
        }
    }
}

/// A call of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) family: Family,
    /// Kernels, by position in their sequence.
    pub(crate) kernels: Range<usize>,
    /// Sum of their durations in picoseconds.
    pub(crate) time: u64,
}

/// Blocks of a sequence of kernels.
pub(crate) fn blocks(pieces: &[Piece]) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut at = 0;
    while let Some(piece) = pieces.get(at) {
        let behind = end_of_block(pieces, at);
        let mut start = at;
        // Memory is filled for what comes next.
        if matches!(piece.family, Family::Gemm | Family::Moe | Family::Attention)
            && let Some(fill) = found.last()
            && pieces[fill.kernels.clone()].iter().all(|piece| piece.role == Role::Fill)
        {
            start = fill.kernels.start;
            found.pop();
        }
        if piece.family == Family::Attention {
            join_rope(&mut found);
        }
        found.push(block(piece.family, start..behind, pieces));
        at = behind;
    }
    found
}

fn block(family: Family, kernels: Range<usize>, pieces: &[Piece]) -> Block {
    let time = pieces[kernels.clone()].iter().map(|piece| piece.time).sum();
    Block { family, kernels, time }
}

/// One past the last kernel of the block that begins at a kernel.
fn end_of_block(pieces: &[Piece], at: usize) -> usize {
    use Family::{
        Activation, Attention, Communication, Convolution, Copy, Elementwise, Embedding, Gemm, Index, Loss, Moe, Norm,
        Optimizer, Other, Pooling, Quantize, Reduce, Rope, Sampling, Softmax, Sort, StateSpace, Triton,
    };
    let first = pieces[at];
    let follow =
        |wanted: &dyn Fn(&Piece) -> bool| at + 1 + pieces[at + 1..].iter().take_while(|piece| wanted(piece)).count();
    match first.family {
        Moe => {
            let between = [Quantize, Activation, Sort, Reduce, Elementwise, Copy, Triton, Index, Softmax, Other];
            with_gaps(pieces, at, 8, &between)
        }
        Attention => with_gaps(pieces, at, 2, &[Quantize, Elementwise, Copy, Reduce]),
        Gemm => follow(&|piece| piece.role == Role::SplitReduce),
        Norm | Activation => follow(&|piece| piece.family == Quantize),
        Communication | Rope | StateSpace | Optimizer | Embedding | Sampling | Loss => {
            follow(&|piece| piece.family == first.family)
        }
        Convolution | Pooling => at + 1,
        Quantize | Copy | Elementwise | Triton | Index | Reduce | Sort | Softmax | Other => {
            follow(&|piece| piece.family == first.family && piece.name == first.name)
        }
    }
}

/// The block goes on while the next kernel of its family comes within a few kernels of other families.
fn with_gaps(pieces: &[Piece], at: usize, most: usize, between: &[Family]) -> usize {
    let family = pieces[at].family;
    let mut behind = at + 1;
    let mut next = behind;
    while let Some(piece) = pieces.get(next) {
        if piece.family == family {
            behind = next + 1;
        } else if next - behind >= most || !between.contains(&piece.family) {
            break;
        }
        next += 1;
    }
    behind
}

/// Between a matrix product (or collective) and attention, the norm of queries and keys, their rotation and the write to the
/// cache are one piece of work.
fn join_rope(found: &mut Vec<Block>) {
    const MOST: usize = 12;
    use Family::{Communication, Copy, Elementwise, Gemm, Index, Norm, Quantize, Rope, Triton};
    let joins = [Rope, Norm, Quantize, Copy, Elementwise, Triton, Index];
    let count = found.iter().rev().take(MOST).take_while(|block| joins.contains(&block.family)).count();
    let Some(first) = found.len().checked_sub(count) else { return };
    let before = first.checked_sub(1).and_then(|before| found.get(before));
    let follows = before.is_some_and(|block| matches!(block.family, Gemm | Communication));
    if !follows || !found[first..].iter().any(|block| block.family == Rope) {
        return;
    }
    let time = found[first..].iter().map(|block| block.time).sum();
    let kernels = found[first].kernels.start..found.last().map_or(0, |block| block.kernels.end);
    found.truncate(first);
    found.push(Block { family: Rope, kernels, time });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(families: &[(Family, Role)]) -> Vec<(Family, Range<usize>)> {
        let piece =
            |(family, role): &(Family, Role)| Piece { family: *family, role: *role, name: *family as u32, time: 5 };
        let pieces: Vec<Piece> = families.iter().map(piece).collect();
        let found = blocks(&pieces);
        assert_eq!(found.iter().map(|block| block.time).sum::<u64>(), 5 * families.len() as u64);
        found.into_iter().map(|block| (block.family, block.kernels)).collect()
    }

    #[test]
    fn split_parts_belong_to_their_product() {
        use Family::{Gemm, Norm, Quantize};
        use Role::{Core, SplitReduce};
        let found = of(&[(Norm, Core), (Quantize, Core), (Gemm, Core), (Gemm, SplitReduce), (Gemm, Core)]);
        assert_eq!(found, [(Norm, 0..2), (Gemm, 2..4), (Gemm, 4..5)]);
    }

    #[test]
    fn a_moe_layer_is_one_call() {
        use Family::{Activation, Elementwise, Gemm, Moe, Norm, Sort};
        use Role::{Core, Fill, Routing};
        let found = of(&[
            (Norm, Core),
            (Elementwise, Fill),
            (Moe, Routing),
            (Sort, Core),
            (Moe, Core),
            (Activation, Core),
            (Moe, Core),
            (Moe, Routing),
            (Gemm, Core),
        ]);
        assert_eq!(found, [(Norm, 0..1), (Moe, 1..8), (Gemm, 8..9)]);
    }

    #[test]
    fn what_comes_between_the_product_and_attention_is_rope() {
        use Family::{Attention, Copy, Gemm, Norm, Rope};
        use Role::{Combine, Core};
        let found =
            of(&[(Gemm, Core), (Norm, Core), (Rope, Core), (Copy, Core), (Attention, Core), (Attention, Combine)]);
        assert_eq!(found, [(Gemm, 0..1), (Rope, 1..4), (Attention, 4..6)]);
        let found = of(&[(Norm, Core), (Rope, Core), (Attention, Core)]);
        assert_eq!(found.len(), 3, "without a product in front nothing is joined");
    }

    #[test]
    fn names_tell_roles() {
        for (name, class, expected) in [
            ("void splitKreduce_kernel<32>", "Dense GEMM", Role::SplitReduce),
            ("flash_fwd_splitkv_combine_kernel", "Attention", Role::Combine),
            ("moe_align_block_size", "MoE Routing", Role::Routing),
            ("vectorized_elementwise_kernel<FillFunctor>", "Elementwise", Role::Fill),
            ("nvjet_tst", "Dense GEMM", Role::Core),
        ] {
            assert_eq!(Role::of(name, class), expected, "{name}");
        }
    }
}
