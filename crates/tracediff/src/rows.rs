//! Kernels, launches and operators of a trace in few bytes each: traces have millions of them, and all are held at one time.

use std::ops::Range;

use perfdb_trace::packed::{Ids, Span, Spans, Times};

use crate::columns::{HostOperator, Kernel, Launch};
use crate::id::Id;
use crate::names::NameId;

/// External ids of rows; empty where no row has one.
#[derive(Debug, Default)]
struct Externals(Vec<u32>);

impl Externals {
    /// The id of the next row; `rows` are before it.
    #[inline]
    fn push(&mut self, rows: usize, external: Id, ids: &mut Ids) {
        if external.is_there() && self.0.is_empty() {
            self.0 = vec![ids.pack(Id::MISSING); rows];
        }
        if external.is_there() || !self.0.is_empty() {
            self.0.push(ids.pack(external));
        }
    }

    /// Puts those of a piece that follows behind these; `before` and `rows` are how many rows are in front of it and in it.
    fn append(&mut self, before: usize, ids: &mut Ids, piece: &Externals, rows: usize, of_piece: &Ids) {
        if self.0.is_empty() && piece.0.is_empty() {
            return;
        }
        if self.0.is_empty() {
            self.0 = vec![ids.pack(Id::MISSING); before];
        }
        if piece.0.is_empty() {
            self.0.resize(before + rows, ids.pack(Id::MISSING));
        } else {
            self.0.extend(piece.0.iter().map(|external| ids.pack(of_piece.id(*external))));
        }
    }

    #[inline(always)]
    fn at(&self, row: usize, ids: &Ids) -> Id {
        if self.0.is_empty() { Id::MISSING } else { ids.id(self.0[row]) }
    }

    fn move_up(&mut self, from: usize, to: usize) {
        if let Some(external) = self.0.get(from).copied() {
            self.0[to] = external;
        }
    }
}

/// Kernels, by number.
#[derive(Debug, Default)]
pub(crate) struct KernelRows {
    rows: Vec<KernelRow>,
    times: Times,
    ids: Ids,
    externals: Externals,
    /// Places in the file; empty where they are the numbers.
    indexes: Vec<u32>,
    /// The device of each stream.
    devices: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(4))]
struct KernelRow {
    start: i64,
    duration: i64,
    correlation: u32,
    name: NameId,
    stream: u32,
}

impl KernelRows {
    /// Makes room for as many more.
    pub(crate) fn reserve_exact(&mut self, count: usize) {
        self.rows.reserve_exact(count);
    }

    /// Puts a kernel behind the others.
    #[inline]
    pub(crate) fn push(&mut self, kernel: Kernel) {
        let at = self.rows.len();
        self.externals.push(at, kernel.external, &mut self.ids);
        if kernel.index as usize != at && self.indexes.is_empty() {
            self.indexes = (0..at as u32).collect();
        }
        if kernel.index as usize != at || !self.indexes.is_empty() {
            self.indexes.push(kernel.index);
        }
        let stream = kernel.stream as usize;
        if stream >= self.devices.len() {
            self.devices.resize(stream + 1, 0);
        }
        self.devices[stream] = kernel.device;
        self.rows.push(KernelRow {
            start: self.times.pack_start(kernel.start),
            duration: self.times.pack_duration(kernel.duration),
            correlation: self.ids.pack(kernel.correlation),
            name: kernel.name,
            stream: kernel.stream,
        });
    }

    /// Puts the kernels of a piece that follows behind these, with other numbers of its names; `stream` gives the device and the number
    /// of its streams, `first` is the place of its first event in the file.
    pub(crate) fn append(
        &mut self,
        piece: &KernelRows,
        first: u32,
        name: impl Fn(NameId) -> NameId,
        stream: impl Fn(u32) -> (u32, u32),
    ) {
        let at = self.rows.len();
        self.externals.append(at, &mut self.ids, &piece.externals, piece.len(), &piece.ids);
        self.append_indexes(piece, first);
        for (device, stream) in (0..piece.devices.len() as u32).map(&stream) {
            let stream = stream as usize;
            if stream >= self.devices.len() {
                self.devices.resize(stream + 1, 0);
            }
            self.devices[stream] = device;
        }
        let (times, ids) = (&mut self.times, &mut self.ids);
        self.rows.extend(piece.rows.iter().map(|row| KernelRow {
            start: times.pack_start(piece.times.start(row.start)),
            duration: times.pack_duration(piece.times.duration(row.duration)),
            correlation: ids.pack(piece.ids.id(row.correlation)),
            name: name(row.name),
            stream: stream(row.stream).1,
        }));
    }

    fn append_indexes(&mut self, piece: &KernelRows, first: u32) {
        let at = self.rows.len() as u32;
        if self.indexes.is_empty() && piece.indexes.is_empty() && first == at {
            return;
        }
        if self.indexes.is_empty() {
            self.indexes.extend(0..at);
        }
        match piece.indexes.as_slice() {
            [] => self.indexes.extend(first..first + piece.len() as u32),
            indexes => self.indexes.extend(indexes.iter().map(|index| first + index)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The kernel of a number that there is.
    #[inline(always)]
    pub(crate) fn at(&self, at: usize) -> Kernel {
        self.kernel(at, &self.rows[at])
    }

    /// The kernel of a number.
    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> Option<Kernel> {
        self.rows.get(at).map(|row| self.kernel(at, row))
    }

    /// All of them, by number.
    #[inline]
    pub(crate) fn iter(&self) -> KernelIter<'_> {
        KernelIter { kernels: self, numbers: 0..self.rows.len() }
    }

    /// Puts other times in place of those of a kernel.
    pub(crate) fn set_times(&mut self, at: usize, kernel: &Kernel) {
        let row = &mut self.rows[at];
        row.start = self.times.pack_start(kernel.start);
        row.duration = self.times.pack_duration(kernel.duration);
    }

    /// Keeps the kernels whose numbers are wanted. The others move up in their place: a second list of all would be too much.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(usize) -> bool) {
        let count = self.rows.len();
        if self.indexes.is_empty() {
            self.indexes = (0..count as u32).collect();
        }
        let mut left = 0;
        for at in 0..count {
            if !is_kept(at) {
                continue;
            }
            self.rows[left] = self.rows[at];
            self.indexes[left] = self.indexes[at];
            self.externals.move_up(at, left);
            left += 1;
        }
        self.rows.truncate(left);
        self.indexes.truncate(left);
        self.externals.0.truncate(left);
    }

    /// Replaces ids of a table, one for one.
    pub(crate) fn rename_ids(&mut self, rename: impl FnMut(Id) -> Id) {
        self.ids.rename(rename);
    }

    #[inline(always)]
    fn kernel(&self, at: usize, row: &KernelRow) -> Kernel {
        let index = if self.indexes.is_empty() { at as u32 } else { self.indexes[at] };
        Kernel {
            start: self.times.start(row.start),
            duration: self.times.duration(row.duration),
            correlation: self.ids.id(row.correlation),
            external: self.externals.at(at, &self.ids),
            name: row.name,
            device: self.devices[row.stream as usize],
            stream: row.stream,
            index,
        }
    }
}

/// Kernels by number. Whoever looks at one takes what is needed of it, so each is put together on the spot.
#[derive(Debug, Clone)]
pub(crate) struct KernelIter<'a> {
    kernels: &'a KernelRows,
    numbers: Range<usize>,
}

impl Iterator for KernelIter<'_> {
    type Item = Kernel;

    #[inline(always)]
    fn next(&mut self) -> Option<Kernel> {
        self.kernels.get(self.numbers.next()?)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

impl DoubleEndedIterator for KernelIter<'_> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Kernel> {
        self.kernels.get(self.numbers.next_back()?)
    }
}

impl ExactSizeIterator for KernelIter<'_> {}

impl FromIterator<Kernel> for KernelRows {
    fn from_iter<T: IntoIterator<Item = Kernel>>(kernels: T) -> KernelRows {
        let mut rows = KernelRows::default();
        kernels.into_iter().for_each(|kernel| rows.push(kernel));
        rows
    }
}

/// Launches, by number.
#[derive(Debug, Default)]
pub(crate) struct LaunchRows {
    spans: Spans,
    externals: Externals,
    external_ids: Ids,
}

impl LaunchRows {
    /// Makes room for as many more.
    pub(crate) fn reserve_exact(&mut self, count: usize) {
        self.spans.reserve_exact(count);
    }

    /// Puts a launch behind the others.
    #[inline]
    pub(crate) fn push(&mut self, launch: Launch) {
        let Launch { start, duration, correlation, external, name, thread } = launch;
        self.externals.push(self.spans.len(), external, &mut self.external_ids);
        self.spans.push(Span { start, duration, id: correlation, name, thread });
    }

    /// Puts the launches of a piece that follows behind these, with other numbers of its names and threads.
    pub(crate) fn append(&mut self, piece: &LaunchRows, name: impl Fn(NameId) -> NameId, thread: impl Fn(u32) -> u32) {
        let ids = &mut self.external_ids;
        self.externals.append(self.spans.len(), ids, &piece.externals, piece.len(), &piece.external_ids);
        self.spans.append(&piece.spans, name, thread);
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The launch of a number that there is.
    #[inline(always)]
    pub(crate) fn at(&self, at: usize) -> Launch {
        self.launch(at, self.spans.at(at))
    }

    /// The last one.
    #[inline]
    pub(crate) fn last(&self) -> Option<Launch> {
        self.len().checked_sub(1).map(|last| self.at(last))
    }

    /// All of them, by number.
    #[inline]
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Launch> + Clone + '_ {
        self.spans.iter().enumerate().map(|(at, span)| self.launch(at, span))
    }

    /// Replaces ids of a table, one for one.
    pub(crate) fn rename_ids(&mut self, mut rename: impl FnMut(Id) -> Id) {
        self.spans.rename_ids(&mut rename);
        self.external_ids.rename(rename);
    }

    #[inline(always)]
    fn launch(&self, at: usize, span: Span) -> Launch {
        let Span { start, duration, id, name, thread } = span;
        Launch { start, duration, correlation: id, external: self.externals.at(at, &self.external_ids), name, thread }
    }
}

/// Operators of the host, by number.
#[derive(Debug, Default)]
pub(crate) struct OperatorRows {
    spans: Spans,
    arguments: Vec<Arguments>,
}

/// Numbers of the texts of an operator's dims and types.
#[derive(Debug, Clone, Copy)]
struct Arguments {
    dims: NameId,
    types: NameId,
}

impl OperatorRows {
    /// Makes room for as many more.
    pub(crate) fn reserve_exact(&mut self, count: usize) {
        self.spans.reserve_exact(count);
        self.arguments.reserve_exact(count);
    }

    /// Puts an operator behind the others.
    #[inline]
    pub(crate) fn push(&mut self, operator: HostOperator) {
        let HostOperator { external, name, thread, start, duration, dims, types } = operator;
        self.spans.push(Span { start, duration, id: external, name, thread });
        self.arguments.push(Arguments { dims, types });
    }

    /// Puts the operators of a piece that follows behind these, with other numbers of its names, threads and texts.
    pub(crate) fn append(
        &mut self,
        piece: &OperatorRows,
        name: impl Fn(NameId) -> NameId,
        thread: impl Fn(u32) -> u32,
        text: impl Fn(NameId) -> NameId,
    ) {
        self.spans.append(&piece.spans, name, thread);
        let renamed = |of: &Arguments| Arguments { dims: text(of.dims), types: text(of.types) };
        self.arguments.extend(piece.arguments.iter().map(renamed));
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The operator of a number that there is.
    #[inline(always)]
    pub(crate) fn at(&self, at: usize) -> HostOperator {
        let (Span { start, duration, id, name, thread }, Arguments { dims, types }) =
            (self.spans.at(at), self.arguments[at]);
        HostOperator { external: id, name, thread, start, duration, dims, types }
    }

    /// Where and when they were, with their external ids.
    pub(crate) fn spans(&self) -> &Spans {
        &self.spans
    }

    /// Replaces ids of a table, one for one.
    pub(crate) fn rename_ids(&mut self, rename: impl FnMut(Id) -> Id) {
        self.spans.rename_ids(rename);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(start: i128, external: Id, index: u32) -> Kernel {
        let stream = index % 3;
        Kernel {
            start,
            duration: 7,
            correlation: Id::of(index),
            external,
            name: index,
            device: stream / 2,
            stream,
            index,
        }
    }

    #[test]
    fn kernels_come_back_as_they_were() {
        // In a profile nothing has an external id and all is a kernel; in a trace some is.
        let far = 1_600_000_000_000_000_000_000;
        let profile = [kernel(5, Id::MISSING, 0), kernel(far, Id::MISSING, 1), kernel(4, Id::MISSING, 2)];
        let trace = [kernel(5, Id::MISSING, 0), kernel(4, Id::negative(3), 4), kernel(9, Id::MISSING, 5)];
        for kernels in [profile, trace] {
            let mut rows: KernelRows = kernels.into_iter().collect();
            assert!(rows.iter().eq(kernels));
            assert_eq!((rows.len(), rows.get(2), rows.get(3)), (3, Some(kernels[2]), None));
            rows.set_times(1, &Kernel { start: far + 1, duration: far, ..kernels[1] });
            assert_eq!(rows.at(1), Kernel { start: far + 1, duration: far, ..kernels[1] });
            rows.retain(|at| at != 1);
            assert!(rows.iter().eq([kernels[0], kernels[2]]));
        }
    }

    #[test]
    fn kernels_of_pieces_come_back_behind_each_other() {
        let moved = |kernel: Kernel| Kernel {
            name: kernel.name + 10,
            device: kernel.device + 1,
            stream: kernel.stream + 3,
            index: kernel.index + 7,
            ..kernel
        };
        let far = 1_600_000_000_000_000_000_000;
        let first = [kernel(5, Id::MISSING, 0), kernel(far, Id::MISSING, 1)];
        let second = [kernel(900, Id::MISSING, 0), kernel(800, Id::negative(2), 2)];
        let third = [kernel(70, Id::MISSING, 0)];
        let mut rows: KernelRows = first.into_iter().collect();
        for piece in [&second[..], &third] {
            let piece: KernelRows = piece.iter().copied().collect();
            rows.append(&piece, 7, |name| name + 10, |stream| (stream / 2 + 1, stream + 3));
        }
        assert!(rows.iter().eq(first.into_iter().chain([second[0], second[1], third[0]].map(moved))));
        let mut rows: KernelRows = first.into_iter().collect();
        rows.append(&third.into_iter().collect(), 2, |name| name, |stream| (stream / 2, stream));
        assert!(rows.indexes.is_empty(), "all that there is are kernels");
    }

    #[test]
    fn launches_of_pieces_come_back_behind_each_other() {
        let launch =
            |start, external| Launch { start, duration: 2, correlation: Id::of(3), external, name: 1, thread: 1 };
        let rows = |launches: &[Launch]| {
            let mut rows = LaunchRows::default();
            launches.iter().for_each(|launch| rows.push(*launch));
            rows
        };
        let (plain, with) = ([launch(5, Id::MISSING)], [launch(6, Id::MISSING), launch(7, Id::negative(1))]);
        let mut all = LaunchRows::default();
        for piece in [&plain[..], &with, &plain] {
            all.append(&rows(piece), |name| name + 1, |thread| thread + 2);
        }
        let moved = |launch: &Launch| Launch { name: 2, thread: 3, ..*launch };
        assert!(all.iter().eq(plain.iter().chain(&with).chain(&plain).map(moved)));
    }

    #[test]
    fn launches_come_back_as_they_were() {
        let launch = |at: u32, external| Launch {
            start: (3 * at).into(),
            duration: 2,
            correlation: Id::of(at),
            external,
            name: at,
            thread: 1,
        };
        let launches = [launch(8, Id::MISSING), launch(2, Id::of(4)), launch(3, Id::MISSING)];
        let mut rows = LaunchRows::default();
        launches.into_iter().for_each(|launch| rows.push(launch));
        assert!(rows.iter().eq(launches));
        assert_eq!((rows.len(), rows.at(1), rows.last()), (3, launches[1], Some(launches[2])));
    }
}
