//! Tables of a database: no byte is lost, and a table that is written again has the same cells.

use perfdb_store::table::{LineEnd, ReadOptions, RowStream, Table, Written};
use std::path::Path;

pub(crate) const WORDS: &[&str] = &[
    "OP State,Accelerator Core,Input Shapes,Input Data Types,Input Formats,Output Shapes",
    "Average Duration(us)",
    "\r\n",
    "\n",
    "\r",
    "\"",
    "\"\"",
    ",",
    "\u{feff}",
    "\"16,512;2048,512\"",
    "DT_BF16;DT_BF16",
    "ND;FRACTAL_NZ",
    "12.5",
    "\n\n",
];

pub(crate) fn check(bytes: &[u8]) {
    let path = Path::new("MatMulV2.csv");
    for options in [ReadOptions::database(), ReadOptions::shape_grid()] {
        if let Ok(table) = Table::parse(path, bytes.to_vec(), &options) {
            no_byte_is_lost(&table, bytes);
            written_anew_it_is_the_same(&table);
        }
    }
    if let Ok(table) = Table::parse(path, bytes.to_vec(), &ReadOptions::database()) {
        streams_have_the_same_rows(&table, path, bytes);
        rows_leave_alone(&table);
    }
}

fn no_byte_is_lost(table: &Table, bytes: &[u8]) {
    assert_eq!(table.source(), bytes);
    let mut joined = table.source_header().to_vec();
    let mut blank = bytes.len() - joined.len();
    for row in 0..table.row_count() {
        let record = table.source_to_next_record(row);
        assert!(record.starts_with(table.source_record(row)));
        blank -= record.len();
        joined.extend(record);
    }
    // Blank lines between the header and the first row belong to neither.
    let missing = &bytes[table.source_header().len()..][..blank];
    assert!(missing.iter().all(|byte| matches!(byte, b'\r' | b'\n')), "{missing:?} is lost");
    assert!(bytes.ends_with(&joined[table.source_header().len()..]) || table.row_count() == 0);
    assert_eq!(table.source_without(|_| false), bytes);
}

fn cells(table: &Table) -> Vec<Vec<&str>> {
    table.rows().map(|row| row.cells().collect()).collect()
}

fn written_anew_it_is_the_same(table: &Table) {
    // A name that begins with a second byte order mark has the only one then, as with Python.
    let is_doubled = table.columns().first().is_some_and(|name| name.starts_with('\u{feff}'));
    for byte_order_mark in [false, true].into_iter().filter(|mark| *mark || !is_doubled) {
        for line_end in [LineEnd::CrLf, LineEnd::Lf] {
            let text = table.to_csv(Written { byte_order_mark, line_end });
            let again = Table::parse(table.path(), text.clone(), &ReadOptions::shape_grid())
                .unwrap_or_else(|error| panic!("what was written cannot be read: {error}"));
            assert_eq!(again.columns(), table.columns());
            assert_eq!(cells(&again), cells(table));
            assert_eq!(again.to_csv(Written { byte_order_mark, line_end }), text, "written twice");
        }
    }
}

fn streams_have_the_same_rows(table: &Table, path: &Path, bytes: &[u8]) {
    let mut stream = RowStream::new(path, bytes).unwrap_or_else(|error| panic!("a table, and no stream: {error}"));
    assert_eq!(stream.columns(), table.columns());
    for row in table.rows() {
        let streamed = stream.next_row().unwrap_or_else(|error| panic!("row {}: {error}", row.index()));
        assert!(streamed.is_some_and(|streamed| streamed.cells().eq(row.cells())), "row {}", row.index());
    }
    assert!(matches!(stream.next_row(), Ok(None)));
}

/// A row that leaves takes no other with it.
fn rows_leave_alone(table: &Table) {
    if table.row_count() == 0 {
        return;
    }
    let leaving = table.row_count() / 2;
    let text = table.source_without(|row| row.index() == leaving);
    let rest = Table::parse(table.path(), text, &ReadOptions::database())
        .unwrap_or_else(|error| panic!("what is left cannot be read: {error}"));
    let mut expected = cells(table);
    expected.remove(leaving);
    assert_eq!(cells(&rest), expected);
}
