//! What a piece of a trace contributes, before it is known which process counts.

use crate::event::{EventFault, check_args, decode, plain_form};
use crate::picoseconds::{PS_PER_US, duration_of_number, of_double_us, start_of_number};
use crate::process::{LocatedFault, NamedProcess, SeenPids};
use crate::sub_kernels;
use indexmap::IndexMap;
use perfdb_trace::chrome::{Event, Field};
use perfdb_trace::scan::{Number, Text, Value};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::ops::Range;

/// The members of `args` that are looked at; those from `kernel_type` on go into the key of a template, in this order.
pub(super) const ARGS: [&str; 11] = [
    "name",
    "sub_kernel_durations",
    "zero_cost",
    "kernel_type",
    "source",
    "shape_match_rule",
    "simulation_shapes",
    "kernel_shapes",
    "sub_kernel_shapes",
    "hit_kernels",
    "missed_kernels",
];
const PROCESS_NAME: usize = 0;
const SUB_KERNELS: usize = 1;
const ZERO_COST: usize = 2;
const FIRST_TEXT: usize = 3;

/// The contributions of consecutive events.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// What events have in common, see [`super::template`].
    pub(super) templates: IndexMap<Box<[u8]>, (), FxBuildHasher>,
    pub(super) pids: SeenPids,
    pub(super) records: Vec<Record>,
    /// The durations of the parts of those events that list them.
    pub(super) part_durations_ps: Vec<i64>,
    /// Start of the first event.
    pub(super) origin_ps: Option<i128>,
    /// Number of events.
    pub(super) events: u64,
    /// What the event has in common with others, as it stands in the trace.
    written: Vec<u8>,
    /// Templates by what stands in the trace.
    by_written: FxHashMap<Box<[u8]>, u32>,
    /// Events by the number of their args.
    seen: FxHashMap<u64, SeenEvent>,
}

/// An event whose args come again.
#[derive(Debug)]
struct SeenEvent {
    /// `name` as it stands in the trace.
    name: Box<[u8]>,
    template: u32,
    /// Where the durations of its parts are.
    parts: Range<usize>,
}

/// One contribution.
#[derive(Debug)]
pub(super) enum Record {
    /// An X event. Its start counts from the chunk's origin.
    Event { template: u32, pid: u32, event: u32, start_ps: i64, duration_ps: i64 },
    /// An X event that fails the trace if its process counts; no pid: if none is named.
    Fault { pid: Option<u32>, fault: Box<LocatedFault> },
    /// A `process_name` event.
    ProcessName(Box<NamedProcess>),
}

impl Chunk {
    /// Takes in one event.
    pub(super) fn add(&mut self, event: &Event<'_>) {
        self.events = event.index() + 1;
        if event.has_phase("X") {
            let pid = match self.pids.of_operator(event) {
                Ok(pid) => pid,
                Err(fault) => return self.fault(None, LocatedFault::at(event, fault)),
            };
            let parts = self.part_durations_ps.len();
            if let Err(fault) = self.operator(event, pid) {
                self.part_durations_ps.truncate(parts);
                self.fault(Some(pid), LocatedFault::at(event, fault));
            }
        } else if let Some(named) = self.pids.named(event, PROCESS_NAME) {
            self.records.push(Record::ProcessName(Box::new(named)));
        }
    }

    fn fault(&mut self, pid: Option<u32>, fault: LocatedFault) {
        self.records.push(Record::Fault { pid, fault: Box::new(fault) });
    }

    fn operator(&mut self, event: &Event<'_>, pid: u32) -> Result<(), EventFault> {
        check_args(event)?;
        let name = match event.field(Field::Name) {
            Some(Value::Text(name)) => name,
            Some(_) => return Err(EventFault::NotText("name")),
            None => return Err(EventFault::Missing("name")),
        };
        let number = event.args_number();
        let seen = number.and_then(|number| self.seen.get(&number)).filter(|seen| *seen.name == *name.raw());
        let (template, duration_ps, start_ps) = match seen {
            Some(seen) => {
                let duration_ps = duration_ps(event)?;
                self.part_durations_ps.extend_from_within(seen.parts.clone());
                (seen.template, duration_ps, start_ps(event)?)
            }
            None => {
                self.start_written(event, name)?;
                let duration_ps = duration_ps(event)?;
                let names = self.written.len();
                let parts = self.add_parts(event)?;
                let (template, start_ps) = (self.template(event, name, names)?, start_ps(event)?);
                if let Some(number) = number {
                    self.seen.insert(number, SeenEvent { name: name.raw().into(), template, parts });
                }
                (template, duration_ps, start_ps)
            }
        };
        let origin_ps = *self.origin_ps.get_or_insert(start_ps);
        let start_ps = i64::try_from(start_ps - origin_ps).map_err(|_| EventFault::TooLarge("ts"))?;
        let event = event.index() as u32;
        self.records.push(Record::Event { template, pid, event, start_ps, duration_ps });
        Ok(())
    }

    /// Begins what stands in the trace with everything but the parts. Texts are not decoded, which most would be in vain.
    fn start_written(&mut self, event: &Event<'_>, name: Text<'_>) -> Result<(), EventFault> {
        self.written.clear();
        push_written(&mut self.written, name);
        self.written.push(u8::from(is_set(event.arg(ZERO_COST))));
        for (at, name) in ARGS.into_iter().enumerate().skip(FIRST_TEXT) {
            match event.arg(at) {
                None | Some(Value::Null) => self.written.push(ABSENT),
                Some(Value::Text(text)) => push_written(&mut self.written, text),
                Some(value) => {
                    self.written.push(PLAIN);
                    push_bytes(&mut self.written, plain_form(value, name)?.as_bytes());
                }
            }
        }
        Ok(())
    }

    /// The template of an event; the names of its parts stand behind `names` in what is written.
    fn template(&mut self, event: &Event<'_>, name: Text<'_>, names: usize) -> Result<u32, EventFault> {
        if let Some(&template) = self.by_written.get(self.written.as_slice()) {
            return Ok(template);
        }
        let mut key = Vec::with_capacity(self.written.len());
        push_bytes(&mut key, decode(name, "name")?.as_bytes());
        key.push(u8::from(is_set(event.arg(ZERO_COST))));
        for (at, name) in ARGS.into_iter().enumerate().skip(FIRST_TEXT) {
            match event.arg(at) {
                None | Some(Value::Null) => key.push(0),
                Some(value) => push_bytes(&mut key, plain_form(value, name)?.as_bytes()),
            }
        }
        key.extend_from_slice(&self.written[names..]);
        let template = self.templates.insert_full(key.into(), ()).0 as u32;
        self.by_written.insert(self.written.as_slice().into(), template);
        Ok(template)
    }

    /// Adds the names of the parts that an event lists to what is written, and their durations to all others; where those are.
    fn add_parts(&mut self, event: &Event<'_>) -> Result<Range<usize>, EventFault> {
        let first = self.part_durations_ps.len();
        if let Some(Value::Text(text)) = event.arg(SUB_KERNELS)
            && let Ok(text) = text.decode()
            && let Some(parts) = sub_kernels::read(&text)?
        {
            for (kernel_type, time_us) in parts {
                push_bytes(&mut self.written, kernel_type.as_bytes());
                let part_ps = of_double_us(time_us).ok_or(EventFault::TooLarge("sub_kernel_durations"))?;
                self.part_durations_ps.push(part_ps.max(0));
            }
        }
        Ok(first..self.part_durations_ps.len())
    }
}

/// Nothing is written.
const ABSENT: u8 = 0;
/// What is written are the characters.
const PLAIN: u8 = 1;
/// What is written has escapes.
const ESCAPED: u8 = 2;

/// A text as it stands in the trace.
fn push_written(out: &mut Vec<u8>, text: Text<'_>) {
    out.push(if text.is_escaped() { ESCAPED } else { PLAIN });
    push_bytes(out, text.raw());
}

/// A text of a key: its length plus one (0: there is none), then its bytes.
fn push_bytes(key: &mut Vec<u8>, text: &[u8]) {
    let mut length = text.len() as u64 + 1;
    while length >= 0x80 {
        key.push(length as u8 | 0x80);
        length >>= 7;
    }
    key.push(length as u8);
    key.extend_from_slice(text);
}

/// Whether a flag is set: a text is unless it is empty, `0`, `False` or `false`.
fn is_set(flag: Option<Value<'_>>) -> bool {
    match flag {
        Some(Value::Text(text)) => !["", "0", "False", "false"].iter().any(|no| text.is(no)),
        Some(value) => value.is_truthy(),
        None => false,
    }
}

fn duration_ps(event: &Event<'_>) -> Result<i64, EventFault> {
    let duration_ps = match event.field(Field::Duration) {
        None => 0,
        Some(Value::Bool(value)) => i64::from(value) * PS_PER_US,
        Some(Value::Number(number)) => duration_of_number(number).ok_or_else(|| unusable(number, "dur"))?,
        Some(_) => return Err(EventFault::NotNumber("dur")),
    };
    Ok(duration_ps.max(0))
}

fn start_ps(event: &Event<'_>) -> Result<i128, EventFault> {
    match event.field(Field::Timestamp) {
        None => Ok(0),
        Some(Value::Number(number)) => start_of_number(number).ok_or_else(|| unusable(number, "ts")),
        Some(_) => Err(EventFault::NotNumber("ts")),
    }
}

#[cold]
fn unusable(number: Number<'_>, field: &'static str) -> EventFault {
    if number.to_f64().is_nan() { EventFault::NotNumber(field) } else { EventFault::TooLarge(field) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_set_by_what_is_true() {
        assert!(is_set(Some(Value::Bool(true))));
        assert!(!is_set(Some(Value::Bool(false))) && !is_set(Some(Value::Null)) && !is_set(None));
    }
}
