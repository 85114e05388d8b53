//! Kernels and launches of a profile in few bytes each: a database of 1 GB has millions of them.

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

#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(4))]
struct KernelRow {
    start: i64,
    duration: i64,
    name: NameId,
    place: u32,
    launch: u32,
}

/// Device and stream of a kernel, and what the profile says of it beside its name: few differ.
type Place = (i64, i64, Mark);

/// Kernels, in file order.
#[derive(Debug)]
pub struct Kernels {
    rows: Blocks<KernelRow>,
    times: Times,
    places: Numbering<Place>,
}

impl Default for Kernels {
    fn default() -> Kernels {
        Kernels { rows: Blocks(Vec::new()), times: Times::default(), places: Numbering::default() }
    }
}

impl Kernels {
    /// Puts a kernel behind the others.
    pub fn push(&mut self, kernel: Kernel) {
        self.rows.push(KernelRow {
            start: self.times.pack_start(kernel.start),
            duration: cut(kernel.duration),
            name: kernel.name,
            place: self.places.number((kernel.device, kernel.stream, kernel.mark)),
            launch: kernel.launch.unwrap_or(NONE),
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

    /// The kernel of a number.
    #[inline]
    pub fn get(&self, at: usize) -> Option<Kernel> {
        self.rows.get(at).map(|row| row.kernel(&self.times, &self.places))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Kernel> + Clone + '_ {
        self.rows.0.iter().flatten().map(|row| row.kernel(&self.times, &self.places))
    }

    /// Device and stream of kernels, by number of their place.
    pub fn places(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.places.keys().iter().map(|(device, stream, _)| (*device, *stream))
    }

    /// The number of the place of a kernel.
    #[inline]
    pub fn place(&self, at: usize) -> Option<u32> {
        self.rows.get(at).map(|row| row.place)
    }

    /// Puts other launches in place of those that kernels have.
    pub(super) fn relaunch(&mut self, launch: impl Fn(u32) -> Option<u32>) {
        for row in self.rows.iter_mut().filter(|row| row.launch != NONE) {
            row.launch = launch(row.launch).unwrap_or(NONE);
        }
    }

    /// All of them, given back to the system while they are gone through.
    pub fn into_rows(self) -> impl Iterator<Item = Kernel> {
        let Kernels { rows, times, places } = self;
        rows.0.into_iter().flatten().map(move |row| row.kernel(&times, &places))
    }
}

impl KernelRow {
    #[inline]
    fn kernel(&self, times: &Times, places: &Numbering<Place>) -> Kernel {
        let (device, stream, mark) = places.keys()[self.place as usize];
        Kernel {
            start: times.start(self.start),
            duration: self.duration.into(),
            name: self.name,
            device,
            stream,
            launch: (self.launch != NONE).then_some(self.launch),
            mark,
        }
    }
}

#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(4))]
struct LaunchRow {
    start: i64,
    duration: i64,
    /// Number of its process and thread.
    thread: u32,
    name: NameId,
    operator: u32,
}

/// Calls that put work on a device.
#[derive(Debug)]
pub struct Launches {
    rows: Blocks<LaunchRow>,
    times: Times,
    threads: Numbering<(i64, i64)>,
}

impl Default for Launches {
    fn default() -> Launches {
        Launches { rows: Blocks(Vec::new()), times: Times::default(), threads: Numbering::default() }
    }
}

impl Launches {
    /// Puts a call behind the others.
    pub fn push(&mut self, launch: Launch) {
        self.rows.push(LaunchRow {
            start: self.times.pack_start(launch.start),
            duration: cut(launch.duration),
            thread: self.threads.number((launch.process, launch.thread)),
            name: launch.name,
            operator: launch.operator.unwrap_or(NONE),
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

    /// The call of a number.
    #[inline]
    pub fn get(&self, at: usize) -> Option<Launch> {
        self.rows.get(at).map(|row| row.launch(&self.times, &self.threads))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Launch> + Clone + '_ {
        self.rows.0.iter().flatten().map(|row| row.launch(&self.times, &self.threads))
    }

    /// Process and thread of calls, by number of their thread.
    pub fn threads(&self) -> &[(i64, i64)] {
        self.threads.keys()
    }

    /// The number of the thread of a call.
    #[inline]
    pub fn thread(&self, at: usize) -> Option<u32> {
        self.rows.get(at).map(|row| row.thread)
    }

    /// All of them, given back to the system while they are gone through.
    pub fn into_rows(self) -> impl Iterator<Item = Launch> {
        let Launches { rows, times, threads } = self;
        rows.0.into_iter().flatten().map(move |row| row.launch(&times, &threads))
    }
}

impl LaunchRow {
    #[inline]
    fn launch(&self, times: &Times, threads: &Numbering<(i64, i64)>) -> Launch {
        let (process, thread) = threads.keys()[self.thread as usize];
        Launch {
            start: times.start(self.start),
            duration: self.duration.into(),
            process,
            thread,
            name: self.name,
            operator: (self.operator != NONE).then_some(self.operator),
        }
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
