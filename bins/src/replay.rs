//! What the tools that replay operators share: their options, the settings made of them, and what they print while they run.

mod arguments;
mod children;
mod dispatch;
mod errors;
mod files;
mod output;
mod printer;
mod ranges;
mod variables;

pub use arguments::ReplayArguments;
pub use children::{DispatchPrefixedArguments, child_arguments};
pub use dispatch::DispatchArguments;
pub use errors::{stopped, stopped_run_of_all};
pub use files::OutputArguments;
pub use output::{ReportFiles, warn_of_host};
pub use printer::{RunPrinter, worker_listener};
pub(crate) use variables::{path_variable, variable};
pub use variables::{repeat_count, run_id, visibility};
