//! The tables of a comparison of two GPU traces.

use super::{Table, integer};
use crate::tracediff::Operation;
use perfdb_files::tables::Column;
use perfdb_tracediff::{Document, EventRow, LayerRow};
use std::borrow::Cow;

/// The operations, those of one trace last; none for documents that have none.
pub fn operations(document: &Document) -> Option<Table> {
    let columns: [Column<Operation<'_>>; 20] = [
        Column::text("operation", |row| Some(row.name.into())),
        Column::integer("trace1_count", |row| integer(row.counts[0])),
        Column::integer("trace2_count", |row| integer(row.counts[1])),
        Column::real("trace1_avg_us", |row| row.averages_us[0]),
        Column::real("trace2_avg_us", |row| row.averages_us[1]),
        Column::real("trace1_total_ms", |row| Some(row.totals_ms[0])),
        Column::real("trace2_total_ms", |row| Some(row.totals_ms[1])),
        Column::real("trace2_over_trace1", |row| Some(row.ratio)),
        Column::real("avg_trace2_over_trace1", |row| row.average_ratio),
        Column::real("difference_ms", |row| Some(row.difference_ms)),
        Column::text("status", |row| Some(row.status.name().into())),
        Column::text("trace1_kernel", |row| row.kernels[0].map(Cow::Borrowed)),
        Column::text("trace2_kernel", |row| row.kernels[1].map(Cow::Borrowed)),
        Column::text("trace1_cpu_op", |row| row.host_operators[0].map(Cow::Borrowed)),
        Column::text("trace2_cpu_op", |row| row.host_operators[1].map(Cow::Borrowed)),
        Column::text("phases", |row| Some(row.phases.join("|").into())),
        Column::text("verdict", |row| row.verdict.map(|verdict| verdict.verdict.into())),
        Column::real("interval_low", |row| row.interval().map(|[low, _]| low)),
        Column::real("interval_high", |row| row.interval().map(|[_, high]| high)),
        Column::real("detectable_percent", |row| row.verdict.and_then(|verdict| verdict.detectable_percent)),
    ];
    let rows = |comparison, confidence| Table::of("operations", &columns, &Operation::all(comparison, confidence));
    document.overview().map(|found| rows(found.comparison, found.details.confidence.as_ref()))
}

/// The layers; none for documents that have none.
pub fn layers(document: &Document) -> Option<Table> {
    let columns: [Column<LayerRow>; 9] = [
        Column::integer("layer", |row| Some(row.layer.into())),
        Column::integer("trace1_kernels", |row| integer(row.trace1_kernels)),
        Column::integer("trace2_kernels", |row| integer(row.trace2_kernels)),
        Column::real("trace1_total_ms", |row| Some(row.trace1_total_ms)),
        Column::real("trace2_total_ms", |row| Some(row.trace2_total_ms)),
        Column::real("trace2_over_trace1", |row| Some(row.trace2_over_trace1.unwrap_or(f64::INFINITY))),
        Column::real("difference_ms", |row| Some(row.difference_ms)),
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
