//! The cells of a new row.

use std::path::Path;

use perfdb_pycompat::csv_text::push_cell;
use perfdb_store::columns::{INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES};

use super::head::Head;
use crate::Semantics;
use crate::error::Error;

/// How the cells of new rows come about, column by column.
#[derive(Clone, Debug)]
pub(crate) struct RowText {
    columns: Vec<Source>,
    /// The same as pieces of a CSV line: constant cells are joined and quoted as they stand in the file.
    line: Vec<Source>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Inputs,
    Outputs,
    /// A cell of the candidate, by its position among the rule's columns.
    Own(usize),
    Constant(String),
}

/// What differs from row to row: the slots as text, and the cells that the candidate sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCells<'a> {
    pub(crate) inputs: &'a str,
    pub(crate) outputs: &'a str,
    pub(crate) own: &'a [String],
}

/// The columns that new rows take over from the first row, whatever their names contain.
const DESCRIPTIVE: [&str; 6] =
    ["OP State", "Accelerator Core", INPUT_TYPES, INPUT_FORMATS, OUTPUT_TYPES, OUTPUT_FORMATS];

/// Columns whose name contains one of these are measurements.
const MEASUREMENTS: [&str; 7] = ["duration", "latency", "time", "cycles", "ratio", "miss", "utilization"];

impl RowText {
    /// Plans the rows of a table for a rule that sets `set_columns`.
    pub(crate) fn new(head: &Head, set_columns: &[&str], semantics: Semantics) -> Self {
        let columns: Vec<_> = head.columns.iter().map(|name| source(name, head, set_columns, semantics)).collect();
        let mut line = Vec::new();
        let mut constant = String::new();
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                constant.push(',');
            }
            match column {
                Source::Constant(cell) => push_cell(&mut constant, cell),
                varying => line.extend([Source::Constant(std::mem::take(&mut constant)), varying.clone()]),
            }
        }
        constant.push_str("\r\n");
        line.push(Source::Constant(constant));
        Self { columns, line }
    }

    /// Appends the row as a line of the file.
    pub(crate) fn push_line(&self, out: &mut String, row: RowCells<'_>) {
        let start = out.len();
        for piece in &self.line {
            match piece {
                Source::Constant(text) => out.push_str(text),
                Source::Inputs => push_slots_cell(out, row.inputs),
                Source::Outputs => push_slots_cell(out, row.outputs),
                Source::Own(position) => push_cell(out, &row.own[*position]),
            }
        }
        if self.columns.len() == 1 && out.len() == start + 2 {
            // The only cell of a line is written even when it is empty.
            out.insert_str(start, "\"\"");
        }
    }

    /// Whether candidates set the cell of a column themselves.
    pub(crate) fn is_own(&self, column: usize) -> bool {
        matches!(self.columns[column], Source::Own(_))
    }

    /// The text of one cell of a row, without the quotes around slots; empty where there is no such column.
    pub(crate) fn cell<'a>(&'a self, column: Option<usize>, row: RowCells<'a>) -> &'a str {
        match column.map(|column| &self.columns[column]) {
            None => "",
            Some(Source::Constant(text)) => text,
            Some(Source::Inputs) => row.inputs,
            Some(Source::Outputs) => row.outputs,
            Some(Source::Own(position)) => &row.own[*position],
        }
    }
}

/// Checks that a table has every column that its rule sets.
pub(crate) fn check_columns(path: &Path, head: &Head, set_columns: &[&str]) -> Result<(), Error> {
    match set_columns.iter().find(|column| head.column(column).is_none()) {
        None => Ok(()),
        Some(column) => Err(Error::MissingColumn { path: path.to_owned(), column: (*column).to_owned() }),
    }
}

fn source(name: &str, head: &Head, set_columns: &[&str], semantics: Semantics) -> Source {
    let template = || Source::Constant(head.cell(name).to_owned());
    if name == INPUT_SHAPES {
        return Source::Inputs;
    }
    if name == OUTPUT_SHAPES {
        return Source::Outputs;
    }
    if let Some(position) = set_columns.iter().position(|column| *column == name) {
        return Source::Own(position);
    }
    if DESCRIPTIVE.contains(&name) {
        return template();
    }
    if semantics == Semantics::Corrected && name.starts_with("Runtime ") {
        return Source::Constant(String::new());
    }
    let lower = name.to_lowercase();
    if MEASUREMENTS.iter().any(|word| lower.contains(word)) {
        return Source::Constant("0".to_owned());
    }
    template()
}

/// Slots as they stand in the file: the cell has quotes of its own around them, so it is quoted and they are doubled.
fn push_slots_cell(out: &mut String, slots: &str) {
    if !slots.is_empty() {
        out.extend(["\"\"\"", slots, "\"\"\""]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(columns: &[&str], template: &[&str]) -> Head {
        Head {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            existing_columns: columns.len(),
            template: template.iter().map(|cell| (*cell).to_owned()).collect(),
        }
    }

    fn line(head: &Head, set: &[&str], row: RowCells<'_>, semantics: Semantics) -> String {
        let mut out = String::new();
        RowText::new(head, set, semantics).push_line(&mut out, row);
        out
    }

    #[test]
    fn every_kind_of_column() {
        let columns = [
            "my note",
            "OP State",
            "Input Shapes",
            "Wait TIME",
            "Output Shapes",
            "EP Size",
            "Runtime attn_state",
            "Input Formats",
        ];
        let head = head(&columns, &["a,b", "static", "1", "7", "2", "3", "x", "ND;\"ND\""]);
        let row = RowCells { inputs: "1,2;;", outputs: "", own: &["16".to_owned()] };
        let upstream = line(&head, &["EP Size"], row, Semantics::Upstream);
        assert_eq!(upstream, "\"a,b\",static,\"\"\"1,2;;\"\"\",0,,16,0,\"ND;\"\"ND\"\"\"\r\n");
        let corrected = line(&head, &["EP Size"], row, Semantics::Corrected);
        assert_eq!(corrected, "\"a,b\",static,\"\"\"1,2;;\"\"\",0,,16,,\"ND;\"\"ND\"\"\"\r\n");
    }

    #[test]
    fn a_lone_empty_cell_is_quoted() {
        let head = head(&["Input Shapes"], &["1"]);
        let row = RowCells { inputs: "", outputs: "9", own: &[] };
        assert_eq!(line(&head, &[], row, Semantics::Upstream), "\"\"\r\n");
        assert_eq!(line(&head, &[], RowCells { inputs: ";", ..row }, Semantics::Upstream), "\"\"\";\"\"\"\r\n");
    }

    #[test]
    fn of_two_columns_with_one_name_the_last_is_copied() {
        let head = head(&["note", "Input Shapes", "note"], &["first", "1", "last"]);
        let row = RowCells { inputs: "4", outputs: "", own: &[] };
        assert_eq!(line(&head, &[], row, Semantics::Upstream), "last,\"\"\"4\"\"\",last\r\n");
    }
}
