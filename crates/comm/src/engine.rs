//! Runs a plan on `torch.distributed`: interpreter, backend, launcher, supervision.

mod command;
mod interpreter;
mod options;
mod processes;
mod progress;
mod rank_watch;
mod supervisor;

pub use interpreter::{Interpreter, NamedInterpreter};
pub use options::{Launcher, Nodes, RankOfLauncher, RunOptions};
pub use progress::{Event, Phase};

pub(crate) use command::{LaunchKind, RunFolder, Start, free_port};
pub(crate) use options::parse_count;
#[cfg(test)]
pub(crate) use processes::is_running;
pub(crate) use processes::new_run_mark;
pub(crate) use supervisor::{Ending, Supervision, supervise};
