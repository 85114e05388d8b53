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
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.sort_unstable_by_key(|at| (trace.row(*at).start, *at));
    let latency = |at: u32| trace.launch(at).map(|launch| trace.row(at).start - launch.start);
    // The least latency from each row on.
    let mut least_from = vec![Picoseconds::MAX; order.len() + 1];
    for (place, at) in order.iter().enumerate().rev() {
        least_from[place] = latency(*at).unwrap_or(Picoseconds::MAX).min(least_from[place + 1]);
    }
    let (Some(first), Some(end)) = (order.first(), rows.iter().map(|row| row.end()).max()) else { return };
    let span = end - trace.row(*first).start;
    let mut busy_until = Picoseconds::MIN;
    let mut least_before = Picoseconds::MAX;
    for (place, at) in order.iter().enumerate() {
        let row = trace.row(*at);
        if let Some(launch) = trace.launch(*at)
            && busy_until > Picoseconds::MIN
        {
            let stall = row.start - busy_until.max(launch.end());
            if stall >= PAUSE
                && 20 * stall >= span
                && order.len() - place > ROWS
                && 10 * least_from[place] >= 9 * stall
                && 2 * least_before < stall
                && !comes_back(trace, &order, place, stall)
            {
                let evidence =
                    Evidence::new().time("jump_us", stall).with("at_kernel", place).with("of_kernels", order.len());
                found.warning(Code::DeviceStall, None, evidence);
                return;
            }
        }
        busy_until = busy_until.max(row.end());
        least_before = least_before.min(latency(*at).unwrap_or(Picoseconds::MAX));
    }
}

/// Whether the device also stood still elsewhere for half as long or more before a row of the same name: the program waits
/// there, and no clock jumped.
fn comes_back(trace: &Prepared, order: &[u32], place: usize, stall: Picoseconds) -> bool {
    let name = trace.row(order[place]).name;
    let mut busy_until: Option<Picoseconds> = None;
    order.iter().enumerate().any(|(at, row)| {
        let row = trace.row(*row);
        let gap = busy_until.map_or(0, |until| row.start - until);
        busy_until = Some(busy_until.map_or(row.end(), |until| until.max(row.end())));
        at != place && row.name == name && gap >= stall / 2
    })
}
