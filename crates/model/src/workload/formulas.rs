//! Operations and bytes of each kind of operators.
//!
//! | kind | operations | bytes |
//! | --- | --- | --- |
//! | product (m, k)·(k, n), b of them | b·2·m·n·k | b·(m·k + k·n + m·n) elements |
//! | the same with something to add | and b·m·n | and b·n elements |
//! | scaled product of 8 bits | 2·m·n·k, and m·n with three shapes | m·k + k·n, and 2·m·n |
//! | grouped product, m rows over g weights | 2·m·n·k | m·k + g·k·n + m·n elements |
//! | convolution | 2·\|out\|·Π w\[1…\] (transposed: 2·\|in\|·Π w\[1…\]), with bias and \|out\| | in, weight, out, with bias and its channels |
//! | attention | 2·b·h·q·k·(d + dv), half of it under a causal mask where q = k | query, key, value, result |
//! | attention over packed sequences | 2·h·(d + dv)·Σ(q·k), less Σq²/2 of prompts; the lengths are those that the server annotates | query, key, value, result, keys and values of the cache |
//! | two tensors, element by element | \|out\| | both in, out |
//! | one tensor, element by element | n | in, out |
//! | copy | 0 | in, out |
//! | reduction | n in | in, out |
//! | softmax | 3·n | in, out |
//! | RMS norm, r rows of h | r·(2·h + 2) + n, with weight 2·n | in, out, weight |
//! | layer norm | 5·n + 6·r | in, out, 2·h of weight and bias, 2·r of statistics |
//! | fused experts, T tokens to k of E experts | 2·T·k·n·k of each product | in, out, the experts that can be touched |
//! | writing to a cache of keys and values | 0 | keys and values, in and out |
//! | generated kernel | not known | each tensor, where the kernel goes through all of it |
//! | collective of n ranks | 0 | by ring: 2·(n − 1)/n of an all-reduce, (n − 1)/n of the larger side of others |

mod attention;
mod collectives;
mod convolution;
mod experts;
mod generated;
mod norms;
mod packed;
mod pointwise;
mod products;
mod reductions;

use crate::workload::call::{Call, CallWork, Message};
use crate::workload::operator_kind::OperatorKind;

pub use packed::{AttentionBatch, PackedAttention};

impl Call {
    /// What the call must do; `None` where there is no formula, or the arguments do not fit it.
    pub fn work(&self) -> Option<CallWork> {
        let found = of_kind(self.kind()?, self)?;
        let numbers = [found.work.operations, found.work.bytes];
        numbers.iter().all(|number| number.is_finite() && *number >= 0.0).then_some(found)
    }

    /// The call as attention over packed sequences, which must do something for sequences of known lengths; `None` where it is
    /// something else, or its arguments do not fit.
    pub fn packed_attention(&self) -> Option<PackedAttention> {
        match self.kind()? {
            OperatorKind::PackedAttention(how) => PackedAttention::of(how, self),
            _ => None,
        }
    }
}

impl Message<'_> {
    /// Bytes that a rank sends, if each collective is a ring.
    pub fn work(&self) -> Option<CallWork> {
        collectives::collective(self)
    }
}

fn of_kind(kind: OperatorKind, call: &Call) -> Option<CallWork> {
    match kind {
        OperatorKind::Product(product) => products::work(product, call),
        OperatorKind::Convolution => convolution::work(call),
        OperatorKind::Attention(how) => attention::work(how, call),
        // The arguments alone do not tell.
        OperatorKind::PackedAttention(_) => None,
        OperatorKind::CacheWrite => packed::cache_write(call),
        OperatorKind::Generated => generated::work(call),
        OperatorKind::Binary { compares } => pointwise::binary(call, compares),
        OperatorKind::Unary => pointwise::unary(call),
        OperatorKind::Copy => pointwise::copy(call),
        OperatorKind::Reduction(reduced) => reductions::reduction(reduced, call),
        OperatorKind::Softmax => reductions::softmax(call),
        OperatorKind::Norm(norm) => norms::work(norm, call),
        OperatorKind::Experts => experts::work(call),
    }
}

#[cfg(test)]
mod tests {
    use crate::workload::call::{Arguments, Call};

    /// Operations and bytes of a call without values.
    pub(super) fn work(name: &str, dims: &str, types: &str) -> Option<(f64, f64)> {
        let found = Call::new(name, Arguments { dims, types, values: "" })?.work()?;
        Some((found.work.operations, found.work.bytes))
    }

    #[test]
    fn what_does_not_fit_has_no_work() {
        let call =
            |dims, types| Call::new("aten::mm", Arguments { dims, types, values: "" }).and_then(|call| call.work());
        let types = r#"["float", "float"]"#;
        assert!(call("[[2, 3], [3, 4]]", types).is_some());
        for dims in [
            "",
            "{}",
            "[[2, 3]]",
            "[[2, 3], []]",
            "[[2, 3], [4, 4]]",
            "[[2, 3, 4], [4, 4]]",
            "[[2, -3], [-3, 4]]",
            "[[",
        ] {
            assert_eq!(call(dims, types), None, "{dims}");
        }
        assert_eq!(call("[[2, 3], [3, 4]]", r#"["Scalar", ""]"#), None);
        assert!(!Call::is_known("aten::slice"));
    }
}
