//! The contributions of explanations as a CSV.

use super::{NamedExplanation, calls};
use perfdb_compare::attribution::{Calls, Contribution, Detail};
use perfdb_files::escape::spreadsheet_text;
use perfdb_pycompat::csv_text::push_row;
use std::io::{self, Write};

const HEADER: [&str; 10] = [
    "scenario",
    "cause",
    "family",
    "kernel_type",
    "shape",
    "difference_us",
    "percent_of_measured",
    "predicted_calls",
    "measured_calls",
    "source",
];

/// The columns after them where a database has an interval for a contribution: its predicted calls, all together.
const INTERVAL: [&str; 4] = ["simulated_us", "best_us", "low_us", "high_us"];

/// Writes header and contributions, largest first within a scenario, lines ending in LF. `difference_us` is exact. Texts that a spreadsheet
/// would compute have an apostrophe in front.
///
/// # Errors
/// When `out` can't be written.
pub fn write_csv(explanations: &[NamedExplanation], out: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    let contributions = |named: &NamedExplanation| {
        named.explanation.attribution.contributions.iter().any(|contribution| contribution.interval.is_some())
    };
    let has_intervals = explanations.iter().any(contributions);
    let intervals = if has_intervals { &INTERVAL[..] } else { &[] };
    push_row(&mut line, HEADER.iter().chain(intervals).copied(), "\n");
    out.write_all(line.as_bytes())?;
    for NamedExplanation { name, explanation } in explanations {
        let measured_ps = explanation.attribution.measured_ps;
        for contribution in &explanation.attribution.contributions {
            line.clear();
            let CallsAndSource { predicted_calls, measured_calls, source } = calls_and_source(contribution);
            let [predicted, measured] =
                [predicted_calls, measured_calls].map(|count| count.map(calls).unwrap_or_default());
            let share = match measured_ps {
                0 => String::new(),
                _ => format!("{:.3}", 100.0 * contribution.difference_ps as f64 / measured_ps as f64),
            };
            let interval = match &contribution.interval {
                Some(it) => [it.simulated_ps, it.best_ps, it.low_ps, it.high_ps].map(exact_us),
                None => Default::default(),
            };
            let cells = [
                &spreadsheet_text(name),
                contribution.cause.name(),
                &spreadsheet_text(&contribution.family),
                &spreadsheet_text(&contribution.kernel_type),
                &spreadsheet_text(&contribution.shape),
                &exact_us(contribution.difference_ps),
                &share,
                &predicted,
                &measured,
                &spreadsheet_text(source.as_deref().unwrap_or_default()),
            ];
            let interval = interval.iter().map(String::as_str).take(intervals.len());
            push_row(&mut line, cells.into_iter().chain(interval), "\n");
            out.write_all(line.as_bytes())?;
        }
    }
    Ok(())
}

/// All six decimals of a time in microseconds.
fn exact_us(ps: i128) -> String {
    let sign = if ps < 0 { "-" } else { "" };
    let ps = ps.unsigned_abs();
    format!("{sign}{}.{:06}", ps / 1_000_000, ps % 1_000_000)
}

/// What a contribution says beside its time, where it does.
#[derive(Debug, Default)]
pub(crate) struct CallsAndSource {
    pub(crate) predicted_calls: Option<f64>,
    pub(crate) measured_calls: Option<f64>,
    pub(crate) source: Option<String>,
}

pub(crate) fn calls_and_source(contribution: &Contribution) -> CallsAndSource {
    let of = |calls: &Calls, source| CallsAndSource {
        predicted_calls: Some(calls.predicted_calls),
        measured_calls: Some(calls.measured_calls),
        source,
    };
    match &contribution.detail {
        Detail::Calls(calls) => of(calls, None),
        Detail::Time(time) => of(&time.calls, Some(time.source.text())),
        Detail::Wait(wait) => of(&wait.calls, None),
        Detail::Predicted(predicted) => CallsAndSource {
            predicted_calls: Some(predicted.predicted_calls),
            source: Some(predicted.source.text()),
            ..CallsAndSource::default()
        },
        Detail::Measured(measured) => {
            CallsAndSource { measured_calls: Some(measured.measured_calls), ..CallsAndSource::default() }
        }
        Detail::Pool(pool) => CallsAndSource {
            predicted_calls: Some(pool.parts.iter().map(|part| part.predicted_calls).sum()),
            measured_calls: Some(pool.parts.iter().map(|part| part.measured_calls).sum()),
            source: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_decimals() {
        for (ps, text) in [(1, "0.000001"), (-1_500_000, "-1.500000"), (0, "0.000000"), (12_000_000, "12.000000")] {
            assert_eq!(exact_us(ps), text);
        }
    }
}
