//! What the comparison tools have in common on the command line.

use crate::gate::{Gate, percent};
use crate::output::{print_note, warn, warn_as_original};
use bitcode::{Decode, Encode};
use perfdb_compare::Warning;
use perfdb_compare::regression::{Baseline, Regression};
use perfdb_files::escape::shown;
use perfdb_tracediff::Trace;
use std::num::NonZero;
use std::str::FromStr;

/// What was left open in reading a trace: replays whose captures contradict each other.
pub(crate) fn notes_of(trace: &Trace) -> impl Iterator<Item = String> {
    trace.notes().iter().map(|note| format!("{}: {note}", shown(trace.path())))
}

/// Prints what was odd about the inputs, and which option or tool helps.
pub fn print_warnings(warnings: &[Warning]) {
    warnings.iter().map(WarningLine::of).for_each(|line| line.print());
}

/// A warning as it is printed.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct WarningLine {
    text: String,
    as_original: bool,
}

impl WarningLine {
    /// The warning, and which option or tool helps.
    pub fn of(warning: &Warning) -> WarningLine {
        let hint = match warning {
            Warning::MissingColumns { .. } => " (--semantics corrected refuses such files)",
            Warning::NoEmpiricalEvent { .. } => " (see --source-filter)",
            Warning::HiddenType { .. } | Warning::NestedMapping { .. } => " (see --semantics corrected)",
            Warning::SeveralPasses { .. } => " (cut-forward-pass copies one of them)",
            Warning::NoMeasuredTime { .. } | Warning::NegativeDurations { .. } | Warning::SoleProcess { .. } => "",
        };
        WarningLine { text: format!("{warning}{hint}"), as_original: matches!(warning, Warning::SoleProcess { .. }) }
    }

    /// Prints it.
    pub fn print(&self) {
        let print = if self.as_original { warn_as_original } else { warn };
        print(&self.text);
    }
}

/// How many threads a tool may use.
pub fn usable_cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// `--baseline` and `--fail-regression`, which need each other.
#[derive(Debug, Clone, clap::Args)]
pub struct RegressionGate {
    /// JSON of an earlier run, for --fail-regression
    #[arg(long, value_name = "OLD.json", requires = "fail_regression")]
    baseline: Option<std::path::PathBuf>,

    /// Exit with status 3 if something was inside this many percent in --baseline and is outside now, beyond the P10-P90 of
    /// the measured calls
    #[arg(long, value_name = "PCT", requires = "baseline", value_parser = GivenNumber::not_negative)]
    fail_regression: Option<GivenNumber>,
}

impl RegressionGate {
    /// The JSON of the earlier run.
    pub fn baseline_file(&self) -> Option<&std::path::Path> {
        self.baseline.as_deref()
    }

    /// The earlier run and the limit in percent, if they were given.
    ///
    /// # Errors
    /// When the baseline can't be read.
    pub fn read(&self) -> Result<Option<(Baseline, f64)>, perfdb_compare::Error> {
        match (&self.baseline, &self.fail_regression) {
            (Some(path), Some(limit)) => Ok(Some((Baseline::read(path)?, limit.value))),
            _ => Ok(None),
        }
    }
}

/// Prints what has become worse, and as a note what the spread of the measured calls explains.
pub(crate) fn check_regressions(gate: &mut Gate, regressions: &[Regression], limit_pct: f64) {
    let limit = percent(limit_pct);
    for regression in regressions {
        let line = regression_line(regression);
        if regression.is_noise() { print_note(&format!("{line} (limit {limit})")) } else { gate.exceeded(line, &limit) }
    }
}

fn regression_line(regression: &Regression) -> String {
    let shown = |error: f64| percent(perfdb_pycompat::format::fixed(error, 1));
    let Regression { scenario, kernel, before_pct, after_pct, spread } = regression;
    let scenario = if scenario.is_empty() { String::new() } else { format!("{scenario}: ") };
    let noise = match spread.map(|spread| spread.percent()) {
        Some([low, high]) => {
            let place = if regression.is_noise() { "inside" } else { "beyond" };
            format!("{place} the P10-P90 of the measured calls, {low:+.1} to {high:+.1} %")
        }
        None => "too few measured calls to separate it from noise".to_owned(),
    };
    let (before, after) = (shown(*before_pct), shown(*after_pct));
    format!("{scenario}{kernel} was off by {before} and is off by {after} now, {noise}")
}

/// A finite number and its text, which messages repeat as it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenNumber {
    /// As given.
    pub text: String,
    pub value: f64,
}

impl FromStr for GivenNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = perfdb_pycompat::text::trim(text);
        match perfdb_pycompat::number::parse_float(text) {
            Some(value) if value.is_finite() => Ok(GivenNumber { text: text.to_owned(), value }),
            _ => Err("a finite number is needed".to_owned()),
        }
    }
}

impl GivenNumber {
    /// Reads a percentage that can't be negative.
    ///
    /// # Errors
    /// When the text is not a finite number, or is below 0.
    pub fn not_negative(text: &str) -> Result<Self, String> {
        match GivenNumber::from_str(text)? {
            number if number.value >= 0.0 => Ok(number),
            _ => Err("it can't be negative".to_owned()),
        }
    }
}

/// `LOW,HIGH`.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// Smallest accepted value.
    pub low: GivenNumber,
    /// Largest accepted value.
    pub high: GivenNumber,
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (low, high) = text.split_once(',').ok_or("two numbers LOW,HIGH are needed")?;
        let range = Range { low: low.parse()?, high: high.parse()? };
        if range.low.value <= range.high.value { Ok(range) } else { Err("LOW is above HIGH".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let range: Range = "0.9, 1.10".parse().unwrap();
        assert_eq!((range.low.value, range.high.text.as_str()), (0.9, "1.10"));
        for text in ["", "1", "1,", "2,1", "nan,1", "0,inf", "1,2,3", "a,b"] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
    }

    #[test]
    fn percentages() {
        assert_eq!(GivenNumber::not_negative("20").unwrap().value, 20.0);
        for text in ["-1", "nan", "inf", "", "1%"] {
            assert!(GivenNumber::not_negative(text).is_err(), "{text}");
        }
    }
}
