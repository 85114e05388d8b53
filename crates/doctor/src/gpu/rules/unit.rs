//! Times that are not microseconds.

use perfdb_trace::time::{MICROSECOND, Picoseconds};
use rustc_hash::FxHashSet;

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;
use crate::order::{median, percentile};

/// Calls that a median is taken of, at least.
const CALLS: usize = 10;
/// Kernels that a percentile is taken of, at least.
const KERNELS: usize = 20;
/// No call and no twentieth kernel takes that long.
const LONG: Picoseconds = 700 * MICROSECOND;
/// No launch call is that short.
const SHORT_CALL: Picoseconds = 90_000;
/// A kernel below this shows that times are not nanoseconds, even where launch calls take as long as a replay of the profiler.
const ORDINARY_KERNEL: Picoseconds = 200 * MICROSECOND;
/// No kernel is that short.
const SHORT_KERNEL: Picoseconds = 50_000;
/// Durations may add up to that many times the span of a stream at most.
const SUM_OVER_SPAN: Picoseconds = 20;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let call = median_launch(trace);
    let (kernel, kernels) = short_kernel(trace);
    let by_stream = sum_over_span(trace);
    let names = || trace.kernel_rows().map(|(_, row)| row.name).collect::<FxHashSet<_>>().len();
    let has_kernels = !trace.kernels.is_empty();
    let unit = match (call, kernel) {
        // Where the profiler replays each launch and records no kernel, calls do take that long.
        (Some(call), _) if call >= LONG && has_kernels && !has_ordinary_kernel(trace, kernel) => "nanoseconds",
        (Some(call), _) if call <= SHORT_CALL => "milliseconds",
        (None, Some(kernel)) if kernel >= LONG && names() >= 5 => "nanoseconds",
        (None, Some(kernel)) if kernel <= SHORT_KERNEL => "milliseconds",
        _ if by_stream.is_some() => "durations in nanoseconds",
        (Some(_), Some(kernel)) if kernel <= SHORT_KERNEL && kernels >= 50 => "durations in milliseconds",
        _ => return,
    };
    let mut evidence = Evidence::new().with("looks_like", unit);
    if let Some(call) = call {
        evidence = evidence.time("median_launch_us", call);
    }
    if let Some(kernel) = kernel {
        evidence = evidence.time("p5_kernel_us", kernel);
    }
    if let Some((sum, span)) = by_stream {
        evidence = evidence.with("sum_over_span", (1000 * sum / span.max(1)) as f64 / 1000.0);
    }
    found.error(Code::WrongUnit, 1.0, evidence);
}

/// Median length of the launch calls that launch no graph.
fn median_launch(trace: &Prepared) -> Option<Picoseconds> {
    let mut lengths: Vec<i64> = Vec::new();
    for call in trace.columns.calls() {
        let facts = trace.facts(call.name).call;
        if facts.launch && !facts.graph && call.duration > 0 {
            lengths.push(i64::try_from(call.duration).unwrap_or(i64::MAX));
        }
    }
    if lengths.len() < CALLS { None } else { median(&mut lengths).map(Picoseconds::from) }
}

/// 5th percentile of the kernel durations above 0, and their number.
fn short_kernel(trace: &Prepared) -> (Option<Picoseconds>, usize) {
    let mut durations: Vec<i64> = Vec::with_capacity(trace.kernels.len());
    durations.extend(trace.kernel_rows().map(|(_, row)| row.duration).filter(|duration| *duration > 0));
    let kernels = durations.len();
    (if kernels < KERNELS { None } else { percentile(&mut durations, 5).map(Picoseconds::from) }, kernels)
}

/// Whether the shorter kernels are as short as kernels in microseconds are: the 5th percentile, the shortest of a few.
fn has_ordinary_kernel(trace: &Prepared, short: Option<Picoseconds>) -> bool {
    let shortest = || trace.kernel_rows().map(|(_, row)| row.time()).filter(|duration| *duration > 0).min();
    short.or_else(shortest).is_some_and(|duration| duration < ORDINARY_KERNEL)
}

/// Sum of durations and span of the starts, of the first stream where they cannot belong together.
fn sum_over_span(trace: &Prepared) -> Option<(Picoseconds, Picoseconds)> {
    trace.by_stream.chunk_by(|a, b| trace.row(*a).stream == trace.row(*b).stream).find_map(|stream| {
        let (first, last) = (trace.row(*stream.first()?), trace.row(*stream.last()?));
        let sum: Picoseconds = stream.iter().map(|at| trace.row(*at).time()).sum();
        let span = last.start - first.start;
        (stream.len() >= 10 && sum > 0 && sum >= SUM_OVER_SPAN * span).then_some((sum, span))
    })
}
