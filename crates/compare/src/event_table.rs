//! The X events of a trace as the rows of a table.

mod selection;

pub use selection::{Selection, all_columns, read_selected};

use crate::error::Error;
use crate::event::{EventFault, check_args, decode};
use perfdb_pycompat::float;
use perfdb_pycompat::value::Value as PythonValue;
use perfdb_trace::chrome::{Event, Field, Part, ReadError, ReadOptions, read_ordered};
use perfdb_trace::scan::Value;
use perfdb_trace::source::Source;
use std::borrow::Cow;
use std::path::Path;

/// The columns, in order.
pub const COLUMNS: [&str; 11] = [
    "op_name",
    "kernel_type",
    "simulation_shapes",
    "dur_us",
    "source",
    "confidence",
    "composite",
    "sub_kernel_durations",
    "kernel_shapes",
    "shape_match_rule",
    "sub_kernel_shapes",
];

/// The columns that are fields of the event itself; all others are members of its `args`.
const NAME: usize = 0;
const DURATION: usize = 3;

/// The cells of one event, in the order of [`COLUMNS`].
pub type EventRow<'e> = [EventCell<'e>; 11];

/// One cell, in UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventCell<'e> {
    /// The content.
    Plain(&'e [u8]),
    /// The content with a backslash in front of each quote, and no other backslash.
    QuotesEscaped(&'e [u8]),
    /// Content that does not stand in the trace like this.
    Made(String),
}

impl EventCell<'_> {
    /// The content.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            EventCell::Plain(bytes) => String::from_utf8_lossy(bytes),
            EventCell::QuotesEscaped(bytes) => Cow::Owned(String::from_utf8_lossy(bytes).replace('\\', "")),
            EventCell::Made(text) => Cow::Borrowed(text),
        }
    }
}

/// What the reader hands over.
#[derive(Debug)]
pub enum TablePart<C> {
    /// The rows that come next in the file, as the caller collected them.
    Rows(C),
    /// All rows before are void: a second `traceEvents` begins.
    Restart,
}

/// Why a table is not complete.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The trace can't be read, or an event has no row.
    #[error(transparent)]
    Read(#[from] Error),
    /// The caller could not take a part.
    #[error(transparent)]
    Sink(std::io::Error),
}

impl TableError {
    fn of(error: ReadError<EventFault, std::io::Error>) -> TableError {
        match error {
            ReadError::Read(error) => TableError::Read(error.into()),
            ReadError::Event { path, reason, location } => {
                TableError::Read(Error::Event { path, fault: reason, location: location.to_string() })
            }
            ReadError::Merge(error) => TableError::Sink(error),
        }
    }
}

/// Reads the events on up to `threads` threads. `row` puts one event's row into a collection that starts empty; `sink` gets
/// the collections in file order.
///
/// # Errors
/// When the trace can't be read, an event has no row (which may only be known after rows before it were handed over), or
/// `sink` fails.
pub fn read_events<C: Default + Send>(
    trace: &Path,
    threads: usize,
    row: impl Fn(&mut C, &EventRow<'_>) + Sync,
    sink: impl FnMut(TablePart<C>) -> std::io::Result<()>,
) -> Result<(), TableError> {
    let args = COLUMNS.iter().enumerate().filter(|(at, _)| *at != NAME && *at != DURATION).map(|(_, name)| *name);
    let add = |chunk: &mut C, event: &Event<'_>| {
        if let Some(cells) = event_row(event)? {
            row(chunk, &cells);
        }
        Ok(())
    };
    read_table(trace, args, threads, add, sink)
}

/// Reads the events with these members of `args`; `add` puts one event into a collection, `sink` gets the collections in file order.
fn read_table<C: Default + Send, S: Into<String>>(
    trace: &Path,
    args: impl IntoIterator<Item = S>,
    threads: usize,
    add: impl Fn(&mut C, &Event<'_>) -> Result<(), EventFault> + Sync,
    mut sink: impl FnMut(TablePart<C>) -> std::io::Result<()>,
) -> Result<(), TableError> {
    let mut source = Source::open(trace).map_err(Error::from)?;
    let options = ReadOptions::simulator().args(args);
    read_ordered(&mut source, &options, threads, add, |part| match part {
        Part::Chunk(value) => sink(TablePart::Rows(value)),
        Part::Restart => sink(TablePart::Restart),
        Part::Member { .. } => Ok(()),
    })
    .map_err(TableError::of)
}

fn event_row<'e>(event: &Event<'e>) -> Result<Option<EventRow<'e>>, EventFault> {
    if !event.has_phase("X") {
        return Ok(None);
    }
    check_args(event)?;
    let mut row: EventRow<'e> = [const { EventCell::Plain(b"") }; 11];
    let mut arg = 0;
    for (at, cell) in row.iter_mut().enumerate() {
        *cell = match at {
            NAME => event.field(Field::Name).map_or(Ok(EventCell::Plain(b"")), |value| event_cell(value, "name"))?,
            DURATION => {
                event.field(Field::Duration).map_or(Ok(EventCell::Plain(b"0")), |value| event_cell(value, "dur"))?
            }
            _ => {
                arg += 1;
                match event.arg(arg - 1) {
                    Some(value) => event_cell(value, COLUMNS[at])?,
                    None => continue,
                }
            }
        };
    }
    Ok(Some(row))
}

/// Texts as they are, `null` empty, everything else as the original's language prints it.
#[inline]
fn event_cell<'e>(value: Value<'e>, field: &'static str) -> Result<EventCell<'e>, EventFault> {
    Ok(match value {
        // The reader has checked all texts to be UTF-8.
        Value::Text(text) if !text.is_escaped() => EventCell::Plain(text.raw()),
        Value::Text(text) if text.has_only_quotes_escaped() => EventCell::QuotesEscaped(text.raw()),
        Value::Text(text) => EventCell::Made(decode(text, field)?.into_owned()),
        Value::Null => EventCell::Plain(b""),
        Value::Number(number) if number.is_integer() => {
            EventCell::Plain(if number.raw() == b"-0" { b"0" } else { number.raw() })
        }
        Value::Number(number) => EventCell::Made(float::repr(number.to_f64())),
        other => match other.to_value().map_err(|_| EventFault::HalfPair(field))? {
            PythonValue::Text(text) => EventCell::Made(text),
            value => EventCell::Made(value.repr()),
        },
    })
}
