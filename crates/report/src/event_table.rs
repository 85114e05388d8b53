//! The events of a trace as a CSV.

use perfdb_compare::event_table::{COLUMNS, EventRow};
use perfdb_pycompat::csv_text::push_row;

/// The header line.
pub fn header() -> String {
    let mut line = String::new();
    push_row(&mut line, COLUMNS, "\r\n");
    line
}

/// Adds the line of one event.
#[inline]
pub fn push_event(out: &mut String, row: &EventRow<'_>) {
    push_row(out, row.iter().map(|cell| &**cell), "\r\n");
}
