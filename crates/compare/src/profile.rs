//! The measured side: kernels of a forward-pass CSV, collectives counted once.

mod cells;
mod policy;
mod read;
mod sample;
mod totals;

pub use cells::{CellRule, CellRules};
pub use policy::{
    Addition, ByteOrderMark, DurationForm, FirstTest, GroupFigure, GroupKey, GroupingPolicy, NotANumberStart,
    ReadDuration, ReadStart,
};
pub(crate) use read::excerpt;
pub use read::{ProfileRow, Refusal, read_profile, read_profile_rows};
pub use totals::{Kernel, KernelTotals, NoGroup, Total};
