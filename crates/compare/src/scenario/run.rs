//! Comparing scenarios.

use super::Scenario;
use crate::error::{Error, Warning};
use crate::operators::{OpRow, op_rows, read_predicted};
use crate::profile::{GroupingPolicy, Total, read_profile};
use crate::{Semantics, side_by_side};
use indexmap::IndexMap;
use perfdb_files::parallel::{OrderedMap, states};
use perfdb_store::op_mapping::{Lookup, OpMapping};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// How to compare scenarios.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// What operators map to.
    pub mapping: &'a OpMapping,
    /// Which faults of the original are kept.
    pub semantics: Semantics,
    /// On how many threads scenarios run; a result does not depend on it.
    pub jobs: usize,
}

/// How a scenario ended.
#[derive(Debug)]
pub enum ScenarioOutcome {
    /// With rows.
    Compared(Vec<OpRow>),
    /// One of its files, this one, does not exist.
    Skipped(PathBuf),
    /// With a fault.
    Failed(Error),
}

/// What became of a scenario.
#[derive(Debug)]
pub struct ScenarioReport {
    /// Its name.
    pub name: String,
    /// How it ended.
    pub outcome: ScenarioOutcome,
    /// What was odd about its files.
    pub warnings: Vec<Warning>,
    /// Whether the mapping had an entry for any of its operators.
    pub mapping_used: bool,
}

/// Compares all scenarios, `jobs` at a time. `each` gets the reports in the order of the scenarios, as soon as they are there.
pub fn compare_scenarios(scenarios: &[Scenario], options: Options<'_>, each: impl FnMut(ScenarioReport)) {
    in_order(scenarios, options.jobs, |scenario| report(scenario, options), each);
}

/// Does the work of each scenario on one of `jobs` threads and hands the results over in the order of the scenarios.
pub(crate) fn in_order<R: Send>(
    scenarios: &[Scenario],
    jobs: usize,
    work: impl Fn(&Scenario) -> R + Sync,
    mut each: impl FnMut(R),
) {
    let mut states = states(jobs.clamp(1, scenarios.len().max(1)), || ());
    let mut waiting = scenarios.iter();
    let done: Result<(), Infallible> = OrderedMap::new(&mut states).tasks_ahead(scenarios.len()).run(
        || Ok(waiting.next()),
        |(), scenario| work(scenario),
        |result| {
            each(result);
            Ok(ControlFlow::Continue(()))
        },
    );
    match done {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

/// What is logged meanwhile belongs to a scenario.
pub(crate) fn scenario_span(name: &str) -> tracing::span::EnteredSpan {
    if name.is_empty() { tracing::Span::none() } else { tracing::info_span!("scenario", name) }.entered()
}

fn report(scenario: &Scenario, options: Options<'_>) -> ScenarioReport {
    let _span = scenario_span(&scenario.name);
    let mut warnings = Vec::new();
    let mut mapping_used = false;
    let outcome = match compare(scenario, options, &mut warnings, &mut mapping_used) {
        Ok(rows) => ScenarioOutcome::Compared(rows),
        Err(error) => match error.missing_file() {
            Some(path) => ScenarioOutcome::Skipped(path.to_owned()),
            None => ScenarioOutcome::Failed(error),
        },
    };
    ScenarioReport { name: scenario.name.clone(), outcome, warnings, mapping_used }
}

/// Compares one scenario: M6 file first, then trace and CSV side by side, the trace's fault first.
fn compare(
    scenario: &Scenario,
    options: Options<'_>,
    warnings: &mut Vec<Warning>,
    mapping_used: &mut bool,
) -> Result<Vec<OpRow>, Error> {
    let forward_passes = scenario.forward_passes.read()?;
    let (trace, profile) = (scenario.tc_trace.as_path(), scenario.trace_csv.as_path());
    let lookup = match options.semantics {
        Semantics::Upstream => Lookup::TopLevel,
        Semantics::Corrected => Lookup::Nested,
    };
    let policy = GroupingPolicy::operators(options.semantics);
    let (predicted, measured) = side_by_side(
        |threads| read_predicted(trace, options.mapping, lookup, threads),
        || read_profile(profile, policy),
    );
    let predicted = predicted?;
    warnings.extend(predicted.warnings);
    *mapping_used = predicted.mapping_used;
    let measured = measured?;
    // Who says how many passes there are knows it.
    let is_known = |warning: &Warning| forward_passes != 1.0 && matches!(warning, Warning::SeveralPasses { .. });
    warnings.extend(measured.warnings.into_iter().filter(|warning| !is_known(warning)));
    let measured: IndexMap<String, Total> =
        measured.result.into_rows().into_iter().map(|((kernel_type, _), total)| (kernel_type.into(), total)).collect();
    let mut rows = op_rows(&predicted.kernel_types, &measured, forward_passes)
        .map_err(|error| Error::InfiniteCount { path: profile.to_owned(), kernel_type: error.kernel_type })?;
    if options.semantics == Semantics::Corrected {
        rows.iter_mut().for_each(OpRow::mark_predicted_only);
    }
    Ok(rows)
}
