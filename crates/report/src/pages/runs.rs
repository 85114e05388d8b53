//! Whether a change made runs slower.

use super::{counted, sentence};
use crate::page::number::{grouped, signed_percent};
use crate::page::{
    Block, Chart, ChartWidth, Column, KeyFigure, Page, Part, Provenance, StackedBar, StackedBars, Table, Trust,
};
use crate::runs::{facts, name};
use perfdb_tracediff::{RowKind, Run, RunsReport, RunsRow};

/// The page of runs before and after a change.
pub fn runs_page(report: &RunsReport, provenance: Provenance) -> Page {
    let is_compared = report.different_workloads.is_none();
    let elapsed = report.elapsed.as_ref().filter(|_| is_compared);
    let mut blocks = Vec::new();
    if let Some(elapsed) = elapsed {
        blocks.push(Block::Chart(parts(elapsed, &report.rows)));
        blocks.push(Block::Table(rows(elapsed, report)));
    }
    blocks.push(Block::Table(runs(report)));
    let part = Part {
        verdict: sentence(&report.sentence),
        trust: Some(trust(report)),
        figures: elapsed.map(figures).unwrap_or_default(),
        notes: facts(report).iter().map(|line| sentence(line)).collect(),
        blocks,
        ..Part::default()
    };
    Page { title: "Runs before and after a change".to_owned(), parts: vec![part], provenance }
}

fn trust(report: &RunsReport) -> Trust {
    let sides = format!(
        "{} before, {} after",
        counted(report.before.len(), "run", "runs"),
        counted(report.after.len(), "run", "runs")
    );
    let reason = report.different_workloads.iter().chain(&report.not_trusted).chain(&report.work_differs).next();
    match (reason, &report.elapsed) {
        (Some(reason), _) => Trust::low(format!("{reason}; {sides}")),
        (None, Some(elapsed)) if elapsed.is_measured && report.outlier_runs.is_empty() => {
            Trust::high(format!("{sides}; what runs vary by is measured"))
        }
        (None, Some(elapsed)) if elapsed.is_measured => Trust::limited(format!("{sides}; one is unlike the others")),
        (None, _) => Trust::limited(format!("{sides}; what runs vary by is assumed")),
    }
}

fn figures(elapsed: &RunsRow) -> Vec<KeyFigure> {
    let mut figures = vec![
        KeyFigure::new("Before", format!("{} ms", grouped(elapsed.before_ms, 3))).note("per step"),
        KeyFigure::new("After", format!("{} ms", grouped(elapsed.after_ms, 3))).note("per step"),
    ];
    if let Some(percent) = elapsed.percent {
        let interval = elapsed.interval_percent.map_or_else(String::new, |[low, high]| {
            let confidence = grouped(100.0 * elapsed.confidence, 1);
            format!("{confidence} % interval {} to {}", signed_percent(low), signed_percent(high))
        });
        figures.push(KeyFigure::new("Difference", signed_percent(percent)).note(interval));
    }
    figures
}

fn parts(elapsed: &RunsRow, rows: &[RunsRow]) -> Chart {
    let own: Vec<&RunsRow> = rows.iter().filter(|row| row.kind == RowKind::Part).collect();
    let bar = |name, of: fn(&RunsRow) -> f64| {
        let mut values: Vec<f64> = own.iter().map(|row| of(row)).collect();
        values.push((of(elapsed) - values.iter().sum::<f64>()).max(0.0));
        StackedBar { name, values }
    };
    let names = own.iter().map(|row| row.name.as_str()).chain(["others"]).collect();
    StackedBars {
        parts: names,
        bars: vec![bar("before", |row| row.before_ms), bar("after", |row| row.after_ms)],
        unit: "ms",
    }
    .chart("Where the time of a step goes")
    .width(ChartWidth::Whole)
}

fn rows(elapsed: &RunsRow, report: &RunsReport) -> Table {
    let rows: Vec<&RunsRow> = std::iter::once(elapsed).chain(&report.rows).collect();
    let end = |at: usize| rows.iter().map(move |row| row.interval_percent.map_or(f64::NAN, |ends| ends[at]));
    Table::new(
        "rows",
        "Elapsed time, its parts, classes and operators",
        vec![
            Column::text("What", rows.iter().map(|row| name(row))),
            Column::decimal("Before", rows.iter().map(|row| row.before_ms), 3).unit("ms"),
            Column::decimal("After", rows.iter().map(|row| row.after_ms), 3).unit("ms"),
            Column::error_percent("Difference", rows.iter().map(|row| row.percent.unwrap_or(f64::NAN))),
            Column::signed("Interval from", end(0), 1).unit("%"),
            Column::signed("Interval to", end(1), 1).unit("%"),
            Column::text("Verdict", rows.iter().map(|row| row.verdict)),
            Column::whole("Runs needed", rows.iter().map(|row| row.runs_needed.map_or(f64::NAN, |runs| runs as f64)))
                .hidden(),
        ],
    )
    .note(format!("{} below 1 % of the time are not tested.", counted(report.untested_rows as usize, "row", "rows")))
}

fn runs(report: &RunsReport) -> Table {
    let sides = report.before.iter().map(|run| ("before", run));
    let rows: Vec<(&str, &Run)> = sides.chain(report.after.iter().map(|run| ("after", run))).collect();
    let elapsed = |run: &Run| {
        let of_steps = run.rows.iter().find(|row| row.kind == RowKind::Elapsed).map_or(&[][..], |row| &row.ms);
        of_steps.iter().sum::<f64>() / of_steps.len() as f64
    };
    Table::new(
        "runs",
        "Runs",
        vec![
            Column::text("Side", rows.iter().map(|(side, _)| *side)),
            Column::text("File", rows.iter().map(|(_, run)| run.path.as_str())),
            Column::text("Device", rows.iter().map(|(_, run)| run.device.as_str())),
            Column::whole("Steps", rows.iter().map(|(_, run)| run.steps.len() as f64)),
            Column::decimal("Elapsed", rows.iter().map(|(_, run)| elapsed(run)), 3).unit("ms"),
        ],
    )
    .note("The mean of all steps of a run, also of those that are left out of the comparison.")
}
