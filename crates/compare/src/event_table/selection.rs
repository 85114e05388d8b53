//! A table of the caller's columns, and of the events of one process.

use super::{COLUMNS, EventCell, TableError, TablePart, event_cell, read_table};
use crate::error::Error;
use crate::event::{EventFault, check_args, plain_form};
use indexmap::IndexSet;
use perfdb_pycompat::value::Value as PythonValue;
use perfdb_trace::chrome::{Event, Field, Item, ReadOptions, Reader};
use perfdb_trace::source::Source;
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::path::Path;

/// The columns that fields of the event stand in, beside those of [`COLUMNS`].
const FIELDS: [(&str, Field); 6] = [
    ("cat", Field::Category),
    ("ph", Field::Phase),
    ("ts", Field::Timestamp),
    ("pid", Field::Process),
    ("tid", Field::Thread),
    ("id", Field::Id),
];

/// Which columns and events a table has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The columns by name: those of [`COLUMNS`], `cat`, `ph`, `ts`, `pid`, `tid`, `id`; all others are members of `args`.
    pub columns: Vec<String>,
    /// The `pid` of the events, as the table would show it; of all processes if there is none.
    pub process: Option<String>,
}

/// Where a cell comes from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// With its key, for messages.
    Field(Field, &'static str),
    /// Position among the wanted members of `args`.
    Arg(usize),
}

/// [`read_events`](super::read_events) for a selection.
///
/// # Errors
/// As [`read_events`](super::read_events).
pub fn read_selected<C: Default + Send>(
    trace: &Path,
    threads: usize,
    selection: &Selection,
    row: impl Fn(&mut C, &[EventCell<'_>]) + Sync,
    sink: impl FnMut(TablePart<C>) -> std::io::Result<()>,
) -> Result<(), TableError> {
    let mut args: IndexSet<&str, FxBuildHasher> = IndexSet::default();
    let mut origins = Vec::with_capacity(selection.columns.len());
    for name in &selection.columns {
        origins.push(match field_of(name) {
            Some((key, field)) => Origin::Field(field, key),
            None => Origin::Arg(args.insert_full(name).0),
        });
    }
    let add = |chunk: &mut C, event: &Event<'_>| {
        if let Some(cells) = cells(event, &origins, selection.process.as_deref())? {
            row(chunk, &cells);
        }
        Ok(())
    };
    read_table(trace, args, threads, add, sink)
}

/// The key of the field that a column shows, and the field.
fn field_of(name: &str) -> Option<(&'static str, Field)> {
    match name {
        "op_name" => Some(("name", Field::Name)),
        "dur_us" => Some(("dur", Field::Duration)),
        name => FIELDS.into_iter().find(|(key, _)| *key == name),
    }
}

fn cells<'e>(
    event: &Event<'e>,
    origins: &[Origin],
    process: Option<&str>,
) -> Result<Option<Vec<EventCell<'e>>>, EventFault> {
    if !event.has_phase("X") {
        return Ok(None);
    }
    if let Some(wanted) = process {
        let is_wanted = match event.process() {
            Some(pid) => plain_form(pid, "pid")? == wanted,
            None => false,
        };
        if !is_wanted {
            return Ok(None);
        }
    }
    check_args(event)?;
    let cell = |origin: &Origin| {
        let (value, key) = match *origin {
            Origin::Field(field, key) => (event.field(field), key),
            Origin::Arg(at) => (event.arg(at), "a member of args"),
        };
        match value {
            Some(value) => event_cell(value, key),
            None if key == "dur" => Ok(EventCell::Plain(b"0")),
            None => Ok(EventCell::Plain(b"")),
        }
    };
    origins.iter().map(cell).collect::<Result<_, _>>().map(Some)
}

/// The names of all columns that a trace has: [`COLUMNS`], the other fields, and what else is in the `args` of its events, in order of
/// first appearance.
///
/// # Errors
/// When the trace can't be read.
pub fn all_columns(trace: &Path) -> Result<Vec<String>, Error> {
    let mut names: IndexSet<String, FxBuildHasher> =
        COLUMNS.into_iter().chain(FIELDS.map(|(name, _)| name)).map(str::to_owned).collect();
    let always = names.len();
    let mut forms: FxHashSet<u64> = FxHashSet::default();
    let mut source = Source::open(trace)?;
    let options = ReadOptions::simulator().with_forms();
    let mut reader = Reader::new(&mut source, &options);
    while let Some(item) = reader.next_item()? {
        match item {
            Item::Event(event)
                if event.has_phase("X") && (event.form().is_odd() || forms.insert(event.form().keys())) =>
            {
                let Ok(PythonValue::Dict(event)) = perfdb_trace::json::parse(event.raw()) else { continue };
                if let Some(PythonValue::Dict(args)) = event.get("args") {
                    names.extend(args.keys().map(|name| name.to_string()));
                }
            }
            Item::Restart => {
                names.truncate(always);
                forms.clear();
            }
            _ => {}
        }
    }
    Ok(names.into_iter().collect())
}
