//! Kernels that stand there more than once.

use rustc_hash::FxHashSet;

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;
use crate::gpu::columns::RowKind;
use crate::report::Marks;

pub(super) fn check(trace: &Prepared, found: &mut Findings, marks: &mut Marks) {
    equal_rows(trace, found, marks);
    launched_twice(trace, found);
}

fn equal_rows(trace: &Prepared, found: &mut Findings, marks: &mut Marks) {
    if trace.copies.is_empty() {
        return;
    }
    let kernels = || trace.copies.iter().filter(|at| trace.row(**at).kind == RowKind::Kernel);
    let time = kernels().map(|at| trace.row(*at).time()).sum();
    marks.duplicates = kernels().map(|at| trace.kernel_number(*at)).collect();
    found.error(Code::DuplicateEvents, trace.share(time), Evidence::new().with("events", trace.copies.len()));
}

/// An ordinary launch runs one kernel; two of one name and stream are one too many.
fn launched_twice(trace: &Prepared, found: &mut Findings) {
    // Nearly all launches run one kernel: only the others are looked at.
    let mut several = vec![false; trace.columns.call_count()];
    let mut runs = several.clone();
    for launch in trace.kernels.iter().filter_map(|at| trace.launch_index(*at)) {
        let runs = &mut runs[launch as usize];
        several[launch as usize] |= std::mem::replace(runs, true);
    }
    let mut seen: FxHashSet<(u32, u32, u32)> = FxHashSet::default();
    let mut launches: FxHashSet<u32> = FxHashSet::default();
    let (mut kernels, mut time) = (0_u64, 0);
    for (at, row) in trace.kernel_rows() {
        let Some(launch) = trace.launch_index(at).filter(|launch| several[*launch as usize]) else { continue };
        if trace.of_graph(at) || trace.copies.binary_search(&at).is_ok() {
            continue;
        }
        if !seen.insert((launch, row.name, row.stream)) {
            launches.insert(launch);
            kernels += 1;
            time += row.time();
        }
    }
    if kernels > 0 {
        let evidence = Evidence::new().with("launches", launches.len()).with("kernels", kernels);
        found.warning(Code::LaunchTwice, trace.share(time), evidence);
    }
}
