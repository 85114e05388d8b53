//! Scenarios of the comparison tools: the ones that are asked for, and those of a shard.

use crate::Failure;
use crate::shards::{GivenArguments, shared_inputs};
use perfdb_compare::Error;
use perfdb_compare::scenario::{Scenario, read_scenarios};
use perfdb_shards::{Job, Shard};
use std::path::{Path, PathBuf};

/// The scenarios of a list, else the one of a trace and a pass; `None` where neither was given.
pub(crate) fn named(
    (list, trace_dir): (Option<&Path>, &Path),
    (trace, pass): (Option<&PathBuf>, Option<&PathBuf>),
    scenario: impl FnOnce(&Path, &Path) -> Scenario,
) -> Result<Option<Vec<Scenario>>, Error> {
    Ok(match (list, trace, pass) {
        (Some(list), ..) => Some(read_scenarios(list, trace_dir)?),
        (None, Some(trace), Some(pass)) => Some(vec![scenario(trace, pass)]),
        _ => None,
    })
}

/// The job that has a case for each scenario.
pub(crate) fn job<'p>(
    given: &GivenArguments,
    tool: &str,
    shared: impl IntoIterator<Item = &'p Path>,
    scenarios: &[Scenario],
) -> Result<Job, Failure> {
    let names = scenarios.iter().map(|scenario| scenario.name.clone()).collect();
    given.job(tool, shared_inputs(shared)?, names)
}

/// The scenarios of a shard, and their numbers among all.
pub(crate) fn of_shard(scenarios: &[Scenario], shard: Shard) -> (Vec<usize>, Vec<Scenario>) {
    let own = scenarios.iter().enumerate().filter(|(_, scenario)| shard.owns(&scenario.name));
    own.map(|(number, scenario)| (number, scenario.clone())).unzip()
}
