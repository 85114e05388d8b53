//! A device that stands still while calls set up what comes first: a module is loaded when its first kernel is launched, a library
//! prepares itself, memory is allocated.

use std::cmp::Reverse;

use perfdb_trace::packed::Span;
use perfdb_trace::time::{MICROSECOND, Picoseconds};
use rustc_hash::FxHashSet;

use crate::code::Code;
use crate::finding::{Evidence, Findings, rounded_share, share};
use crate::gpu::Prepared;

/// Shorter stops are ordinary.
const SHORTEST: Picoseconds = 5_000 * MICROSECOND;
/// Part of the span of the device that they have to make it stand still, in twentieths.
const OF_SPAN: Picoseconds = 20;

/// Calls that set something up, by thread and start.
type SettingUp = Vec<(u32, Picoseconds, Picoseconds, u32)>;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let mut order = trace.by_start().peekable();
    let (Some(first), Some(end)) = (order.peek(), trace.rows().map(|row| row.end()).max()) else { return };
    let span = end - trace.row(*first).start;
    let calls = trace.columns.calls().filter(|call| trace.facts(call.name).call.sets_up);
    let mut setting_up: SettingUp = calls.map(|call| (call.thread, call.start, call.end(), call.name)).collect();
    setting_up.sort_unstable();
    let mut known = FxHashSet::default();
    let mut busy_until = trace.row(*first).start;
    let (mut total, mut stalls) = (0, 0_u64);
    let mut longest: Option<(Picoseconds, u32, u32)> = None;
    for at in order {
        let row = trace.row(at);
        let is_first = known.insert(row.name);
        if is_first
            && row.start - busy_until >= SHORTEST
            && let Some(launch) = trace.launch(at)
            && let Some((stall, call)) = stall(trace, launch, (busy_until, row.start), &setting_up)
            && stall >= SHORTEST
        {
            total += stall;
            stalls += 1;
            if longest.is_none_or(|(most, ..)| stall > most) {
                longest = Some((stall, at, call));
            }
        }
        busy_until = busy_until.max(row.end());
    }
    let Some((_, at, call)) = longest.filter(|_| OF_SPAN * total >= span) else { return };
    let (row, launch) = (trace.row(at), trace.launch(at));
    // The one that the profiler names, else the innermost around the call, in whatever order the file has them.
    let around = |operator: Span| {
        let is_named = row.external.is_there() && operator.id == row.external;
        let holds = |launch: Span| {
            launch.thread == operator.thread && (operator.start..=operator.end()).contains(&launch.start)
        };
        (is_named || launch.is_some_and(holds))
            .then(|| (is_named, operator.start, Reverse(operator.end()), trace.name(operator.name)))
    };
    let operator = trace.columns.operators.iter().filter_map(around).max();
    let mut evidence = Evidence::new().with("call", trace.name(call)).with("kernel", trace.name(row.name));
    if let Some((.., name)) = operator {
        evidence = evidence.with("operator", name);
    }
    let of_span = rounded_share(share(total, span));
    let evidence = evidence.with("stalls", stalls).time("stall_us", total).with("of_span", of_span);
    found.note(Code::ColdStart, None, evidence);
}

/// For how long of a gap the launch of what ends it, and calls before it on its thread, set something up; and the name of the longest one.
fn stall(
    trace: &Prepared,
    launch: Span,
    gap: (Picoseconds, Picoseconds),
    setting_up: &SettingUp,
) -> Option<(Picoseconds, u32)> {
    let of_launch = (launch.thread, launch.start, launch.end(), launch.name);
    let of_launch = trace.facts(launch.name).call.launch.then_some(of_launch);
    let behind = setting_up.partition_point(|(thread, start, ..)| (*thread, *start) < (launch.thread, gap.1));
    let before = setting_up[..behind].iter().rev().take_while(|(thread, ..)| *thread == launch.thread);
    // By start: a call of the driver stands inside of one of the runtime.
    let mut calls: Vec<_> = before.copied().chain(of_launch).collect();
    calls.sort_unstable();
    let (mut stall, mut covered, mut longest) = (0, gap.0, None);
    for (_, start, end, name) in calls {
        let (start, end) = (start.max(covered), end.min(gap.1));
        if end > start {
            stall += end - start;
            covered = end;
            longest = longest.max(Some((end - start, name)));
        }
    }
    longest.map(|(_, name)| (stall, name))
}
