//! CSV tables of the legacy rules: unquoted, the AMD trace first.

use std::fmt::Write as _;

use perfdb_pycompat::format::fixed;
use perfdb_tracediff::{LegacyComparison, Platform};

use super::CsvTable;

/// Operations or layers. The `amd_` columns are those of trace 1 if it is AMD, of trace 2 otherwise; ratio, gap and status
/// stay trace 1 against trace 2.
pub(super) fn csv(comparison: &LegacyComparison, table: CsvTable) -> String {
    let exchange = comparison.metadata.sides.trace1_platform != Platform::Amd;
    if table == CsvTable::Layers { layers(comparison, exchange) } else { operations(comparison, exchange) }
}

fn operations(comparison: &LegacyComparison, exchange: bool) -> String {
    let mut out =
        "operation,amd_count,nvidia_count,amd_avg_us,nvidia_avg_us,amd_total_ms,nvidia_total_ms,ratio,gap_ms,status,\
                   amd_kernel,nvidia_kernel,amd_cpu_op,nvidia_cpu_op\n"
            .to_owned();
    for row in &comparison.operations {
        let counts = ordered([row.trace1_count, row.trace2_count], exchange);
        let averages = ordered([row.trace1_avg_us, row.trace2_avg_us], exchange);
        let totals = ordered([row.trace1_total_ms, row.trace2_total_ms], exchange);
        let kernels = ordered([&row.trace1_kernel, &row.trace2_kernel], exchange);
        let operators = ordered([&row.trace1_cpu_op, &row.trace2_cpu_op], exchange);
        let operator = |side: usize| operators[side].as_deref().unwrap_or("");
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            row.operation,
            counts[0],
            counts[1],
            fixed(averages[0], 2),
            fixed(averages[1], 2),
            fixed(totals[0], 2),
            fixed(totals[1], 2),
            fixed(row.ratio.unwrap_or(f64::INFINITY), 3),
            fixed(row.gap_ms, 2),
            row.status.name(),
            kernels[0],
            kernels[1],
            operator(0),
            operator(1),
        );
    }
    out
}

fn layers(comparison: &LegacyComparison, exchange: bool) -> String {
    let mut out =
        "layer,amd_kernels,nvidia_kernels,amd_total_ms,nvidia_total_ms,ratio,gap_ms,status,in_both\n".to_owned();
    for row in &comparison.layers {
        let counts = ordered([row.trace1_kernels, row.trace2_kernels], exchange);
        let totals = ordered([row.trace1_total_ms, row.trace2_total_ms], exchange);
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{},{}",
            row.layer,
            counts[0],
            counts[1],
            fixed(totals[0], 2),
            fixed(totals[1], 2),
            fixed(row.ratio, 3),
            fixed(row.gap_ms, 2),
            row.status.name(),
            if row.in_both { "True" } else { "False" },
        );
    }
    out
}

fn ordered<T>([first, second]: [T; 2], exchange: bool) -> [T; 2] {
    if exchange { [second, first] } else { [first, second] }
}
