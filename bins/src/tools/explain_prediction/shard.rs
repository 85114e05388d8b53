//! The scenarios of one shard.

use super::arguments::Arguments;
use super::report::CaseReport;
use crate::comparison::WarningLine;
use crate::database::files_of;
use crate::scenarios::{job as job_of_scenarios, of_shard};
use crate::shards::{GivenArguments, finish};
use crate::{Failure, Status};
use perfdb_compare::attribution::{Options, explain_scenarios};
use perfdb_compare::scenario::Scenario;
use perfdb_files::shards::{Case, Job, Shard, ShardWriter};
use std::path::{Path, PathBuf};

/// The explanation of all scenarios.
pub(super) fn job(arguments: &Arguments, given: &GivenArguments, scenarios: &[Scenario]) -> Result<Job, Failure> {
    let database = arguments.data_dir.as_deref().map(files_of).transpose()?.unwrap_or_default();
    let named = [&arguments.scenarios, &arguments.families].into_iter().flatten().chain(&database);
    let shared = named.map(PathBuf::as_path).chain(arguments.regression.baseline_file());
    job_of_scenarios(given, super::TOOL.name, shared, scenarios)
}

/// Explains the scenarios of a shard.
pub(super) fn explain(
    scenarios: &[Scenario],
    options: &Options<'_>,
    jobs: usize,
    shard: Shard,
    mut writer: ShardWriter,
) -> Result<Status, Failure> {
    let (numbers, own) = of_shard(scenarios, shard);
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
    finish(shard, writer, [own.len(), scenarios.len()], errors)
}
