//! Tables with a row per kernel: `kernel_details`, forward passes, `op_summary`.

mod columns;
mod mend;
mod passes;
mod read;
mod rules;
mod streams;

pub(crate) use mend::TableMender;
pub(crate) use read::{RowKeys, check_table};
