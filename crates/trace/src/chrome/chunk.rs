//! A run of events that is looked at in one go, by one thread.

use super::event::{Event, Record};
use super::machine::{Machine, Step};
use crate::scan::{Fault, TextRule};

/// What a run of events came to.
#[derive(Debug)]
pub(super) struct Chunk<C, E> {
    /// What the caller made of the events.
    pub(super) state: C,
    /// How many there were, those that are no objects included.
    pub(super) events: u64,
    /// The first thing that was wrong with one of them.
    pub(super) trouble: Option<Trouble<E>>,
    /// Where and why it ended.
    pub(super) end: ChunkEnd,
}

/// How a chunk ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkEnd {
    /// In front of the next event, at or behind the limit.
    Limit(usize),
    /// Behind the `]` of the list.
    List(usize),
    /// The bytes are no JSON from here on, or end.
    Fault(Fault),
}

/// A valid JSON value that is no good as an event.
#[derive(Debug)]
pub(super) struct Trouble<E> {
    /// Position of the event in the bytes.
    pub(super) at: usize,
    /// Events of the chunk before it.
    pub(super) index: u64,
    /// The caller's reason; none where the value is no object.
    pub(super) reason: Option<E>,
}

/// The bytes and what to do with their events.
pub(super) struct Work<'w, M> {
    pub(super) bytes: &'w [u8],
    pub(super) base: u64,
    pub(super) rule: TextRule,
    pub(super) map: &'w M,
}

impl<M> Work<'_, M> {
    /// Takes events until one starts at `limit` or behind it.
    pub(super) fn run<C, E>(&self, machine: &mut Machine<'_>, limit: usize, record: &mut Record) -> Chunk<C, E>
    where
        C: Default,
        M: Fn(&mut C, &Event<'_>) -> Result<(), E>,
    {
        let mut state = C::default();
        let mut events = 0;
        let mut trouble = None;
        let end = loop {
            if machine.before_event() && machine.position() >= limit {
                break ChunkEnd::Limit(machine.position());
            }
            match machine.step(self.bytes, record) {
                Ok(Step::Event) => {
                    let event = Event { window: self.bytes, record, rule: self.rule, base: self.base, index: events };
                    if let Err(reason) = (self.map)(&mut state, &event) {
                        trouble.get_or_insert(Trouble { at: record.start, index: events, reason: Some(reason) });
                    }
                    events += 1;
                }
                Ok(Step::NoEvent(at)) => {
                    trouble.get_or_insert(Trouble { at, index: events, reason: None });
                    events += 1;
                }
                Ok(_) => {}
                Err(fault) => break ChunkEnd::Fault(fault),
            }
            if !machine.in_events() {
                break ChunkEnd::List(machine.position());
            }
        };
        Chunk { state, events, trouble, end }
    }
}

/// Guesses where events start, from how the first one does.
pub(super) struct Cuts<'b> {
    bytes: &'b [u8],
    start_of_event: memchr::memmem::Finder<'b>,
}

impl<'b> Cuts<'b> {
    /// `first` is the position of an event.
    pub(super) fn new(bytes: &'b [u8], first: usize) -> Cuts<'b> {
        let event = bytes.get(first..).unwrap_or_default();
        let event = &event[..event.len().min(64)];
        let colon = memchr::memchr(b':', event).map_or(event.len(), |at| at + 1);
        Cuts { bytes, start_of_event: memchr::memmem::Finder::new(&event[..colon]) }
    }

    /// A place at or behind `from`, and before `to`, where an event may well start. Whether one does shows when the chunk
    /// in front of it ends.
    pub(super) fn find(&self, from: usize, to: usize) -> Option<usize> {
        let part = self.bytes.get(from..to.min(self.bytes.len()))?;
        self.start_of_event.find_iter(part).map(|at| from + at).find(|&at| self.behind_another(at))
    }

    fn behind_another(&self, at: usize) -> bool {
        let mut before = self.bytes[..at].iter().rev().filter(|byte| !byte.is_ascii_whitespace());
        before.next() == Some(&b',') && before.next() == Some(&b'}')
    }
}
