//! Reading a trace with several threads, in file order.

mod merging;
mod stream;

use super::block::{BlockEnd, BlockReader, Scratch};
use super::chunk::{Chunk, ChunkEnd, Cuts, Work};
use super::event::{Event, Record};
use super::machine::{Machine, Step};
use super::options::ReadOptions;
use crate::error::{Error, Location};
use crate::scan::{FaultKind, Text, Value};
use crate::source::{Positioned, Refill, Source, Window};
use merging::Merging;
use perfdb_files::escape::shown;
use perfdb_files::parallel::{OrderedMap, states};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

/// Bytes that a thread takes at once.
const CHUNK: usize = 1 << 20;

/// What [`read_ordered`] hands over, in file order.
#[derive(Debug)]
pub enum Part<'r, C> {
    /// What `map` made of a run of events.
    Chunk(C),
    /// A second `traceEvents` begins: everything from the first one is as if it had not been there.
    Restart,
    /// A top-level member that was asked for. Of equal names the last one counts.
    Member {
        /// Its key.
        name: Text<'r>,
        /// Its value.
        value: Value<'r>,
    },
}

/// Why [`read_ordered`] stopped: because of the file, of an event that `map` refused with an `E`, or of `merge`, which failed with
/// an `M`. Where neither can fail, both are [`Infallible`] and `?` makes an [`Error`] of it.
#[derive(Debug, thiserror::Error)]
pub enum ReadError<E, M> {
    /// The file cannot be read, or is no trace.
    #[error(transparent)]
    Read(#[from] Error),
    /// The caller's `map` refused an event. Shown as `PATH: reason (event I) at byte N (line L, column C)`.
    #[error("{}: {reason} {location}", shown(path))]
    Event {
        /// File as given.
        path: PathBuf,
        /// The caller's reason.
        reason: E,
        /// Where the event stands.
        location: Location,
    },
    /// The caller's `merge` failed.
    #[error("{0}")]
    Merge(M),
}

impl From<ReadError<Infallible, Infallible>> for Error {
    fn from(error: ReadError<Infallible, Infallible>) -> Error {
        match error {
            ReadError::Read(error) => error,
            ReadError::Event { reason, .. } | ReadError::Merge(reason) => match reason {},
        }
    }
}

/// Reads a trace with up to `threads` threads and merges in file order.
///
/// `map` sees every event of a chunk, with a fresh `C` per chunk; `merge` gets the chunks on the calling thread, in file
/// order, so sums come out the same for any number of threads. Chunks are about 1 MiB, each read into the memory of its
/// thread; those of a stream (gzip, pipe) are read by the calling thread.
///
/// The first error of `map` in file order is kept until the whole file has been checked, and forgotten where a second
/// `traceEvents` begins. An error of `merge` ends the reading at once.
///
/// ```
/// use perfdb_trace::chrome::{Part, ReadOptions, read_ordered};
/// use perfdb_trace::source::Source;
/// use std::convert::Infallible;
///
/// let trace = r#"{"traceEvents": [{"ph": "X", "dur": 3}, {"ph": "X", "dur": 0.5}]}"#;
/// let mut source = Source::from_bytes("trace.json", trace)?;
/// let mut total_us = 0.0;
/// read_ordered(
///     &mut source,
///     &ReadOptions::simulator(),
///     2,
///     |durations: &mut Vec<f64>, event| {
///         durations.push(event.duration().ok_or("no duration")?.to_f64());
///         Ok::<(), &str>(())
///     },
///     |part| {
///         match part {
///             Part::Chunk(durations) => durations.into_iter().for_each(|duration| total_us += duration),
///             Part::Restart => total_us = 0.0,
///             Part::Member { .. } => {}
///         }
///         Ok::<(), Infallible>(())
///     },
/// )
/// .unwrap();
/// assert_eq!(total_us, 3.5);
/// # Ok::<(), perfdb_trace::Error>(())
/// ```
pub fn read_ordered<C, E, M>(
    source: &mut Source,
    options: &ReadOptions,
    threads: usize,
    map: impl Fn(&mut C, &Event<'_>) -> Result<(), E> + Sync,
    merge: impl FnMut(Part<'_, C>) -> Result<(), M>,
) -> Result<(), ReadError<E, M>>
where
    C: Default + Send,
    E: Send,
{
    let started = Instant::now();
    let mut run = Run {
        window: Window::new(source),
        machine: Machine::new(options),
        record: Record::new(options.args.len()),
        options,
        map: &map,
        merging: Merging { merge, events: 0, deferred: None },
        may_share_stream: true,
    };
    loop {
        if run.machine.in_events() {
            match run.window.positioned() {
                Some(input) if threads > 1 && run.is_worth_threads(input) => run.events_in_parallel(input, threads)?,
                None if threads > 1 && run.is_stream_worth_threads() => run.events_of_stream(threads)?,
                _ => run.events_in_sequence()?,
            }
            continue;
        }
        match run.machine.step(run.window.bytes(), &mut run.record) {
            Ok(Step::End) => {
                if run.refill()? == Refill::Ended {
                    let (events, seconds) = (run.merging.events, started.elapsed().as_secs_f64());
                    tracing::info!("{}: {events} events read in {seconds:.3} s", shown(run.window.path()));
                    return run.merging.deferred.take().map_or(Ok(()), Err);
                }
            }
            Ok(step) => run.outside_events(step)?,
            Err(fault) if fault.kind == FaultKind::End && run.refill()? == Refill::Moved => {}
            Err(fault) => return Err(run.fault(fault.kind, fault.at)),
        }
    }
}

struct Run<'s, 'o, F, G, E, M> {
    window: Window<'s>,
    machine: Machine<'o>,
    record: Record,
    options: &'o ReadOptions,
    map: &'o F,
    merging: Merging<G, E, M>,
    /// Whether threads may be given parts of a stream.
    may_share_stream: bool,
}

impl<F, G, E: Send, M> Run<'_, '_, F, G, E, M> {
    fn refill(&mut self) -> Result<Refill, Error> {
        let done = self.machine.position();
        let event = self.machine.in_events().then_some(self.merging.events);
        let refill = self.window.refill(done, event)?;
        if refill == Refill::Moved {
            self.machine.drop_front(done);
        }
        Ok(refill)
    }

    fn fault(&self, kind: FaultKind, at: usize) -> ReadError<E, M> {
        let event = self.machine.in_events().then_some(self.merging.events);
        ReadError::Read(self.window.error(kind, at, event))
    }

    fn outside_events<C>(&mut self, step: Step) -> Result<(), ReadError<E, M>>
    where
        G: FnMut(Part<'_, C>) -> Result<(), M>,
    {
        match step {
            Step::Events { again } | Step::NoList { again, .. } => {
                self.merging.events = 0;
                self.merging.deferred = None;
                if let Step::NoList { at, .. } = step {
                    let (path, location) = (self.window.path().to_owned(), self.window.location(at, None));
                    self.merging.deferred = Some(ReadError::Read(Error::Shape { path, location }));
                }
                if again {
                    (self.merging.merge)(Part::Restart).map_err(ReadError::Merge)?;
                }
            }
            Step::Member { name, value } => {
                let (bytes, rule) = (self.window.bytes(), self.options.text_rule);
                let name = name.0.of(bytes, rule).and_then(|name| name.as_text());
                if let (Some(name), Some(value)) = (name, value.0.of(bytes, rule)) {
                    (self.merging.merge)(Part::Member { name, value }).map_err(ReadError::Merge)?;
                }
            }
            Step::Event | Step::NoEvent(_) | Step::ListEnd | Step::End => {}
        }
        Ok(())
    }

    /// Whether the machine is in front of an event, and more than a chunk follows.
    fn is_worth_threads(&self, input: &Positioned) -> bool {
        let position = self.window.base() + self.machine.position() as u64;
        self.machine.before_event() && input.size() - position > CHUNK as u64
    }

    /// Takes events up to the end of a chunk or of what is in view.
    fn events_in_sequence<C>(&mut self) -> Result<(), ReadError<E, M>>
    where
        C: Default,
        F: Fn(&mut C, &Event<'_>) -> Result<(), E>,
        G: FnMut(Part<'_, C>) -> Result<(), M>,
    {
        let limit = self.machine.position() + CHUNK;
        let work = Work { rule: self.options.text_rule, map: self.map };
        let mut chunk = Chunk::new();
        let (bytes, base) = (self.window.bytes(), self.window.base());
        let end = work.run(bytes, base, &mut self.machine, limit, &mut self.record, &mut chunk);
        self.take(chunk)?;
        match end {
            ChunkEnd::Fault(fault) if fault.kind == FaultKind::End && self.refill()? == Refill::Moved => Ok(()),
            ChunkEnd::Fault(fault) => Err(self.fault(fault.kind, fault.at)),
            ChunkEnd::Limit(_) | ChunkEnd::List(_) => Ok(()),
        }
    }

    /// Takes all events up to the end of the list.
    ///
    /// Each thread takes a block and looks for a place in it where an event seems to start. Where the events in front of it
    /// end somewhere else, the guess was wrong and the block is taken again from the right place.
    fn events_in_parallel<C>(&mut self, input: &Positioned, threads: usize) -> Result<(), ReadError<E, M>>
    where
        C: Default + Send,
        F: Fn(&mut C, &Event<'_>) -> Result<(), E> + Sync,
        G: FnMut(Part<'_, C>) -> Result<(), M>,
    {
        let first = self.window.base() + self.machine.position() as u64;
        // An event that is cut off here still tells how others begin.
        let cuts = Cuts::new(self.window.bytes().get(self.machine.position()..).unwrap_or_default());
        let work = Work { rule: self.options.text_rule, map: self.map };
        let reader = BlockReader { input, options: self.options, work, cuts };
        let mut next = first;
        let next_block = || {
            let from = next;
            next = input.size().min(from + CHUNK as u64);
            Ok((from < input.size()).then_some((from, next)))
        };
        let mut expected = first;
        let mut list_ended = false;
        let mut again = Scratch::new(self.options);
        let mut scratch = states(threads, || Scratch::new(self.options));
        OrderedMap::new(&mut scratch).run(
            next_block,
            |scratch, (from, to)| (to, reader.guess(from, to, from == first, scratch)),
            |(to, block)| {
                if expected >= to {
                    return Ok(ControlFlow::Continue(()));
                }
                let block = match block {
                    Ok(Some(block)) if block.start == expected => Ok(block),
                    Ok(_) => reader.take(expected, to, &mut again),
                    Err(error) => Err(error),
                };
                let block = block.map_err(|source| Error::Io { path: self.window.path().to_owned(), source })?;
                self.take(block.chunk)?;
                match block.end {
                    BlockEnd::Limit(position) => expected = position,
                    BlockEnd::List(position) => {
                        expected = position;
                        list_ended = true;
                    }
                    BlockEnd::Fault { kind, position } => {
                        let location = self.window.location_at(position, Some(self.merging.events));
                        let path = self.window.path().to_owned();
                        return Err(ReadError::Read(Error::Json { path, kind, location }));
                    }
                }
                Ok(if list_ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            },
        )?;
        self.window.move_to(expected);
        self.machine.resume(0, list_ended);
        Ok(())
    }

    fn take<C>(&mut self, chunk: Chunk<C, E>) -> Result<(), ReadError<E, M>>
    where
        G: FnMut(Part<'_, C>) -> Result<(), M>,
    {
        let window = &self.window;
        self.merging.take(window.path(), chunk, |position, event| {
            match usize::try_from(position.saturating_sub(window.base())) {
                Ok(at) if window.positioned().is_none() => window.location(at, event),
                _ => window.location_at(position, event),
            }
        })
    }
}
