//! The forward pass and the phase of every kernel, by the time of its launch: a kernel may run long after the step that
//! launched it has ended on the host.

use super::launches::Launches;
use crate::columns::Columns;
use crate::frames::NO_STACK;
use crate::names::NO_NAME;
use crate::steps::Steps;
use crate::trace::{NOWHERE, Place, Trace};

/// Fills in pass and phase.
pub(crate) fn place(trace: &mut Trace, columns: &Columns, launches: &Launches<'_>) {
    let steps = Steps::new(&columns.annotations);
    let mut used = vec![false; steps.windows.len()];
    // Neighbours in the file mostly share their pass.
    let mut last = 0;
    trace.places = trace
        .kernels
        .iter()
        .map(|kernel| {
            let nowhere = Place {
                group: 0,
                pass: NOWHERE,
                layer: NOWHERE,
                operator: NO_NAME,
                stack: NO_STACK,
                phase: None,
                has_host_operator: false,
            };
            if steps.windows.is_empty() {
                return Place { pass: 0, ..nowhere };
            }
            let time = launches.of(kernel).map_or(kernel.start, |launch| launch.start);
            let next = steps.windows.get(last + 1);
            let same = steps.windows[last].start <= time && next.is_none_or(|next| time < next.start);
            let found = if same { (time <= steps.windows[last].end).then_some(last) } else { steps.at(time) };
            let Some(window) = found else { return nowhere };
            last = window;
            used[window] = true;
            Place { pass: window as u32, phase: steps.windows[window].phase, ..nowhere }
        })
        .collect();
    trace.passes = if steps.windows.is_empty() { 1 } else { used.iter().filter(|used| **used).count() as u64 };
    trace.has_steps = steps.recognised;
}
