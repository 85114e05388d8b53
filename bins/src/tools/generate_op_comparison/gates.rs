//! The limits that rows are held against.

use super::arguments::Arguments;
use crate::comparison::check_regressions;
use crate::{Failure, print_limit};
use perfdb_compare::operators::{Gate, OpRow};
use perfdb_compare::regression::{Baseline, Regression, RowGate};
use perfdb_compare::scenario::Scenario;
use perfdb_report::operators::finding_line;

/// Smallest share of the measured time that limits look at unless --min-share says another, in percent.
const MIN_SHARE_PCT: f64 = 1.0;

fn min_share_pct(arguments: &Arguments) -> f64 {
    arguments.min_share.as_ref().map_or(MIN_SHARE_PCT, |share| share.value)
}

/// Prints what is beyond `--fail-above`; true if nothing is.
pub(super) fn is_accurate(arguments: &Arguments, compared: &[(String, Vec<OpRow>)]) -> bool {
    let Some(limit) = &arguments.fail_above else { return true };
    let gate = Gate { fail_above_pct: limit.value, min_share_pct: min_share_pct(arguments) };
    if compared.is_empty() {
        print_limit("no scenario was compared");
    }
    let findings = compared.iter().filter_map(|(name, rows)| Some((name, gate.check(rows)?)));
    let lines: Vec<String> = findings.map(|(name, finding)| finding_line(name, &finding, &limit.text, gate)).collect();
    lines.iter().for_each(|line| print_limit(line));
    lines.is_empty() && !compared.is_empty()
}

/// Prints what has become worse since the baseline; true if nothing has. `scenarios` are those that were compared.
pub(super) fn is_as_before(
    arguments: &Arguments,
    scenarios: &[&Scenario],
    compared: &[(String, Vec<OpRow>)],
    baseline: Option<(Baseline, f64)>,
) -> Result<bool, Failure> {
    let Some((baseline, limit_pct)) = baseline else { return Ok(true) };
    let gate = RowGate { limit_pct, min_share_pct: min_share_pct(arguments) };
    let mut regressions: Vec<Regression> = Vec::new();
    for (scenario, (_, rows)) in scenarios.iter().zip(compared) {
        regressions.extend(baseline.check_rows(scenario, rows, gate, arguments.semantics)?);
    }
    Ok(check_regressions(&regressions, limit_pct))
}
