//! Per kernel type: predicted and measured time and count of a forward pass.
//!
//! The predicted side are the X events of the profiling model's process. An event that was found in the database (*hit*)
//! counts for the kernel types it names, any other (*miss*) for the kernel type that the operator mapping gives it.

mod chunk;
mod gate;
mod order;
mod rows;
mod totals;
mod trace;

pub use crate::process::Pid;
pub use gate::{Gate, GateFinding, Offence};
pub use order::{Order, sort_rows};
pub use rows::{Number, OpRow, RowStatus, TooManyKernels, measured_total_us, op_rows, share_pct};
pub use totals::Predicted;
pub(crate) use trace::location_of;
pub use trace::{PredictedTrace, read_predicted};
