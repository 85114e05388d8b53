//! Scenarios of the comparison tools: the ones that are asked for, and those of a shard.

use crate::shards::{GivenArguments, shared_inputs};
use crate::{Failure, print_note};
use perfdb_compare::Error;
use perfdb_compare::scenario::{Scenario, read_scenarios};
use perfdb_files::escape::shown;
use perfdb_files::shards::{Job, Shard};
use std::path::{Path, PathBuf};

/// The scenarios of a list, else the one of a trace and a pass; `None` where neither was given.
pub(crate) fn named(
    (list, trace_dir): (Option<&Path>, &Path),
    (trace, pass): (Option<&PathBuf>, Option<&PathBuf>),
    scenario: impl FnOnce(&Path, &Path) -> Scenario,
) -> Result<Option<Vec<Scenario>>, Error> {
    Ok(match (list, trace, pass) {
        (Some(path), ..) => {
            let list = read_scenarios(path, trace_dir)?;
            note_current_folder(path, &list.from_current_folder);
            Some(list.scenarios)
        }
        (None, Some(trace), Some(pass)) => Some(vec![scenario(trace, pass)]),
        _ => None,
    })
}

/// A word about files that are not where a list says, but from the current folder.
pub(crate) fn note_current_folder(list: &Path, paths: &[PathBuf]) {
    let Some(first) = paths.first() else { return };
    let more = match paths.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let reason = "relative to the current folder, because nothing is there relative to the list";
    print_note(&format!("{}: {}{more}: {reason}", shown(list), shown(first)));
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
