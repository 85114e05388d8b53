//! Reading a trace with several threads, in file order.

use super::chunk::{Chunk, ChunkEnd, Cuts, Trouble, Work};
use super::event::{Event, Record};
use super::machine::{Machine, Step};
use super::options::ReadOptions;
use crate::error::{Error, Place};
use crate::scan::{FaultKind, Text, Value};
use crate::source::{Refill, Source, Window};
use perfdb_files::escape::one_line;
use perfdb_parallel::{OrderedMap, states};
use std::ops::ControlFlow;

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

/// Why [`read_ordered`] stopped.
#[derive(Debug, thiserror::Error)]
pub enum ReadError<E> {
    /// The file cannot be read, or is no trace.
    #[error(transparent)]
    Read(#[from] Error),
    /// The caller's `map` refused an event. Shown as `PATH: reason (event I) at byte N (line L, column C)`.
    #[error("{}: {reason} {place}", one_line(path))]
    Event {
        /// File as given.
        path: String,
        /// The caller's reason.
        reason: E,
        /// Where the event stands.
        place: Place,
    },
    /// The caller's `merge` failed.
    #[error("{0}")]
    Merge(E),
}

/// Reads a trace with up to `threads` threads and merges in file order.
///
/// `map` sees every event of a chunk, with a fresh `C` per chunk; `merge` gets the chunks on the calling thread, in file
/// order, so sums come out the same for any number of threads. Chunks are about 1 MiB; those of a stream (gzip, pipe) are
/// read by one thread.
///
/// The first error of `map` in file order is kept until the whole file has been checked, and forgotten where a second
/// `traceEvents` begins. An error of `merge` ends the reading at once.
///
/// ```
/// use perfdb_trace::chrome::{Part, ReadOptions, read_ordered};
/// use perfdb_trace::source::Source;
///
/// let trace = r#"{"traceEvents": [{"ph": "X", "dur": 3}, {"ph": "X", "dur": 0.5}]}"#;
/// let mut source = Source::from_bytes("trace.json", trace)?;
/// let mut total_us = 0.0;
/// read_ordered(
///     &mut source,
///     &ReadOptions::simulator(),
///     2,
///     |durations: &mut Vec<f64>, event| {
///         let duration = event.duration().and_then(|value| value.as_number()).ok_or("no duration")?;
///         durations.push(duration.to_f64());
///         Ok(())
///     },
///     |part| {
///         match part {
///             Part::Chunk(durations) => durations.into_iter().for_each(|duration| total_us += duration),
///             Part::Restart => total_us = 0.0,
///             Part::Member { .. } => {}
///         }
///         Ok::<(), &str>(())
///     },
/// )
/// .unwrap();
/// assert_eq!(total_us, 3.5);
/// # Ok::<(), perfdb_trace::Error>(())
/// ```
pub fn read_ordered<C, E>(
    source: &mut Source,
    options: &ReadOptions,
    threads: usize,
    map: impl Fn(&mut C, &Event<'_>) -> Result<(), E> + Sync,
    merge: impl FnMut(Part<'_, C>) -> Result<(), E>,
) -> Result<(), ReadError<E>>
where
    C: Default + Send,
    E: Send,
{
    let mut run = Run {
        window: Window::new(source),
        machine: Machine::new(options),
        record: Record::new(options.args.len()),
        options,
        map: &map,
        merge,
        events: 0,
        deferred: None,
    };
    loop {
        let step = if run.machine.in_events() {
            match run.window.whole() {
                Some(bytes)
                    if threads > 1 && run.machine.before_event() && bytes.len() - run.machine.position() > CHUNK =>
                {
                    run.events_in_parallel(bytes, threads)?;
                }
                _ => run.events_in_sequence()?,
            }
            continue;
        } else {
            run.machine.step(run.window.bytes(), &mut run.record)
        };
        match step {
            Ok(Step::End) => {
                if run.refill()? == Refill::Ended {
                    return run.deferred.take().map_or(Ok(()), Err);
                }
            }
            Ok(step) => run.outside_events(step)?,
            Err(fault) if fault.kind == FaultKind::End && run.refill()? == Refill::Moved => {}
            Err(fault) => return Err(run.fault(fault.kind, fault.at)),
        }
    }
}

struct Run<'s, 'o, M, G, E> {
    window: Window<'s>,
    machine: Machine<'o>,
    record: Record,
    options: &'o ReadOptions,
    map: &'o M,
    merge: G,
    events: u64,
    deferred: Option<ReadError<E>>,
}

impl<M, G, E: Send> Run<'_, '_, M, G, E> {
    fn refill(&mut self) -> Result<Refill, Error> {
        let done = self.machine.position();
        let event = self.machine.in_events().then_some(self.events);
        let refill = self.window.refill(done, event)?;
        if refill == Refill::Moved {
            self.machine.drop_front(done);
        }
        Ok(refill)
    }

    fn fault(&self, kind: FaultKind, at: usize) -> ReadError<E> {
        let event = self.machine.in_events().then_some(self.events);
        ReadError::Read(self.window.error(kind, at, event))
    }

    fn outside_events<C>(&mut self, step: Step) -> Result<(), ReadError<E>>
    where
        G: FnMut(Part<'_, C>) -> Result<(), E>,
    {
        match step {
            Step::Events { again } | Step::NoList { again, .. } => {
                self.events = 0;
                self.deferred = None;
                if let Step::NoList { at, .. } = step {
                    let (path, place) = (self.window.name().to_owned(), self.window.place(at, None));
                    self.deferred = Some(ReadError::Read(Error::Shape { path, place }));
                }
                if again {
                    (self.merge)(Part::Restart).map_err(ReadError::Merge)?;
                }
            }
            Step::Member { name, value } => {
                let (bytes, rule) = (self.window.bytes(), self.options.text_rule);
                let name = name.0.of(bytes, rule).and_then(|name| name.as_text());
                if let (Some(name), Some(value)) = (name, value.0.of(bytes, rule)) {
                    (self.merge)(Part::Member { name, value }).map_err(ReadError::Merge)?;
                }
            }
            Step::Event | Step::NoEvent(_) | Step::ListEnd | Step::End => {}
        }
        Ok(())
    }

    /// Takes events up to the end of a chunk or of what is in view.
    fn events_in_sequence<C>(&mut self) -> Result<(), ReadError<E>>
    where
        C: Default,
        M: Fn(&mut C, &Event<'_>) -> Result<(), E>,
        G: FnMut(Part<'_, C>) -> Result<(), E>,
    {
        let limit = self.machine.position() + CHUNK;
        let work =
            Work { bytes: self.window.bytes(), base: self.window.base(), rule: self.options.text_rule, map: self.map };
        let chunk = work.run(&mut self.machine, limit, &mut self.record);
        let end = chunk.end;
        self.take(chunk)?;
        match end {
            ChunkEnd::Fault(fault) if fault.kind == FaultKind::End && self.refill()? == Refill::Moved => Ok(()),
            ChunkEnd::Fault(fault) => Err(self.fault(fault.kind, fault.at)),
            ChunkEnd::Limit(_) | ChunkEnd::List(_) => Ok(()),
        }
    }

    /// Takes all events up to the end of the list.
    ///
    /// The bytes are cut where events seem to start. Each chunk is taken on its own; where the chunk before it ends
    /// somewhere else than was guessed, the guess was wrong and the chunk is taken again from the right place.
    fn events_in_parallel<C>(&mut self, bytes: &[u8], threads: usize) -> Result<(), ReadError<E>>
    where
        C: Default + Send,
        M: Fn(&mut C, &Event<'_>) -> Result<(), E> + Sync,
        G: FnMut(Part<'_, C>) -> Result<(), E>,
    {
        let options = self.options;
        let first = self.machine.position();
        let work = Work { bytes, base: 0, rule: options.text_rule, map: self.map };
        let take = |start: usize, limit: usize, record: &mut Record| {
            work.run(&mut Machine::at_event(options, start), limit, record)
        };
        let cuts = Cuts::new(bytes, first);
        let mut next = first;
        let next_range = || {
            let start = next;
            let mut from = start + CHUNK;
            next = loop {
                if from >= bytes.len() {
                    break bytes.len();
                }
                match cuts.find(from, from + CHUNK) {
                    Some(cut) => break cut,
                    None => from += CHUNK,
                }
            };
            Ok((start < bytes.len()).then_some((start, next)))
        };
        let mut expected = first;
        let mut list_ended = false;
        let mut again = Record::new(options.args.len());
        let mut records = states(threads, || Record::new(options.args.len()));
        OrderedMap::new(&mut records).run(
            next_range,
            |record, (start, limit)| ((start, limit), take(start, limit, record)),
            |((start, limit), chunk)| {
                if expected >= limit {
                    return Ok(ControlFlow::Continue(()));
                }
                let chunk = if start == expected { chunk } else { take(expected, limit, &mut again) };
                let end = chunk.end;
                self.take(chunk)?;
                match end {
                    ChunkEnd::Limit(at) => expected = at,
                    ChunkEnd::List(at) => {
                        expected = at;
                        list_ended = true;
                    }
                    ChunkEnd::Fault(fault) => return Err(self.fault(fault.kind, fault.at)),
                }
                Ok(if list_ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            },
        )?;
        self.machine.resume(expected, list_ended);
        Ok(())
    }

    fn take<C>(&mut self, chunk: Chunk<C, E>) -> Result<(), ReadError<E>>
    where
        G: FnMut(Part<'_, C>) -> Result<(), E>,
    {
        if let (Some(Trouble { at, index, reason }), None) = (chunk.trouble, &self.deferred) {
            let (path, place) = (self.window.name().to_owned(), self.window.place(at, Some(self.events + index)));
            self.deferred = Some(match reason {
                Some(reason) => ReadError::Event { path, reason, place },
                None => ReadError::Read(Error::Shape { path, place }),
            });
        }
        self.events += chunk.events;
        (self.merge)(Part::Chunk(chunk.state)).map_err(ReadError::Merge)
    }
}
