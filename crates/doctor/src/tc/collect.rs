//! Taking the events of a simulator's trace.

use std::collections::TryReserveError;

use perfdb_pycompat::{literal, value::Value as Literal};
use perfdb_trace::chrome::{Event, Field};
use perfdb_trace::id::IdTable;
use perfdb_trace::names::{NO_NAME, NameId, Names};
use perfdb_trace::scan::{Number, Value};
use perfdb_trace::time::{MICROSECOND, Picoseconds, picoseconds};

use super::operations::{Operation, Operations, Origin, Parts};
use crate::lint::Lint;

const SOURCE: usize = 0;
const KERNEL_TYPE: usize = 1;
const ZERO_COST: usize = 2;
const PARTS: usize = 3;

/// Takes the events of a simulator's trace.
#[derive(Debug, Default)]
pub(crate) struct TcCollector {
    pub(crate) names: Names,
    pub(crate) ids: IdTable,
    pub(crate) operations: Operations,
    pub(crate) bad_events: u64,
    pub(crate) negative: u64,
    pub(crate) worst: Picoseconds,
    pub(crate) text_times: u64,
    pub(crate) events: u64,
    pub(crate) lint: Lint,
}

impl TcCollector {
    pub(crate) const ARGS: [&'static str; 4] = ["source", "kernel_type", "zero_cost", "sub_kernel_durations"];

    /// Takes the next event, if there is memory for it.
    pub(crate) fn take(&mut self, event: &Event<'_>) -> Result<(), TryReserveError> {
        self.lint.look_at_event(event);
        self.events += 1;
        if !event.has_phase("X") {
            return Ok(());
        }
        if let Some(Value::Text(_)) = event.field(Field::Timestamp) {
            self.text_times += 1;
        }
        let (Some(start), Some(duration)) = (time(event.timestamp()), time(event.duration())) else {
            self.bad_events += 1;
            return Ok(());
        };
        if duration < 0 {
            self.negative += 1;
            self.worst = self.worst.min(duration);
            return Ok(());
        }
        let name = self.name(event.field(Field::Name));
        let source = self.name(event.arg(SOURCE));
        let has_type = matches!(event.arg(KERNEL_TYPE), Some(Value::Text(text)) if !text.is_empty());
        let free = matches!(event.arg(ZERO_COST), Some(Value::Text(text)) if text.is("True"))
            || matches!(event.arg(ZERO_COST), Some(Value::Bool(true)));
        let (process, thread) = (self.ids.value(event.process()), self.ids.value(event.thread()));
        let lacks_kernel_type = source != NO_NAME && !has_type && !free;
        let origin = Origin { process, thread, source, lacks_kernel_type };
        self.operations.push(Operation { start, duration, name, origin, parts: parts(event.arg(PARTS)) })
    }

    /// Puts the events of the piece of the trace that follows behind these.
    pub(crate) fn append(&mut self, piece: TcCollector) -> Result<(), TryReserveError> {
        let names = self.names.adopt(&piece.names);
        let name = |id: NameId| names.get(id as usize).copied().unwrap_or(NO_NAME);
        self.operations.append(&piece.operations, name, |id| self.ids.adopt(id, &piece.ids))?;
        self.bad_events += piece.bad_events;
        self.negative += piece.negative;
        self.worst = self.worst.min(piece.worst);
        self.text_times += piece.text_times;
        self.events += piece.events;
        self.lint.join(piece.lint);
        Ok(())
    }

    fn name(&mut self, value: Option<Value<'_>>) -> NameId {
        match value {
            Some(Value::Text(text)) => self.names.source(text.raw(), || text.decode_lossy()),
            _ => NO_NAME,
        }
    }
}

fn time(number: Option<Number<'_>>) -> Option<Picoseconds> {
    picoseconds(number?.raw())
}

/// Reads a list of kernel types with durations.
fn parts(value: Option<Value<'_>>) -> Parts {
    let text = match value {
        None | Some(Value::Null) => return Parts::None,
        Some(Value::Text(text)) => text.decode_lossy(),
        Some(_) => return Parts::Unreadable,
    };
    if text.is_empty() {
        return Parts::None;
    }
    let Ok(Literal::List(parts) | Literal::Tuple(parts)) = literal::parse(&text) else { return Parts::Unreadable };
    let mut sum = 0.0;
    for part in &parts {
        let duration = match part {
            Literal::List(pair) | Literal::Tuple(pair) => pair.last().and_then(Literal::as_double),
            value => value.as_double(),
        };
        match duration {
            Some(duration) if duration.is_finite() => sum += duration,
            _ => return Parts::Unreadable,
        }
    }
    // Two decimals each, so nothing is lost here.
    Parts::Sum { picoseconds: (sum * MICROSECOND as f64).round() as i64, count: parts.len() as u32 }
}
