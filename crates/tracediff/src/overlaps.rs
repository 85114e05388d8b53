//! Kernels that reach into their successor on the same device and stream: a stream runs one kernel at a time, so their
//! durations cannot be true.

use crate::columns::Kernel;
use crate::names::NameId;
use crate::rows::KernelRows;
use crate::time::Picoseconds;
use crate::time_order::TimeOrder;

/// What was found; durations as they stand in the trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Overlaps {
    pub(crate) count: u64,
    /// Sum of the durations of the kernels found.
    pub(crate) total: Picoseconds,
    /// Sum of the durations of all kernels.
    pub(crate) of: Picoseconds,
    /// The longest, by duration, file order on ties.
    pub(crate) longest: Vec<(NameId, Picoseconds)>,
    /// Whether the kernels were cut.
    pub(crate) clipped: bool,
}

/// How many kernels are named.
const NAMED: usize = 3;

/// Finds the overlaps, and with `clip` ends those kernels where their successor begins.
pub(crate) fn find(kernels: &mut KernelRows, order: &TimeOrder, clip: bool) -> Overlaps {
    let streams = kernels.iter().map(|kernel| kernel.stream).max().map_or(0, |stream| stream as usize + 1);
    let mut last: Vec<Option<usize>> = vec![None; streams];
    let mut overlaps = Overlaps { clipped: clip, ..Overlaps::default() };
    for at in order.numbers(kernels.len()) {
        let Kernel { start, duration, stream, .. } = kernels.at(at);
        overlaps.of += duration;
        let Some(before) = last[stream as usize].replace(at) else { continue };
        let kernel = kernels.at(before);
        if kernel.end() <= start {
            continue;
        }
        overlaps.count += 1;
        overlaps.total += kernel.duration;
        overlaps.longest.push((kernel.name, kernel.duration));
        if overlaps.longest.len() > 64 {
            keep_longest(&mut overlaps.longest);
        }
        if clip {
            kernels.set_times(before, &Kernel { duration: start - kernel.start, ..kernel });
        }
    }
    keep_longest(&mut overlaps.longest);
    overlaps
}

fn keep_longest(kernels: &mut Vec<(NameId, Picoseconds)>) {
    kernels.sort_by_key(|(_, duration)| std::cmp::Reverse(*duration));
    kernels.truncate(NAMED);
}
