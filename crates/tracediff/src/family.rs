//! Families of operations: classes that do one kind of work, for any number of kernels it takes.

use crate::classify::COLLECTIVES;

/// A family of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum Family {
    Gemm,
    Attention,
    StateSpace,
    Convolution,
    Norm,
    Activation,
    Moe,
    Rope,
    Communication,
    Embedding,
    Optimizer,
    Loss,
    Pooling,
    Sampling,
    Quantize,
    Copy,
    Elementwise,
    Triton,
    Index,
    Reduce,
    Sort,
    Softmax,
    Other,
}

/// Families, how groups are called, how a report calls them, and their classes.
const FAMILIES: [(Family, &str, &str, &[&str]); 23] = [
    (Family::Gemm, "GEMM", "GEMM", &["Dense GEMM"]),
    (Family::Attention, "ATTN", "Attention", &["Attention"]),
    (Family::StateSpace, "SSM", "SSM", &["SSM"]),
    (Family::Convolution, "CONV", "Convolution", &["Convolution"]),
    (Family::Norm, "NORM", "Norm", &["RMSNorm", "LayerNorm", "Normalization"]),
    (Family::Activation, "ACT", "Activation", &["SwiGLU", "Activation"]),
    (Family::Moe, "MOE", "MoE", &["MoE GEMM", "MoE GEMM+SwiGLU", "MoE Routing", "MoE Finalize"]),
    (Family::Rope, "ROPE", "RoPE and KV cache", &["RoPE", "KV Cache"]),
    (Family::Communication, "COMM", "Communication", &COLLECTIVES),
    (Family::Embedding, "EMB", "Embedding", &["Embedding"]),
    (Family::Optimizer, "OPT", "Optimizer", &["Optimizer"]),
    (Family::Loss, "LOSS", "Loss", &["Loss"]),
    (Family::Pooling, "POOL", "Pooling", &["Pooling"]),
    (Family::Sampling, "SAMPLE", "Sampling", &["Sampling"]),
    (Family::Quantize, "QUANT", "Quantize", &["Quantize"]),
    (Family::Copy, "COPY", "Copy kernels", &["Copy/Memory"]),
    (Family::Elementwise, "ELEM", "Elementwise", &["Elementwise"]),
    (Family::Triton, "TRITON", "Triton Fused", &["Triton Fused"]),
    (Family::Index, "INDEX", "Indexing", &["Indexing"]),
    (Family::Reduce, "REDUCE", "Reduce", &["Reduce"]),
    (Family::Sort, "SORT", "Sorting", &["Sorting"]),
    (Family::Softmax, "SOFTMAX", "SoftMax", &["SoftMax"]),
    (Family::Other, "OTHER", "Unknown kernels", &["Other"]),
];

impl Family {
    /// The family of a class; classes of users' own are like unknown ones.
    pub(crate) fn of(class: &str) -> Family {
        let found = FAMILIES.iter().find(|(_, _, _, classes)| classes.contains(&class));
        found.map_or(Family::Other, |(family, _, _, _)| *family)
    }

    /// As groups are called.
    pub(crate) fn code(self) -> &'static str {
        FAMILIES[self as usize].1
    }

    /// As a report calls it.
    pub(crate) fn label(self) -> &'static str {
        FAMILIES[self as usize].2
    }

    /// Whether it is a large piece of work, by which layers are found.
    pub(crate) fn is_heavy(self) -> bool {
        use Family::{Attention, Communication, Convolution, Gemm, Moe, Norm, StateSpace};
        matches!(self, Gemm | Attention | StateSpace | Convolution | Moe | Norm | Communication)
    }

    /// Whether its kernels stand between the work: one family for each of these classes.
    pub(crate) fn is_glue(self) -> bool {
        self >= Family::Quantize
    }

    /// How far two families are apart, in thousandths; nothing where one never stands for the other.
    pub(crate) fn distance(self, other: Family) -> Option<u64> {
        use Family::{
            Activation, Attention, Convolution, Copy, Elementwise, Embedding, Gemm, Index, Loss, Moe, Norm, Optimizer,
            Pooling, Quantize, Reduce, Rope, Sampling, Softmax, Sort, StateSpace, Triton,
        };
        if self == other {
            return Some(0);
        }
        let (first, second) = (self.min(other), self.max(other));
        match (first, second) {
            (Embedding, Index) => Some(100),
            (Optimizer | Loss | Quantize | Copy, Elementwise)
            | (Elementwise, Triton | Index | Reduce)
            | (Copy, Triton | Index)
            | (Quantize, Copy | Triton)
            | (Triton, Index | Reduce | Softmax)
            | (Sampling, Sort | Reduce | Softmax)
            | (Reduce, Sort)
            | (Loss, Reduce)
            | (Rope, Triton | Elementwise) => Some(300),
            (Activation, Elementwise | Triton)
            | (Norm, Triton | Rope)
            | (Rope, Copy | Quantize)
            | (Sampling, Elementwise)
            | (Index, Sort)
            | (Pooling, Elementwise | Reduce) => Some(400),
            (Attention, Softmax)
            | (Norm, Elementwise | Reduce | Quantize)
            | (Embedding, Elementwise | Copy | Triton)
            | (Gemm, Convolution) => Some(500),
            (Gemm, Moe) | (Attention, StateSpace) => Some(600),
            // A kernel that nobody knows may be anything: what stands in its place tells.
            (Family::Other, _) | (_, Family::Other) => Some(450),
            _ => None,
        }
    }

    /// Whether a kernel of this family can have the work of the other one inside.
    pub(crate) fn absorbs(self, other: Family) -> bool {
        use Family::{
            Activation, Attention, Communication, Convolution, Copy, Elementwise, Gemm, Index, Moe, Norm, Quantize,
            Reduce, Rope, Softmax, Sort, StateSpace, Triton,
        };
        let swallowed: &[Family] = match self {
            Moe => &[Activation, Quantize, Sort, Softmax, Elementwise, Reduce, Copy, Triton, Index],
            Gemm => &[Activation, Quantize, Elementwise, Copy],
            Norm => &[Quantize, Elementwise, Copy, Communication],
            Communication => &[Norm],
            Activation => &[Quantize, Elementwise],
            Attention => &[Rope, Copy, Elementwise, Softmax, Quantize],
            Rope => &[Norm, Copy, Elementwise, Quantize, Index],
            Convolution => &[Norm, Activation, Elementwise, Copy],
            Triton => &[Elementwise, Copy, Norm],
            StateSpace => &[Copy, Elementwise, Norm, Activation],
            _ => &[],
        };
        swallowed.contains(&other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_families() {
        for (at, (family, ..)) in FAMILIES.iter().enumerate() {
            assert_eq!(*family as usize, at);
            assert_eq!(Family::of(FAMILIES[at].3[0]), *family);
        }
        assert_eq!(Family::of("mine"), Family::Other);
    }

    #[test]
    fn distances_do_not_depend_on_the_side() {
        for (one, ..) in FAMILIES {
            for (other, ..) in FAMILIES {
                assert_eq!(one.distance(other), other.distance(one));
            }
        }
        for (one, other, expected) in [
            (Family::Embedding, Family::Index, Some(100)),
            (Family::Elementwise, Family::Copy, Some(300)),
            (Family::Reduce, Family::Loss, Some(300)),
            (Family::Rope, Family::Norm, Some(400)),
            (Family::Activation, Family::Triton, Some(400)),
            (Family::Softmax, Family::Attention, Some(500)),
            (Family::Moe, Family::Gemm, Some(600)),
            (Family::Gemm, Family::Attention, None),
            (Family::Other, Family::Elementwise, Some(450)),
            (Family::Other, Family::Gemm, Some(450)),
        ] {
            assert_eq!(one.distance(other), expected, "{one:?} {other:?}");
        }
    }
}
