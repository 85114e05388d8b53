//! A clock that jumped, or traces that were joined: nothing at all happens for much longer than everything else takes.
//!
//! A Python frame that was open meanwhile can hide that. What a program really waits for, it calls: then the innermost frame is a
//! function that waits.

use rustc_hash::FxHashMap;

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;
use crate::gpu::columns::Step;
use crate::gpu::coverage::{Coverage, Pause};

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

/// The innermost Python frame around all or most of a pause, of a thread that does not wait in it.
fn innermost<'t>(trace: &'t Prepared, pause: &Pause) -> Option<&'t str> {
    let mut of_threads: FxHashMap<u32, &Step> = FxHashMap::default();
    for frame in &trace.columns.long_frames {
        let inside = frame.end.min(pause.end) - frame.start.max(pause.start);
        if 10 * inside >= 9 * (pause.end - pause.start) {
            let inner = of_threads.entry(frame.thread).or_insert(frame);
            if (frame.start, inner.end) > (inner.start, frame.end) {
                *inner = frame;
            }
        }
    }
    let named = of_threads.values().map(|frame| (frame.start, trace.name(frame.name)));
    named.filter(|(_, name)| !waits(name)).max().map(|(_, name)| name)
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
