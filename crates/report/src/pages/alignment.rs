//! Measured collectives against a model.

use super::counted;
use crate::page::number::{grouped, percent};
use crate::page::{
    Accuracy, AccuracyPoint, Bandwidth, BandwidthCurve, Block, Column, KeyFigure, Page, Part, Provenance, Table, Trust,
};
use perfdb_comm::alignment::{Alignment, AlignmentPoint, Status};
use std::collections::BTreeMap;

/// The page of a check.
pub fn alignment_page(alignment: &Alignment, provenance: Provenance) -> Page {
    let rows: Vec<(&str, &AlignmentPoint)> = alignment
        .reports
        .iter()
        .flat_map(|report| report.points.iter().map(|point| (report.op.name(), point)))
        .collect();
    let count = |status: Status| rows.iter().filter(|(_, point)| point.status == status).count();
    let (pass, fail) = (count(Status::Pass), count(Status::Fail));
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        blocks.push(Block::Chart(accuracy(&rows)));
        blocks.push(Block::Chart(latency(&rows)));
        blocks.push(Block::Table(table(&rows)));
    }
    let tolerance = grouped(alignment.options.tolerance, 2);
    let verdict = match (rows.len(), fail) {
        (0, _) => "No table has a row to compare.".to_owned(),
        (all, 0) => format!(
            "All {} agree with the model within twice the tolerance of {tolerance}×.",
            counted(all, "row", "rows")
        ),
        (all, fail) => format!(
            "{} of {} beyond twice the tolerance of {tolerance}×.",
            grouped(fail as f64, 0),
            counted(all, "row lies", "rows lie")
        ),
    };
    let trust = (!rows.is_empty()).then(|| {
        let reason = format!(
            "{} of the rows agree with the {} model",
            percent(100.0 * pass as f64 / rows.len() as f64),
            alignment.options.model.name()
        );
        if fail > 0 {
            Trust::low(reason)
        } else if pass < rows.len() {
            Trust::limited(reason)
        } else {
            Trust::high(reason)
        }
    });
    let part = Part {
        verdict,
        trust,
        figures: vec![
            KeyFigure::new("Pass", grouped(pass as f64, 0)).note(format!("within {tolerance}×")),
            KeyFigure::new("Warn", grouped(count(Status::Warn) as f64, 0)),
            KeyFigure::new("Fail", grouped(fail as f64, 0)),
            KeyFigure::new("Operators", grouped(alignment.reports.len() as f64, 0)),
        ],
        notes: alignment
            .skipped
            .iter()
            .map(|skipped| format!("Skipped: {skipped}"))
            .chain(alignment.warnings.iter().cloned())
            .collect(),
        blocks,
        ..Part::default()
    };
    Page { title: "Measured collectives against a model".to_owned(), parts: vec![part], provenance }
}

fn accuracy(rows: &[(&str, &AlignmentPoint)]) -> crate::page::Chart {
    let mut classes: Vec<&str> = Vec::new();
    for (op, _) in rows {
        if !classes.contains(op) {
            classes.push(op);
        }
    }
    let names: Vec<String> = rows.iter().map(name).collect();
    let points = rows.iter().zip(&names).enumerate().map(|(at, ((op, point), name))| AccuracyPoint {
        name,
        predicted_us: point.predicted_us,
        measured_us: point.measured_us,
        class: classes.iter().position(|class| class == op).unwrap_or_default(),
        row: at,
    });
    let points = points.collect();
    Accuracy { classes, points, sides: ("Model", "Measured") }
        .chart("The model against measured times")
        .leads_to("rows")
}

fn name((op, point): &(&str, &AlignmentPoint)) -> String {
    format!("{op}, {} ranks, tier {}", point.num_devices, point.topology_tier)
}

/// Time over the size of the message, measured and as the model has it.
fn latency(rows: &[(&str, &AlignmentPoint)]) -> crate::page::Chart {
    let mut series: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        series.entry(name(row)).or_default().push(at);
    }
    let mut curves = Vec::new();
    for (class, (name, of)) in series.iter().enumerate() {
        for is_model in [true, false] {
            let place = |at: &usize| {
                let point = rows[*at].1;
                (point.message_bytes as f64, if is_model { point.predicted_us } else { point.measured_us }, *at)
            };
            let mut points: Vec<(f64, f64, usize)> = of.iter().map(place).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            curves.push(BandwidthCurve { name, points, is_model, class });
        }
    }
    Bandwidth { curves, upwards: "µs" }
        .chart("Time over the size of the message")
        .note("Points are measured; broken lines are the model's.")
        .leads_to("rows")
}

fn table(rows: &[(&str, &AlignmentPoint)]) -> Table {
    Table::new(
        "rows",
        "All rows",
        vec![
            Column::text("Operator", rows.iter().map(|(op, _)| *op)),
            Column::text("Status", rows.iter().map(|(_, point)| point.status.name())),
            Column::whole("Bytes", rows.iter().map(|(_, point)| point.message_bytes as f64)),
            Column::whole("Ranks", rows.iter().map(|(_, point)| point.num_devices as f64)),
            Column::whole("Tier", rows.iter().map(|(_, point)| point.topology_tier as f64)),
            Column::decimal("Measured", rows.iter().map(|(_, point)| point.measured_us), 2).unit("µs"),
            Column::decimal("Model", rows.iter().map(|(_, point)| point.predicted_us), 2).unit("µs"),
            Column::decimal("Measured ÷ model", rows.iter().map(|(_, point)| point.ratio), 2),
        ],
    )
}
