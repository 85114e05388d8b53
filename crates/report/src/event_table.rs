//! The events of a trace as a CSV.

use perfdb_compare::event_table::{COLUMNS, EventCell, EventRow};
use perfdb_pycompat::csv_text::{push_cell_bytes, push_cell_with_backslashes, push_row};

/// Room for the lines of one piece of a trace, so that they are not copied while they become more.
const FIRST_ROOM: usize = 1 << 19;

/// The header line.
pub fn header() -> String {
    header_of(&COLUMNS)
}

/// The header line of a table of other columns.
pub fn header_of(columns: &[impl AsRef<str>]) -> String {
    let mut line = String::new();
    push_row(&mut line, columns.iter().map(AsRef::as_ref), "\r\n");
    line
}

/// Adds the line of one event.
#[inline]
pub fn push_event(out: &mut Vec<u8>, row: &EventRow<'_>) {
    push_cells(out, row);
}

/// [`push_event`] for other columns.
#[inline]
pub fn push_cells(out: &mut Vec<u8>, row: &[EventCell<'_>]) {
    if out.is_empty() {
        out.reserve(FIRST_ROOM);
    }
    for (at, cell) in row.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match cell {
            EventCell::Plain(bytes) => push_cell_bytes(out, bytes),
            EventCell::QuotesEscaped(bytes) => push_cell_with_backslashes(out, bytes),
            EventCell::Made(text) => push_cell_bytes(out, text.as_bytes()),
        }
    }
    out.extend_from_slice(b"\r\n");
}
