//! How long a GPU was busy and idle.

use crate::steps::PhaseFilter;
use crate::time::Picoseconds;
use crate::trace::Trace;

/// Busy and idle time, per device, summed over devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Occupancy {
    /// Time in which at least one kernel ran.
    pub(crate) busy: Picoseconds,
    /// Time between a kernel and the next one in which no kernel ran.
    pub(crate) idle: Picoseconds,
}

#[derive(Debug, Clone, Copy)]
struct Device {
    /// Latest end of the kernels that the filter lets through.
    busy_until: Option<Picoseconds>,
    /// Latest end of all kernels, and whether the filter lets that one through.
    covered: Option<(Picoseconds, bool)>,
}

/// Occupancy by the kernels of a phase. A gap counts as idle when the kernels on both its sides are of the phase.
pub(crate) fn occupancy(trace: &Trace, filter: PhaseFilter) -> Occupancy {
    let devices = trace.kernels.iter().map(|kernel| kernel.device).max().map_or(0, |device| device as usize + 1);
    let mut devices = vec![Device { busy_until: None, covered: None }; devices];
    let mut found = Occupancy::default();
    for at in trace.in_time_order() {
        let kernel = trace.kernels.at(at);
        let (start, end) = (kernel.start, kernel.end());
        let device = &mut devices[kernel.device as usize];
        let lets = filter.lets(trace.contexts[at].phase);
        if lets {
            let from = device.busy_until.map_or(start, |until| until.max(start));
            found.busy += (end - from).max(0);
            device.busy_until = Some(from.max(end));
        }
        match &mut device.covered {
            Some((until, _)) if *until >= end => {}
            covered => {
                if let Some((until, true)) = *covered
                    && lets
                {
                    found.idle += (start - until).max(0);
                }
                *covered = Some((end, lets));
            }
        }
    }
    found
}
