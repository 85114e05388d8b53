//! The tables of many traces: runs before and after a change, and the ranks of a run.

use super::{Table, integer};
use crate::ranks::Sides;
use perfdb_files::tables::Column;
use perfdb_tracediff::ranks::{Occurrence, OccurrenceOfRank};
use perfdb_tracediff::{RunsReport, RunsRow};

/// The elapsed time and the rows that were tested.
pub fn runs(report: &RunsReport) -> Table {
    let columns: [Column<&RunsRow>; 15] = [
        Column::text("kind", |row| Some(row.kind.name().into())),
        Column::text("name", |row| Some(row.name.as_str().into())),
        Column::real("before_ms", |row| Some(row.before_ms)),
        Column::real("after_ms", |row| Some(row.after_ms)),
        Column::real("difference_ms", |row| Some(row.difference_ms)),
        Column::real("low_ms", |row| row.interval_ms.map(|[low, _]| low)),
        Column::real("high_ms", |row| row.interval_ms.map(|[_, high]| high)),
        Column::real("percent", |row| row.percent),
        Column::real("low_percent", |row| row.interval_percent.map(|[low, _]| low)),
        Column::real("high_percent", |row| row.interval_percent.map(|[_, high]| high)),
        Column::real("confidence", |row| Some(row.confidence)),
        Column::text("verdict", |row| Some(row.verdict.into())),
        Column::integer("runs_needed", |row| row.runs_needed.and_then(|runs| i64::try_from(runs).ok())),
        Column::real("steps_vary_percent", |row| row.steps_vary_percent),
        Column::real("runs_vary_percent", |row| row.runs_vary_percent),
    ];
    let rows: Vec<&RunsRow> = report.elapsed.iter().chain(&report.rows).collect();
    Table::of("runs", &columns, &rows)
}

/// A row per rank of every collective, by start.
pub fn collectives(sides: &Sides) -> Table {
    struct Line<'r> {
        side: u64,
        of: &'r Occurrence,
        rank: &'r OccurrenceOfRank,
    }
    let columns: [Column<Line<'_>>; 12] = [
        Column::integer("side", |line| integer(line.side)),
        Column::integer("step", |line| line.of.step.map(Into::into)),
        Column::text("collective", |line| Some(line.of.kind.as_str().into())),
        Column::text("group", |line| Some(line.of.group.as_str().into())),
        Column::integer("number", |line| Some(line.of.number.into())),
        Column::integer("rank", |line| Some(line.rank.rank.into())),
        Column::real("start_us", |line| Some(line.rank.start_us)),
        Column::real("waiting_us", |line| Some(line.rank.waiting_us)),
        Column::real("transfer_us", |line| Some(line.rank.transfer_us)),
        Column::real("late_us", |line| Some(line.rank.late_us)),
        Column::truth("last", |line| Some(line.of.last() == Some(line.rank.rank))),
        Column::text("before", |line| Some(line.rank.before.as_str().into())),
    ];
    let mut lines = Vec::new();
    for (side, ranks) in (1..).zip(sides.all()) {
        for of in &ranks.occurrences {
            lines.extend(of.ranks.iter().map(|rank| Line { side, of, rank }));
        }
    }
    Table::of("collectives", &columns, &lines)
}
