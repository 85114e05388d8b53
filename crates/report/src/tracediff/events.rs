//! The table of kernels.

use perfdb_pycompat::csv_text::push_row;
use perfdb_pycompat::format::fixed;
use perfdb_tracediff::EventRow;

use super::records::text_cell;

/// First line of the table of kernels.
pub const EVENTS_HEADER: &str = "trace,index,name,start_us,duration_us,class,family,layer,part,pair\n";

/// A kernel as a line of CSV; times with six decimals, to the picosecond.
pub fn push_event(out: &mut String, row: &EventRow<'_>) {
    let cells = [
        &row.trace.to_string(),
        &row.index.to_string(),
        &text_cell(row.name),
        &fixed(row.start_us, 6),
        &fixed(row.duration_us, 6),
        &text_cell(row.class),
        row.family,
        &row.layer.map(|layer| layer.to_string()).unwrap_or_default(),
        row.part,
        row.pair,
    ];
    push_row(out, cells, "\n");
}
