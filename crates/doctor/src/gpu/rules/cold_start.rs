//! A device that stands still while one call sets up what it launches: a module is loaded when its first kernel is launched, a
//! library prepares itself.

use std::cmp::Reverse;

use perfdb_trace::time::{MICROSECOND, Picoseconds};
use rustc_hash::FxHashSet;

use crate::code::Code;
use crate::finding::{Evidence, Findings, rounded_share, share};
use crate::gpu::Prepared;
use crate::gpu::columns::{Call, Operator};

/// Shorter calls are ordinary.
const SHORTEST: Picoseconds = 5_000 * MICROSECOND;
/// Part of the span of the device that the call has to make it stand still, in twentieths.
const OF_SPAN: Picoseconds = 20;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let mut order = trace.by_start().peekable();
    let (Some(first), Some(end)) = (order.peek(), trace.rows().map(|row| row.end()).max()) else { return };
    let span = end - trace.row(*first).start;
    let mut known = FxHashSet::default();
    let mut busy_until = trace.row(*first).start;
    let mut longest: Option<(Picoseconds, u32)> = None;
    for at in order {
        let row = trace.row(at);
        let is_first = known.insert(row.name);
        if let Some(launch) = trace.launch(at).filter(|launch| is_first && trace.facts(launch.name).launch) {
            let stall = row.start.min(launch.end()) - busy_until.max(launch.start);
            if stall >= SHORTEST && OF_SPAN * stall >= span && longest.is_none_or(|(most, _)| stall > most) {
                longest = Some((stall, at));
            }
        }
        busy_until = busy_until.max(row.end());
    }
    let Some((stall, at)) = longest else { return };
    let (row, launch) = (trace.row(at), trace.launch(at));
    // The one that the profiler names, else the innermost around the call, in whatever order the file has them.
    let around = |operator: &Operator| {
        let is_named = row.external.is_there() && operator.external == row.external;
        let holds = |launch: Call| {
            launch.thread == operator.thread && (operator.start..=operator.end()).contains(&{ launch.start })
        };
        (is_named || launch.is_some_and(holds))
            .then(|| (is_named, operator.start, Reverse(operator.end()), trace.name(operator.name)))
    };
    let operator = trace.columns.operators.iter().filter_map(around).max();
    let mut evidence = Evidence::new()
        .with("call", launch.map_or("", |launch| trace.name(launch.name)))
        .with("kernel", trace.name(row.name));
    if let Some((.., name)) = operator {
        evidence = evidence.with("operator", name);
    }
    let of_span = rounded_share(share(stall, span));
    found.note(Code::ColdStart, None, evidence.time("stall_us", stall).with("of_span", of_span));
}
