//! Rows that are worth measuring, as tables of a database.

use super::NamedExplanation;
use super::actions::actions;
use perfdb_compare::attribution::Row;
use perfdb_pycompat::csv_text::push_row;
use perfdb_store::columns;
use std::collections::BTreeMap;

/// A table of one kernel type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasureTable {
    /// The kernel type, which names the file.
    pub kernel_type: String,
    /// The table.
    pub text: String,
    pub rows: usize,
}

/// What the to-do lists ask to measure: a table per kernel type, rows without a duration, each case once and the most worth
/// first.
pub fn rows_to_measure(explanations: &[NamedExplanation]) -> Vec<MeasureTable> {
    let mut asked: Vec<(i128, String, Row)> = Vec::new();
    for named in explanations {
        let wanted = actions(&named.explanation).into_iter();
        asked.extend(wanted.filter_map(|action| action.measure.map(|(name, row)| (action.worth_ps, name, row))));
    }
    asked.sort_by_key(|(worth_ps, _, _)| -worth_ps);
    let mut tables: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for (_, kernel_type, row) in asked {
        let rows = tables.entry(kernel_type).or_default();
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    tables.into_iter().map(|(kernel_type, rows)| table(kernel_type, &rows)).collect()
}

fn table(kernel_type: String, rows: &[Row]) -> MeasureTable {
    let mut text = String::new();
    push_row(&mut text, columns::BASE.into_iter().chain([columns::MEASURED_DURATION]), "\r\n");
    for row in rows {
        let cells = [
            "",
            "",
            &row.input_shapes,
            &row.input_types,
            &row.input_formats,
            &row.output_shapes,
            &row.output_types,
            &row.output_formats,
            "",
        ];
        push_row(&mut text, cells, "\r\n");
    }
    MeasureTable { kernel_type, text, rows: rows.len() }
}
