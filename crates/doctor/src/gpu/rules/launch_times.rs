//! The time between launch and start.

use perfdb_trace::time::{MICROSECOND, Picoseconds};

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;
use crate::gpu::columns::RowKind;

/// A kernel that starts this much before its launch is enough.
const FAR: Picoseconds = 10 * MICROSECOND;
/// A queue that takes this long is full.
const BACKLOG: Picoseconds = 10_000 * MICROSECOND;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let (mut launched, mut early, mut time) = (0_usize, 0_usize, 0);
    let mut worst = (0, None);
    let mut least: Option<Picoseconds> = None;
    for (at, row) in trace.rows().iter().enumerate() {
        let Some(launch) = trace.launch(at as u32) else { continue };
        let latency = row.start - launch.start;
        launched += 1;
        least = Some(least.map_or(latency, |least| least.min(latency)));
        if latency < -trace.tolerance {
            early += 1;
            if row.kind == RowKind::Kernel {
                time += row.time();
            }
            if -latency > worst.0 {
                worst = (-latency, Some(row.name));
            }
        }
    }
    if let (worst, Some(name)) = worst
        && (worst > FAR || 100 * early >= launched)
    {
        let evidence = Evidence::new()
            .with("kernels", early)
            .with("of_kernels", launched)
            .time("worst_us", worst)
            .with("name", trace.name(name));
        found.warning(Code::KernelBeforeLaunch, trace.share(time), evidence);
    }
    if let Some(least) = least
        && least >= BACKLOG
    {
        found.note(Code::StartsInBacklog, None, Evidence::new().time("least_latency_us", least));
    }
}
