//! Scenarios of one shard, and those of all shards together.

use super::arguments::Arguments;
use super::outputs::missing_m6;
use super::report::{CaseOutcome, CaseReport};
use crate::comparison::WarningLine;
use crate::shards::{GivenArguments, print_done, shared_inputs};
use crate::{Failure, Status};
use perfdb_compare::scenario::{Scenario, compare_scenarios};
use perfdb_shards::{Case, Job, Shard, ShardSet, ShardWriter};
use perfdb_store::op_mapping::OpMapping;
use std::path::Path;

/// The comparison of all scenarios.
pub(super) fn job<'p>(
    given: &GivenArguments,
    shared: impl Iterator<Item = &'p Path>,
    scenarios: &[Scenario],
) -> Result<Job, Failure> {
    let names = scenarios.iter().map(|scenario| scenario.name.clone()).collect();
    given.job(super::TOOL.name, shared_inputs(shared)?, names)
}

/// Compares the scenarios of a shard.
pub(super) fn compare(
    arguments: &Arguments,
    scenarios: &[Scenario],
    mapping: &OpMapping,
    shard: Shard,
    mut writer: ShardWriter,
) -> Result<Status, Failure> {
    let of_shard = |(_, scenario): &(usize, &Scenario)| shard.owns(&scenario.name);
    let (numbers, mut own): (Vec<usize>, Vec<Scenario>) =
        scenarios.iter().enumerate().filter(of_shard).map(|(number, scenario)| (number, scenario.clone())).unzip();
    let files: Vec<Vec<&Path>> = numbers.iter().map(|&number| scenarios[number].files().collect()).collect();
    let mut texts = own
        .iter_mut()
        .map(|scenario| arguments.computes_m6().then(|| missing_m6(scenario)).flatten().map(|(_, text)| text))
        .collect::<Vec<_>>()
        .into_iter();
    let mut cases = numbers.iter().zip(&files);
    let (mut errors, mut written) = (Vec::new(), Ok(()));
    compare_scenarios(&own, arguments.options(mapping), |report| {
        let (Some((&number, files)), Ok(())) = (cases.next(), &written) else { return };
        let report = CaseReport { m6: texts.next().flatten(), ..CaseReport::from(report) };
        report.warnings.iter().for_each(WarningLine::print);
        if let CaseOutcome::Failed(line) = &report.outcome {
            errors.push(line.clone());
        }
        let failed = matches!(report.outcome, CaseOutcome::Failed(_));
        written = writer.record(Case { number, files, failed }, &report);
    });
    written?;
    print_done(shard, [own.len(), scenarios.len()], &writer.finish()?);
    if errors.is_empty() { Ok(Status::Success) } else { Err(Failure::lines(errors)) }
}

/// The reports of all scenarios, in their order.
pub(super) fn reports(set: &ShardSet, job: &Job) -> Result<Vec<CaseReport>, Failure> {
    let mut results = set.results(job)?;
    Ok((0..job.cases.len()).map(|case| results.take(case)).collect::<Result<_, _>>()?)
}
