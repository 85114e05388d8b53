//! A clock that jumped, or traces that were joined: nothing at all happens for much longer than everything else takes.
//!
//! A Python frame or an operator that was open meanwhile can hide that. What a program really waits for, it calls: then the innermost
//! frame is a function that waits. An operator may really take long, unless it launches work and was quick many times before.

use perfdb_trace::coverage::{Coverage, Pause};
use perfdb_trace::packed::Span;
use perfdb_trace::time::Picoseconds;
use rustc_hash::FxHashMap;

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;
use crate::gpu::columns::Step;

/// Names of functions in which a program waits: for time, other threads, processes, files and networks.
const WAITS: [&str; 24] = [
    "accept",
    "acquire",
    "barrier",
    "communicate",
    "connect",
    "epoll",
    "get",
    "input",
    "join",
    "kqueue",
    "poll",
    "read",
    "readinto",
    "readline",
    "recv",
    "recv_into",
    "recv_bytes",
    "result",
    "run",
    "select",
    "sleep",
    "synchronize",
    "wait",
    "waitpid",
];

/// Calls before of an operator that took at most this part of a pause, and how many show that it does not take so long itself.
const QUICK: Picoseconds = 100;
const QUICK_CALLS: usize = 10;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let columns = &trace.columns;
    let mut covered = columns.worked.clone();
    covered.join(&columns.framed);
    if let Some(pause) = jump(&covered) {
        found.error(Code::ClockJump, None, evidence(&pause));
    } else if let Some(pause) = jump(&columns.worked)
        && let Some(inside) = innermost(trace, &pause)
    {
        found.warning(Code::ClockJump, None, evidence(&pause).with("inside", inside));
    }
}

fn jump(coverage: &Coverage) -> Option<Pause> {
    coverage.longest_pause().filter(|pause| pause.end - pause.start >= 5 * pause.rest)
}

fn evidence(pause: &Pause) -> Evidence {
    Evidence::new().time("gap_us", pause.end - pause.start).time("rest_us", pause.rest)
}

/// The innermost Python frame around all or most of a pause, of a thread that does not wait in it, or the operator in it. Nothing
/// where an operator may really have taken that long.
fn innermost<'t>(trace: &'t Prepared, pause: &Pause) -> Option<&'t str> {
    let length = pause.end - pause.start;
    let inside = |step: &Step| step.end.min(pause.end) - step.start.max(pause.start);
    let operators = || trace.columns.long_operators.iter().filter(|step| 10 * inside(step) >= length);
    if !operators().all(|operator| is_quick(trace, operator, pause)) {
        return None;
    }
    let mut of_threads: FxHashMap<u32, &Step> = FxHashMap::default();
    for frame in trace.columns.long_frames.iter().chain(operators()) {
        if 10 * inside(frame) >= 9 * length {
            let inner = of_threads.entry(frame.thread).or_insert(frame);
            if (frame.start, inner.end) > (inner.start, frame.end) {
                *inner = frame;
            }
        }
    }
    let named = of_threads.values().map(|frame| (frame.start, trace.name(frame.name)));
    named.filter(|(_, name)| !waits(name)).max().map(|(_, name)| name)
}

/// Whether an operator launches work, and was called many times before without taking a hundredth of the pause.
fn is_quick(trace: &Prepared, operator: &Step, pause: &Pause) -> bool {
    let operators = &trace.columns.operators;
    let before = operators.iter().filter(|other| {
        let is_quick = QUICK * other.duration <= pause.end - pause.start;
        other.name == operator.name && other.start < operator.start && is_quick
    });
    let launches = |call: &Span| {
        let inside = call.thread == operator.thread && (operator.start..=operator.end).contains(&call.start);
        inside && trace.name(call.name).to_lowercase().contains("launch")
    };
    before.count() >= QUICK_CALLS && trace.columns.calls().any(|call| launches(&call))
}

/// Whether a frame such as `<built-in method sleep of ...>` or `threading.py(302): wait` is a function that waits.
fn waits(name: &str) -> bool {
    let words = name.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    words.filter(|word| !word.is_empty()).any(|word| WAITS.contains(&word.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::waits;

    #[test]
    fn names_of_functions_that_wait() {
        for name in
            ["threading.py(302): wait", "<method 'poll' of 'select.epoll' objects>", "<built-in function sleep>"]
        {
            assert!(waits(name), "{name}");
        }
        for name in ["train.py(12): train_step", "nn.Module: Linear_3", "dataset.py(9): reader"] {
            assert!(!waits(name), "{name}");
        }
    }
}
