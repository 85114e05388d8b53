//! A simulator's trace by process.

use perfdb_trace::id::Id;
use perfdb_trace::time::Picoseconds;

use super::collect::{Operation, TcCollector};
use crate::certificate::Certificate;

/// The operations of one process in file order, and their time.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) id: Id,
    pub(crate) operations: Vec<u32>,
    pub(crate) time: Picoseconds,
}

/// A trace, ready for the rules.
#[derive(Debug)]
pub(crate) struct TcPrepared {
    pub(crate) trace: TcCollector,
    pub(crate) processes: Vec<Process>,
    pub(crate) time: Picoseconds,
}

impl TcPrepared {
    pub(crate) fn new(trace: TcCollector) -> TcPrepared {
        let mut processes: Vec<Process> = Vec::new();
        for (at, operation) in trace.operations.iter().enumerate() {
            let place = processes.iter().position(|process| process.id == operation.process);
            let place = place.unwrap_or_else(|| {
                processes.push(Process { id: operation.process, operations: Vec::new(), time: 0 });
                processes.len() - 1
            });
            processes[place].operations.push(at as u32);
            processes[place].time += operation.duration;
        }
        let time = trace.operations.iter().map(|operation| operation.duration).sum();
        TcPrepared { trace, processes, time }
    }

    pub(crate) fn operation(&self, at: u32) -> &Operation {
        &self.trace.operations[at as usize]
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
        for operation in &self.trace.operations {
            let name = (operation.name as usize).min(self.trace.names.len());
            by_name[name] += operation.duration;
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
