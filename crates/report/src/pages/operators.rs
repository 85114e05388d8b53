//! Predicted and measured time per kernel type.

use super::{prediction_verdict, share};
use crate::page::number::{micros, percent, signed, signed_percent};
use crate::page::{
    Accuracy, AccuracyPoint, Block, Column, KeyFigure, Page, Part, Provenance, StackedBar, StackedBars, Step, Table,
    Trust, Waterfall,
};
use perfdb_compare::operators::{OpRow, RowStatus, measured_total_us, share_pct};

/// Steps of a waterfall.
const STEPS: usize = 12;
/// Kernel types that have a colour of their own.
const COLOURS: usize = 8;
/// Errors up to this count as close, in percent.
const CLOSE_PCT: f64 = 10.0;
/// Found shares of the measured time from which on trust is high, or limited, in percent.
const MOST_FOUND_PCT: f64 = 90.0;
const HALF_FOUND_PCT: f64 = 60.0;

const STATUSES: [RowStatus; 5] =
    [RowStatus::Hit, RowStatus::Partial, RowStatus::Miss, RowStatus::Unmodelled, RowStatus::PredictedOnly];

/// The page of all scenarios, name and rows.
pub fn operators_page(scenarios: &[(String, Vec<OpRow>)], provenance: Provenance) -> Page {
    let parts = scenarios.iter().map(|(name, rows)| part(name, rows)).collect();
    Page { title: "Predicted and measured time per kernel type".to_owned(), parts, provenance }
}

fn part(name: &str, rows: &[OpRow]) -> Part {
    let measured_us = measured_total_us(rows);
    let predicted_us = rows.iter().fold(0.0, |sum, row| sum + row.tc_total_us.value());
    let share_with = |holds: &dyn Fn(&OpRow) -> bool| -> f64 {
        rows.iter().filter(|row| holds(row)).map(|row| share_pct(row, measured_us)).sum()
    };
    let gross_us: f64 = rows.iter().map(|row| row.delta_us().abs()).sum();
    let close = |row: &OpRow| !row.is_predicted_only() && row.error_pct.value().abs() <= CLOSE_PCT;
    let found = share_with(&|row| row.status == RowStatus::Hit);
    let reason = format!(
        "{} of the measured time was found in the database, {} partly, {} was missed, {} is not modelled",
        percent(found),
        percent(share_with(&|row| row.status == RowStatus::Partial)),
        percent(share_with(&|row| row.status == RowStatus::Miss)),
        percent(share_with(&|row| row.status == RowStatus::Unmodelled))
    );
    let trust = Trust::of_share(found, [MOST_FOUND_PCT, HALF_FOUND_PCT], reason);
    let difference_us = predicted_us - measured_us;
    Part {
        name: name.to_owned(),
        verdict: prediction_verdict(predicted_us, measured_us),
        trust: Some(trust),
        figures: vec![
            KeyFigure::new("Predicted", micros(predicted_us)),
            KeyFigure::new("Measured", micros(measured_us)),
            KeyFigure::new("Difference", format!("{} µs", signed(difference_us, 1)))
                .note(format!("{} of measured", signed_percent(share(difference_us, measured_us)))),
            KeyFigure::new("Gross error", percent(share(gross_us, measured_us))).note("of measured, by kernel type"),
            KeyFigure::new("Within ±10 %", percent(share_with(&close))).note("of the measured time"),
        ],
        notes: Vec::new(),
        blocks: vec![
            Block::Chart(waterfall(rows, predicted_us, measured_us)),
            Block::Chart(accuracy(rows)),
            Block::Chart(kernel_types(rows)),
            Block::Table(table(rows, measured_us)),
        ],
    }
}

fn waterfall(rows: &[OpRow], predicted_us: f64, measured_us: f64) -> crate::page::Chart {
    let mut rows: Vec<&OpRow> = rows.iter().filter(|row| row.delta_us() != 0.0).collect();
    rows.sort_by(|a, b| b.delta_us().abs().total_cmp(&a.delta_us().abs()));
    let (shown, rest) = rows.split_at(STEPS.min(rows.len()));
    let step = |row: &&OpRow| {
        let calls = format!("{} calls for {}", row.tc_count, row.prof_count);
        let what = match row.status {
            RowStatus::Hit => calls,
            status => format!("{}; {calls}", words(status)),
        };
        Step { why: row.kernel_type.clone(), what, value: row.delta_us() }
    };
    let mut steps: Vec<Step> = shown.iter().map(step).collect();
    if !rest.is_empty() {
        let value = rest.iter().map(|row| row.delta_us()).sum();
        steps.push(Step { why: format!("{} smaller", rest.len()), what: String::new(), value });
    }
    Waterfall { from: ("measured", measured_us), steps, to: ("predicted", predicted_us), unit: "µs" }
        .chart("From measured to predicted")
        .note("Red: the prediction is longer for this kernel type. Blue: shorter.")
}

fn accuracy(rows: &[OpRow]) -> crate::page::Chart {
    let points = rows.iter().enumerate().map(|(at, row)| AccuracyPoint {
        name: &row.kernel_type,
        predicted_us: row.tc_total_us.value(),
        measured_us: row.prof_per_fwd_us.value(),
        class: STATUSES.iter().position(|status| *status == row.status).unwrap_or_default(),
        row: at,
    });
    Accuracy {
        classes: STATUSES.iter().map(|status| words(*status)).collect(),
        points: points.collect(),
        sides: ("Predicted", "Measured"),
    }
    .chart("Predicted against measured")
    .leads_to("kernels")
}

fn kernel_types(rows: &[OpRow]) -> crate::page::Chart {
    let mut rows: Vec<&OpRow> = rows.iter().collect();
    let larger = |row: &OpRow| row.tc_total_us.value().max(row.prof_per_fwd_us.value());
    rows.sort_by(|a, b| larger(b).total_cmp(&larger(a)));
    let (shown, rest) = rows.split_at(COLOURS.min(rows.len()));
    let values = |time: fn(&OpRow) -> f64| -> Vec<f64> {
        let mut values: Vec<f64> = shown.iter().map(|row| time(row)).collect();
        if !rest.is_empty() {
            values.push(rest.iter().map(|row| time(row)).sum());
        }
        values
    };
    let mut parts: Vec<&str> = shown.iter().map(|row| row.kernel_type.as_str()).collect();
    if !rest.is_empty() {
        parts.push("others");
    }
    let bars = vec![
        StackedBar { name: "predicted", values: values(|row| row.tc_total_us.value()) },
        StackedBar { name: "measured", values: values(|row| row.prof_per_fwd_us.value()) },
    ];
    StackedBars { parts, bars, unit: "µs" }.chart("Where the time goes, by kernel type")
}

fn words(status: RowStatus) -> &'static str {
    match status {
        RowStatus::Hit => "found",
        RowStatus::Partial => "partly found",
        RowStatus::Miss => "missed",
        RowStatus::Unmodelled => "not modelled",
        RowStatus::PredictedOnly => "never measured",
    }
}

fn table(rows: &[OpRow], measured_us: f64) -> Table {
    let error = |row: &OpRow| {
        if row.is_predicted_only() || row.prof_per_fwd_us.value() == 0.0 { f64::NAN } else { row.error_pct.value() }
    };
    Table::new(
        "kernels",
        "Kernel types",
        vec![
            Column::text("Kernel type", rows.iter().map(|row| row.kernel_type.as_str())),
            Column::text("Status", rows.iter().map(|row| words(row.status))),
            Column::decimal("Predicted", rows.iter().map(|row| row.tc_total_us.value()), 1).unit("µs"),
            Column::decimal("Measured", rows.iter().map(|row| row.prof_per_fwd_us.value()), 1).unit("µs"),
            Column::signed("Difference", rows.iter().map(OpRow::delta_us), 1).unit("µs"),
            Column::error_percent("Error", rows.iter().map(error)),
            Column::share_percent("Share", rows.iter().map(|row| share_pct(row, measured_us))),
            Column::whole("Predicted calls", rows.iter().map(|row| row.tc_count as f64)),
            Column::whole("Measured calls", rows.iter().map(|row| row.prof_count)),
            Column::text("Operators", rows.iter().map(|row| row.tc_funcs.as_str())),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_compare::operators::Number;

    fn row(name: &str, predicted_us: f64, measured_us: f64, status: RowStatus) -> OpRow {
        OpRow {
            kernel_type: name.to_owned(),
            tc_funcs: "aten.mm.default".to_owned(),
            tc_total_us: Number::Double(predicted_us),
            tc_count: 2,
            prof_per_fwd_us: Number::Double(measured_us),
            prof_count: 2.0,
            error_pct: Number::Double((predicted_us - measured_us) / measured_us * 100.0),
            count_error_pct: Number::Double(0.0),
            status,
        }
    }

    #[test]
    fn the_verdict_its_trust_and_every_row() {
        let rows = vec![row("MatMulV2", 95.0, 100.0, RowStatus::Hit), row("Add", 10.0, 300.0, RowStatus::Miss)];
        let html = operators_page(&[("Qwen3 PF".to_owned(), rows)], Provenance::default()).to_html().unwrap();
        assert!(html.contains("is 73.8\u{a0}% too short (measured 400.0\u{a0}µs)."), "{html}");
        assert!(html.contains(
            "<b>Trust: low</b> 25.0 % of the measured time was found in the database, 0.0 % partly, 75.0 % was missed"
        ));
        assert!(html.contains("<td>Add</td><td>missed</td>") && html.contains(">−96.7<"));
    }

    #[test]
    fn a_kernel_type_that_was_never_measured_is_not_close() {
        let mut never = row("Add", 5000.0, 0.0, RowStatus::Hit);
        never.error_pct = Number::Zero;
        let rows = vec![row("MatMulV2", 95.0, 100.0, RowStatus::Hit), never];
        let part = part("", &rows);
        assert_eq!(part.figures[4].value, "100.0 %");
        assert!(part.verdict.contains("too long"), "{}", part.verdict);
    }

    #[test]
    fn odd_figures_and_no_scenario() {
        let odd = row("K", f64::NAN, f64::INFINITY, RowStatus::Partial);
        let scenarios = [("odd".to_owned(), vec![odd]), ("empty".to_owned(), Vec::new())];
        assert!(operators_page(&scenarios, Provenance::default()).to_html().unwrap().contains("nothing was measured"));
        assert!(operators_page(&[], Provenance::default()).to_html().unwrap().contains("There is nothing to report."));
    }
}
