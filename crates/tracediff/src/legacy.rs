//! The rules of wafer-core 0.1.33 and 0.1.35, quirks included: plain doubles, trace 1 taken for AMD, rows of operations
//! on both sides only. What is wrong with them is why the default rules exist.

pub(crate) mod aligned;
pub(crate) mod aligned_result;
pub(crate) mod columns;
pub(crate) mod compare;
pub(crate) mod full;
pub(crate) mod layers;
pub(crate) mod passes;
pub(crate) mod phases;
pub(crate) mod result;
pub(crate) mod stacks;
pub(crate) mod times;
pub(crate) mod totals;
pub(crate) mod view;
