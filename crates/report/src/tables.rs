//! Results as tables with typed columns, for files that engines read. Names and units of the columns are those of the CSVs; times are not
//! rounded, and texts are as they are.

mod answers;
mod events;
mod forecasts;
mod runs;
mod steps;
mod traces;
mod versions;

pub use answers::{AnswerRow, answer_columns};
pub use events::{EventBatch, EventColumns};
pub use forecasts::forecasts;
pub use runs::{collectives, runs};
pub use steps::steps;
pub use traces::{kernel_columns, layers, operations};
pub use versions::{CaseRow, case_columns};

use crate::attribution::NamedExplanation;
use crate::attribution::csv::{CallsAndSource, calls_and_source};
use perfdb_audit::coverage::{Asked, Audit};
use perfdb_compare::attribution::Contribution;
use perfdb_compare::operators::{OpRow, measured_total_us, share_pct};
use perfdb_compare::shapes::ShapeRow;
use perfdb_files::tables::{Batch, Column, Schema, batch, schema};

/// A whole table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its columns.
    pub schema: Schema,
    pub rows: Batch,
}

impl Table {
    fn of<R>(name: &str, columns: &[Column<R>], rows: &[R]) -> Table {
        Table { schema: schema(name, columns), rows: batch(columns, rows.iter()) }
    }
}

/// Counts are far from where they would not fit.
fn integer(count: u64) -> Option<i64> {
    i64::try_from(count).ok()
}

/// The comparison per kernel type of all scenarios.
pub fn operators<'r>(scenarios: impl IntoIterator<Item = (&'r str, &'r [OpRow])>) -> Table {
    struct Line<'r> {
        scenario: &'r str,
        row: &'r OpRow,
        total_us: f64,
    }
    let columns: [Column<Line<'_>>; 12] = [
        Column::text("scenario", |line| Some(line.scenario.into())),
        Column::text("kernel_type", |line| Some(line.row.kernel_type.as_str().into())),
        Column::text("operators", |line| Some(line.row.tc_funcs.as_str().into())),
        Column::real("predicted_us", |line| Some(line.row.tc_total_us.value())),
        Column::integer("predicted_count", |line| integer(line.row.tc_count)),
        Column::real("measured_us", |line| Some(line.row.prof_per_fwd_us.value())),
        Column::real("measured_count", |line| Some(line.row.prof_count)),
        Column::real("delta_us", |line| Some(line.row.delta_us())),
        Column::real("error_percent", |line| Some(line.row.error_pct.value())),
        Column::real("count_error_percent", |line| Some(line.row.count_error_pct.value())),
        Column::real("share_percent", |line| Some(share_pct(line.row, line.total_us))),
        Column::text("status", |line| Some(line.row.status.english().into())),
    ];
    let mut lines = Vec::new();
    for (scenario, rows) in scenarios {
        let total_us = measured_total_us(rows);
        lines.extend(rows.iter().map(|row| Line { scenario, row, total_us }));
    }
    Table::of("operators", &columns, &lines)
}

/// The comparison per kernel type and shape.
pub fn shapes(rows: &[ShapeRow]) -> Table {
    let columns: [Column<ShapeRow>; 8] = [
        Column::text("kernel_type", |row| Some(row.kernel_type.as_str().into())),
        Column::text("shape_key", |row| Some(row.shape_key.as_str().into())),
        Column::real("tc_dur_us", |row| Some(row.tc_dur_us.value())),
        Column::real("prof_dur_us", |row| Some(row.prof_dur_us.value())),
        Column::real("delta_pct", |row| Some(row.delta_pct.value())),
        Column::integer("tc_count", |row| integer(row.tc_count)),
        Column::integer("prof_count", |row| integer(row.prof_count)),
        Column::text("source", |row| Some(row.source.as_str().into())),
    ];
    Table::of("shapes", &columns, rows)
}

/// The parts of the difference of all scenarios.
pub fn contributions(explanations: &[NamedExplanation]) -> Table {
    struct Line<'r> {
        scenario: &'r str,
        contribution: &'r Contribution,
        said: CallsAndSource,
        measured_ps: i128,
    }
    fn us(ps: i128) -> f64 {
        ps as f64 / 1e6
    }
    let columns: [Column<Line<'_>>; 15] = [
        Column::text("scenario", |line| Some(line.scenario.into())),
        Column::text("cause", |line| Some(line.contribution.cause.name().into())),
        Column::text("family", |line| Some(line.contribution.family.as_str().into())),
        Column::text("kernel_type", |line| Some(line.contribution.kernel_type.as_str().into())),
        Column::text("shape", |line| Some(line.contribution.shape.as_str().into())),
        Column::real("difference_us", |line| Some(us(line.contribution.difference_ps))),
        Column::integer("difference_ps", |line| i64::try_from(line.contribution.difference_ps).ok()),
        Column::real("percent_of_measured", |line| {
            let share = 100.0 * line.contribution.difference_ps as f64 / line.measured_ps as f64;
            (line.measured_ps != 0).then_some(share)
        }),
        Column::real("predicted_calls", |line| line.said.predicted_calls),
        Column::real("measured_calls", |line| line.said.measured_calls),
        Column::text("source", |line| line.said.source.as_deref().map(Into::into)),
        Column::real("simulated_us", |line| line.contribution.interval.as_ref().map(|it| us(it.simulated_ps))),
        Column::real("best_us", |line| line.contribution.interval.as_ref().map(|it| us(it.best_ps))),
        Column::real("low_us", |line| line.contribution.interval.as_ref().map(|it| us(it.low_ps))),
        Column::real("high_us", |line| line.contribution.interval.as_ref().map(|it| us(it.high_ps))),
    ];
    let mut lines = Vec::new();
    for NamedExplanation { name, explanation } in explanations {
        let measured_ps = explanation.attribution.measured_ps;
        let line =
            |contribution| Line { scenario: name, contribution, said: calls_and_source(contribution), measured_ps };
        lines.extend(explanation.attribution.contributions.iter().map(line));
    }
    Table::of("leaves", &columns, &lines)
}

/// The questions of all workloads.
pub fn questions(audit: &Audit) -> Table {
    struct Line<'r> {
        workload: &'r str,
        one: &'r Asked,
    }
    let columns: [Column<Line<'_>>; 17] = [
        Column::text("workload", |line| Some(line.workload.into())),
        Column::integer("place", |line| i64::try_from(line.one.question.place).ok()),
        Column::text("name", |line| Some(line.one.question.name.as_str().into())),
        Column::text("kernel_type", |line| {
            let kernels: Vec<&str> = line.one.finding.kernels.iter().map(|(kernel, ..)| kernel.as_str()).collect();
            (!kernels.is_empty()).then(|| kernels.join(";").into())
        }),
        Column::truth("critical", |line| Some(line.one.question.is_critical)),
        Column::text("standing", |line| Some(line.one.finding.source.name().into())),
        Column::text("axes", |line| {
            let axes = &line.one.finding.axes;
            (!axes.is_empty()).then(|| axes.join("+").into())
        }),
        Column::integer("calls", |line| i64::try_from(line.one.question.calls).ok()),
        Column::real("duration_us", |line| line.one.duration_us()),
        Column::real("low_us", |line| line.one.finding.interval_us.map(|interval| interval[0])),
        Column::real("high_us", |line| line.one.finding.interval_us.map(|interval| interval[1])),
        Column::real("time_us", |line| line.one.duration_us().map(|us| us * line.one.question.calls as f64)),
        Column::text("reason", |line| line.one.finding.reason.as_ref().map(|(code, _)| code.to_string().into())),
        Column::text("rows", |line| {
            let rows: Vec<String> = line.one.finding.rows.iter().map(ToString::to_string).collect();
            (!rows.is_empty()).then(|| rows.join(";").into())
        }),
        Column::text("input_shapes", |line| Some(line.one.question.input_shapes().into())),
        Column::text("input_types", |line| Some(line.one.question.input_types().into())),
        Column::text("query", |line| Some(line.one.question.query.to_json().to_string().into())),
    ];
    let mut lines = Vec::new();
    for workload in &audit.workloads {
        lines.extend(workload.asked.iter().map(|one| Line { workload: &workload.name, one }));
    }
    Table::of("questions", &columns, &lines)
}
