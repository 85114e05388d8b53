//! Which process of a trace is the profiling model's.

mod choice;
mod pid;
mod seen;

pub(crate) use choice::{Choice, NotChosen, Processes, globally};
pub use pid::Pid;
pub(crate) use seen::{LocatedFault, NamedProcess, SeenPids};
