//! Planning: the rows of a table become replay cases, or are refused or passed over.

use std::path::Path;
use std::sync::Arc;

use crate::case::{Case, Raw, WriteJson, write_parts};
use crate::error::Error;
use crate::operator::{Operator, PlanOptions, Planned, SkipReason};
use crate::refusal::Refusal;
use crate::row::Row;
use perfdb_store::duration::DurationColumns;
use perfdb_store::table::Table;
use perfdb_store::update::Mode;

/// How the rows of one operator are planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanSettings {
    /// Which rows are replayed: every one, or those without a valid duration.
    pub update_mode: Mode,
    /// What row rules need besides the row.
    pub options: PlanOptions,
    /// Timed runs per row.
    pub repeat: u32,
    /// Untimed runs per row.
    pub warmup: u32,
    /// Build new inputs before every run.
    pub fresh_inputs: bool,
}

/// A table whose rows are planned.
#[derive(Debug)]
pub(crate) struct PlannedTable {
    pub(crate) table: Table,
    /// One entry per row, in file order.
    pub(crate) rows: Vec<PlannedRow>,
}

/// What becomes of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRow {
    /// Operator.
    pub op: &'static str,
    /// Path of the table.
    pub csv: Arc<str>,
    /// Number of the record, the header being 1.
    pub row: u64,
    /// What becomes of it.
    pub plan: RowPlan,
}

/// What becomes of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum RowPlan {
    /// It is replayed.
    Case(Arc<Case>),
    /// It cannot become a case.
    Invalid(Refusal),
    /// It is passed over, for that reason.
    Skip(SkipReason),
}

/// Plans all rows of a table file.
pub(crate) fn plan_file(
    path: &Path,
    operator: &'static Operator,
    settings: &PlanSettings,
) -> Result<PlannedTable, Error> {
    let table = crate::table::read(path, operator)?;
    let rows = plan_rows(&table, operator, settings).collect();
    Ok(PlannedTable { table, rows })
}

/// Plans the rows of a table one after the other, in file order.
pub fn plan_rows(
    table: &Table,
    operator: &'static Operator,
    settings: &PlanSettings,
) -> impl Iterator<Item = PlannedRow> {
    let csv: Arc<str> = table.path().to_string_lossy().into();
    let durations = DurationColumns::of(table);
    // Most columns of a table that was measured hold measurements, which no rule reads.
    let read = table.columns().iter().enumerate().filter(|(_, name)| !is_measurement(name));
    let (positions, header): (Vec<usize>, Vec<String>) = read.map(|(at, name)| (at, name.clone())).unzip();
    let mut cells = Vec::with_capacity(positions.len());
    table.rows().map(move |record| {
        cells.clear();
        cells.extend(positions.iter().map(|&at| record.cell(at)));
        let row = record.index() as u64 + 2;
        let has_duration = settings.update_mode == Mode::MissingOnly && durations.any_valid(record);
        let plan = if has_duration {
            RowPlan::Skip(SkipReason::HasDuration)
        } else {
            match plan_row(operator, Row::new(&header, &cells), &settings.options) {
                Err(refusal) => RowPlan::Invalid(refusal),
                Ok((Planned::Skip(reason), _)) => RowPlan::Skip(reason),
                Ok((Planned::Replay(call), outputs)) => RowPlan::Case(Arc::new(Case {
                    op: operator.name.into(),
                    csv: csv.clone(),
                    row,
                    call: *call,
                    outputs,
                    check: operator.check,
                    repeat: settings.repeat,
                    warmup: settings.warmup,
                    fresh_inputs: settings.fresh_inputs && !operator.always_reuses_inputs,
                })),
            }
        };
        PlannedRow { op: operator.name, csv: csv.clone(), row, plan }
    })
}

/// Whether a column has durations or hardware counters.
fn is_measurement(column: &str) -> bool {
    column.starts_with("MicroBench ") || column.starts_with("Profiling ")
}

type PlannedRowParts = (Planned, Vec<crate::case::RecordedOutput>);

/// What a row becomes, with its recorded outputs. A recorded output that is not a shape is refused, unless the operator does
/// not look at outputs at all.
fn plan_row(operator: &Operator, row: Row<'_>, options: &PlanOptions) -> Result<PlannedRowParts, Refusal> {
    let row = if operator.has_empty_words { row.with_empty_words() } else { row };
    let outputs =
        row.recorded_outputs().or_else(|refusal| if operator.reads_outputs { Err(refusal) } else { Ok(Vec::new()) });
    match ((operator.plan)(&row, options), outputs) {
        (Ok(planned @ Planned::Skip(SkipReason::EpSize)), _) => Ok((planned, Vec::new())),
        (Ok(planned), outputs) => Ok((planned, outputs?)),
        (Err(refusal), Err(of_outputs)) if of_outputs.kind < refusal.kind => Err(of_outputs),
        (Err(refusal), _) => Err(refusal),
    }
}

/// Whether replay would run a row of a kernel's table, from its columns and cells. It runs no row of a kernel that it has no
/// operator for.
pub fn can_replay(kernel: &str, columns: &[String], cells: &[&str]) -> bool {
    let row = Row::new(columns, cells);
    crate::operators::find(kernel).is_some_and(|operator| is_replayable(operator, row, &PlanOptions::default()))
}

/// Why replay would refuse a row of a kernel's table, from its columns and cells; `None` for a row that it runs or passes over, and for a kernel
/// that it has no operator for.
pub fn refusal(kernel: &str, columns: &[String], cells: &[&str]) -> Option<Refusal> {
    let operator = crate::operators::find(kernel)?;
    plan_row(operator, Row::new(columns, cells), &PlanOptions::default()).err()
}

/// Whether a row can be replayed, if need be with another number of expert-parallel ranks than in `options`.
pub(crate) fn is_replayable(operator: &Operator, row: Row<'_>, options: &PlanOptions) -> bool {
    matches!(plan_row(operator, row, options), Ok((Planned::Replay(_) | Planned::Skip(SkipReason::EpSize), _)))
}

impl PlannedRow {
    /// The case, where the row is replayed.
    pub fn case(&self) -> Option<&Arc<Case>> {
        match &self.plan {
            RowPlan::Case(case) => Some(case),
            _ => None,
        }
    }

    /// Appends the row as one JSON object without whitespace, of a case or of a row that is none.
    pub(crate) fn write_json(&self, out: &mut Vec<u8>) {
        let (status, word) = match &self.plan {
            RowPlan::Case(case) => return case.write_json(out),
            RowPlan::Invalid(refusal) => (Raw(",\"status\":\"invalid\",\"error\":"), refusal.kind.name()),
            RowPlan::Skip(reason) => (Raw(",\"status\":\"skip\",\"reason\":"), reason.name()),
        };
        write_parts!(out, Raw("{\"v\":1,\"op\":"), *self.op, Raw(",\"csv\":"), *self.csv, Raw(",\"row\":"), self.row);
        write_parts!(out, status, word, Raw("}"));
    }
}
