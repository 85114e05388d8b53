//! The process ids in a piece of a trace.

use super::pid::Pid;
use crate::event::EventFault;
use indexmap::IndexMap;
use perfdb_trace::chrome::{Args, Event};
use perfdb_trace::scan::Value;
use rustc_hash::FxBuildHasher;

/// A fault and the event it is in.
#[derive(Debug, Clone)]
pub(crate) struct LocatedFault {
    /// Position among the events of a piece of the trace, or in `traceEvents` once that is known.
    pub(crate) event: u64,
    /// Position in the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) fault: EventFault,
}

impl LocatedFault {
    pub(crate) fn at(event: &Event<'_>, fault: EventFault) -> LocatedFault {
        LocatedFault { event: event.index(), offset: event.offset(), fault }
    }
}

/// What is known of a pid.
#[derive(Debug)]
pub(crate) struct SeenPid {
    /// The text it first had.
    pub(crate) text: String,
    /// Whether an X event has it, even one that contributes nothing.
    pub(crate) has_operators: bool,
}

/// A `process_name` event of the profiling model: the position of its pid, `None` for `null`; or why it can't be told.
pub(crate) type NamedProcess = Result<Option<u32>, LocatedFault>;

/// Process ids by position, in order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct SeenPids {
    pids: IndexMap<Pid, SeenPid, FxBuildHasher>,
    last: Option<(Box<str>, u32)>,
}

impl SeenPids {
    /// The position of a pid.
    pub(crate) fn position(&mut self, value: Value<'_>) -> Result<u32, EventFault> {
        if let (Value::Number(number), Some((text, pid))) = (value, &self.last)
            && number.raw() == text.as_bytes()
        {
            return Ok(*pid);
        }
        let key = Pid::of(value)?;
        let entry = self.pids.entry(key);
        let pid = entry.index() as u32;
        entry.or_insert_with(|| SeenPid { text: Pid::text_of(value), has_operators: false });
        if let Value::Number(number) = value {
            self.last = Some((number.text().into(), pid));
        }
        Ok(pid)
    }

    /// The position of the pid of an X event.
    pub(crate) fn of_operator(&mut self, event: &Event<'_>) -> Result<u32, EventFault> {
        let pid = self.position(event.process().ok_or(EventFault::Missing("pid"))?)?;
        if let Some((_, seen)) = self.pids.get_index_mut(pid as usize) {
            seen.has_operators = true;
        }
        Ok(pid)
    }

    /// The process if the event names the profiling model. `name_argument` is the position of `name` among the wanted args.
    pub(crate) fn named(&mut self, event: &Event<'_>, name_argument: usize) -> Option<NamedProcess> {
        if !event.has_phase("M") || event.name().as_deref() != Some("process_name") {
            return None;
        }
        self.try_named(event, name_argument).map_err(|fault| LocatedFault::at(event, fault)).transpose()
    }

    fn try_named(&mut self, event: &Event<'_>, name_argument: usize) -> Result<Option<Option<u32>>, EventFault> {
        if let Args::Other(_) = event.args() {
            return Err(EventFault::Args);
        }
        let name = match event.arg(name_argument) {
            None => return Ok(None),
            Some(Value::Text(name)) => name.decode_lossy().to_ascii_lowercase(),
            Some(_) => return Err(EventFault::NotText("args.name")),
        };
        if !name.contains("profiling") && !name.contains("empirical") {
            return Ok(None);
        }
        match event.process() {
            None => Err(EventFault::Missing("pid")),
            Some(Value::Null) => Ok(Some(None)),
            Some(value) => self.position(value).map(|pid| Some(Some(pid))),
        }
    }

    /// All of them.
    pub(crate) fn into_pids(self) -> impl Iterator<Item = (Pid, SeenPid)> {
        self.pids.into_iter()
    }
}
