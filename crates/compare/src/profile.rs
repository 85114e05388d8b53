//! The measured side: kernels of a forward-pass CSV, collectives counted once.

mod cells;
mod policy;
mod read;
mod sample;
mod spread;
mod time;
mod totals;

pub use cells::{CellRule, CellRules};
pub use policy::{
    Addition, ByteOrderMark, DurationForm, FirstTest, GroupDuration, GroupKey, GroupingPolicy, NotANumberStart,
    ReadDuration, ReadStart,
};
pub(crate) use read::excerpt;
pub use read::read_profile;
pub(crate) use spread::FEWEST_CALLS;
pub(crate) use spread::MeasuredSpread;
pub use spread::RelativeSpread;
pub use totals::{Kernel, KernelTotals, NoGroup, Total};
