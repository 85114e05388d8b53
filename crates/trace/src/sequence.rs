//! What repeats in a sequence of kernels: layers, and the forward passes of a profile.
//!
//! A model runs the same kernels layer after layer and pass after pass. This crate finds the two by the sequence alone: it
//! knows no names of models or kernels, only *symbols* (any numbering of what shall count as equal) and times in integer
//! picoseconds. Readers of CSVs and traces number their kernels and ask.
//!
//! ```
//! use perfdb_trace::sequence::{Kernel, Method, find_passes};
//!
//! // Two passes of eight layers `norm, matmul, add` with a sampling kernel at the end of each.
//! let (mut kernels, mut start_ps) = (Vec::new(), 0);
//! for _ in 0..2 {
//!     for symbol in [0, 1, 2].repeat(8).into_iter().chain([9]) {
//!         kernels.push(Kernel { symbol, start_ps, duration_ps: 10 });
//!         start_ps += 12;
//!     }
//!     start_ps += 500;
//! }
//! let passes = find_passes(kernels.as_slice());
//! assert_eq!((passes.method, passes.starts), (Method::Sequence, vec![25]));
//! ```
//!
//! - [`anchors`]: how well a sequence is cut at each of its symbols, [`common_anchor`] for two sequences;
//! - [`Segments`]: a sequence cut at one symbol, equal segments known by the *multiset* of their symbols, so that kernels of
//!   overlapping streams may swap;
//! - [`find_passes`]: where the forward passes of a profile begin;
//! - [`Units`]: layers by exact and imperfect repetition;
//! - [`align`]: what of one sequence stands for what of another.
//!
//! Everything is linear in the number of kernels: multisets are sums of one random number per symbol.

mod align;
mod anchor;
mod fingerprint;
mod gaps;
mod kernel;
mod passes;
mod rank;
mod repeats;
mod segments;

pub use align::{Alignment, MOST, align};
pub use anchor::{Anchor, anchors, common_anchor};
pub use fingerprint::Fingerprint;
pub use kernel::{Kernel, Sequence};
pub use passes::{Method, Passes, find_passes};
pub use rank::nearest_rank;
pub use repeats::{Entry, Layer, Units};
pub use segments::{Segment, Segments};
