//! What the tools that replay operators share: their options, the settings made of them, and what they say while they run.

mod arguments;
mod children;
mod narrator;
mod output;
mod ranges;

pub use arguments::{
    DispatchArguments, OutputArguments, ReplayArguments, UpdateModeArgument, repeat_count, run_id, visibility,
};
pub use children::{DispatchPrefixedArguments, child_arguments};
pub use narrator::{Narrator, worker_listener};
pub use output::{ReportFiles, stopped, warn_of_host};
