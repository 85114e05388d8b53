//! Records of the CSV tables.

use perfdb_files::escape::spreadsheet_text;
use perfdb_pycompat::csv_text::push_row;

/// One line, quoted where it must be.
pub(crate) fn push_record(out: &mut String, cells: &[String]) {
    push_row(out, cells.iter().map(String::as_str), "\n");
}

/// A name, with an apostrophe in front where a spreadsheet would compute it.
pub(crate) fn text_cell(cell: &str) -> String {
    spreadsheet_text(cell).into_owned()
}
