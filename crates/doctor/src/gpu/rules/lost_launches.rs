//! Kernels whose launch is not in the trace.

use perfdb_trace::time::Picoseconds;

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    if !trace.columns.has_calls {
        if !trace.kernels.is_empty() {
            found.note(Code::NoLaunches, None, Evidence::new().with("kernels", trace.kernels.len()));
        }
        return;
    }
    let mut first_launched = vec![Picoseconds::MAX; trace.columns.streams.keys().len()];
    for (at, row) in trace.kernel_rows() {
        if trace.launch_index(at).is_some()
            && let Some(first) = first_launched.get_mut(row.stream as usize)
        {
            *first = row.start.min(*first);
        }
    }
    let (mut lost, mut lost_time, mut early_time) = (0_u64, 0, 0);
    let mut early = 0_u64;
    for (at, row) in trace.kernel_rows() {
        if !row.correlation.is_there() || trace.launch_index(at).is_some() {
            continue;
        }
        if row.start > first_launched[row.stream as usize] {
            lost += 1;
            lost_time += row.time();
        } else {
            early += 1;
            early_time += row.time();
        }
    }
    if lost > 0 {
        found.warning(Code::LostLaunches, trace.share(lost_time), Evidence::new().with("kernels", lost));
    }
    if early > 0 {
        found.note(Code::StartsMidStep, trace.share(early_time), Evidence::new().with("kernels", early));
    }
}
