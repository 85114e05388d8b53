//! Where the messages of a run go.

use crate::executor::worker::Listener;
use crate::session::{Event, RunReport};

use crate::microbench::remaining::Remaining;

/// Where the messages of a run go.
pub struct Reporter<'a> {
    /// Lines of the run's own: `[SKIP] …`, `[WARN] …`.
    pub line: &'a dyn Fn(&str),
    /// What a user should know besides.
    pub warning: &'a dyn Fn(&str),
    /// What was done, or need not be.
    pub note: &'a dyn Fn(&str),
    /// Rows and tables as they are replayed in this process.
    pub event: &'a (dyn Fn(Event<'_>) + Sync),
    /// The end of a replay in this process.
    pub replayed: &'a dyn Fn(&RunReport),
    /// What an interrupted run has left to do.
    pub remaining: &'a dyn Fn(&Remaining),
    /// What workers print beside their answers.
    pub listener: Listener,
}
