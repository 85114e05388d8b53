//! The explanation of a prediction: text, JSON, CSV, HTML, and rows that are worth measuring.

mod actions;
mod bars;
pub(crate) mod csv;
mod document;
mod page;
mod rows;
mod text;
mod whole;

pub(crate) use actions::Action;
pub use csv::write_csv;
pub use document::{document, scenarios_document};
pub use page::page;
pub use rows::{MeasureTable, rows_to_measure};
pub use text::{screen, text};

use perfdb_compare::attribution::{Attribution, Explanation, Interval};
use perfdb_pycompat::format::fixed_grouped;

/// An explanation with the name of its scenario; the name of a single pair of files is empty.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedExplanation {
    /// The scenario.
    pub name: String,
    /// What was found.
    pub explanation: Explanation,
}

/// Microseconds with one decimal.
fn us(ps: i128) -> String {
    fixed_grouped(ps as f64 / 1e6, 1)
}

/// `12.0 us (11.5..12.6)` of this number of calls each.
fn interval(interval: &Interval, calls: f64) -> String {
    let us = |ps: i128| ps as f64 / 1e6 / calls;
    let ends = [us(interval.low_ps), us(interval.high_ps)];
    let [number, ends] = crate::answers::total(us(interval.best_ps), Some(ends));
    format!("{number} us ({})", ends.replace('–', ".."))
}

/// Whether the measured pass lies `inside` or `outside` an interval.
fn place(interval: &Interval, measured_ps: i128) -> &'static str {
    if (interval.low_ps..=interval.high_ps).contains(&measured_ps) { "inside" } else { "outside" }
}

/// How much of the prediction comes from where, the most first.
fn sources(attribution: &Attribution) -> Vec<(&'static str, i128)> {
    let mut sources: Vec<_> = attribution.coverage_ps.iter().map(|(source, ps)| (source.name(), *ps)).collect();
    sources.sort_by_key(|&(_, ps)| -ps);
    sources
}

/// Microseconds with their sign.
fn signed_us(ps: i128) -> String {
    format!("{}{}", if ps > 0 { "+" } else { "" }, us(ps))
}

/// A part of the measured time in percent; `n/a` where nothing was measured.
fn percent(ps: i128, measured_ps: i128) -> String {
    match measured_ps {
        0 => "n/a".to_owned(),
        _ => format!("{} %", fixed_grouped(100.0 * ps as f64 / measured_ps as f64, 1)),
    }
}

/// [`percent`] with its sign.
fn signed_percent(ps: i128, measured_ps: i128) -> String {
    format!("{}{}", if ps > 0 && measured_ps != 0 { "+" } else { "" }, percent(ps, measured_ps))
}

/// A number of calls: no decimals where it has none.
fn calls(calls: f64) -> String {
    if calls.fract() == 0.0 { format!("{calls:.0}") } else { fixed_grouped(calls, 2) }
}

/// How much of the errors cancels in the sum, from 0 to 1.
fn cancelled(explanation: &Explanation) -> f64 {
    let attribution = &explanation.attribution;
    match attribution.gross_ps {
        0 => 0.0,
        gross_ps => 1.0 - attribution.difference_ps.abs() as f64 / gross_ps as f64,
    }
}
