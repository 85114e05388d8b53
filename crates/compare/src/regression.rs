//! Gates that can be lived with: only what was inside a limit before and is outside now fails.

use crate::Semantics;
use crate::attribution::{Detail, Explanation, Group};
use crate::error::Error;
use crate::operators::{OpRow, measured_total_us, share_pct};
use crate::profile::{GroupingPolicy, MeasuredSpread, RelativeSpread};
use crate::scenario::Scenario;
use perfdb_pycompat::value::Value;
use perfdb_trace::source::Source;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::Path;

/// Something that has become worse.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// The scenario; empty where there is one pair of files.
    pub scenario: String,
    /// The kernel type, with its shape where there is one, or `M6`.
    pub kernel: String,
    /// Error before, in percent of the measured time.
    pub before_pct: f64,
    /// Error now.
    pub after_pct: f64,
    /// How much the measured calls vary, where there are enough to tell.
    pub spread: Option<RelativeSpread>,
}

impl Regression {
    /// Whether the predicted time lies where the measured one may as well lie: then nothing is known to have become worse.
    pub fn is_noise(&self) -> bool {
        self.spread.is_some_and(|spread| spread.contains(1.0 + self.after_pct / 100.0))
    }
}

/// Which kernel types of a comparison are looked at, and how far they may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowGate {
    /// Largest accepted error of either sign, in percent.
    pub limit_pct: f64,
    /// Kernel types below this share of the measured time are not looked at, in percent.
    pub min_share_pct: f64,
}

/// Errors of an earlier run, in percent of the measured time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Baseline {
    errors: BTreeMap<(String, String), f64>,
}

impl Baseline {
    /// Reads the JSON that compute-m6, generate-op-comparison or explain-prediction wrote.
    ///
    /// # Errors
    /// When the file can't be read, is no JSON, or is none of the three.
    pub fn read(path: &Path) -> Result<Baseline, Error> {
        let text = Source::open(path)?.read_all()?;
        let refused = |reason: String| Error::Baseline { path: path.to_owned(), reason };
        let document = perfdb_trace::json::parse(&text).map_err(|error| refused(error.to_string()))?;
        Baseline::of(&document).ok_or_else(|| {
            refused("this is not a JSON of compute-m6, generate-op-comparison or explain-prediction".to_owned())
        })
    }

    fn of(document: &Value) -> Option<Baseline> {
        let Value::Dict(members) = document else { return None };
        let mut baseline = Baseline::default();
        if let Some(ratio) = members.get("m6_ratio").and_then(Value::as_double) {
            baseline.put("", "M6", (ratio - 1.0) * 100.0);
            return Some(baseline);
        }
        if let Some(Value::List(scenarios)) =
            members.get("scenarios").filter(|_| members.contains_key("format_version"))
        {
            for scenario in scenarios {
                let Value::Dict(scenario) = scenario else { return None };
                baseline.add_groups(scenario.get("name")?.as_text()?, scenario.get("groups")?)?;
            }
            return Some(baseline);
        }
        if let Some(groups) = members.get("groups") {
            baseline.add_groups("", groups)?;
            return Some(baseline);
        }
        for (scenario, rows) in members {
            let Value::List(rows) = rows else { return None };
            for row in rows {
                let Value::Dict(row) = row else { return None };
                let error = row.get("error_pct")?.as_double()?;
                // The integer 0 of a row that was never measured says nothing.
                let error = match row.get("prof_per_fwd_us")?.as_double()? {
                    0.0 => f64::INFINITY,
                    _ => error,
                };
                baseline.put(scenario, row.get("kernel_type")?.as_text()?, error);
            }
        }
        Some(baseline)
    }

    fn add_groups(&mut self, scenario: &str, groups: &Value) -> Option<()> {
        let Value::List(groups) = groups else { return None };
        for group in groups {
            let Value::Dict(group) = group else { return None };
            let number = |key: &str| group.get(key).and_then(Value::as_double);
            let text = |key: &str| group.get(key).and_then(Value::as_text);
            let error = error_pct(number("predicted_ps")?, number("measured_ps")?);
            self.put(scenario, &kernel(text("kernel_type")?, text("shape")?), error);
        }
        Some(())
    }

    fn put(&mut self, scenario: &str, kernel: &str, error_pct: f64) {
        self.errors.insert((scenario.to_owned(), kernel.to_owned()), error_pct);
    }

    /// An error that was inside the limit and is outside now. What the baseline does not know can't have become worse.
    fn check(&self, scenario: &str, kernel: &str, after_pct: f64, limit_pct: f64) -> Option<Regression> {
        let before_pct = *self.errors.get(&(scenario.to_owned(), kernel.to_owned()))?;
        let outside = |error: f64| error.is_nan() || error.abs() > limit_pct;
        (!outside(before_pct) && outside(after_pct)).then(|| Regression {
            scenario: scenario.to_owned(),
            kernel: kernel.to_owned(),
            before_pct,
            after_pct,
            spread: None,
        })
    }

    /// Whether M6, measured by a profile, has left the limit around 1. How much the profile's kernels vary is only looked up then.
    ///
    /// # Errors
    /// When the profile can't be read again.
    pub fn check_m6(
        &self,
        ratio: f64,
        limit_pct: f64,
        profile: &Path,
        semantics: Semantics,
    ) -> Result<Option<Regression>, Error> {
        let Some(regression) = self.m6_outside(ratio, limit_pct) else { return Ok(None) };
        let spread = MeasuredSpread::read(profile, GroupingPolicy::m6(semantics))?.whole();
        Ok(Some(Regression { spread, ..regression }))
    }

    fn m6_outside(&self, ratio: f64, limit_pct: f64) -> Option<Regression> {
        self.check("", "M6", (ratio - 1.0) * 100.0, limit_pct)
    }

    /// The kernel types of a scenario that have left the limit, of those with a share of the measured time. How much their calls
    /// vary is only looked up then.
    ///
    /// # Errors
    /// When the scenario's profile can't be read again.
    pub fn check_rows(
        &self,
        scenario: &Scenario,
        rows: &[OpRow],
        gate: RowGate,
        semantics: Semantics,
    ) -> Result<Vec<Regression>, Error> {
        let mut regressions = self.rows_outside(&scenario.name, rows, gate);
        if !regressions.is_empty() {
            let spread = MeasuredSpread::read(&scenario.trace_csv, GroupingPolicy::operators(semantics))?;
            regressions.iter_mut().for_each(|regression| regression.spread = spread.of(&regression.kernel));
        }
        Ok(regressions)
    }

    fn rows_outside(&self, scenario: &str, rows: &[OpRow], gate: RowGate) -> Vec<Regression> {
        let RowGate { limit_pct, min_share_pct } = gate;
        let total_us = measured_total_us(rows);
        let weighs = |row: &&OpRow| row.is_predicted_only() || share_pct(row, total_us) >= min_share_pct;
        let check = |row: &OpRow| {
            let error = if row.is_predicted_only() { f64::INFINITY } else { row.error_pct.value() };
            self.check(scenario, &row.kernel_type, error, limit_pct)
        };
        rows.iter().filter(weighs).filter_map(check).collect()
    }

    /// The groups of an explanation that have left the limit.
    pub fn check_explanation(&self, scenario: &str, explanation: &Explanation, limit_pct: f64) -> Vec<Regression> {
        let attribution = &explanation.attribution;
        let mut spreads: FxHashMap<(&str, &str), RelativeSpread> = FxHashMap::default();
        for contribution in &attribution.contributions {
            if let Detail::Time(time) = &contribution.detail
                && let Some(spread) = time.relative_spread()
            {
                spreads.insert((&contribution.kernel_type, &contribution.shape), spread);
            }
        }
        let check = |group: &Group| {
            let error = error_pct(group.predicted_ps as f64, group.measured_ps as f64);
            let regression = self.check(scenario, &kernel(&group.kernel_type, &group.shape), error, limit_pct)?;
            // Calls that are missing or too many are no noise.
            let same_calls = group.predicted_calls == group.measured_calls;
            let spread = spreads.get(&(group.kernel_type.as_str(), group.shape.as_str())).filter(|_| same_calls);
            Some(Regression { spread: spread.copied(), ..regression })
        };
        attribution.groups.iter().filter_map(check).collect()
    }
}

fn kernel(kernel_type: &str, shape: &str) -> String {
    if shape.is_empty() { kernel_type.to_owned() } else { format!("{kernel_type} {shape}") }
}

fn error_pct(predicted: f64, measured: f64) -> f64 {
    match (predicted, measured) {
        (0.0, 0.0) => 0.0,
        (_, 0.0) => f64::INFINITY,
        _ => (predicted - measured) / measured * 100.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(text: &str) -> Option<Baseline> {
        Baseline::of(&perfdb_trace::json::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn only_what_was_inside_fails() {
        let before = baseline(r#"{"m6_ratio": 1.04}"#).unwrap();
        assert_eq!(before.m6_outside(0.97, 5.0), None);
        let worse = before.m6_outside(0.9, 5.0).unwrap();
        assert_eq!((worse.kernel.as_str(), worse.before_pct.round(), worse.after_pct.round()), ("M6", 4.0, -10.0));
        assert!(before.m6_outside(f64::NAN, 5.0).is_some());
        let outside = baseline(r#"{"m6_ratio": 1.2}"#).unwrap();
        assert_eq!(outside.m6_outside(1.5, 5.0), None, "it was outside before");
    }

    #[test]
    fn three_formats_are_known() {
        let rows = r#"{"A": [{"kernel_type": "Add", "error_pct": 3.0, "prof_per_fwd_us": 5.0},
                             {"kernel_type": "Mul", "error_pct": 0, "prof_per_fwd_us": 0.0}]}"#;
        let rows = baseline(rows).unwrap();
        assert!(rows.check("A", "Add", 30.0, 10.0).is_some());
        assert_eq!(rows.check("A", "Mul", 30.0, 10.0), None, "it was never measured before either");
        assert_eq!(rows.check("B", "Add", 30.0, 10.0), None, "the baseline does not know it");
        let groups = r#"{"groups": [{"kernel_type": "Add", "shape": "1", "predicted_ps": 10, "measured_ps": 10}]}"#;
        assert!(baseline(groups).unwrap().check("", "Add 1", 30.0, 10.0).is_some());
        for text in ["[]", r#"{"a": 1}"#, r#"{"A": [1]}"#] {
            assert_eq!(baseline(text), None, "{text}");
        }
    }
}
