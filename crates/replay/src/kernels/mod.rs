//! Kernels of the native executor: pure functions on slices that operators are put together from.
//!
//! Floating-point work is done in float32 (float64 for float64 tensors), inputs widened exactly, results rounded once,
//! half to even. Blocks and orders of summation depend on shapes alone, so any number of threads gives the same bits.

pub(crate) mod attention;
pub(crate) mod batched;
pub(crate) mod broadcast;
pub(crate) mod cached;
pub(crate) mod cast;
pub(crate) mod element;
pub(crate) mod experts;
pub(crate) mod exponential;
pub(crate) mod fused_attention;
pub(crate) mod grouped;
pub(crate) mod heads;
pub(crate) mod jobs;
pub(crate) mod matmul;
pub(crate) mod normalise;
pub(crate) mod paging;
pub(crate) mod permute;
pub(crate) mod product;
pub(crate) mod quantise;
pub(crate) mod rope;
pub(crate) mod rows;
pub(crate) mod sort;
pub(crate) mod target;
pub(crate) mod topk;
pub(crate) mod typed;
pub(crate) mod window;
