//! The time between launch and start.

use perfdb_trace::time::{MICROSECOND, Picoseconds};

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;
use crate::gpu::columns::RowKind;

/// A kernel that starts this much before its launch is enough.
const FAR: Picoseconds = 10 * MICROSECOND;
/// No device starts so soon after the call that launches a kernel began: in a hundred public traces of seven devices the first ones
/// start after 4.1 µs and more.
const SOONEST: Picoseconds = 5 * MICROSECOND / 2;
/// At least this number that start sooner, and this part of all in thousandths, show that the clocks differ.
const SOON: (usize, usize) = (3, 3);
/// A queue that takes this long is full.
const BACKLOG: Picoseconds = 10_000 * MICROSECOND;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let soonest = SOONEST - if trace.integer_clock { MICROSECOND } else { 0 };
    let (mut launched, mut early, mut soon, mut time) = (0_usize, 0_usize, 0_usize, 0);
    let mut worst = (0, None);
    let mut least: Option<Picoseconds> = None;
    for (at, row) in trace.rows().enumerate() {
        let Some(launch) = trace.launch(at as u32) else { continue };
        let latency = row.start - launch.start;
        launched += 1;
        soon += usize::from(latency < soonest);
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
    let evidence = |kernels: usize| Evidence::new().with("kernels", kernels).with("of_kernels", launched);
    if let (worst, Some(name)) = worst
        && (worst > FAR || 100 * early >= launched)
    {
        let evidence = evidence(early).time("worst_us", worst).with("name", trace.name(name));
        found.warning(Code::KernelBeforeLaunch, trace.share(time), evidence);
    } else if let (Some(least), true) = (least, soon >= SOON.0 && 1000 * soon >= SOON.1 * launched) {
        let evidence = evidence(soon).time("least_latency_us", least).time("soonest_us", soonest);
        found.warning(Code::KernelBeforeLaunch, trace.share(time), evidence);
    }
    if let Some(least) = least
        && least >= BACKLOG
    {
        found.note(Code::StartsInBacklog, None, Evidence::new().time("least_latency_us", least));
    }
}
