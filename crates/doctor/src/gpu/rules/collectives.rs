//! Collectives that stand there twice, and those that wait instead of work.

use perfdb_trace::id::Id;
use perfdb_trace::time::{MICROSECOND, Picoseconds};
use serde_json::json;

use crate::code::Code;
use crate::finding::{Evidence, Findings, microseconds};
use crate::gpu::Prepared;
use crate::order::{median, percentile};
use crate::report::Marks;

/// Calls of one size from which a usual time is taken.
const CALLS: usize = 4;

pub(super) fn check(trace: &Prepared, found: &mut Findings, marks: &mut Marks) {
    let mut collectives: Vec<((u32, u32, Id), Picoseconds, u32)> = Vec::new();
    for (at, row) in trace.kernel_rows() {
        if trace.facts(row.name).collective {
            collectives.push(((row.device, row.name, trace.elements(at)), row.start, at));
        }
    }
    collectives.sort_unstable();
    doubled(trace, &collectives, found, marks);
    waiting(trace, &collectives, found);
    skewed_start(trace, &collectives, found);
}

type Collectives = [((u32, u32, Id), Picoseconds, u32)];

fn doubled(trace: &Prepared, collectives: &Collectives, found: &mut Findings, marks: &mut Marks) {
    let near = |a: Picoseconds, b: Picoseconds| (a - b).abs() <= MICROSECOND;
    let (mut doubled, mut time) = (0_u64, 0);
    for pair in collectives.windows(2) {
        let (one, other) = (trace.row(pair[0].2), trace.row(pair[1].2));
        if pair[0].0 == pair[1].0
            && one.stream != other.stream
            && near(one.start, other.start)
            && near(one.time(), other.time())
            && one.time().min(other.time()) > 2 * MICROSECOND
        {
            doubled += 1;
            time += other.time();
            marks.doubled_collectives.push(trace.kernel_number(pair[1].2));
        }
    }
    if doubled > 0 {
        marks.doubled_collectives.sort_unstable();
        let evidence = Evidence::new().with("collectives", doubled).with("of", collectives.len());
        found.warning(Code::DoubleCollective, trace.share(time), evidence);
    }
}

fn waiting(trace: &Prepared, collectives: &Collectives, found: &mut Findings) {
    let (mut wait, mut waiting) = (0, 0_u64);
    let mut sizes_known = true;
    let mut longest = (0, 0);
    for calls in collectives.chunk_by(|a, b| a.0 == b.0) {
        let mut durations: Vec<Picoseconds> = calls.iter().map(|(_, _, at)| trace.row(*at).time()).collect();
        let Some(usual) = percentile(&mut durations, 25) else { continue };
        if calls.len() < CALLS || usual < MICROSECOND {
            continue;
        }
        for (key, _, at) in calls {
            let duration = trace.row(*at).time();
            if duration > 10 * usual {
                wait += duration - 3 * usual;
                waiting += 1;
                sizes_known &= key.2.is_there();
                longest = longest.max((duration, key.1));
            }
        }
    }
    let share = trace.share(wait);
    if waiting > 0 && share >= 0.05 {
        let evidence = Evidence::new()
            .time("wait_us", wait)
            .with("collectives", waiting)
            .with("sizes_known", sizes_known)
            .with("longest", json!({"name": trace.name(longest.1), "us": microseconds(longest.0)}));
        found.warning(Code::WaitingCollectives, share, evidence);
    }
}

/// A collective among the first hundredth of the kernels that takes a twentieth of the kernel time and ten times as long as
/// similar ones do.
fn skewed_start(trace: &Prepared, collectives: &Collectives, found: &mut Findings) {
    if collectives.is_empty() {
        return;
    }
    let mut order = trace.kernels.clone();
    order.sort_unstable_by_key(|at| (trace.row(*at).start, *at));
    for at in order.iter().take(trace.kernels.len().div_ceil(100)) {
        let row = trace.row(*at);
        if !trace.facts(row.name).collective || 20 * row.time() <= trace.kernel_time {
            continue;
        }
        let same = collectives.iter().filter(|((_, name, _), _, _)| *name == row.name);
        let typical = median(&mut same.map(|(_, _, at)| trace.row(*at).time()).collect::<Vec<_>>());
        let typical = typical.unwrap_or(0);
        if row.time() > 10 * typical {
            let evidence =
                Evidence::new().with("name", trace.name(row.name)).time("us", row.time()).time("typical_us", typical);
            found.warning(Code::SkewedStart, trace.share(row.time()), evidence);
            return;
        }
    }
}
