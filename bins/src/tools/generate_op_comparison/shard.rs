//! Scenarios of one shard, and those of all shards together.

use super::arguments::Arguments;
use super::outputs::missing_m6;
use super::report::{CaseOutcome, CaseReport};
use crate::comparison::WarningLine;
use crate::scenarios::of_shard;
use crate::shards::finish;
use crate::{Failure, Status};
use perfdb_compare::scenario::{Scenario, compare_scenarios};
use perfdb_files::shards::{Case, Job, Shard, ShardSet, ShardWriter};
use perfdb_store::op_mapping::OpMapping;
use std::path::Path;

/// Compares the scenarios of a shard.
pub(super) fn compare(
    arguments: &Arguments,
    scenarios: &[Scenario],
    mapping: &OpMapping,
    shard: Shard,
    mut writer: ShardWriter,
) -> Result<Status, Failure> {
    let (numbers, mut own) = of_shard(scenarios, shard);
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
    finish(shard, writer, [own.len(), scenarios.len()], errors)
}

/// The reports of all scenarios, in their order.
pub(super) fn reports(set: &ShardSet, job: &Job) -> Result<Vec<CaseReport>, Failure> {
    let mut results = set.results(job)?;
    Ok((0..job.cases.len()).map(|case| results.take(case)).collect::<Result<_, _>>()?)
}
