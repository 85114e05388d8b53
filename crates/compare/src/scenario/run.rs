//! Comparing scenarios.

use super::m6_file::read_forward_passes;
use super::{ForwardPasses, Scenario};
use crate::error::{Error, Warning};
use crate::operators::{OpRow, op_rows, read_predicted};
use crate::profile::{GroupingPolicy, Total, read_profile};
use crate::{Semantics, side_by_side};
use indexmap::IndexMap;
use perfdb_store::op_mapping::{Lookup, OpMapping};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;

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
    Skipped(String),
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

/// The rows of a scenario and what was odd about its files.
#[derive(Debug, Default)]
pub struct Comparison {
    /// The rows, see [`op_rows`].
    pub rows: Vec<OpRow>,
    /// What was odd.
    pub warnings: Vec<Warning>,
    /// Whether the mapping had an entry for any operator.
    pub mapping_used: bool,
}

/// Compares all scenarios, `jobs` at a time. `each` gets the reports in the order of the scenarios, as soon as they are there.
pub fn compare_scenarios(scenarios: &[Scenario], options: Options<'_>, mut each: impl FnMut(ScenarioReport)) {
    let jobs = options.jobs.clamp(1, scenarios.len().max(1));
    if jobs == 1 {
        return scenarios.iter().for_each(|scenario| each(report(scenario, options)));
    }
    let (sender, receiver) = mpsc::channel();
    let queue = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, queue) = (sender.clone(), &queue);
            scope.spawn(move || {
                while let Some((at, scenario)) = {
                    let at = queue.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    scenarios.get(at).map(|scenario| (at, scenario))
                } {
                    // The receiver only goes away in a panic.
                    let _ = sender.send((at, report(scenario, options)));
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        for (at, report) in receiver {
            waiting.insert(at, report);
            while let Some(report) = waiting.remove(&next) {
                each(report);
                next += 1;
            }
        }
    });
}

fn report(scenario: &Scenario, options: Options<'_>) -> ScenarioReport {
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
///
/// # Errors
/// When a file can't be read or holds what can't be used.
pub fn compare_scenario(scenario: &Scenario, options: Options<'_>) -> Result<Comparison, Error> {
    let mut comparison = Comparison::default();
    comparison.rows = compare(scenario, options, &mut comparison.warnings, &mut comparison.mapping_used)?;
    Ok(comparison)
}

fn compare(
    scenario: &Scenario,
    options: Options<'_>,
    warnings: &mut Vec<Warning>,
    mapping_used: &mut bool,
) -> Result<Vec<OpRow>, Error> {
    let forward_passes = match &scenario.forward_passes {
        ForwardPasses::Number(number) => *number,
        ForwardPasses::M6File(path) => read_forward_passes(Path::new(path))?,
    };
    let (trace, profile) = (Path::new(&scenario.tc_trace), Path::new(&scenario.trace_csv));
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
    warnings.extend(measured.warnings);
    let measured: IndexMap<String, Total> =
        measured.result.into_rows().into_iter().map(|((kernel_type, _), total)| (kernel_type.into(), total)).collect();
    op_rows(&predicted.kernel_types, &measured, forward_passes)
        .map_err(|error| Error::InfiniteCount { path: profile.to_owned(), kernel_type: error.kernel_type })
}
