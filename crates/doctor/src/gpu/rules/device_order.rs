//! A device clock that went back: a stream runs what one thread launched in the order in which it was launched.

use perfdb_trace::time::Picoseconds;

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let mut order: Vec<(u32, u32, Picoseconds, Picoseconds, u32)> = Vec::new();
    for (at, row) in trace.kernel_rows() {
        if let Some(launch) = trace.launch(at)
            && !trace.facts(launch.name).graph
        {
            order.push((row.stream, launch.thread, launch.start, row.start, at));
        }
    }
    order.sort_unstable();
    let (mut early, mut time) = (0_u64, 0);
    let mut worst = (0, None);
    for queue in order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let mut latest = Picoseconds::MIN;
        for (_, _, _, start, at) in queue {
            if *start < latest.saturating_sub(trace.tolerance) {
                early += 1;
                time += trace.row(*at).time();
                if latest - start > worst.0 {
                    worst = (latest - start, Some(*at));
                }
            }
            latest = latest.max(*start);
        }
    }
    if let (worst, Some(at)) = worst {
        let evidence =
            Evidence::new().with("kernels", early).time("worst_us", worst).with("name", trace.name(trace.row(at).name));
        found.error(Code::DeviceOrder, trace.share(time), evidence);
    }
}
