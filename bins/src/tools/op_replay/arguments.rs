//! The command line of op-replay.

use super::TOOL;
use crate::Failure;
use crate::database::DatabaseArguments;
use crate::replay::{
    DispatchArguments, OutputArguments, ReplayArguments, repeat_count, run_id, visibility, warn_of_host,
};
use crate::shards::ShardArguments;
use crate::update_mode::{DEFAULT_UPDATE_MODE, update_mode};
use clap::{Parser, ValueEnum};
use perfdb_replay::backend::Backend;
use perfdb_replay::operator::Operator;
use perfdb_replay::settings::RunSettings;
use perfdb_store::update::Mode;
use std::path::{Path, PathBuf};

/// Measure the rows of one operator's tables again: each row becomes an explicit case, an executor runs it N times,
/// and the times go into an op_summary file and, on request, a results file.
#[derive(Debug, Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Operator: one of --list; a final _run.py, _run or .csv is cut off
    #[arg(value_name = "OP")]
    pub(super) op: Option<String>,

    /// Print the names of the operators
    #[arg(long)]
    pub(super) list: bool,

    #[command(flatten)]
    pub(super) database: DatabaseArguments,

    /// Timed runs per row [default: $MSMODELING_OP_REPLAY_REPEAT_COUNT, else 30; DispatchFFNCombine: 20]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) repeat_count: Option<i64>,

    /// Which rows: all, or those without a valid duration
    #[arg(long, value_name = "MODE", default_value = DEFAULT_UPDATE_MODE, value_parser = update_mode())]
    pub(super) update_mode: Mode,

    /// Replay exactly this table (repeatable); the database options are not looked at
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Vec<PathBuf>,

    /// Run the cases of this file (JSON array or JSON lines) instead of database rows
    #[arg(long, value_name = "FILE", conflicts_with = "csv")]
    pub(super) cases: Option<PathBuf>,

    /// Print the cases and stop: nothing is started or changed
    #[arg(long)]
    pub(super) plan: bool,

    /// Form of the plan
    #[arg(long, value_name = "FORM", default_value = "jsonl")]
    pub(super) plan_format: PlanFormatArgument,

    #[command(flatten)]
    pub(super) replay: ReplayArguments,

    #[command(flatten)]
    pub(super) files: OutputArguments,

    /// Hand what would be written to the process that started this one, in this document
    #[arg(long, value_name = "FILE", hide = true)]
    pub(super) hand_over: Option<PathBuf>,

    #[command(flatten)]
    pub(super) dispatch: DispatchArguments,

    #[command(flatten)]
    pub(super) shards: ShardArguments,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  op-replay MatMulV2 --database-path db --plan            # what the rows become
  op-replay MatMulV2 --database-path db --results r.json  # measure on this CPU
  op-replay Add --csv Add.csv --backend torch-cpu --repeat-count 5
  op-replay Sort --csv Sort.csv --backend npu --msprof --output prof
  op-replay MatMulV2 --database-path db --results r.json --shard 3/8

Exit status: 0 done, 1 failed, 2 wrong usage.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PlanFormatArgument {
    /// One object per line
    Jsonl,
    /// One array
    Json,
}

impl Arguments {
    /// Refuses options that a part of the rows has no meaning for.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let contradictions = [
            (self.plan, "--plan shows all rows, without --shard"),
            (self.list, "--list measures nothing, without --shard"),
            (self.files.dump_outputs.is_some(), "--dump-outputs does not go with --shard"),
            (self.files.journal.is_some(), "--journal does not go with --shard, which keeps one itself"),
            (self.files.msprof, "--msprof does not go with --shard; start-microbench profiles shards"),
        ];
        match contradictions.into_iter().find(|(holds, _)| self.shards.is_given() && *holds) {
            Some((_, reason)) => Err(Failure::usage(reason)),
            None => Ok(()),
        }
    }

    /// The settings of the run.
    pub(super) fn settings(&self, operator: &Operator, database: &Path) -> Result<RunSettings, Failure> {
        let (backend, is_default) = self.replay.backend(Backend::Native)?;
        if is_default && !self.plan {
            warn_of_host(&visibility(Backend::Npu));
        }
        let output = self.files.output.clone().unwrap_or_else(|| database.to_owned());
        let mut settings = self.replay.settings(backend, output, run_id(self.files.run_id.as_deref()))?;
        settings.tool = "op-replay";
        settings.update_mode = self.update_mode;
        self.files.apply(&mut settings);
        settings.hand_over = self.hand_over.clone();
        self.dispatch.apply(&mut settings, "")?;
        // An operator with a default of its own does not look at the variable.
        if self.repeat_count.is_some() || operator.own_repeat_count.is_none() {
            settings.repeats = repeat_count(self.repeat_count)?;
        }
        Ok(settings)
    }
}
