//! A run of events that is looked at in one go, by one thread.

use super::event::{Event, Record};
use super::machine::{Machine, Step};
use crate::scan::{Fault, TextRule};

/// What a run of events came to.
#[derive(Debug)]
pub(super) struct Chunk<C, E> {
    /// What the caller made of the events.
    pub(super) state: C,
    /// How many there were, those that are not objects included.
    pub(super) events: u64,
    /// The first thing that was wrong with one of them.
    pub(super) problem: Option<Problem<E>>,
}

impl<C: Default, E> Chunk<C, E> {
    pub(super) fn new() -> Chunk<C, E> {
        Chunk { state: C::default(), events: 0, problem: None }
    }
}

/// How a chunk ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkEnd {
    /// In front of the next event, at or behind the limit.
    Limit(usize),
    /// Behind the `]` of the list.
    List(usize),
    /// The bytes are not JSON from here on, or end.
    Fault(Fault),
}

/// A valid JSON value that is not usable as an event.
#[derive(Debug)]
pub(super) struct Problem<E> {
    /// Position of the event in the input.
    pub(super) position: u64,
    /// Events of the chunk before it.
    pub(super) index: u64,
    /// The caller's reason; none where the value is no object.
    pub(super) reason: Option<E>,
}

/// What to do with events, and how their texts are read.
#[derive(Debug)]
pub(super) struct Work<'w, M> {
    pub(super) rule: TextRule,
    pub(super) map: &'w M,
}

impl<M> Work<'_, M> {
    /// Takes events into `chunk` until one starts at `limit` or behind it. The bytes begin at `base` in the input.
    pub(super) fn run<C, E>(
        &self,
        bytes: &[u8],
        base: u64,
        machine: &mut Machine<'_>,
        limit: usize,
        record: &mut Record,
        chunk: &mut Chunk<C, E>,
    ) -> ChunkEnd
    where
        M: Fn(&mut C, &Event<'_>) -> Result<(), E>,
    {
        loop {
            if machine.before_event() && machine.position() >= limit {
                return ChunkEnd::Limit(machine.position());
            }
            match machine.step(bytes, record) {
                Ok(Step::Event) => {
                    let index = chunk.events;
                    let event = Event { window: bytes, record, rule: self.rule, base, index };
                    if let Err(reason) = (self.map)(&mut chunk.state, &event) {
                        let position = base + record.start as u64;
                        chunk.problem.get_or_insert(Problem { position, index, reason: Some(reason) });
                    }
                    chunk.events += 1;
                }
                Ok(Step::NoEvent(at)) => {
                    let problem = Problem { position: base + at as u64, index: chunk.events, reason: None };
                    chunk.problem.get_or_insert(problem);
                    chunk.events += 1;
                }
                Ok(_) => {}
                Err(fault) => return ChunkEnd::Fault(fault),
            }
            if !machine.in_events() {
                return ChunkEnd::List(machine.position());
            }
        }
    }
}

/// Guesses where events start, from how the first one does.
pub(super) struct Cuts {
    start_of_event: memchr::memmem::Finder<'static>,
}

impl Cuts {
    /// `first` are the bytes from the start of an event on.
    pub(super) fn new(first: &[u8]) -> Cuts {
        let event = &first[..first.len().min(64)];
        let colon = memchr::memchr(b':', event).map_or(event.len(), |at| at + 1);
        Cuts { start_of_event: memchr::memmem::Finder::new(&event[..colon]).into_owned() }
    }

    /// The last place behind the start where an event may well begin.
    pub(super) fn find_last(&self, bytes: &[u8]) -> Option<usize> {
        let needle = self.start_of_event.needle();
        let mut end = bytes.len();
        while let Some(at) = memchr::memmem::rfind(&bytes[..end], needle).filter(|at| *at > 0 && !needle.is_empty()) {
            if is_behind_another(bytes, at) {
                return Some(at);
            }
            end = at + needle.len() - 1;
        }
        None
    }

    /// A place at or behind `from`, and before `to`, where an event may well start. Whether one does shows when the events
    /// in front of it have been taken.
    pub(super) fn find(&self, bytes: &[u8], from: usize, to: usize) -> Option<usize> {
        // What begins before `to` may end behind it.
        let end = to.saturating_add(self.start_of_event.needle().len() - 1).min(bytes.len());
        let part = bytes.get(from..end)?;
        self.start_of_event.find_iter(part).map(|at| from + at).find(|&at| is_behind_another(bytes, at))
    }
}

/// Whether another event may well end in front of a place.
fn is_behind_another(bytes: &[u8], at: usize) -> bool {
    let mut before = bytes[..at].iter().rev().filter(|byte| !byte.is_ascii_whitespace());
    before.next() == Some(&b',') && before.next() == Some(&b'}')
}
