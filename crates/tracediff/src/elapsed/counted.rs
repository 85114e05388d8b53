//! The kernels that figures per pass are about.

use crate::columns::Kernel;
use crate::context::KernelContext;
use crate::steps::{Basis, PhaseFilter};
use crate::time::Picoseconds;
use crate::trace::Trace;

use super::compared::{Compared, compared};

/// The kernels of a trace that ran in the passes that are compared: those of passes that lack kernels, or of no pass, are in no
/// figure per pass.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    phase: PhaseFilter,
    /// Per device, the windows in order; nothing where the whole is compared.
    windows: Option<Vec<Vec<(Picoseconds, Picoseconds)>>>,
}

impl Counted {
    /// Those of both traces.
    pub(crate) fn of(traces: [&Trace; 2], phase: PhaseFilter) -> [Counted; 2] {
        match compared(traces[0], traces[1], phase) {
            Some(compared) => compared.map(|compared| Counted::new(&compared, phase)),
            None => [Counted { phase, windows: None }, Counted { phase, windows: None }],
        }
    }

    fn new(compared: &Compared<'_>, phase: PhaseFilter) -> Counted {
        if compared.basis == Basis::Whole {
            return Counted { phase, windows: None };
        }
        let mut windows = vec![Vec::new(); compared.timeline.devices.len()];
        let mut ends = vec![Picoseconds::MIN; windows.len()];
        for window in &compared.timeline.windows {
            let end = &mut ends[window.device as usize];
            *end = window.end.max(*end);
        }
        for window in &compared.windows {
            // The last one of a device holds what starts at its end.
            let after = Picoseconds::from(window.end == ends[window.device as usize]);
            windows[window.device as usize].push((window.start, window.end + after));
        }
        windows.iter_mut().for_each(|windows| windows.sort_unstable());
        Counted { phase, windows: Some(windows) }
    }

    /// Whether a kernel counts.
    pub(crate) fn lets(&self, kernel: Kernel, context: &KernelContext) -> bool {
        self.phase.lets(context.phase) && self.holds(kernel)
    }

    fn holds(&self, kernel: Kernel) -> bool {
        let Some(windows) = &self.windows else { return true };
        let Some(windows) = windows.get(kernel.device as usize) else { return false };
        let at = windows.partition_point(|(start, _)| *start <= kernel.start);
        at > 0 && kernel.start < windows[at - 1].1
    }
}
