//! Measuring the rows of one shard.

use crate::replay::{RunPrinter, stopped, worker_listener};
use crate::shards::print_measured;
use crate::{Failure, Status};
use perfdb_files::interrupt::Interrupt;
use perfdb_files::shards::{Shard, ShardWriter};
use perfdb_replay::executor::start::starters;
use perfdb_replay::operator::Operator;
use perfdb_replay::results::RowOutcome;
use perfdb_replay::session::{Event, Rows, replay_operator};
use perfdb_replay::settings::RunSettings;

/// What was measured, in the folder of a shard.
pub(super) const JOURNAL: &str = "replay_journal.jsonl";

/// Measures the rows of a shard. There is none where the operator as a whole has failed: another machine may do better.
pub(super) fn measure(
    operator: &'static Operator,
    rows: Rows,
    mut settings: RunSettings,
    interrupt: &Interrupt,
    shard: Shard,
    mut writer: ShardWriter,
) -> Result<Status, Failure> {
    settings.output = writer.folder().to_owned();
    settings.journal = Some(writer.folder().join(JOURNAL));
    let printer = RunPrinter::to_stdout();
    let notify = |event: Event<'_>| printer.print(event);
    let starters = starters(&settings, interrupt, &worker_listener());
    let run = replay_operator(operator, rows, &settings, starters, interrupt, &notify).map_err(stopped)?;
    if let Some(error) = run.failure {
        return Err(stopped(error));
    }
    let results = &run.report.results;
    writer.count(results.len(), results.iter().filter(|row| matches!(row.outcome, RowOutcome::Failed(_))).count());
    printer.print_end(run.report.counts, None);
    print_measured(shard, run.report.counts.ran, &writer.finish()?);
    Ok(Status::Success)
}
