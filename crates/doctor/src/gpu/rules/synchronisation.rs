//! Kernels that run on after the host has waited for the device.

use perfdb_trace::time::{MICROSECOND, Picoseconds};

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;

/// A wait may return this much before the last kernel ends.
const LATE: Picoseconds = 25 * MICROSECOND;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let mut synchronisations: Vec<(u32, Picoseconds, Picoseconds)> = trace
        .columns
        .calls()
        .filter(|call| trace.facts(call.name).call.waits)
        .map(|call| (call.thread, call.start, call.end()))
        .collect();
    if synchronisations.is_empty() {
        return;
    }
    synchronisations.sort_unstable();
    let mut launched: Vec<u32> = trace.kernels.iter().copied().filter(|at| trace.launch_index(*at).is_some()).collect();
    let launch = |at: u32| trace.launch(at).map_or((0, 0), |launch| (launch.thread, launch.start));
    if !launched.is_sorted_by_key(|at| launch(*at)) {
        launched.sort_unstable_by_key(|at| launch(*at));
    }
    let (mut broken, mut worst, mut next) = (0_u64, 0, 0);
    for thread in synchronisations.chunk_by(|a, b| a.0 == b.0) {
        let mut last_end = Picoseconds::MIN;
        for (thread, start, end) in thread {
            while let Some(at) = launched.get(next)
                && launch(*at) < (*thread, *start)
            {
                if launch(*at).0 == *thread {
                    last_end = last_end.max(trace.row(*at).end());
                }
                next += 1;
            }
            if last_end > end + LATE {
                broken += 1;
                worst = worst.max(last_end - end);
            }
        }
    }
    if broken > 0 {
        let evidence =
            Evidence::new().with("synchronisations", broken).with("of", synchronisations.len()).time("worst_us", worst);
        found.warning(Code::KernelAfterSync, None, evidence);
    }
}
