//! Groups: kernels of two traces that do the same work, found by aligning typical layers block by block, then what lies
//! between layers.

mod assign;
mod difference;
mod events;
mod side_by_side;
mod strip;
mod typical;
mod windows;

use std::collections::BTreeMap;

use crate::elapsed::counted::Counted;
use crate::trace::Trace;
use assign::Assignment;

pub use difference::GroupRow;
pub use events::{EventRow, events};
pub use side_by_side::{Strip, StripRow};
pub use windows::windows;

/// What of one trace is compared with what of the other.
#[derive(Debug)]
pub(crate) struct Groups {
    /// Names of the groups.
    pub(crate) names: Vec<String>,
    /// Per trace and kernel, the number of its group.
    pub(crate) of_kernels: [Vec<u32>; 2],
    /// One typical layer of each side.
    pub(crate) strips: Vec<Strip>,
    assignment: Assignment,
}

impl Groups {
    /// Groups of two traces; nothing under rules that know none.
    pub(crate) fn new(traces: [&Trace; 2]) -> Option<Groups> {
        let structures = [traces[0].structure.as_ref()?, traces[1].structure.as_ref()?];
        let mut assignment = Assignment::oriented(traces, structures);
        let strips = assignment.strips(traces, structures);
        let of_kernels = assignment.kernels(traces, structures);
        let names = assignment.names();
        Some(Groups { names, of_kernels, strips, assignment })
    }

    /// What makes up the difference of each group, the largest first.
    pub(crate) fn rows(&self, traces: [&Trace; 2], counted: &[Counted; 2], divisors: [f64; 2]) -> Vec<GroupRow> {
        difference::rows(self, traces, counted, divisors)
    }
}

/// Words of kernel names as numbers, the same in both traces.
#[derive(Debug, Default)]
pub(crate) struct Words {
    numbers: BTreeMap<String, u32>,
}

impl Words {
    /// Numbers of the words of a name, ascending: three small letters or more.
    pub(crate) fn of(&mut self, name: &str) -> Vec<u32> {
        let lower = name.to_lowercase();
        let words = lower.split(|character: char| !character.is_ascii_lowercase()).filter(|word| word.len() >= 3);
        let mut found: Vec<u32> = words
            .map(|word| {
                let next = self.numbers.len() as u32;
                *self.numbers.entry(word.to_owned()).or_insert(next)
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
