//! The collectives of one trace, for comparisons of many ranks.

use crate::context::OUTSIDE;
use crate::elapsed::{self, TraceElapsed};
use crate::names::NO_NAME;
use crate::time::Picoseconds;
use crate::trace::Trace;

/// A kernel that communicates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollectiveCall<'a> {
    /// Position among all events of the file, from 0.
    pub index: u32,
    /// Class: `All-Reduce`, `All-Gather` …
    pub class: &'a str,
    /// Number of the forward pass or step.
    pub pass: Option<u32>,
    /// Start.
    pub start: Picoseconds,
    /// End.
    pub end: Picoseconds,
    /// The kernel that started last before it on its device and does not communicate; empty if there is none.
    pub before: &'a str,
}

impl Trace {
    /// The kernels that communicate, by start.
    pub fn collectives(&self) -> Vec<CollectiveCall<'_>> {
        let communicates = self.communicating();
        let mut before = vec![NO_NAME; self.kernels.iter().map(|kernel| kernel.device as usize + 1).max().unwrap_or(0)];
        let mut found = Vec::new();
        for at in self.in_time_order() {
            let (kernel, context) = (self.kernels.at(at), &self.contexts[at]);
            let operation = self.operation(at) as usize;
            let last = &mut before[kernel.device as usize];
            if !communicates[operation] {
                *last = kernel.name;
                continue;
            }
            found.push(CollectiveCall {
                index: kernel.index,
                class: &self.operations[operation],
                pass: (context.pass != OUTSIDE).then_some(context.pass),
                start: kernel.start,
                end: kernel.end(),
                before: if *last == NO_NAME { "" } else { self.name(*last) },
            });
        }
        found
    }

    /// Elapsed time of this trace alone, and its parts; nothing under the rules of old releases.
    pub fn elapsed(&self) -> Option<TraceElapsed> {
        elapsed::of_one(self)
    }
}
