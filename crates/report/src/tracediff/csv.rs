//! CSV tables: operations, layers or the explanation. RFC 4180 quoting, lines end in LF.

use perfdb_pycompat::format::fixed;
use perfdb_tracediff::{Comparison, Confidence, Document, LayerRow};

use super::operation::Operation;
use super::records::{push_record, text_cell};
use super::{explanation, legacy_csv, rooflines};

/// Which table is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CsvTable {
    #[default]
    Operations,
    Layers,
    /// The explanation; nothing if the document has none.
    Explanation,
    /// Operators by their shapes; nothing if the document has none.
    Shapes,
}

const OPERATIONS: &str = "operation,trace1_count,trace2_count,trace1_avg_us,trace2_avg_us,trace1_total_ms,trace2_total_ms,\
trace2_over_trace1,avg_trace2_over_trace1,difference_ms,status,trace1_kernel,trace2_kernel,trace1_cpu_op,trace2_cpu_op,phases,verdict,interval_low,interval_high,\
detectable_percent\n";
const LAYERS: &str = "layer,trace1_kernels,trace2_kernels,trace1_total_ms,trace2_total_ms,trace2_over_trace1,difference_ms,status,in_both\n";

/// A table of a document; empty for documents that are not tables (alignments, launch counts).
pub fn csv(document: &Document, table: CsvTable) -> String {
    match document {
        Document::Plain(plain) if table == CsvTable::Explanation => {
            plain.details.explanation.as_ref().map(explanation::csv).unwrap_or_default()
        }
        Document::Plain(plain) if table == CsvTable::Shapes => {
            plain.details.roofline.as_ref().map(rooflines::csv).unwrap_or_default()
        }
        Document::Plain(plain) => default_table(&plain.comparison, plain.details.confidence.as_ref(), table),
        Document::Full(full) => default_table(&full.comparison, full.details.confidence.as_ref(), table),
        Document::Legacy(comparison) => legacy_csv::csv(comparison, table),
        Document::Aligned(_) | Document::LaunchCounts(_) | Document::LegacyAligned(_) | Document::LegacyFull(_) => {
            String::new()
        }
    }
}

fn default_table(comparison: &Comparison, confidence: Option<&Confidence>, table: CsvTable) -> String {
    if table == CsvTable::Layers {
        let mut out = LAYERS.to_owned();
        comparison.layers.iter().for_each(|row| push_record(&mut out, &layer_cells(row)));
        return out;
    }
    let mut out = OPERATIONS.to_owned();
    Operation::all(comparison, confidence).iter().for_each(|row| push_record(&mut out, &operation_cells(row)));
    out
}

fn operation_cells(row: &Operation<'_>) -> Vec<String> {
    let [count1, count2] = row.counts.map(|count| count.to_string());
    let [average1, average2] = row.averages_us.map(|us| us.map(|us| fixed(us, 3)).unwrap_or_default());
    let [total1, total2] = row.totals_ms.map(|ms| fixed(ms, 6));
    let [kernel1, kernel2] = row.kernels.map(|name| text_cell(name.unwrap_or_default()));
    let [operator1, operator2] = row.host_operators.map(|name| text_cell(name.unwrap_or_default()));
    let [low, high] = row.interval().map_or([None; 2], |interval| interval.map(Some));
    let detectable = row.verdict.and_then(|verdict| verdict.detectable_percent);
    let some = |value: Option<f64>, digits: usize| value.map(|value| fixed(value, digits)).unwrap_or_default();
    vec![
        text_cell(row.name),
        count1,
        count2,
        average1,
        average2,
        total1,
        total2,
        fixed(row.ratio, 6),
        row.average_ratio.map(|ratio| fixed(ratio, 6)).unwrap_or_default(),
        fixed(row.difference_ms, 6),
        row.status.name().to_owned(),
        kernel1,
        kernel2,
        operator1,
        operator2,
        row.phases.join("|"),
        row.verdict.map(|verdict| verdict.verdict.to_owned()).unwrap_or_default(),
        some(low, 6),
        some(high, 6),
        some(detectable, 3),
    ]
}

fn layer_cells(row: &LayerRow) -> Vec<String> {
    vec![
        row.layer.to_string(),
        row.trace1_kernels.to_string(),
        row.trace2_kernels.to_string(),
        fixed(row.trace1_total_ms, 6),
        fixed(row.trace2_total_ms, 6),
        fixed(row.trace2_over_trace1.unwrap_or(f64::INFINITY), 6),
        fixed(row.difference_ms, 6),
        row.status.name().to_owned(),
        row.in_both.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracediff::twice_as_long;
    use perfdb_tracediff::{AnalysisOptions, LoadOptions, Trace, analyse};

    #[test]
    fn operations_of_both_traces_and_of_one() -> Result<(), perfdb_tracediff::Error> {
        let kernel = |name: &str, start: u32, duration: u32| {
            format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "ts": {start}, "dur": {duration}, "args": {{}}}}"#
            )
        };
        let load = |kernels: [String; 2]| {
            let text = format!(r#"{{"traceEvents": [{}]}}"#, kernels.join(","));
            Trace::from_reader("trace.json", std::io::Cursor::new(text), &LoadOptions::default())
        };
        let first = load([kernel("=Alpha, one", 0, 30), kernel("Cijk_A", 40, 8)])?;
        let second = load([kernel("Cijk_A", 0, 4), kernel("flash_fwd", 10, 5)])?;
        let analysis = analyse(&first, &second, &AnalysisOptions::default())?;
        let rows = "\
Dense GEMM,1,1,8.000,4.000,0.008000,0.004000,0.500000,0.500000,-0.004000,faster,Cijk_A,Cijk_A,,,all,,,,
Other,1,0,30.000,,0.030000,0.000000,0.000000,,-0.030000,trace1_only,\"'=Alpha, one\",,,,all,,,,
Attention,0,1,,5.000,0.000000,0.005000,inf,,0.005000,trace2_only,,flash_fwd,,,all,,,,
";
        assert_eq!(csv(&analysis.document, CsvTable::Operations), OPERATIONS.to_owned() + rows);
        Ok(())
    }

    #[test]
    fn verdicts_stand_behind_the_other_columns() -> Result<(), perfdb_tracediff::Error> {
        let table = csv(&twice_as_long()?.document, CsvTable::Operations);
        let row = table.lines().nth(1).expect("an operation");
        let [detectable, high, low, verdict] = row.rsplit(',').take(4).collect::<Vec<_>>()[..] else { panic!("{row}") };
        assert_eq!(verdict, "slower", "{row}");
        let [low, high, detectable] = [low, high, detectable].map(|cell| cell.parse::<f64>().expect(cell));
        assert!(low < 201.0 / 101.0 && 201.0 / 101.0 < high && detectable < 10.0, "{row}");
        Ok(())
    }
}
