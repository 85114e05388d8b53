//! A simulator's trace by process.

use std::collections::TryReserveError;
use std::ops::Range;

use perfdb_trace::id::Id;
use perfdb_trace::numbering::Numbering;
use perfdb_trace::time::Picoseconds;

use super::collect::TcCollector;
use super::operations::Operations;
use crate::certificate::Certificate;

/// The operations of one process in file order, and their time.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) id: Id,
    /// Where they stand in the order of the trace.
    range: Range<usize>,
    pub(crate) time: Picoseconds,
}

/// A trace, ready for the rules.
#[derive(Debug)]
pub(crate) struct TcPrepared {
    pub(crate) trace: TcCollector,
    /// Processes in order of appearance.
    pub(crate) processes: Vec<Process>,
    /// The operations process by process.
    order: Vec<u32>,
    pub(crate) time: Picoseconds,
}

impl TcPrepared {
    pub(crate) fn new(trace: TcCollector) -> Result<TcPrepared, TryReserveError> {
        let operations = &trace.operations;
        let all = || 0..operations.len() as u32;
        let mut ids = Numbering::default();
        let mut totals: Vec<(usize, Picoseconds)> = Vec::new();
        for at in all() {
            let process = ids.number(operations.origin(at).process) as usize;
            if process == totals.len() {
                totals.push((0, 0));
            }
            totals[process].0 += 1;
            totals[process].1 += operations.duration(at);
        }
        let mut processes: Vec<Process> = Vec::with_capacity(totals.len());
        for (id, (count, time)) in ids.keys().iter().zip(totals) {
            let start = processes.last().map_or(0, |process| process.range.end);
            processes.push(Process { id: *id, range: start..start + count, time });
        }
        let mut order = room_for(operations.len())?;
        order.resize(operations.len(), 0);
        let mut next: Vec<usize> = processes.iter().map(|process| process.range.start).collect();
        for at in all() {
            let process = ids.number(operations.origin(at).process) as usize;
            order[next[process]] = at;
            next[process] += 1;
        }
        let time = processes.iter().map(|process| process.time).sum();
        Ok(TcPrepared { trace, processes, order, time })
    }

    pub(crate) fn operations(&self) -> &Operations {
        &self.trace.operations
    }

    /// The operations of a process in file order.
    pub(crate) fn of(&self, process: &Process) -> &[u32] {
        &self.order[process.range.clone()]
    }

    pub(crate) fn name(&self, name: u32) -> &str {
        self.trace.names.get(name)
    }

    /// Sums that must add up.
    pub(crate) fn certificate(&self) -> Certificate {
        let mut certificate = Certificate::default();
        if self.trace.operations.is_empty() {
            return certificate;
        }
        let mut by_name = vec![0; self.trace.names.len() + 1];
        for at in 0..self.operations().len() as u32 {
            let name = (self.operations().name(at) as usize).min(self.trace.names.len());
            by_name[name] += self.operations().duration(at);
        }
        certificate.count("events", self.trace.operations.len());
        certificate.count("processes", self.processes.len());
        certificate.times_by_process =
            self.processes.iter().map(|process| (self.shown(process.id), process.time)).collect();
        certificate.holds("by_name", by_name.iter().sum::<Picoseconds>() == self.time);
        certificate
    }

    fn shown(&self, id: Id) -> String {
        match id.number() {
            Some(number) => number.to_string(),
            None => self.trace.ids.shown(id),
        }
    }
}

/// A list that takes this many operations without growing.
pub(super) fn room_for(operations: usize) -> Result<Vec<u32>, TryReserveError> {
    let mut list = Vec::new();
    list.try_reserve_exact(operations)?;
    Ok(list)
}
