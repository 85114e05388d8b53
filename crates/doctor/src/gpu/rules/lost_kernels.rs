//! Launches whose kernels are not in the trace.

use perfdb_trace::time::Picoseconds;
use serde_json::Map;

use crate::code::Code;
use crate::finding::{Evidence, Findings, microseconds};
use crate::gpu::Prepared;
use crate::report::Marks;
use perfdb_files::severity::Severity;

/// Launches in a row that make a lost buffer.
const BUFFER: usize = 8;

pub(super) fn check(trace: &Prepared, found: &mut Findings, marks: &mut Marks) {
    let unlaunched = no_correlation(trace, found);
    if trace.kernels.is_empty() {
        return;
    }
    let (launches, captured) = launches(trace);
    if captured > 0 {
        found.note(Code::CapturedLaunches, None, Evidence::new().with("launches", captured));
    }
    let tail = launches.iter().rev().take_while(|launch| launch.lost).count();
    let whole = &launches[..launches.len() - tail];
    let lost = whole.iter().filter(|launch| launch.lost).count();
    if lost > 0 && lost > unlaunched {
        runs(trace, &launches, whole, found, marks);
    }
    if tail > 0 {
        let severity = if tail >= 3 && 100 * tail >= launches.len() { Severity::Warning } else { Severity::Note };
        let ends: Vec<_> = launches[launches.len() - tail..].iter().map(|launch| launch.start(trace)).collect();
        marks.lost.extend(ends.first().copied().zip(ends.last().copied()));
        let evidence = Evidence::new().with("launches", tail);
        found.add(Code::EndsEarly, severity, trace.share_of_kernels(tail), evidence);
    }
}

/// Kernels without a correlation: how many.
fn no_correlation(trace: &Prepared, found: &mut Findings) -> usize {
    let without = trace.kernel_rows().filter(|(_, row)| !row.correlation.is_there());
    let (kernels, time) = without.fold((0, 0), |(kernels, time), (_, row)| (kernels + 1, time + row.time()));
    let share = trace.share(time);
    if kernels > 0 && (share >= 0.001 || 100 * kernels >= trace.kernels.len()) {
        found.warning(Code::NoCorrelation, share, Evidence::new().with("kernels", kernels));
    }
    kernels
}

/// A launch call, by its number.
struct Launch {
    call: u32,
    lost: bool,
}

impl Launch {
    fn start(&self, trace: &Prepared) -> Picoseconds {
        trace.columns.call(self.call as usize).start
    }
}

/// The launch calls with a correlation by time, without those in a capture that ran nothing, and the number of these.
fn launches(trace: &Prepared) -> (Vec<Launch>, usize) {
    let columns = &trace.columns;
    // By the first call with a correlation: whether a row has it.
    let mut there = vec![false; columns.call_count()];
    let skipped = columns.skipped_correlations.iter().filter_map(|correlation| trace.call_with(*correlation));
    for call in (0..trace.rows().len() as u32).filter_map(|at| trace.launch_index(at)).chain(skipped) {
        there[call as usize] = true;
    }
    let captures = captures(trace);
    let captured = |thread: u32, start: Picoseconds| {
        let before = captures.partition_point(|(by, begin, _)| (*by, *begin) <= (thread, start));
        let capture = before.checked_sub(1).and_then(|last| captures.get(last));
        capture.is_some_and(|(by, _, end)| *by == thread && start <= *end)
    };
    let mut in_captures = 0;
    let mut launches = Vec::new();
    for (call, number) in columns.calls().zip(0..) {
        if !call.id.is_there() || !trace.facts(call.name).call.launch {
            continue;
        }
        let is_there = |first: u32| there[first as usize];
        let lost = !(is_there(number) || trace.call_with(call.id).is_some_and(is_there));
        if lost && captured(call.thread, call.start) {
            in_captures += 1;
        } else {
            launches.push(Launch { call: number, lost });
        }
    }
    let start = |launch: &Launch| columns.call(launch.call as usize).start;
    if !launches.is_sorted_by_key(start) {
        launches.sort_by_key(start);
    }
    (launches, in_captures)
}

/// Thread, begin and end of the captures of graphs.
fn captures(trace: &Prepared) -> Vec<(u32, Picoseconds, Picoseconds)> {
    let mut marks: Vec<(u32, Picoseconds, bool)> = Vec::new();
    for call in trace.columns.calls() {
        let facts = trace.facts(call.name).call;
        if facts.begins_capture || facts.ends_capture {
            marks.push((call.thread, call.start, facts.begins_capture));
        }
    }
    marks.sort_unstable();
    let mut captures = Vec::new();
    for (at, (thread, start, begins)) in marks.iter().enumerate() {
        if *begins {
            let end = marks[at + 1..].iter().find(|(by, _, begins)| by != thread || !begins);
            let end = end.filter(|(by, _, _)| by == thread).map_or(Picoseconds::MAX, |(_, end, _)| *end);
            captures.push((*thread, *start, end));
        }
    }
    captures
}

fn runs(trace: &Prepared, all: &[Launch], whole: &[Launch], found: &mut Findings, marks: &mut Marks) {
    let origin = all.first().map_or(0, |launch| launch.start(trace));
    let (mut windows, mut in_windows, mut single) = (0_u64, 0, 0);
    let mut first_window = None;
    let mut calls = Map::new();
    for run in whole.chunk_by(|a, b| a.lost == b.lost) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        if !first.lost {
            continue;
        }
        let (first, last) = (first.start(trace), last.start(trace));
        marks.lost.push((first, last));
        if run.len() >= BUFFER {
            windows += 1;
            in_windows += run.len();
            first_window.get_or_insert([microseconds(first - origin), microseconds(last - origin)]);
            continue;
        }
        single += run.len();
        for launch in run {
            let count = calls.entry(trace.name(trace.columns.call(launch.call as usize).name)).or_insert(0.into());
            *count = (count.as_u64().unwrap_or_default() + 1).into();
        }
    }
    if let Some(window) = first_window {
        let evidence = Evidence::new()
            .with("windows", windows)
            .with("launches", in_windows)
            .with("of_launches", all.len())
            .with("first_window_us", window.to_vec());
        found.error(Code::LostBuffer, trace.share_of_kernels(in_windows), evidence);
    }
    if single > 0 {
        let evidence = Evidence::new().with("launches", single).with("calls", calls);
        found.warning(Code::LostKernels, trace.share_of_kernels(single), evidence);
    }
}
