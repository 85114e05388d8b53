//! A device that stands still while one call sets up what it launches: a module is loaded when its first kernel is launched, a
//! library prepares itself.

use perfdb_trace::time::{MICROSECOND, Picoseconds};
use rustc_hash::FxHashSet;

use crate::code::Code;
use crate::finding::{Evidence, Findings, rounded_share, share};
use crate::gpu::Prepared;

/// Shorter calls are ordinary.
const SHORTEST: Picoseconds = 5_000 * MICROSECOND;
/// Part of the span of the device that the call has to make it stand still, in twentieths.
const OF_SPAN: Picoseconds = 20;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let rows = trace.rows();
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.sort_unstable_by_key(|at| (trace.row(*at).start, *at));
    let (Some(first), Some(end)) = (order.first(), rows.iter().map(|row| row.end()).max()) else { return };
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
    let operator = trace.columns.operators.iter().rev().find(|operator| {
        row.external.is_there() && operator.external == row.external
            || launch.is_some_and(|launch| {
                launch.thread == operator.thread && (operator.start..=operator.end()).contains(&launch.start)
            })
    });
    let mut evidence = Evidence::new()
        .with("call", launch.map_or("", |launch| trace.name(launch.name)))
        .with("kernel", trace.name(row.name));
    if let Some(operator) = operator {
        evidence = evidence.with("operator", trace.name(operator.name));
    }
    let of_span = rounded_share(share(stall, span));
    found.note(Code::ColdStart, None, evidence.time("stall_us", stall).with("of_span", of_span));
}
