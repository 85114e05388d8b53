//! Predicted and measured time per kernel type and shape.

use super::{counted, prediction_verdict, share};
use crate::page::number::{micros, percent, signed, signed_percent};
use crate::page::{
    Accuracy, AccuracyPoint, Block, Column, KeyFigure, Page, Part, Provenance, Step, Table, Trust, Waterfall,
};
use perfdb_compare::shapes::{ShapeComparison, ShapeRow};

/// Steps of the waterfall.
const STEPS: usize = 14;
/// Shares of the measured time with matching shapes, from which on trust is high, or limited.
const MOST_JOINED: f64 = 0.9;
const HALF_JOINED: f64 = 0.6;

/// The page of a comparison.
pub fn shapes_page(comparison: &ShapeComparison, provenance: Provenance) -> Page {
    let rows = &comparison.rows;
    let predicted_us: f64 = rows.iter().map(|row| row.tc_dur_us.value()).sum();
    let measured_us: f64 = rows.iter().map(|row| row.prof_dur_us.value()).sum();
    let close = |row: &&ShapeRow| row.prof_dur_us.value() > 0.0 && row.delta_pct.value().abs() <= 10.0;
    let close_us: f64 = rows.iter().filter(close).map(|row| row.prof_dur_us.value()).sum();
    let one_side = |row: &&ShapeRow| row.prof_dur_us.value() <= 0.0 || row.tc_dur_us.value() <= 0.0;
    let difference_us = predicted_us - measured_us;
    let part = Part {
        verdict: prediction_verdict(predicted_us, measured_us),
        trust: comparison.joined_share.map(trust),
        figures: vec![
            KeyFigure::new("Predicted", micros(predicted_us)),
            KeyFigure::new("Measured", micros(measured_us)),
            KeyFigure::new("Difference", format!("{} µs", signed(difference_us, 1)))
                .note(format!("{} of measured", signed_percent(share(difference_us, measured_us)))),
            KeyFigure::new("Within ±10 %", percent(share(close_us, measured_us))).note("of the measured time"),
            KeyFigure::new("On one side only", counted(rows.iter().filter(one_side).count(), "row", "rows")),
        ],
        blocks: vec![
            Block::Chart(waterfall(rows, predicted_us, measured_us)),
            Block::Chart(accuracy(rows)),
            Block::Table(table(rows, measured_us)),
        ],
        ..Part::default()
    };
    Page { title: "Predicted and measured time per shape".to_owned(), parts: vec![part], provenance }
}

fn trust(joined: f64) -> Trust {
    let reason = format!("shapes match for {} of the measured time", percent(100.0 * joined));
    match joined {
        joined if joined >= MOST_JOINED => Trust::high(reason),
        joined if joined >= HALF_JOINED => Trust::limited(reason),
        _ => Trust::low(reason + "; --semantics corrected joins on the rows that answered"),
    }
}

fn delta_us(row: &ShapeRow) -> f64 {
    row.tc_dur_us.value() - row.prof_dur_us.value()
}

fn waterfall(rows: &[ShapeRow], predicted_us: f64, measured_us: f64) -> crate::page::Chart {
    let mut rows: Vec<&ShapeRow> = rows.iter().filter(|row| delta_us(row) != 0.0).collect();
    rows.sort_by(|a, b| delta_us(b).abs().total_cmp(&delta_us(a).abs()));
    let (shown, rest) = rows.split_at(STEPS.min(rows.len()));
    let step =
        |row: &&ShapeRow| Step { why: row.kernel_type.clone(), what: row.shape_key.clone(), value: delta_us(row) };
    let mut steps: Vec<Step> = shown.iter().map(step).collect();
    if !rest.is_empty() {
        let value = rest.iter().map(|row| delta_us(row)).sum();
        steps.push(Step { why: format!("{} smaller", rest.len()), what: String::new(), value });
    }
    Waterfall { from: ("measured", measured_us), steps, to: ("predicted", predicted_us), unit: "µs" }
        .chart("From measured to predicted")
        .note("Red: the prediction is longer. Blue: shorter. Rows on one side only count in full.")
}

fn source(row: &ShapeRow) -> &str {
    if row.source.is_empty() { "not predicted" } else { &row.source }
}

fn accuracy(rows: &[ShapeRow]) -> crate::page::Chart {
    let mut classes: Vec<&str> = Vec::new();
    for row in rows {
        if !classes.contains(&source(row)) {
            classes.push(source(row));
        }
    }
    let names: Vec<String> = rows.iter().map(|row| format!("{} {}", row.kernel_type, row.shape_key)).collect();
    let points = rows.iter().zip(&names).enumerate().map(|(at, (row, name))| AccuracyPoint {
        name,
        predicted_us: row.tc_dur_us.value(),
        measured_us: row.prof_dur_us.value(),
        class: classes.iter().position(|class| *class == source(row)).unwrap_or_default(),
        row: at,
    });
    let points = points.collect();
    Accuracy { classes, points, sides: ("Predicted", "Measured") }
        .chart("Predicted against measured")
        .leads_to("shapes")
        .width(crate::page::ChartWidth::Whole)
}

fn table(rows: &[ShapeRow], measured_us: f64) -> Table {
    let error = |row: &ShapeRow| if row.prof_dur_us.value() > 0.0 { row.delta_pct.value() } else { f64::NAN };
    Table::new(
        "shapes",
        "Kernel types and shapes",
        vec![
            Column::text("Kernel type", rows.iter().map(|row| row.kernel_type.as_str())),
            Column::text("Shape", rows.iter().map(|row| row.shape_key.as_str())),
            Column::decimal("Predicted", rows.iter().map(|row| row.tc_dur_us.value()), 2).unit("µs"),
            Column::decimal("Measured", rows.iter().map(|row| row.prof_dur_us.value()), 2).unit("µs"),
            Column::signed("Difference", rows.iter().map(delta_us), 2).unit("µs"),
            Column::error_percent("Error", rows.iter().map(error)),
            Column::share_percent("Share", rows.iter().map(|row| share(row.prof_dur_us.value(), measured_us))),
            Column::whole("Predicted calls", rows.iter().map(|row| row.tc_count as f64)),
            Column::whole("Measured calls", rows.iter().map(|row| row.prof_count as f64)),
            Column::text("Source", rows.iter().map(source)),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_compare::operators::Number;

    #[test]
    fn rows_on_one_side_have_no_error_and_count_in_the_waterfall() {
        let row = |name: &str, predicted: Number, measured: Number, delta: Number| ShapeRow {
            kernel_type: name.to_owned(),
            shape_key: "16,5120".to_owned(),
            tc_dur_us: predicted,
            prof_dur_us: measured,
            delta_pct: delta,
            tc_count: 1,
            prof_count: 1,
            source: String::new(),
        };
        let rows = vec![
            row("MatMulV2", Number::Double(110.0), Number::Double(100.0), Number::Double(10.0)),
            row("Add", Number::Double(20.0), Number::Zero, Number::Double(f64::INFINITY)),
        ];
        let page = shapes_page(&ShapeComparison { rows, joined_share: Some(0.7) }, Provenance::default());
        let part = &page.parts[0];
        assert_eq!(part.verdict, "The prediction of 130.0 µs is 30.0 % too long (measured 100.0 µs).");
        assert_eq!((part.figures[3].value.as_str(), part.figures[4].value.as_str()), ("100.0 %", "1 row"));
        let html = page.to_html().unwrap();
        assert!(html.contains("Trust: medium") && html.contains(">+20.0<"), "{html}");
    }
}
