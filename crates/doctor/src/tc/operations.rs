//! The operations of a simulator's trace in as few bytes as the rules allow: a trace can have a hundred million of them.

use std::collections::TryReserveError;

use perfdb_trace::id::Id;
use perfdb_trace::names::NameId;
use perfdb_trace::numbering::Numbering;
use perfdb_trace::time::Picoseconds;
use rustc_hash::FxHashMap;

/// One X event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) start: Picoseconds,
    pub(crate) duration: Picoseconds,
    pub(crate) name: NameId,
    pub(crate) origin: Origin,
    pub(crate) parts: Parts,
}

/// What few operations differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub(crate) process: Id,
    pub(crate) thread: Id,
    /// `source`, if it is there.
    pub(crate) source: NameId,
    /// It has a source, costs something, and names no kernel type.
    pub(crate) lacks_kernel_type: bool,
}

/// Durations of the parts of a composite operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts {
    None,
    Sum { picoseconds: i64, count: u32 },
    Unreadable,
}

/// The 24 bytes that are kept of every operation.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// Since the first operation.
    start: i64,
    duration: i64,
    name: NameId,
    origin: u32,
}

/// Operations in file order.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    rows: Vec<Row>,
    origins: Numbering<Origin>,
    /// Start of the first operation: 106 days around it fit into a row.
    first: Picoseconds,
    /// Start and duration of those that do not fit.
    far: FxHashMap<u32, (Picoseconds, Picoseconds)>,
    /// The parts of those that have any.
    parts: FxHashMap<u32, Parts>,
}

impl Operations {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds an operation, if there is memory for it.
    pub(crate) fn push(&mut self, operation: Operation) -> Result<(), TryReserveError> {
        let origin = self.origins.number(operation.origin);
        self.push_numbered(operation, origin)
    }

    /// Adds an operation whose origin has this number.
    fn push_numbered(&mut self, operation: Operation, origin: u32) -> Result<(), TryReserveError> {
        self.rows.try_reserve(1)?;
        let at = self.rows.len() as u32;
        if at == 0 {
            self.first = operation.start;
        }
        let near = (i64::try_from(operation.start - self.first), i64::try_from(operation.duration));
        let (start, duration) = match near {
            (Ok(start), Ok(duration)) => (start, duration),
            _ => {
                self.far.try_reserve(1)?;
                self.far.insert(at, (operation.start, operation.duration));
                (0, 0)
            }
        };
        if operation.parts != Parts::None {
            self.parts.try_reserve(1)?;
            self.parts.insert(at, operation.parts);
        }
        self.rows.push(Row { start, duration, name: operation.name, origin });
        Ok(())
    }

    /// Puts the operations of the piece that follows behind these, in the names and ids of the trace.
    pub(crate) fn append(
        &mut self,
        piece: &Operations,
        name: impl Fn(NameId) -> NameId,
        mut id: impl FnMut(Id) -> Id,
    ) -> Result<(), TryReserveError> {
        self.rows.try_reserve(piece.len())?;
        let mut number = |origin: &Origin| {
            let (process, thread) = (id(origin.process), id(origin.thread));
            self.origins.number(Origin { process, thread, source: name(origin.source), ..*origin })
        };
        let origins: Vec<u32> = piece.origins.keys().iter().map(&mut number).collect();
        for (at, row) in (0..).zip(&piece.rows) {
            let operation = piece.get(at);
            self.push_numbered(Operation { name: name(row.name), ..operation }, origins[row.origin as usize])?;
        }
        Ok(())
    }

    pub(crate) fn get(&self, at: u32) -> Operation {
        let row = self.rows[at as usize];
        let (start, duration) = self.times(at, row);
        let parts = self.parts.get(&at).copied().unwrap_or(Parts::None);
        Operation { start, duration, name: row.name, origin: self.origins.keys()[row.origin as usize], parts }
    }

    pub(crate) fn start(&self, at: u32) -> Picoseconds {
        self.times(at, self.rows[at as usize]).0
    }

    pub(crate) fn duration(&self, at: u32) -> Picoseconds {
        self.times(at, self.rows[at as usize]).1
    }

    pub(crate) fn name(&self, at: u32) -> NameId {
        self.rows[at as usize].name
    }

    pub(crate) fn origin(&self, at: u32) -> Origin {
        self.origins.keys()[self.rows[at as usize].origin as usize]
    }

    fn times(&self, at: u32, row: Row) -> (Picoseconds, Picoseconds) {
        if !self.far.is_empty()
            && let Some(times) = self.far.get(&at)
        {
            return *times;
        }
        (self.first + Picoseconds::from(row.start), row.duration.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: Picoseconds = Picoseconds::MAX / 4;

    fn operation(start: Picoseconds, duration: Picoseconds, thread: u32) -> Operation {
        let parts =
            if thread == 0 { Parts::None } else { Parts::Sum { picoseconds: i64::from(thread), count: thread } };
        let thread = Id::plain(thread.to_string().as_bytes()).unwrap_or(Id::MISSING);
        let origin = Origin {
            process: Id::ZERO,
            thread,
            source: thread.number().map_or(0, |n| n as NameId),
            lacks_kernel_type: true,
        };
        Operation { start, duration, name: 7, origin, parts }
    }

    fn all(operations: &Operations) -> Vec<Operation> {
        (0..operations.len() as u32).map(|at| operations.get(at)).collect()
    }

    #[test]
    fn a_row_has_24_bytes() {
        assert_eq!(size_of::<Row>(), 24);
    }

    #[test]
    fn operations_come_back_as_they_were() -> Result<(), TryReserveError> {
        let times = [5, -3, FAR, 0, -FAR, i64::MAX.into(), 9];
        let pushed: Vec<Operation> = (0..)
            .zip(times)
            .map(|(thread, start)| operation(start, if start == 0 { FAR } else { 4 }, thread % 3))
            .collect();
        for split in 0..=pushed.len() {
            let (mut first, mut second) = (Operations::default(), Operations::default());
            pushed[..split].iter().try_for_each(|operation| first.push(*operation))?;
            pushed[split..].iter().try_for_each(|operation| second.push(*operation))?;
            assert_eq!(all(&second), pushed[split..]);
            first.append(&second, |name| name, |id| id)?;
            assert_eq!(all(&first), pushed);
            for at in 0..first.len() as u32 {
                let whole = first.get(at);
                assert_eq!((first.start(at), first.duration(at)), (whole.start, whole.duration));
                assert_eq!((first.name(at), first.origin(at)), (whole.name, whole.origin));
            }
        }
        Ok(())
    }

    #[test]
    fn names_and_ids_of_a_piece_become_those_of_the_trace() -> Result<(), TryReserveError> {
        let (mut trace, mut piece) = (Operations::default(), Operations::default());
        piece.push(operation(1, 2, 1))?;
        trace.append(&piece, |name| name + 100, |_| Id::MISSING)?;
        let origin = Origin { process: Id::MISSING, thread: Id::MISSING, source: 101, lacks_kernel_type: true };
        assert_eq!(all(&trace), [Operation { name: 107, origin, ..operation(1, 2, 1) }]);
        Ok(())
    }
}
