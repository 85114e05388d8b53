//! The forward pass and the phase of every kernel, by the time of its launch: a kernel may run long after the step that
//! launched it has ended on the host.

use super::OUTSIDE;
use super::launches::Launches;
use crate::columns::{Annotation, Kernel};
use crate::steps::{Phase, Steps};

/// The forward passes of a trace.
#[derive(Debug)]
pub(crate) struct Passes {
    pub(crate) of_kernels: Vec<KernelPass>,
    /// How many passes have kernels.
    pub(crate) count: u64,
    /// Whether steps were annotated.
    pub(crate) has_steps: bool,
}

/// The pass and phase of a kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelPass {
    /// Number of the pass, or [`OUTSIDE`].
    pub(crate) pass: u32,
    pub(crate) phase: Option<Phase>,
}

/// Finds pass and phase of every kernel.
pub(crate) fn find(kernels: &[Kernel], annotations: &[Annotation], launches: &Launches<'_>) -> Passes {
    let steps = Steps::new(annotations);
    let (windows, has_steps) = (&steps.windows, steps.recognised);
    if windows.is_empty() {
        let whole = KernelPass { pass: 0, phase: None };
        return Passes { of_kernels: vec![whole; kernels.len()], count: 1, has_steps };
    }
    let mut used = vec![false; windows.len()];
    // Neighbours in the file mostly share their pass.
    let mut last = 0;
    let pass_of = |kernel: &Kernel| {
        let time = launches.of(kernel).map_or(kernel.start, |launch| launch.start);
        let next = windows.get(last + 1);
        let same = windows[last].start <= time && next.is_none_or(|next| time < next.start);
        let found = if same { (time <= windows[last].end).then_some(last) } else { steps.at(time) };
        let Some(window) = found else { return KernelPass { pass: OUTSIDE, phase: None } };
        last = window;
        used[window] = true;
        KernelPass { pass: window as u32, phase: windows[window].phase }
    };
    let of_kernels = kernels.iter().map(pass_of).collect();
    let count = used.iter().filter(|used| **used).count() as u64;
    Passes { of_kernels, count, has_steps }
}
