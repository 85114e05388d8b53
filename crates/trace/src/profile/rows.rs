//! Kernels and launches of a profile in few bytes each: a database of 1 GB has millions of them.

use std::hash::Hash;

use super::model::{Kernel, Launch, Mark};
use crate::names::NameId;
use crate::numbering::Numbering;
use crate::packed::Times;
use crate::time::Picoseconds;

/// Rows that lie together. Blocks are so large that the system gets each back as soon as it has been gone through.
const BLOCK: usize = 1 << 21;

/// No number.
const NONE: u32 = u32::MAX;

/// Rows, of which those that were gone through are given back.
#[derive(Debug)]
struct Blocks<T>(Vec<Vec<T>>);

impl<T> Blocks<T> {
    fn push(&mut self, row: T) {
        match self.0.last_mut() {
            Some(last) if last.len() < BLOCK => last.push(row),
            Some(_) => {
                let mut next = Vec::with_capacity(BLOCK);
                next.push(row);
                self.0.push(next);
            }
            None => self.0.push(vec![row]),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * BLOCK + last.len())
    }

    #[inline]
    fn get(&self, at: usize) -> Option<&T> {
        self.0.get(at / BLOCK)?.get(at % BLOCK)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().flatten()
    }
}

/// Longer durations than fit are cut; that is 106 days.
fn cut(duration: Picoseconds) -> i64 {
    duration.try_into().unwrap_or(i64::MAX)
}

/// An event as it is kept.
#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(4))]
struct Row {
    start: i64,
    duration: i64,
    name: NameId,
    /// Number of its key.
    key: u32,
    link: u32,
}

/// What events consist of.
pub struct Parts<K> {
    start: Picoseconds,
    duration: Picoseconds,
    name: NameId,
    /// What few events differ in.
    key: K,
    /// The number of the event that caused it.
    link: Option<u32>,
}

/// An event that is kept as a row.
pub trait Event {
    /// What few events differ in.
    type Key: Copy + Eq + Hash;
    /// What it consists of.
    fn into_parts(self) -> Parts<Self::Key>;
    /// The event that consists of these.
    fn of_parts(parts: Parts<Self::Key>) -> Self;
}

impl Event for Kernel {
    type Key = (i64, i64, Mark);

    #[inline]
    fn into_parts(self) -> Parts<Self::Key> {
        let Kernel { start, duration, name, device, stream, launch, mark } = self;
        Parts { start, duration, name, key: (device, stream, mark), link: launch }
    }

    #[inline]
    fn of_parts(parts: Parts<Self::Key>) -> Kernel {
        let Parts { start, duration, name, key: (device, stream, mark), link } = parts;
        Kernel { start, duration, name, device, stream, launch: link, mark }
    }
}

impl Event for Launch {
    type Key = (i64, i64);

    #[inline]
    fn into_parts(self) -> Parts<Self::Key> {
        let Launch { start, duration, process, thread, name, operator } = self;
        Parts { start, duration, name, key: (process, thread), link: operator }
    }

    #[inline]
    fn of_parts(parts: Parts<Self::Key>) -> Launch {
        let Parts { start, duration, name, key: (process, thread), link } = parts;
        Launch { start, duration, process, thread, name, operator: link }
    }
}

/// Events of one kind, in file order.
#[derive(Debug)]
pub struct Rows<E: Event> {
    rows: Blocks<Row>,
    times: Times,
    keys: Numbering<E::Key>,
}

/// Kernels; their keys are device, stream and what the profile says of them beside their name.
pub type Kernels = Rows<Kernel>;

/// Calls that put work on a device; their keys are process and thread.
pub type Launches = Rows<Launch>;

impl<E: Event> Default for Rows<E> {
    fn default() -> Self {
        Rows { rows: Blocks(Vec::new()), times: Times::default(), keys: Numbering::default() }
    }
}

impl<E: Event> Rows<E> {
    /// Puts an event behind the others.
    #[inline]
    pub fn push(&mut self, event: E) {
        let Parts { start, duration, name, key, link } = event.into_parts();
        self.rows.push(Row {
            start: self.times.pack_start(start),
            duration: cut(duration),
            name,
            key: self.keys.number(key),
            link: link.unwrap_or(NONE),
        });
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The event of a number. Whoever asks takes what is needed of it.
    #[inline(always)]
    pub fn get(&self, at: usize) -> Option<E> {
        self.rows.get(at).map(|row| row.event(&self.times, self.keys.keys()))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = E> + Clone + '_ {
        let (times, keys) = (&self.times, self.keys.keys());
        self.rows.0.iter().flatten().map(move |row| row.event(times, keys))
    }

    /// The keys, by number.
    pub fn keys(&self) -> &[E::Key] {
        self.keys.keys()
    }

    /// The number of the key of an event.
    #[inline]
    pub fn key(&self, at: usize) -> Option<u32> {
        self.rows.get(at).map(|row| row.key)
    }

    /// All of them, given back to the system while they are gone through.
    pub fn into_rows(self) -> impl Iterator<Item = E> {
        let Rows { rows, times, keys } = self;
        rows.0.into_iter().flatten().map(move |row| row.event(&times, keys.keys()))
    }
}

impl Kernels {
    /// Puts other launches in place of those that kernels have.
    pub(super) fn relaunch(&mut self, launch: impl Fn(u32) -> Option<u32>) {
        for row in self.rows.iter_mut().filter(|row| row.link != NONE) {
            row.link = launch(row.link).unwrap_or(NONE);
        }
    }
}

impl Row {
    #[inline(always)]
    fn event<E: Event>(&self, times: &Times, keys: &[E::Key]) -> E {
        E::of_parts(Parts {
            start: times.start(self.start),
            duration: self.duration.into(),
            name: self.name,
            key: keys[self.key as usize],
            link: (self.link != NONE).then_some(self.link),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were() {
        let kernel = |start: Picoseconds, device, launch| Kernel {
            start,
            duration: 7,
            name: 3,
            device,
            stream: -device,
            launch,
            mark: Mark::Graph,
        };
        // Half a century apart, and back.
        let wanted = [(5, 0, None), (1_600_000_000_000_000_000_000, 1, Some(0)), (4, 0, Some(9))];
        let wanted = wanted.map(|(start, device, launch)| kernel(start, device, launch));
        let mut kernels = Kernels::default();
        wanted.into_iter().for_each(|kernel| kernels.push(kernel));
        assert_eq!((kernels.len(), kernels.get(1), kernels.get(3)), (3, Some(wanted[1]), None));
        assert_eq!(kernels.iter().collect::<Vec<_>>(), wanted);
        assert_eq!(kernels.into_rows().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn blocks_are_one_row_after_the_other() {
        let mut rows = Blocks(Vec::new());
        (0..BLOCK as u32 + 2).for_each(|row| rows.push(row));
        assert_eq!((rows.len(), rows.get(BLOCK), rows.get(BLOCK + 2)), (BLOCK + 2, Some(&(BLOCK as u32)), None));
        assert!(rows.0.iter().flatten().copied().eq(0..BLOCK as u32 + 2));
    }
}
