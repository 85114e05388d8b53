//! Operations and bytes of the operators of a PyTorch profile, from the shapes and types that it records.
//!
//! ```
//! use perfdb_model::workload::{Arguments, Call, Unit};
//!
//! let arguments = Arguments { dims: "[[256, 4096], [4096, 512]]", types: r#"["c10::BFloat16", "c10::BFloat16"]"#, values: "" };
//! let call = Call::new("aten::mm", arguments).ok_or("no such shapes")?;
//! let found = call.work().ok_or("no formula")?;
//! assert_eq!(found.work.operations, 2.0 * 256.0 * 4096.0 * 512.0);
//! assert_eq!(found.work.bytes, 2.0 * (256.0 * 4096.0 + 4096.0 * 512.0 + 256.0 * 512.0));
//! assert_eq!(found.unit, Unit::Matrix);
//! # Ok::<(), &str>(())
//! ```
//!
//! What an operator does is known by its name without namespace and without the `_` of operators that work in place. The formulas
//! are those of [the kinds](OperatorKind); an operator that is in none of them, or whose arguments do not fit, has no work: nothing is
//! guessed. Each operand counts once, as if the caches were perfect, so that work over time never flatters a kernel.

mod call;
mod element;
mod formulas;
mod kernel;
mod lengths;
mod operator_kind;

pub use call::{Arguments, Call, CallWork, Message, Unit};
pub use formulas::{AttentionBatch, PackedAttention};
pub use kernel::{AttentionKernel, product_precision};
pub use lengths::{BatchLengths, Lengths};
pub use operator_kind::{Keys, OperatorKind, PackedCall, Product};
