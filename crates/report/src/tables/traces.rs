//! The tables of a comparison of two GPU traces.

use super::{Table, integer};
use perfdb_tables::Column;
use perfdb_tracediff::{Document, EventRow, LayerRow, OperationRow, Status, UnmatchedOperation};
use std::borrow::Cow;

/// An operation of both traces or of one. Infinite ratios are infinite.
struct Operation<'d> {
    name: &'d str,
    counts: [u64; 2],
    averages_us: [Option<f64>; 2],
    totals_ms: [f64; 2],
    ratio: f64,
    average_ratio: Option<f64>,
    gap_ms: f64,
    status: Status,
    kernels: [Option<&'d str>; 2],
    host_operators: [Option<&'d str>; 2],
    phases: &'d [&'static str],
}

impl<'d> Operation<'d> {
    fn matched(row: &'d OperationRow) -> Operation<'d> {
        Operation {
            name: &row.operation,
            counts: [row.trace1_count, row.trace2_count],
            averages_us: [Some(row.trace1_avg_us), Some(row.trace2_avg_us)],
            totals_ms: [row.trace1_total_ms, row.trace2_total_ms],
            ratio: row.ratio.unwrap_or(f64::INFINITY),
            average_ratio: Some(row.avg_ratio.unwrap_or(f64::INFINITY)),
            gap_ms: row.gap_ms,
            status: row.status,
            kernels: [Some(&row.trace1_kernel), Some(&row.trace2_kernel)],
            host_operators: [row.trace1_cpu_op.as_deref(), row.trace2_cpu_op.as_deref()],
            phases: &row.phases,
        }
    }

    fn unmatched(row: &'d UnmatchedOperation) -> Operation<'d> {
        let is_first = row.trace == 1;
        let one = |value| if is_first { [Some(value), None] } else { [None, Some(value)] };
        let name = |value: &'d str| if is_first { [Some(value), None] } else { [None, Some(value)] };
        Operation {
            name: &row.operation,
            counts: if is_first { [row.count, 0] } else { [0, row.count] },
            averages_us: one(row.avg_us),
            totals_ms: if is_first { [row.total_ms, 0.0] } else { [0.0, row.total_ms] },
            ratio: if is_first { f64::INFINITY } else { 0.0 },
            average_ratio: None,
            gap_ms: if is_first { row.total_ms } else { -row.total_ms },
            status: if is_first { Status::Trace1Only } else { Status::Trace2Only },
            kernels: name(&row.kernel),
            host_operators: row.cpu_op.as_deref().map_or([None, None], name),
            phases: &row.phases,
        }
    }
}

/// The operations, those of one trace last; none for documents that have none.
pub fn operations(document: &Document) -> Option<Table> {
    let columns: [Column<Operation<'_>>; 16] = [
        Column::text("operation", |row| Some(row.name.into())),
        Column::integer("trace1_count", |row| integer(row.counts[0])),
        Column::integer("trace2_count", |row| integer(row.counts[1])),
        Column::real("trace1_avg_us", |row| row.averages_us[0]),
        Column::real("trace2_avg_us", |row| row.averages_us[1]),
        Column::real("trace1_total_ms", |row| Some(row.totals_ms[0])),
        Column::real("trace2_total_ms", |row| Some(row.totals_ms[1])),
        Column::real("ratio", |row| Some(row.ratio)),
        Column::real("avg_ratio", |row| row.average_ratio),
        Column::real("gap_ms", |row| Some(row.gap_ms)),
        Column::text("status", |row| Some(row.status.name().into())),
        Column::text("trace1_kernel", |row| row.kernels[0].map(Cow::Borrowed)),
        Column::text("trace2_kernel", |row| row.kernels[1].map(Cow::Borrowed)),
        Column::text("trace1_cpu_op", |row| row.host_operators[0].map(Cow::Borrowed)),
        Column::text("trace2_cpu_op", |row| row.host_operators[1].map(Cow::Borrowed)),
        Column::text("phases", |row| Some(row.phases.join("|").into())),
    ];
    let comparison = document.overview()?.comparison;
    let matched = comparison.operations.iter().map(Operation::matched);
    let rows: Vec<_> = matched.chain(comparison.unmatched_operations.iter().map(Operation::unmatched)).collect();
    Some(Table::of("operations", &columns, &rows))
}

/// The layers; none for documents that have none.
pub fn layers(document: &Document) -> Option<Table> {
    let columns: [Column<LayerRow>; 9] = [
        Column::integer("layer", |row| Some(row.layer.into())),
        Column::integer("trace1_kernels", |row| integer(row.trace1_kernels)),
        Column::integer("trace2_kernels", |row| integer(row.trace2_kernels)),
        Column::real("trace1_total_ms", |row| Some(row.trace1_total_ms)),
        Column::real("trace2_total_ms", |row| Some(row.trace2_total_ms)),
        Column::real("ratio", |row| Some(row.ratio.unwrap_or(f64::INFINITY))),
        Column::real("gap_ms", |row| Some(row.gap_ms)),
        Column::text("status", |row| Some(row.status.name().into())),
        Column::truth("in_both", |row| Some(row.in_both)),
    ];
    document.overview().map(|found| Table::of("layers", &columns, &found.comparison.layers))
}

/// The columns of the table of kernels.
pub fn kernel_columns<'t>() -> [Column<EventRow<'t>>; 10] {
    [
        Column::integer("trace", |row| Some(row.trace.into())),
        Column::integer("index", |row| Some(row.index.into())),
        Column::text("name", |row| Some(row.name.into())),
        Column::real("start_us", |row| Some(row.start_us)),
        Column::real("duration_us", |row| Some(row.duration_us)),
        Column::text("class", |row| Some(row.class.into())),
        Column::text("family", |row| Some(row.family.into())),
        Column::integer("layer", |row| row.layer.map(Into::into)),
        Column::text("part", |row| Some(row.part.into())),
        Column::text("pair", |row| Some(row.pair.into())),
    ]
}
