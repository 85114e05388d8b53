//! What the trace doctor has read of an event already.

use perfdb_doctor::{Taken, Times};
use perfdb_trace::chrome::{Event, Field};
use perfdb_trace::scan::Value;

use super::time;
use crate::id::Id;
use crate::names::{NO_NAME, NameId};
use crate::time::Picoseconds;

/// Numbers that were given to what the doctor numbers otherwise, by its number.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    names: Vec<u32>,
    devices: Vec<u32>,
    streams: Vec<u32>,
    threads: Vec<u32>,
}

/// No number yet.
const NONE: u32 = u32::MAX;

/// Times up to here are usable for all readers; of others each finds out on its own.
const NEAR: Picoseconds = 1 << 79;

/// An event and what is known of it. What is not is read.
pub(super) struct TakenEvent<'e, 'r> {
    pub(super) event: &'e Event<'r>,
    taken: Taken,
    numbers: &'e mut Numbers,
}

impl<'e, 'r> TakenEvent<'e, 'r> {
    pub(super) fn new(event: &'e Event<'r>, taken: Taken, numbers: &'e mut Numbers) -> TakenEvent<'e, 'r> {
        TakenEvent { event, taken, numbers }
    }

    /// `ts`
    #[inline]
    pub(super) fn start(&self) -> Option<Picoseconds> {
        match self.taken.times {
            Some(Times { start: Some(start), .. }) if start.abs() < NEAR => Some(start),
            Some(Times { start: None, .. }) => None,
            _ => time(self.event.timestamp()),
        }
    }

    /// `dur`, if it is a number.
    #[inline]
    pub(super) fn duration(&self) -> Option<Picoseconds> {
        match self.taken.times {
            Some(Times { duration: Some(duration), .. }) if duration.abs() < NEAR => Some(duration),
            Some(Times { duration: None, .. }) => None,
            _ => time(self.event.duration()),
        }
    }

    /// `dur` of a kernel, which is 0 where there is none.
    #[inline]
    pub(super) fn kernel_duration(&self) -> Option<Picoseconds> {
        match self.duration() {
            Some(duration) => (duration >= 0).then_some(duration),
            None => matches!(self.event.field(Field::Duration), None | Some(Value::Null)).then_some(0),
        }
    }

    /// The correlation, by `own` where it is not known.
    #[inline]
    pub(super) fn correlation(&self, own: impl FnOnce() -> Id) -> Id {
        stands_for_itself(self.taken.correlation).unwrap_or_else(own)
    }

    /// The external id, by `own` where it is not known.
    #[inline]
    pub(super) fn external(&self, own: impl FnOnce() -> Id) -> Id {
        stands_for_itself(self.taken.external).unwrap_or_else(own)
    }

    #[inline]
    pub(super) fn name(&mut self, own: impl FnOnce(&Event<'_>) -> NameId) -> NameId {
        match self.taken.name {
            Some(NO_NAME) => NO_NAME,
            known => number(&mut self.numbers.names, known, || own(self.event)),
        }
    }

    #[inline]
    pub(super) fn device(&mut self, own: impl FnOnce(&Event<'_>) -> u32) -> u32 {
        number(&mut self.numbers.devices, self.taken.device, || own(self.event))
    }

    #[inline]
    pub(super) fn stream(&mut self, own: impl FnOnce(&Event<'_>) -> u32) -> u32 {
        number(&mut self.numbers.streams, self.taken.stream, || own(self.event))
    }

    #[inline]
    pub(super) fn thread(&mut self, own: impl FnOnce(&Event<'_>) -> u32) -> u32 {
        number(&mut self.numbers.threads, self.taken.thread, || own(self.event))
    }
}

/// An id that is the same in every table.
fn stands_for_itself(id: Option<Id>) -> Option<Id> {
    id.filter(|id| id.number().is_some() || !id.is_there())
}

#[inline]
fn number(numbers: &mut Vec<u32>, known: Option<u32>, own: impl FnOnce() -> u32) -> u32 {
    let Some(at) = known.map(|known| known as usize) else { return own() };
    match numbers.get(at) {
        Some(number) if *number != NONE => *number,
        _ => {
            let number = own();
            if numbers.len() <= at {
                numbers.resize(at + 1, NONE);
            }
            numbers[at] = number;
            number
        }
    }
}
