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
    last_thread: LastThread,
}

/// The thread that was numbered last, as it stands in the file: frames of one follow each other.
#[derive(Debug, Default)]
struct LastThread {
    /// Process and thread.
    texts: Vec<u8>,
    /// Length of the process.
    process: usize,
    number: u32,
}

impl LastThread {
    #[inline]
    fn number<'r>(&mut self, event: &Event<'r>, own: impl FnOnce(&Event<'r>) -> u32) -> u32 {
        let (Some(Value::Number(process)), Some(Value::Number(thread))) = (event.process(), event.thread()) else {
            return own(event);
        };
        let (process, thread) = (process.raw(), thread.raw());
        if self.texts.split_at_checked(self.process) != Some((process, thread)) || self.process == 0 {
            self.texts.clear();
            self.texts.extend_from_slice(process);
            self.texts.extend_from_slice(thread);
            self.process = process.len();
            self.number = own(event);
        }
        self.number
    }
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
    pub(super) fn thread(&mut self, own: impl FnOnce(&Event<'r>) -> u32) -> u32 {
        match self.taken.thread {
            None => self.numbers.last_thread.number(self.event, own),
            known => number(&mut self.numbers.threads, known, || own(self.event)),
        }
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::columns::Columns;
    use crate::read::{Wanted, reader};

    /// Events whose ids, times and names are of every kind.
    const TRACE: &str = r#"{"traceEvents": [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": "a", "ts": 1.5, "dur": 2, "args": {"correlation": 7, "External id": "x"}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": "p", "tid": 2, "ts": 2, "args": {"correlation": "seven"}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": "none", "dur": 3, "args": {"External id": 1.5}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 3, "dur": -3, "args": {"External id": 4}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 5, "dur": 9, "args": {"device": 1, "stream": "s", "correlation": 7, "External id": 4}},
        {"ph": "X", "cat": "kernel", "name": "g\u0065mm", "ts": 15, "args": {"device": 0, "stream": 7, "correlation": "seven"}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 16, "dur": null, "args": {"stream": 7, "correlation": 1e40}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 17, "dur": -1, "args": {"correlation": 9}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 2e18, "dur": 1},
        {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 18, "dur": 9e17},
        {"ph": "X", "cat": "kernel", "ts": 19, "dur": 1},
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": 30, "dur": 1, "args": {"device": 1, "stream": 7, "correlation": 7, "bytes": 8}},
        {"ph": "X", "cat": "python_function", "name": "f", "pid": 1, "tid": 2, "ts": 1, "dur": 9, "args": {"Python id": 1}}]}"#;

    #[test]
    fn what_the_doctor_has_read_is_what_the_loader_would_read() {
        let read = |findings| -> Columns {
            let wanted =
                Wanted { stacks: true, findings, check: findings, operators: true, threads: 1, ..Wanted::default() };
            reader(Path::new("t.json"), TRACE.as_bytes(), wanted).expect("a trace").columns
        };
        let (alone, beside) = (read(false), read(true));
        assert_eq!(alone.kernels.len(), 4);
        let rows = |columns: &Columns| {
            let Columns { copies, frames, skipped_kernels, .. } = columns;
            let operators: Vec<_> = (0..columns.operators.len()).map(|at| columns.operators.at(at)).collect();
            let (kernels, launches): (Vec<_>, Vec<_>) =
                (columns.kernels.iter().collect(), columns.launches.iter().collect());
            format!("{kernels:?} {copies:?} {launches:?} {operators:?} {frames:?} {skipped_kernels}")
        };
        assert_eq!(rows(&alone), rows(&beside));
        assert_eq!(alone.devices.keys(), beside.devices.keys());
        assert_eq!(alone.streams.keys(), beside.streams.keys());
        assert_eq!(alone.threads.keys(), beside.threads.keys());
    }
}
