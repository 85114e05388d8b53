//! What changed, a line for each case.

use perfdb_audit::versions::diff::{RowDiff, Side, TableDiff};
use perfdb_files::escape::spreadsheet_text;
use perfdb_pycompat::csv_text::push_row;

const COLUMNS: [&str; 13] = [
    "kernel_type",
    "case",
    "outcome",
    "doubt",
    "ratio",
    "source",
    "duration_a_us",
    "duration_b_us",
    "spread_a_us",
    "spread_b_us",
    "line_a",
    "line_b",
    "other_metadata",
];

pub fn csv_header() -> String {
    let mut out = String::new();
    push_row(&mut out, COLUMNS, "\r\n");
    out
}

/// The cases of a table, the same ones too.
pub fn csv_rows(table: &TableDiff) -> String {
    let mut out = String::new();
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let kernel_type = spreadsheet_text(&table.summary.kernel_type).into_owned();
    for row in &table.rows {
        let of = |value: fn(&Side) -> Option<f64>| [row.a, row.b].map(|side| number(side.as_ref().and_then(value)));
        let [duration_a, duration_b] = of(|side| side.duration_us);
        let [spread_a, spread_b] = of(|side| side.spread_us);
        let [line_a, line_b] = [row.a, row.b].map(|side| side.map(|side| side.line.to_string()).unwrap_or_default());
        let source = row.a.or(row.b).and_then(|side| side.source).map_or("", |source| source.name());
        let (case, ratio, metadata) = (row.case.to_string(), number(row.ratio), other_metadata(table, row));
        let cells = [
            kernel_type.as_str(),
            &spreadsheet_text(&case),
            row.outcome.name(),
            row.outcome.doubt().unwrap_or_default(),
            &ratio,
            source,
            &duration_a,
            &duration_b,
            &spread_a,
            &spread_b,
            &line_a,
            &line_b,
            &spreadsheet_text(&metadata),
        ];
        push_row(&mut out, cells, "\r\n");
    }
    out
}

/// The cells that describe a case and are not the same in both tables.
pub(crate) fn other_metadata(table: &TableDiff, row: &RowDiff) -> String {
    let cells = row.metadata.iter().map(|(column, a, b)| format!("{}: {a} | {b}", table.metadata_columns[*column]));
    cells.collect::<Vec<_>>().join("; ")
}
