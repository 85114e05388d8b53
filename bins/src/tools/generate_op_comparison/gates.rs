//! The limits that rows are held against.

use super::arguments::Arguments;
use crate::Failure;
use crate::comparison::check_regressions;
use crate::gate::{Gate, percent};
use perfdb_compare::operators::{self, OpRow};
use perfdb_compare::regression::{Baseline, Regression, RowGate};
use perfdb_compare::scenario::Scenario;
use perfdb_report::operators::finding_line;

/// Smallest share of the measured time that limits look at unless --min-share says another, in percent.
const MIN_SHARE_PCT: f64 = 1.0;

fn min_share_pct(arguments: &Arguments) -> f64 {
    arguments.min_share.as_ref().map_or(MIN_SHARE_PCT, |share| share.value)
}

/// Prints what is beyond `--fail-above`.
pub(super) fn check_accuracy(gate: &mut Gate, arguments: &Arguments, compared: &[(String, Vec<OpRow>)]) {
    let Some(limit) = &arguments.fail_above else { return };
    let of_rows = operators::Gate { fail_above_pct: limit.value, min_share_pct: min_share_pct(arguments) };
    let limit = percent(&limit.text);
    if compared.is_empty() {
        gate.exceeded("no scenario was compared", &limit);
    }
    let findings = compared.iter().filter_map(|(name, rows)| Some((name, of_rows.check(rows)?)));
    findings.for_each(|(name, finding)| gate.exceeded(finding_line(name, &finding, of_rows), &limit));
}

/// Prints what has become worse since the baseline. `scenarios` are those that were compared.
pub(super) fn check_baseline(
    gate: &mut Gate,
    arguments: &Arguments,
    scenarios: &[&Scenario],
    compared: &[(String, Vec<OpRow>)],
    baseline: Option<(Baseline, f64)>,
) -> Result<(), Failure> {
    let Some((baseline, limit_pct)) = baseline else { return Ok(()) };
    let of_rows = RowGate { limit_pct, min_share_pct: min_share_pct(arguments) };
    let mut regressions: Vec<Regression> = Vec::new();
    for (scenario, (_, rows)) in scenarios.iter().zip(compared) {
        regressions.extend(baseline.check_rows(scenario, rows, of_rows, arguments.semantics)?);
    }
    check_regressions(gate, &regressions, limit_pct);
    Ok(())
}
