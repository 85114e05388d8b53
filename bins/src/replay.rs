//! What the tools that replay operators share: their options, the settings made of them, and what they say while they run.

mod arguments;
mod children;
mod errors;
mod output;
mod printer;
mod ranges;

pub use arguments::{
    DispatchArguments, OutputArguments, ReplayArguments, UpdateModeArgument, repeat_count, run_id, visibility,
};
pub(crate) use arguments::{path_variable, variable};
pub use children::{DispatchPrefixedArguments, child_arguments};
pub use errors::{stopped, stopped_run_of_all};
pub use output::{ReportFiles, warn_of_host};
pub use printer::{RunPrinter, worker_listener};
