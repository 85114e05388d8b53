//! CSV tables: operations, layers or the explanation. RFC 4180 quoting, lines end in LF.

use perfdb_files::escape::spreadsheet_text;
use perfdb_pycompat::csv_text::push_row;
use perfdb_pycompat::format::fixed;
use perfdb_tracediff::{Comparison, Document, LayerRow, OperationRow, Status, UnmatchedOperation};

use super::{explanation, legacy_csv, rooflines};

/// Which table is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CsvTable {
    /// Operations.
    #[default]
    Operations,
    /// Layers.
    Layers,
    /// The explanation; nothing if the document has none.
    Explanation,
    /// Operators by their shapes; nothing if the document has none.
    Shapes,
}

const OPERATIONS: &str = "operation,trace1_count,trace2_count,trace1_avg_us,trace2_avg_us,trace1_total_ms,trace2_total_ms,ratio,\
avg_ratio,gap_ms,status,trace1_kernel,trace2_kernel,trace1_cpu_op,trace2_cpu_op,phases\n";
const LAYERS: &str =
    "layer,trace1_kernels,trace2_kernels,trace1_total_ms,trace2_total_ms,ratio,gap_ms,status,in_both\n";

/// A table of a document; empty for documents that are no tables (alignments, launch counts).
pub fn csv(document: &Document, table: CsvTable) -> String {
    match document {
        Document::Plain(plain) if table == CsvTable::Explanation => {
            plain.explanation.as_ref().map(explanation::csv).unwrap_or_default()
        }
        Document::Plain(plain) if table == CsvTable::Shapes => {
            plain.roofline.as_ref().map(rooflines::csv).unwrap_or_default()
        }
        Document::Plain(plain) => default_table(&plain.comparison, table),
        Document::Full(full) => default_table(&full.comparison, table),
        Document::Legacy(comparison) => legacy_csv::csv(comparison, table),
        Document::Aligned(_) | Document::LaunchCounts(_) | Document::LegacyAligned(_) | Document::LegacyFull(_) => {
            String::new()
        }
    }
}

fn default_table(comparison: &Comparison, table: CsvTable) -> String {
    if table == CsvTable::Layers {
        let mut out = LAYERS.to_owned();
        comparison.layers.iter().for_each(|row| push_record(&mut out, &layer_cells(row)));
        return out;
    }
    let mut out = OPERATIONS.to_owned();
    comparison.operations.iter().for_each(|row| push_record(&mut out, &operation_cells(row)));
    comparison.unmatched_operations.iter().for_each(|row| push_record(&mut out, &unmatched_cells(row)));
    out
}

/// One line, quoted where it must be.
pub(super) fn push_record(out: &mut String, cells: &[String]) {
    push_row(out, cells.iter().map(String::as_str), "\n");
}

/// A name, with an apostrophe in front where a spreadsheet would compute it.
pub(crate) fn text_cell(cell: &str) -> String {
    spreadsheet_text(cell).into_owned()
}

fn operation_cells(row: &OperationRow) -> Vec<String> {
    vec![
        text_cell(&row.operation),
        row.trace1_count.to_string(),
        row.trace2_count.to_string(),
        fixed(row.trace1_avg_us, 3),
        fixed(row.trace2_avg_us, 3),
        fixed(row.trace1_total_ms, 6),
        fixed(row.trace2_total_ms, 6),
        ratio(row.ratio),
        ratio(row.avg_ratio),
        fixed(row.gap_ms, 6),
        row.status.name().to_owned(),
        text_cell(&row.trace1_kernel),
        text_cell(&row.trace2_kernel),
        text_cell(row.trace1_cpu_op.as_deref().unwrap_or_default()),
        text_cell(row.trace2_cpu_op.as_deref().unwrap_or_default()),
        row.phases.join("|"),
    ]
}

/// An operation of one trace: no ratio of it is finite and none of nothing is known.
fn unmatched_cells(row: &UnmatchedOperation) -> Vec<String> {
    let first = row.trace == 1;
    let one = |text: String, here: bool| if here { text } else { String::new() };
    let count = |here| one(row.count.to_string(), here);
    let average = |here| one(fixed(row.avg_us, 3), here);
    let total = |here: bool| fixed(if here { row.total_ms } else { 0.0 }, 6);
    let counts = |here: bool| if here { count(true) } else { "0".to_owned() };
    vec![
        text_cell(&row.operation),
        counts(first),
        counts(!first),
        average(first),
        average(!first),
        total(first),
        total(!first),
        if first { "inf".to_owned() } else { fixed(0.0, 6) },
        String::new(),
        fixed(if first { row.total_ms } else { -row.total_ms }, 6),
        if first { Status::Trace1Only } else { Status::Trace2Only }.name().to_owned(),
        one(text_cell(&row.kernel), first),
        one(text_cell(&row.kernel), !first),
        one(text_cell(row.cpu_op.as_deref().unwrap_or_default()), first),
        one(text_cell(row.cpu_op.as_deref().unwrap_or_default()), !first),
        row.phases.join("|"),
    ]
}

fn layer_cells(row: &LayerRow) -> Vec<String> {
    vec![
        row.layer.to_string(),
        row.trace1_kernels.to_string(),
        row.trace2_kernels.to_string(),
        fixed(row.trace1_total_ms, 6),
        fixed(row.trace2_total_ms, 6),
        ratio(row.ratio),
        fixed(row.gap_ms, 6),
        row.status.name().to_owned(),
        row.in_both.to_string(),
    ]
}

fn ratio(ratio: Option<f64>) -> String {
    fixed(ratio.unwrap_or(f64::INFINITY), 6)
}
