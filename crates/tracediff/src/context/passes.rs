//! The forward pass and the phase of every kernel, by the time of its launch: a kernel may run long after the step that
//! launched it has ended on the host.

use perfdb_workload::BatchLengths;

use super::OUTSIDE;
use super::launches::Launches;
use crate::columns::{Annotation, Kernel};
use crate::copies::GpuCopy;
use crate::corrections::Corrections;
use crate::id::Id;
use crate::steps::{Basis, Phase, Steps};
use crate::time::Picoseconds;

/// The forward passes of a trace.
#[derive(Debug)]
pub(crate) struct Passes {
    pub(crate) of_kernels: Vec<KernelPass>,
    /// How many passes have kernels.
    pub(crate) count: u64,
    /// Whether steps were annotated with phases.
    pub(crate) has_steps: bool,
}

/// The pass and phase of a kernel or a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelPass {
    /// Number of the pass, or [`OUTSIDE`].
    pub(crate) pass: u32,
    pub(crate) phase: Option<Phase>,
}

/// Finds the pass of one event after the other. Neighbours in the file mostly share their pass.
pub(crate) struct PassFinder<'a> {
    steps: Steps,
    launches: &'a Launches<'a>,
    last: usize,
}

impl<'a> PassFinder<'a> {
    pub(crate) fn new(annotations: &[Annotation], launches: &'a Launches<'a>) -> PassFinder<'a> {
        PassFinder { steps: Steps::new(annotations), launches, last: 0 }
    }

    /// What the annotations separate.
    pub(crate) fn basis(&self) -> Basis {
        self.steps.basis
    }

    /// The lengths of the sequences of each pass, where its step tells them.
    pub(crate) fn lengths(&self) -> Vec<Option<BatchLengths>> {
        self.steps.windows.iter().map(|window| window.lengths).collect()
    }

    /// Passes that lack kernels, ascending: those of marked kernels, and those of launches without kernels.
    pub(crate) fn incomplete(&self, passes: &Passes, corrections: &Corrections) -> Vec<u32> {
        let marked = corrections.incomplete.iter().filter_map(|kernel| passes.of_kernels.get(*kernel as usize));
        let mut found: Vec<u32> = marked.map(|kernel| kernel.pass).filter(|pass| *pass != OUTSIDE).collect();
        let windows = &self.steps.windows;
        for (start, end) in &corrections.lost {
            let first = windows.partition_point(|window| window.end < *start);
            let behind = windows.partition_point(|window| window.start <= *end);
            found.extend(first as u32..behind as u32);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Pass and phase of every kernel.
    pub(crate) fn of_kernels(&mut self, kernels: &[Kernel]) -> Passes {
        let of_kernels: Vec<KernelPass> =
            kernels.iter().map(|kernel| self.find(kernel.start, kernel.correlation)).collect();
        let mut used = vec![false; self.steps.windows.len()];
        for kernel in &of_kernels {
            if let Some(used) = used.get_mut(kernel.pass as usize) {
                *used = true;
            }
        }
        let count = if used.is_empty() { 1 } else { used.iter().filter(|used| **used).count() as u64 };
        Passes { of_kernels, count, has_steps: self.steps.recognised }
    }

    /// Pass and phase of every copy.
    pub(crate) fn of_copies(&mut self, copies: &[GpuCopy]) -> Vec<KernelPass> {
        copies.iter().map(|copy| self.find(copy.start, copy.correlation)).collect()
    }

    fn find(&mut self, start: Picoseconds, correlation: Id) -> KernelPass {
        let windows = &self.steps.windows;
        if windows.is_empty() {
            return KernelPass { pass: 0, phase: None };
        }
        let time = self.launches.with(correlation).map_or(start, |launch| launch.start);
        let last = self.last;
        let next = windows.get(last + 1);
        let same = windows[last].start <= time && next.is_none_or(|next| time < next.start);
        let found = if same { (time <= windows[last].end).then_some(last) } else { self.steps.at(time) };
        let Some(window) = found else { return KernelPass { pass: OUTSIDE, phase: None } };
        self.last = window;
        KernelPass { pass: window as u32, phase: windows[window].phase }
    }
}
