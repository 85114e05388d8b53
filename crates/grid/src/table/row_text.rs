//! The cells of a new row.

use std::borrow::Cow;
use std::path::Path;

use perfdb_pycompat::csv_text::push_cell;
use perfdb_store::columns::{
    INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES, is_measurement,
};

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
    /// The first row's formats of the inputs or outputs, where they fit the shapes.
    Formats {
        of_inputs: bool,
        formats: Vec<String>,
    },
    Constant(String),
}

/// What differs from row to row: the slots as text, and the cells that the candidate sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCells<'a> {
    pub(crate) inputs: &'a str,
    pub(crate) outputs: &'a str,
    pub(crate) own: &'a [String],
}

/// The columns that new rows take over from the first row, with any text in their names.
const DESCRIPTIVE: [&str; 6] =
    ["OP State", "Accelerator Core", INPUT_TYPES, INPUT_FORMATS, OUTPUT_TYPES, OUTPUT_FORMATS];

/// The layout of matrices in blocks of 16 × 16, and how many dimensions it has at least.
const FRACTAL_NZ: &str = "FRACTAL_NZ";
const FRACTAL_DIMENSIONS: usize = 4;
const ND: &str = "ND";

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
                Source::Formats { of_inputs, formats } => {
                    push_cell(out, &fitting(formats, if *of_inputs { row.inputs } else { row.outputs }));
                }
            }
        }
        if self.columns.len() == 1 && out.len() == start + 2 {
            // The only cell of a line is written even when it is empty.
            out.insert_str(start, "\"\"");
        }
    }

    /// Whether a cell other than the shapes differs from row to row.
    pub(crate) fn is_varying(&self, column: usize) -> bool {
        matches!(self.columns[column], Source::Own(_) | Source::Formats { .. })
    }

    /// The text of one cell of a row, without the quotes around slots; empty where the column is missing.
    pub(crate) fn cell<'a>(&'a self, column: Option<usize>, row: RowCells<'a>) -> Cow<'a, str> {
        match column.map(|column| &self.columns[column]) {
            None => Cow::Borrowed(""),
            Some(Source::Constant(text)) => Cow::Borrowed(text),
            Some(Source::Inputs) => Cow::Borrowed(row.inputs),
            Some(Source::Outputs) => Cow::Borrowed(row.outputs),
            Some(Source::Own(position)) => Cow::Borrowed(&row.own[*position]),
            Some(Source::Formats { of_inputs, formats }) => {
                Cow::Owned(fitting(formats, if *of_inputs { row.inputs } else { row.outputs }))
            }
        }
    }

    /// All cells of a row, without the quotes around slots.
    pub(crate) fn cells<'a>(&'a self, row: RowCells<'a>) -> impl Iterator<Item = Cow<'a, str>> {
        (0..self.columns.len()).map(move |column| self.cell(Some(column), row))
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
    if semantics.is_corrected() && (name == INPUT_FORMATS || name == OUTPUT_FORMATS) {
        let formats: Vec<String> = head.cell(name).trim_matches('"').split(';').map(str::to_owned).collect();
        if formats.iter().any(|format| format == FRACTAL_NZ) {
            return Source::Formats { of_inputs: name == INPUT_FORMATS, formats };
        }
    }
    if DESCRIPTIVE.contains(&name) {
        return template();
    }
    if semantics.is_corrected() && name.starts_with("Runtime ") {
        return Source::Constant(String::new());
    }
    // The original takes runtime values for measurements, for their "time".
    if is_measurement(name) || name.starts_with("Runtime ") {
        // A reader may take 0 for a measured time; nothing has been measured.
        let unmeasured = if semantics.is_corrected() { "" } else { "0" };
        return Source::Constant(unmeasured.to_owned());
    }
    template()
}

/// The formats with ND in place of FRACTAL_NZ where a shape has too few dimensions for it: a rule that makes plain matrices
/// makes them, for any layout of the first row's.
fn fitting(formats: &[String], shapes: &str) -> String {
    let mut shapes = shapes.split(';');
    let fit = |format: &String| {
        let dimensions = shapes.next().filter(|shape| !shape.is_empty()).map(|shape| shape.split(',').count());
        let is_too_flat = format == FRACTAL_NZ && dimensions.is_some_and(|count| count < FRACTAL_DIMENSIONS);
        if is_too_flat { ND.to_owned() } else { format.clone() }
    };
    formats.iter().map(fit).collect::<Vec<_>>().join(";")
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
        assert_eq!(corrected, "\"a,b\",static,\"\"\"1,2;;\"\"\",,,16,,\"ND;\"\"ND\"\"\"\r\n");
    }

    #[test]
    fn corrected_rows_claim_no_time_and_no_layout_that_does_not_fit() {
        let columns = ["Input Shapes", "Input Formats", "Output Shapes", "Average Duration(us)", "aicore_time(us)"];
        let head = head(&columns, &["1", "ND;FRACTAL_NZ", "2", "7.5", "3"]);
        let flat = RowCells { inputs: "16,32;64,32", outputs: "16,64", own: &[] };
        let corrected = |row| line(&head, &[], row, Semantics::Corrected);
        assert_eq!(corrected(flat), "\"\"\"16,32;64,32\"\"\",ND;ND,\"\"\"16,64\"\"\",,\r\n");
        let blocks = RowCells { inputs: "16,32;2,4,16,16", ..flat };
        assert_eq!(corrected(blocks), "\"\"\"16,32;2,4,16,16\"\"\",ND;FRACTAL_NZ,\"\"\"16,64\"\"\",,\r\n");
        let upstream = line(&head, &[], flat, Semantics::Upstream);
        assert_eq!(upstream, "\"\"\"16,32;64,32\"\"\",ND;FRACTAL_NZ,\"\"\"16,64\"\"\",0,0\r\n");
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
