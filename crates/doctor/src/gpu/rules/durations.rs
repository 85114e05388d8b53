//! Kernels that took no time.

use perfdb_trace::time::{MICROSECOND, Picoseconds};

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;
use crate::order::median;

/// On a clock of whole microseconds shorter kernels round to 0.
const ROUNDS_TO_ZERO: Picoseconds = 3 * MICROSECOND;
/// Names that are listed.
const NAMES: usize = 5;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let mut zeros = vec![0_usize; trace.name_count()];
    for (_, row) in trace.kernel_rows() {
        if row.duration == 0
            && let Some(zeros) = zeros.get_mut(row.name as usize)
        {
            *zeros += 1;
        }
    }
    let mut durations: Vec<Vec<Picoseconds>> = vec![Vec::new(); zeros.len()];
    for (_, row) in trace.kernel_rows() {
        if zeros[row.name as usize] > 0 {
            durations[row.name as usize].push(row.time());
        }
    }
    let (mut kernels, mut missing) = (0, 0);
    let mut names = Vec::new();
    for (name, durations) in durations.iter_mut().enumerate() {
        let Some(median) = median(durations) else { continue };
        if trace.integer_clock && median < ROUNDS_TO_ZERO {
            continue;
        }
        kernels += zeros[name];
        missing += median * zeros[name] as Picoseconds;
        names.push(trace.name(name as u32));
    }
    if kernels > 0 {
        names.truncate(NAMES);
        let evidence =
            Evidence::new().with("kernels", kernels).with("names", names).with("of_kernels", trace.kernels.len());
        found.warning(Code::ZeroDuration, trace.share(missing), evidence);
    }
}
