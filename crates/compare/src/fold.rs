//! Reading a simulator's trace into one value.

use crate::error::Error;
use crate::event::EventFault;
use perfdb_trace::chrome::{Event, Part, ReadOptions, read_ordered};
use perfdb_trace::source::Source;
use std::convert::Infallible;
use std::path::Path;

/// What a trace came to.
#[derive(Debug)]
pub(crate) struct Folded<T> {
    pub(crate) value: T,
    /// How many lists of events came before the one that counts.
    pub(crate) restarts: usize,
}

/// Reads the events of a trace on up to `threads` threads: `map` collects what consecutive events contribute, which `add` adds
/// in file order to a value that begins as `start` says. A second `traceEvents` starts it again.
///
/// `args` are the members of `args` that `map` looks at.
///
/// # Errors
/// When the trace can't be read or `map` refuses an event.
pub(crate) fn fold_trace<C: Default + Send, T>(
    trace: &Path,
    args: &[&str],
    threads: usize,
    start: impl Fn() -> T,
    map: impl Fn(&mut C, &Event<'_>) -> Result<(), EventFault> + Sync,
    add: impl Fn(&mut T, C),
) -> Result<Folded<T>, Error> {
    let mut source = Source::open(trace)?;
    let options = ReadOptions::simulator().args(args.iter().copied());
    let mut folded = Folded { value: start(), restarts: 0 };
    read_ordered(&mut source, &options, threads, map, |part| {
        match part {
            Part::Chunk(chunk) => add(&mut folded.value, chunk),
            Part::Restart => folded = Folded { value: start(), restarts: folded.restarts + 1 },
            Part::Member { .. } => {}
        }
        Ok::<(), Infallible>(())
    })?;
    Ok(folded)
}
