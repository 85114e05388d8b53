//! A host clock that went back: calls are numbered in the order in which they were made.

use perfdb_trace::time::Picoseconds;

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    // Runtimes that launch nothing that the profiler sees number their calls as they like.
    if trace.rows().len() == 0 {
        return;
    }
    let calls = &trace.columns;
    let number = |at: &u32| calls.call(*at as usize).id.number().unwrap_or_default();
    let mut order: Vec<u32> = (0..calls.call_count() as u32).filter(|at| number(at) > 0).collect();
    order.sort_unstable_by_key(|at| (calls.call(*at as usize).thread, number(at), *at));
    let (mut early, mut worst) = (0_u64, 0);
    let mut first = None;
    for thread in order.chunk_by(|a, b| calls.call(*a as usize).thread == calls.call(*b as usize).thread) {
        let mut latest = Picoseconds::MIN;
        for at in thread {
            let start = calls.call(*at as usize).start;
            if start < latest.saturating_sub(trace.tolerance) {
                early += 1;
                worst = worst.max(latest - start);
                first.get_or_insert(number(at));
            }
            latest = latest.max(start);
        }
    }
    if let Some(correlation) = first {
        let evidence =
            Evidence::new().with("launches", early).time("worst_us", worst).with("at_correlation", correlation);
        found.error(Code::TimeBackwards, None, evidence);
    }
}
