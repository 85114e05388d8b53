//! Kernels of one stream that overlap.

use perfdb_trace::time::{MICROSECOND, Picoseconds};
use serde_json::{Value, json};

use crate::code::Code;
use crate::finding::{Evidence, Findings, microseconds};
use crate::gpu::Prepared;
use crate::report::Marks;
use perfdb_files::severity::Severity;

/// Shorter overlaps are rounding.
const ROUNDING: Picoseconds = MICROSECOND / 4;
/// A kernel does not wait longer than this for the one before it.
const LONGEST_WAIT: Picoseconds = 50 * MICROSECOND;
/// One overlap of this length is enough.
const LONG: Picoseconds = 25 * MICROSECOND;
/// Pairs that are shown.
const SHOWN: usize = 3;

/// Two kernels of one stream of which the second starts before the first ends.
#[derive(Debug, Clone, Copy)]
struct Pair {
    first: u32,
    second: u32,
    overlap: Picoseconds,
}

pub(super) fn check(trace: &Prepared, found: &mut Findings, marks: &mut Marks) {
    let [mut waiting, mut branches, mut impossible] = [const { Vec::new() }; 3];
    for pair in pairs(trace) {
        match reason(trace, &pair) {
            Reason::Waits => waiting.push(pair),
            Reason::Branches => branches.push(pair),
            Reason::None => impossible.push(pair),
        }
    }
    marks.waiting = waiting.iter().map(|pair| (trace.kernel_number(pair.second), pair.overlap)).collect();
    marks.waiting.sort_unstable();
    let share = |pairs: &[Pair]| trace.share(total(pairs));
    if !waiting.is_empty() {
        let severity = if share(&waiting) >= 0.01 { Severity::Warning } else { Severity::Note };
        found.add(Code::OverlapPdl, severity, share(&waiting), evidence(trace, &mut waiting));
    }
    if share(&impossible) >= 0.001 || impossible.iter().any(|pair| pair.overlap > LONG) {
        found.warning(Code::OverlapImpossible, share(&impossible), evidence(trace, &mut impossible));
    }
    if !branches.is_empty() {
        found.note(Code::OverlapGraphBranches, share(&branches), evidence(trace, &mut branches));
    }
}

fn total(pairs: &[Pair]) -> Picoseconds {
    pairs.iter().map(|pair| pair.overlap).sum()
}

fn pairs(trace: &Prepared) -> Vec<Pair> {
    let least = if trace.integer_clock { 2 * MICROSECOND } else { ROUNDING };
    let mut pairs = Vec::new();
    for stream in trace.by_stream.chunk_by(|a, b| trace.row(*a).stream == trace.row(*b).stream) {
        let mut last: Option<u32> = None;
        for at in stream.iter().copied() {
            let row = trace.row(at);
            let Some(before) = last else {
                last = Some(at);
                continue;
            };
            let before_end = trace.row(before).end();
            // Only those that overlap are looked up among the copies.
            if row.start < before_end - least {
                if !trace.copies.is_empty() && trace.copies.binary_search(&at).is_ok() {
                    continue;
                }
                pairs.push(Pair { first: before, second: at, overlap: before_end.min(row.end()) - row.start });
            }
            if row.end() > before_end {
                last = Some(at);
            }
        }
    }
    pairs
}

/// Why two kernels may overlap.
enum Reason {
    /// The second is resident and waits: programmatic dependent launch.
    Waits,
    /// They are on parallel branches of a graph, which carry the stream of its launch.
    Branches,
    None,
}

fn reason(trace: &Prepared, pair: &Pair) -> Reason {
    if trace.amd {
        return Reason::None;
    }
    let (first, second) = (trace.row(pair.first), trace.row(pair.second));
    let launcher = trace.launch(pair.second).map(|launch| trace.name(launch.name)).unwrap_or_default();
    let dependent = launcher.contains("LaunchKernelEx") || launcher.contains("GraphLaunch");
    let device = trace.columns.devices.keys().get(second.device as usize).and_then(|device| device.number());
    let hopper = trace.members.compute_major(device).is_none_or(|major| major >= 9);
    if hopper && dependent && second.end() >= first.end() && pair.overlap <= LONGEST_WAIT {
        return Reason::Waits;
    }
    let same_launch = trace.launch_index(pair.first) == trace.launch_index(pair.second);
    if same_launch && trace.of_graph(pair.second) { Reason::Branches } else { Reason::None }
}

fn evidence(trace: &Prepared, pairs: &mut [Pair]) -> Evidence {
    let kernels: Picoseconds = pairs.iter().map(|pair| trace.row(pair.first).time()).sum();
    let evidence =
        Evidence::new().with("pairs", pairs.len()).time("overlap_us", total(pairs)).time("kernels_us", kernels);
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.overlap));
    let longest: Vec<Value> = pairs
        .iter()
        .take(SHOWN)
        .map(|pair| {
            let (first, second) = (trace.row(pair.first), trace.row(pair.second));
            json!({
                "kernel": trace.name(first.name),
                "us": microseconds(first.time()),
                "into": trace.name(second.name),
                "overlap_us": microseconds(pair.overlap),
            })
        })
        .collect();
    evidence.with("longest", longest)
}
