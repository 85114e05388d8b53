//! A device that stands still although work waits, from one moment on.

use perfdb_trace::time::{MICROSECOND, Picoseconds};

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;

/// Shorter pauses are not jumps.
const PAUSE: Picoseconds = 20_000 * MICROSECOND;
/// Rows that must follow.
const ROWS: usize = 10;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let rows = trace.rows();
    let latency = |at: u32| trace.launch(at).map(|launch| trace.row(at).start - launch.start);
    // Asked for the few stalls that are long enough.
    let least_from = |place: usize| trace.by_start().skip(place).filter_map(latency).min();
    let (Some(first), Some(end)) = (trace.by_start().next(), rows.clone().map(|row| row.end()).max()) else { return };
    let span = end - trace.row(first).start;
    let mut busy_until = Picoseconds::MIN;
    let mut least_before = Picoseconds::MAX;
    for (place, at) in trace.by_start().enumerate() {
        let row = trace.row(at);
        let launch = trace.launch(at);
        if let Some(launch) = launch
            && busy_until > Picoseconds::MIN
        {
            let stall = row.start - busy_until.max(launch.end());
            if stall >= PAUSE
                && 20 * stall >= span
                && rows.len() - place > ROWS
                && least_before.saturating_mul(2) < stall
                && least_from(place).is_none_or(|least| 10 * least >= 9 * stall)
                && !comes_back(trace, place, stall)
            {
                let evidence =
                    Evidence::new().time("jump_us", stall).with("at_kernel", place).with("of_kernels", rows.len());
                found.warning(Code::DeviceStall, None, evidence);
                return;
            }
        }
        busy_until = busy_until.max(row.end());
        if let Some(launch) = launch {
            least_before = least_before.min(row.start - launch.start);
        }
    }
}

/// Whether the device also stood still elsewhere for half as long or more before a row of the same name: the program waits
/// there, and no clock jumped.
fn comes_back(trace: &Prepared, place: usize, stall: Picoseconds) -> bool {
    let name = trace.by_start().nth(place).map(|at| trace.row(at).name);
    let mut busy_until: Option<Picoseconds> = None;
    trace.by_start().enumerate().any(|(at, row)| {
        let row = trace.row(row);
        let gap = busy_until.map_or(0, |until| row.start - until);
        busy_until = Some(busy_until.map_or(row.end(), |until| until.max(row.end())));
        at != place && Some(row.name) == name && gap >= stall / 2
    })
}
