//! Kernels and launches of a profile in few bytes each: a database of 1 GB has millions of them.

use rustc_hash::FxHashMap;

use super::model::{Kernel, Launch, Mark};
use crate::names::NameId;
use crate::numbering::Numbering;
use crate::time::Picoseconds;

/// Rows that lie together. Blocks are so large that the system gets each back as soon as it has been gone through.
const BLOCK: usize = 1 << 21;

/// No number.
const NONE: u32 = u32::MAX;
/// A start that is too far from the first one for eight bytes.
const FAR: i64 = i64::MIN;

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

    fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * BLOCK + last.len())
    }

    fn get(&self, at: usize) -> Option<&T> {
        self.0.get(at / BLOCK)?.get(at % BLOCK)
    }
}

/// Starts by their distance from the first one; those far from it are kept beside.
#[derive(Debug, Default)]
struct Starts {
    first: Option<Picoseconds>,
    far: FxHashMap<usize, Picoseconds>,
}

impl Starts {
    fn packed(&mut self, at: usize, start: Picoseconds) -> i64 {
        let first = *self.first.get_or_insert(start);
        match i64::try_from(start - first) {
            Ok(distance) if distance != FAR => distance,
            _ => {
                self.far.insert(at, start);
                FAR
            }
        }
    }

    fn start(&self, at: usize, packed: i64) -> Picoseconds {
        match packed {
            FAR => self.far.get(&at).copied().unwrap_or_default(),
            distance => self.first.unwrap_or_default() + Picoseconds::from(distance),
        }
    }
}

/// Longer durations than fit are cut; that is 106 days.
fn cut(duration: Picoseconds) -> i64 {
    duration.try_into().unwrap_or(i64::MAX)
}

#[derive(Debug, Clone, Copy)]
struct KernelRow {
    start: i64,
    duration: i64,
    name: NameId,
    /// Number of its device and stream.
    place: u32,
    launch: u32,
    mark: Mark,
}

/// Kernels, in file order.
#[derive(Debug)]
pub struct Kernels {
    rows: Blocks<KernelRow>,
    starts: Starts,
    places: Numbering<(i64, i64)>,
}

impl Default for Kernels {
    fn default() -> Kernels {
        Kernels { rows: Blocks(Vec::new()), starts: Starts::default(), places: Numbering::default() }
    }
}

impl Kernels {
    /// Puts a kernel behind the others.
    pub fn push(&mut self, kernel: Kernel) {
        self.rows.push(KernelRow {
            start: self.starts.packed(self.rows.len(), kernel.start),
            duration: cut(kernel.duration),
            name: kernel.name,
            place: self.places.number((kernel.device, kernel.stream)),
            launch: kernel.launch.unwrap_or(NONE),
            mark: kernel.mark,
        });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The kernel of a number.
    pub fn get(&self, at: usize) -> Option<Kernel> {
        self.rows.get(at).map(|row| row.kernel(at, &self.starts, &self.places))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Kernel> + Clone + '_ {
        self.rows.0.iter().flatten().enumerate().map(|(at, row)| row.kernel(at, &self.starts, &self.places))
    }

    /// All of them, given back to the system while they are gone through.
    pub fn into_rows(self) -> impl Iterator<Item = Kernel> {
        let Kernels { rows, starts, places } = self;
        rows.0.into_iter().flatten().enumerate().map(move |(at, row)| row.kernel(at, &starts, &places))
    }
}

impl KernelRow {
    fn kernel(&self, at: usize, starts: &Starts, places: &Numbering<(i64, i64)>) -> Kernel {
        let (device, stream) = places.keys()[self.place as usize];
        Kernel {
            start: starts.start(at, self.start),
            duration: self.duration.into(),
            name: self.name,
            device,
            stream,
            launch: (self.launch != NONE).then_some(self.launch),
            mark: self.mark,
        }
    }
}

#[derive(Debug, Clone, Copy)]
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
    starts: Starts,
    threads: Numbering<(i64, i64)>,
}

impl Default for Launches {
    fn default() -> Launches {
        Launches { rows: Blocks(Vec::new()), starts: Starts::default(), threads: Numbering::default() }
    }
}

impl Launches {
    /// Puts a call behind the others.
    pub fn push(&mut self, launch: Launch) {
        self.rows.push(LaunchRow {
            start: self.starts.packed(self.rows.len(), launch.start),
            duration: cut(launch.duration),
            thread: self.threads.number((launch.process, launch.thread)),
            name: launch.name,
            operator: launch.operator.unwrap_or(NONE),
        });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The call of a number.
    pub fn get(&self, at: usize) -> Option<Launch> {
        self.rows.get(at).map(|row| row.launch(at, &self.starts, &self.threads))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Launch> + Clone + '_ {
        self.rows.0.iter().flatten().enumerate().map(|(at, row)| row.launch(at, &self.starts, &self.threads))
    }

    /// All of them, given back to the system while they are gone through.
    pub fn into_rows(self) -> impl Iterator<Item = Launch> {
        let Launches { rows, starts, threads } = self;
        rows.0.into_iter().flatten().enumerate().map(move |(at, row)| row.launch(at, &starts, &threads))
    }
}

impl LaunchRow {
    fn launch(&self, at: usize, starts: &Starts, threads: &Numbering<(i64, i64)>) -> Launch {
        let (process, thread) = threads.keys()[self.thread as usize];
        Launch {
            start: starts.start(at, self.start),
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
