//! Where a call lies: its axes, its work and its configuration.

use crate::roofline::{Attention, Collective, Experts, LatentAttention, MatMul, Operands, Terms, Work, elementwise};
use smallvec::{SmallVec, smallvec};

/// How many axes a point can have.
pub const MOST_AXES: usize = 8;

/// A call of a kernel: what it is compared by with measured ones.
///
/// Distances are taken between the logarithms of the axes. Of attention the axes have the number of heads per key head, not the
/// number of heads, and of experts the sizes that one rank sees: both are what the time depends on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Point {
    /// The numbers that may differ from those of a row, at most [`MOST_AXES`].
    pub axes: SmallVec<[f64; 4]>,
    /// What the kernel does; nothing where that is to be learnt from the rows.
    pub work: Work,
    /// What it may do instead; which of the two it does is learnt from the rows. A kernel may mask what it need not read, and a message may be what each
    /// rank has, not what all have together.
    pub other_work: Option<Work>,
    /// A hash of all that makes up a configuration: everything but size and batch ([`configuration`]).
    pub configuration: u64,
    /// Axes that count as products with others where distances are taken. Rows of equal work are near each other then, as they must be
    /// where steps in the time follow the work: caches that overflow, tiles that fill up.
    pub coupling: &'static [Coupling],
    /// How operations and bytes of the work go together.
    pub terms: Terms,
}

/// An axis counts as its product with another one where distances are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coupling {
    /// The axis that counts as a product.
    pub axis: usize,
    /// The other axis, as it is without coupling.
    pub by: usize,
}

/// The first axis as its product with all others: elements, which caches hold.
const BY_ELEMENTS: &[Coupling] = &{
    let mut all = [Coupling { axis: 0, by: 1 }; MOST_AXES - 1];
    let mut by = 1;
    while by < MOST_AXES {
        all[by - 1].by = by;
        by += 1;
    }
    all
};
/// Tokens, hidden, intermediate, experts of a rank, top-k: tokens as routed rows, tokens times top-k.
pub const BY_ROUTED_ROWS: &[Coupling] = &[Coupling { axis: 0, by: 4 }];
/// Batch, tokens, heads per key head, key heads: the batch as the number of caches, one for each sequence and key head, which are worked
/// on side by side, and tokens as those of all caches.
const BY_CACHES: &[Coupling] = &[Coupling { axis: 1, by: 0 }, Coupling { axis: 1, by: 3 }, Coupling { axis: 0, by: 3 }];

/// A hash of numbers, equal for equal ones.
pub fn configuration(values: &[f64]) -> u64 {
    values.iter().fold(0x9e37_79b9_7f4a_7c15, |hash, value| mix(hash ^ (value + 0.0).to_bits()))
}

/// The finalizer of SplitMix64.
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl Point {
    /// A product: rows, columns and inner size; the configuration is the weight.
    pub fn matmul(product: MatMul, operands: Operands) -> Point {
        let MatMul { rows, columns, inner } = product;
        Point {
            axes: smallvec![rows, columns, inner],
            work: product.work(operands),
            configuration: configuration(&[columns, inner]),
            ..Point::default()
        }
    }

    /// A product for each of a batch, with weights of its own: rows, columns and inner size of one, and how many.
    pub fn batched_matmul(product: MatMul, batch: f64, operands: Operands) -> Point {
        let MatMul { rows, columns, inner } = product;
        let Work { operations, bytes } = product.work(operands);
        Point {
            axes: smallvec![rows, columns, inner, batch],
            work: Work { operations: operations * batch, bytes: bytes * batch },
            configuration: configuration(&[columns, inner, batch]),
            ..Point::default()
        }
    }

    /// A product in groups: rows of all groups, columns, inner size and groups.
    pub fn grouped_matmul(product: MatMul, groups: f64, operands: Operands) -> Point {
        let MatMul { rows, columns, inner } = product;
        Point {
            axes: smallvec![rows, columns, inner, groups],
            work: product.work_in_groups(groups, operands),
            configuration: configuration(&[columns, inner, groups]),
            ..Point::default()
        }
    }

    /// Attention over a prompt: batch, tokens, heads per key head, key heads.
    pub fn prefill(call: Attention) -> Point {
        Point { work: call.prefill(), other_work: unwindowed(call).map(Attention::prefill), ..attention(call) }
    }

    /// Attention of one token to a cache: batch, tokens in the cache, heads per key head, key heads. Its work is bytes and caches, one for
    /// each sequence and key head.
    pub fn decode(call: Attention, cache_bytes: f64) -> Point {
        // The token itself is attended to as well. Memory bounds it, operations never: what a cache takes however short it is tells more.
        let work = |call: Attention| {
            let work = Attention { tokens: call.tokens + 1.0, ..call }.decode(cache_bytes);
            Work { operations: call.batch * call.kv_heads, ..work }
        };
        Point { work: work(call), other_work: unwindowed(call).map(work), coupling: BY_CACHES, ..attention(call) }
    }

    /// Latent attention over a prompt: batch, tokens, heads.
    pub fn latent_prefill(call: LatentAttention) -> Point {
        Point { work: call.prefill(), ..latent(call) }
    }

    /// Latent attention of one token to a cache: batch, tokens in the cache, heads.
    pub fn latent_decode(call: LatentAttention) -> Point {
        let work = LatentAttention { tokens: call.tokens + 1.0, ..call }.decode();
        Point { work, ..latent(call) }
    }

    /// The experts of a layer: tokens, hidden, intermediate per rank, experts per rank, top-k, experts.
    pub fn experts(call: Experts, weight_bytes: f64) -> Point {
        let Experts { tokens, hidden, intermediate, top_k, experts, tensor_parallel, expert_parallel } = call;
        let local = (experts / expert_parallel).max(1.0);
        Point {
            axes: smallvec![tokens, hidden, intermediate / tensor_parallel, local, top_k, experts],
            work: call.work(weight_bytes),
            configuration: configuration(&[hidden, intermediate, top_k, experts, tensor_parallel, expert_parallel]),
            coupling: BY_ROUTED_ROWS,
            ..Point::default()
        }
    }

    /// A collective: message and ranks.
    pub fn collective(call: Collective) -> Point {
        // Its first term is the steps that the ranks take one after another, of which each costs the latency of a link.
        let work = Work { operations: call.ranks, ..call.work() };
        Point {
            axes: smallvec![call.message_bytes, call.ranks],
            work,
            configuration: configuration(&[call.ranks]),
            terms: Terms::InTurn,
            ..Point::default()
        }
    }

    /// An all-gather or a reduce-scatter: message and ranks. Some libraries count what all ranks have together, others what each of them has.
    pub fn gather(call: Collective) -> Point {
        let all = Collective { message_bytes: call.message_bytes * call.ranks, ..call };
        Point { other_work: Some(Point::collective(all).work), ..Point::collective(call) }
    }

    /// An elementwise kernel or a norm: rows and columns.
    pub fn elementwise(rows: f64, columns: f64, bytes_per_element: f64) -> Point {
        let work = Work { operations: rows, ..elementwise(rows * columns, bytes_per_element) };
        Point {
            axes: smallvec![rows, columns],
            work,
            configuration: configuration(&[columns]),
            coupling: BY_ELEMENTS,
            ..Point::default()
        }
    }

    /// A layer of a model of which nothing but its tokens is known: tokens and tensor-parallel ranks.
    pub fn layer(tokens: f64, tensor_parallel: f64) -> Point {
        Point {
            axes: smallvec![tokens, tensor_parallel],
            work: Work { operations: tokens / tensor_parallel, bytes: 1.0 / tensor_parallel },
            configuration: configuration(&[tensor_parallel]),
            ..Point::default()
        }
    }

    /// A kernel that nobody described: all its sizes are axes, and its work is learnt from the rows.
    pub fn generic(sizes: &[f64]) -> Point {
        Point { coupling: &[], work: Work::default(), ..Point::sizes(sizes) }
    }

    /// A kernel of which nothing is known but its sizes; the first is that along which it grows.
    pub fn sizes(sizes: &[f64]) -> Point {
        let elements: f64 = sizes.iter().map(|size| size.max(1.0)).product();
        Point {
            axes: SmallVec::from_slice(&sizes[..sizes.len().min(MOST_AXES)]),
            work: Work { operations: elements, bytes: elements },
            configuration: configuration(sizes.get(1..).unwrap_or_default()),
            coupling: BY_ELEMENTS,
            ..Point::default()
        }
    }
}

fn attention(call: Attention) -> Point {
    let Attention { batch, tokens, heads, kv_heads, .. } = call;
    Point {
        axes: smallvec![batch, tokens, heads / kv_heads, kv_heads],
        configuration: configuration(&[heads, kv_heads]),
        ..Point::default()
    }
}

/// A call that has a window, as a kernel takes it that masks what is outside.
fn unwindowed(call: Attention) -> Option<Attention> {
    (call.window > 0.0).then_some(Attention { window: 0.0, ..call })
}

fn latent(call: LatentAttention) -> Point {
    let LatentAttention { batch, tokens, heads } = call;
    Point { axes: smallvec![batch, tokens, heads], configuration: configuration(&[heads]), ..Point::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experts(tensor_parallel: f64, expert_parallel: f64) -> Point {
        let call = Experts {
            tokens: 32.0,
            hidden: 7168.0,
            intermediate: 2048.0,
            top_k: 8.0,
            experts: 256.0,
            tensor_parallel,
            expert_parallel,
        };
        Point::experts(call, 1.0)
    }

    #[test]
    fn experts_are_compared_by_what_one_rank_sees() {
        let point = experts(2.0, 16.0);
        assert_eq!(point.axes.as_slice(), [32.0, 7168.0, 1024.0, 16.0, 8.0, 256.0]);
        assert_eq!(point.work.operations, 6.0 * (32.0 * 8.0 / 16.0) * 7168.0 * 1024.0);
        // A rank has one expert at least.
        assert_eq!(experts(1.0, 512.0).axes[3], 1.0);
    }

    #[test]
    fn the_size_of_experts_leans_to_routed_rows_alone() {
        let point = experts(1.0, 1.0);
        let coupling: Vec<[f64; 2]> =
            point.coupling.iter().map(|coupling| [coupling.axis, coupling.by].map(|axis| point.axes[axis])).collect();
        assert_eq!(coupling, [[32.0, 8.0]]);
    }

    #[test]
    fn decode_is_compared_by_the_number_of_caches() {
        // As many caches of as many tokens, in two sequences of eight key heads or sixteen of one: the same tiles are worked on.
        let point = |batch, kv_heads| {
            let call =
                Attention { batch, tokens: 4095.0, heads: 8.0 * kv_heads, kv_heads, head_size: 128.0, window: 0.0 };
            Point::decode(call, 2.0)
        };
        let mut rows = crate::predict::Rows::new(4);
        for (row, (batch, kv_heads)) in
            [(2.0, 8.0), (16.0, 1.0), (4.0, 8.0), (16.0, 8.0), (8.0, 1.0)].into_iter().enumerate()
        {
            rows.push(row as u32, &point(batch, kv_heads), 10.0, None);
        }
        let model = crate::predict::Model::build(vec![rows], Some(1)).expect("rows");
        let octaves = |batch, kv_heads| {
            let spot = model.spot(0, &point(batch, kv_heads)).expect("a spot");
            let (axis, factor) = model.scale.varying[0];
            assert_eq!(axis, 0);
            (spot.point[0] / factor).round()
        };
        assert_eq!([octaves(2.0, 8.0), octaves(16.0, 1.0), octaves(4.0, 8.0)], [4.0, 4.0, 5.0]);
        assert_eq!(point(2.0, 8.0).work, point(16.0, 1.0).work);
    }

    #[test]
    fn experts_split_in_another_way_are_another_configuration() {
        let all = [experts(1.0, 1.0), experts(2.0, 1.0), experts(1.0, 2.0)].map(|point| point.configuration);
        assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
    }
}
