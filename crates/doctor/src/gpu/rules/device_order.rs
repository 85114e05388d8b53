//! A device clock that went back: a stream runs what one thread launched in the order in which it was launched.

use perfdb_trace::time::Picoseconds;

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let in_order = |at: &u32| trace.launch(*at).is_some_and(|launch| !trace.facts(launch.name).call.graph);
    let mut order: Vec<u32> = trace.by_stream.iter().copied().filter(in_order).collect();
    let queue = |at: u32| (trace.row(at).stream, trace.launch(at).map_or(0, |launch| launch.thread));
    let place = |at: &u32| {
        let launched = trace.launch(*at).map_or(0, |launch| launch.start);
        (queue(*at), launched, trace.row(*at).start, *at)
    };
    if !order.is_sorted_by_key(place) {
        order.sort_unstable_by_key(place);
    }
    let (mut early, mut time) = (0_u64, 0);
    let mut worst = (0, None);
    for queue in order.chunk_by(|a, b| queue(*a) == queue(*b)) {
        let mut latest = Picoseconds::MIN;
        for at in queue {
            let start = trace.row(*at).start;
            if start < latest.saturating_sub(trace.tolerance) {
                early += 1;
                time += trace.row(*at).time();
                if latest - start > worst.0 {
                    worst = (latest - start, Some(*at));
                }
            }
            latest = latest.max(start);
        }
    }
    if let (worst, Some(at)) = worst {
        let evidence =
            Evidence::new().with("kernels", early).time("worst_us", worst).with("name", trace.name(trace.row(at).name));
        found.error(Code::DeviceOrder, trace.share(time), evidence);
    }
}
