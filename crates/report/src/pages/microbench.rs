//! An update of a database by measurements.

use super::counted;
use crate::microbench::Hotspot;
use crate::page::number::{grouped, percent};
use crate::page::{
    Accuracy, AccuracyPoint, Block, Column, KeyFigure, Page, Part, Provenance, StackedBar, StackedBars, Table, Trust,
};
use perfdb_replay::microbench::status::RunStatus;
use perfdb_store::update::{Gap, TableUpdate};

/// Measured by profiled durations that are usual.
const USUAL: std::ops::RangeInclusive<f64> = 0.8..=1.2;
/// Tables whose rows are drawn as bars.
const TABLES_DRAWN: usize = 12;

/// The page of an update.
pub fn microbench_page(
    updates: &[TableUpdate],
    status: Option<&RunStatus>,
    hotspots: &[Hotspot<'_>],
    provenance: Provenance,
) -> Page {
    let gaps: Vec<(&TableUpdate, &Gap)> =
        updates.iter().flat_map(|update| update.gaps.iter().map(move |gap| (update, gap))).collect();
    let sum = |count: fn(&TableUpdate) -> usize| -> usize { updates.iter().map(count).sum() };
    let (updated, added, missing) =
        (sum(|update| update.updated), sum(|update| update.added), sum(|update| update.missing.len()));
    let usual = gaps.iter().filter(|(_, gap)| USUAL.contains(&gap.ratio())).count();
    let failed = status.map_or(0, |status| status.failed.len());
    let mut blocks = Vec::new();
    if !gaps.is_empty() {
        blocks.push(Block::Chart(measured_against_profiled(&gaps)));
    }
    if !updates.is_empty() {
        blocks.push(Block::Chart(changes(updates)));
    }
    if let Some(status) = status.filter(|status| !status.failed.is_empty()) {
        blocks.push(Block::Table(Table::new(
            "failed",
            "Operators that failed",
            vec![
                Column::text("Operator", status.failed.iter().map(|failed| failed.op.as_str())),
                Column::text("Reason", status.failed.iter().map(|failed| failed.reason.as_str())),
            ],
        )));
    }
    blocks.push(Block::Table(tables(updates)));
    blocks.push(Block::Table(gap_table(&gaps)));
    let verdict = format!(
        "{} updated and {} added in {}{}.",
        counted(updated, "row", "rows"),
        grouped(added as f64, 0),
        counted(updates.len(), "table", "tables"),
        if failed > 0 { format!("; {} failed", counted(failed, "operator", "operators")) } else { String::new() }
    );
    let trust = (!gaps.is_empty()).then(|| {
        let reason = format!(
            "{} of {} measured within ±20 % of the profile",
            percent(100.0 * usual as f64 / gaps.len() as f64),
            counted(gaps.len(), "row with both durations is", "rows with both durations are")
        );
        match (failed, usual as f64 / gaps.len() as f64) {
            (0, part) if part >= 0.9 => Trust::high(reason),
            (_, part) if part >= 0.6 => Trust::limited(reason),
            _ => Trust::low(reason),
        }
    });
    let part = Part {
        verdict,
        trust,
        figures: vec![
            KeyFigure::new("Updated", grouped(updated as f64, 0)).note("rows"),
            KeyFigure::new("Added", grouped(added as f64, 0)).note("rows"),
            KeyFigure::new("Deleted", grouped(sum(|update| update.deleted.len()) as f64, 0)).note("rows"),
            KeyFigure::new("Unchanged", grouped(sum(|update| update.unchanged) as f64, 0)).note("samples"),
            KeyFigure::new("Samples without a row", grouped(missing as f64, 0)),
            KeyFigure::new("Hotspots", grouped(hotspots.len() as f64, 0))
                .note("measured ÷ profiled outside 0.8 to 1.2"),
        ],
        blocks,
        ..Part::default()
    };
    Page { title: "An update of the database by measurements".to_owned(), parts: vec![part], provenance }
}

fn measured_against_profiled(gaps: &[(&TableUpdate, &Gap)]) -> crate::page::Chart {
    let names: Vec<String> = gaps.iter().map(|(update, gap)| format!("{} {}", update.operator, gap.shape)).collect();
    let points = gaps.iter().zip(&names).enumerate().map(|(row, ((_, gap), name))| AccuracyPoint {
        name,
        predicted_us: gap.measured_us,
        measured_us: gap.profiled_us,
        class: usize::from(!USUAL.contains(&gap.ratio())),
        row,
    });
    Accuracy { classes: vec!["within ±20 %", "hotspot"], points: points.collect(), sides: ("Measured", "Profiled") }
        .chart("Measured against profiled durations")
        .leads_to("durations")
}

fn changes(updates: &[TableUpdate]) -> crate::page::Chart {
    let mut largest: Vec<&TableUpdate> = updates.iter().collect();
    let rows = |update: &TableUpdate| update.updated + update.added + update.deleted.len() + update.unchanged;
    largest.sort_by(|a, b| rows(b).cmp(&rows(a)).then_with(|| a.operator.cmp(&b.operator)));
    let bar = |update: &&'_ TableUpdate| {
        [update.updated, update.added, update.deleted.len(), update.unchanged].map(|count| count as f64).to_vec()
    };
    let values: Vec<Vec<f64>> = largest.iter().map(bar).collect();
    let bars = largest.iter().zip(values).take(TABLES_DRAWN);
    let bars = bars.map(|(update, values)| StackedBar { name: &update.operator, values }).collect();
    StackedBars { parts: vec!["updated", "added", "deleted", "unchanged"], bars, unit: "rows" }
        .chart("What became of the rows, by table")
}

fn tables(updates: &[TableUpdate]) -> Table {
    let count = |of: fn(&TableUpdate) -> usize| updates.iter().map(move |update| of(update) as f64);
    Table::new(
        "tables",
        "Tables",
        vec![
            Column::text("Operator", updates.iter().map(|update| update.operator.as_str())),
            Column::whole("Updated", count(|update| update.updated)),
            Column::whole("Added", count(|update| update.added)),
            Column::whole("Deleted", count(|update| update.deleted.len())),
            Column::whole("Unchanged", count(|update| update.unchanged)),
            Column::whole("Samples without a row", count(|update| update.missing.len())),
            Column::whole("Duplicate signatures", count(|update| update.duplicates.len())),
        ],
    )
}

fn gap_table(gaps: &[(&TableUpdate, &Gap)]) -> Table {
    Table::new(
        "durations",
        "Measured and profiled durations",
        vec![
            Column::text("Operator", gaps.iter().map(|(update, _)| update.operator.as_str())),
            Column::text("Row", gaps.iter().map(|(_, gap)| gap.shape.to_string())),
            Column::decimal("Measured", gaps.iter().map(|(_, gap)| gap.measured_us), 3).unit("µs"),
            Column::decimal("Profiled", gaps.iter().map(|(_, gap)| gap.profiled_us), 3).unit("µs"),
            Column::signed("Difference", gaps.iter().map(|(_, gap)| gap.measured_us - gap.profiled_us), 3).unit("µs"),
            Column::error_percent("Measured − profiled", gaps.iter().map(|(_, gap)| 100.0 * (gap.ratio() - 1.0))),
        ],
    )
}
