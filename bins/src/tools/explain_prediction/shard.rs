//! The scenarios of one shard.

use super::arguments::Arguments;
use super::report::CaseReport;
use crate::comparison::WarningLine;
use crate::database::files_of;
use crate::shards::{GivenArguments, print_done, shared_inputs};
use crate::{Failure, Status};
use perfdb_compare::ledger::{Options, explain_scenarios};
use perfdb_compare::scenario::Scenario;
use perfdb_shards::{Case, Job, Shard, ShardWriter};
use std::path::{Path, PathBuf};

/// The explanation of all scenarios.
pub(super) fn job(arguments: &Arguments, given: &GivenArguments, scenarios: &[Scenario]) -> Result<Job, Failure> {
    let database = arguments.data_dir.as_deref().map(files_of).transpose()?.unwrap_or_default();
    let named = [&arguments.scenarios, &arguments.families].into_iter().flatten().chain(&database);
    let shared = named.map(PathBuf::as_path).chain(arguments.regression.baseline_file());
    let names = scenarios.iter().map(|scenario| scenario.name.clone()).collect();
    given.job(super::TOOL.name, shared_inputs(shared)?, names)
}

/// Explains the scenarios of a shard.
pub(super) fn explain(
    scenarios: &[Scenario],
    options: &Options<'_>,
    jobs: usize,
    shard: Shard,
    mut writer: ShardWriter,
) -> Result<Status, Failure> {
    let of_shard = |(_, scenario): &(usize, &Scenario)| shard.owns(&scenario.name);
    let (numbers, own): (Vec<usize>, Vec<Scenario>) =
        scenarios.iter().enumerate().filter(of_shard).map(|(number, scenario)| (number, scenario.clone())).unzip();
    let mut cases = numbers.into_iter().zip(&own);
    let (mut errors, mut written) = (Vec::new(), Ok(()));
    explain_scenarios(&own, options, jobs, |_, result| {
        let (Some((number, scenario)), Ok(())) = (cases.next(), &written) else { return };
        let report = CaseReport::from(result);
        report.warnings.iter().for_each(WarningLine::print);
        errors.extend(report.result.as_ref().err().cloned());
        let files: Vec<&Path> = scenario.files().collect();
        written = writer.record(Case { number, files: &files, failed: report.result.is_err() }, &report);
    });
    written?;
    print_done(shard, [own.len(), scenarios.len()], &writer.finish()?);
    if errors.is_empty() { Ok(Status::Success) } else { Err(Failure::lines(errors)) }
}
