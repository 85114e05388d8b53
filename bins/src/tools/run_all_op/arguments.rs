//! The command line of run-all-op.

use super::TOOL;
use crate::Failure;
use crate::database::DatabaseArguments;
use crate::replay::{
    DispatchArguments, DispatchPrefixedArguments, OutputArguments, ReplayArguments, repeat_count, run_id, visibility,
    warn_of_host,
};
use crate::update_mode::{DEFAULT_UPDATE_MODE, update_mode};
use clap::{Args, Parser, ValueEnum};
use perfdb_replay::backend::Backend;
use perfdb_replay::operator::Operator;
use perfdb_replay::settings::RunSettings;
use perfdb_store::update::Mode;
use std::path::{Path, PathBuf};

/// Measure the tables of all operators of a database again, one operator after the other.
#[derive(Debug, Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) database: DatabaseArguments,

    #[command(flatten)]
    pub(super) selection: Selection,

    #[command(flatten)]
    pub(super) dispatch: DispatchPrefixedArguments,

    #[command(flatten)]
    pub(super) replay: ReplayArguments,

    #[command(flatten)]
    pub(super) files: OutputArguments,
}

#[derive(Debug, Args)]
pub(super) struct Selection {
    /// Only these operators; --op is the same option
    #[arg(long, visible_alias = "op", value_name = "NAME", num_args = 1.., action = clap::ArgAction::Set)]
    pub(super) ops: Vec<String>,

    /// Timed runs per row [default: $MSMODELING_OP_REPLAY_REPEAT_COUNT, else 30; DispatchFFNCombine: 20]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) repeat_count: Option<i64>,

    /// Which rows: all, or those without a valid duration
    #[arg(long, value_name = "MODE", default_value = DEFAULT_UPDATE_MODE, value_parser = update_mode())]
    pub(super) update_mode: Mode,

    /// All operators in this process, or a process for each
    #[arg(long, value_name = "MODE", default_value = "inprocess")]
    pub(super) execution_mode: ExecutionMode,

    /// Go on after a failed operator
    #[arg(long)]
    pub(super) continue_on_error: bool,

    /// Which operators ran, failed or had no table, as JSON
    /// [default: $PERFDB_RUN_STATUS, else run_all_op_status.json in the database folder]
    #[arg(long, value_name = "FILE")]
    pub(super) status_file: Option<PathBuf>,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  run-all-op db --continue-on-error
  run-all-op db --ops MatMulV2 RmsNorm --repeat-count 5 --results results.json
  run-all-op db --backend torch-cpu --update-mode missing-only

Exit status: 0 done, 1 failed, 2 wrong usage.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ExecutionMode {
    /// One driver and one executor for all operators
    Inprocess,
    /// A child op-replay for each operator
    Subprocess,
}

impl Arguments {
    /// The settings of the run.
    pub(super) fn settings(&self, operators: &[&'static Operator], database: &Path) -> Result<RunSettings, Failure> {
        let (backend, is_default) = self.replay.backend(Backend::Native)?;
        if is_default {
            warn_of_host(&visibility(Backend::Npu));
        }
        let output = self.files.output.clone().unwrap_or_else(|| database.to_owned());
        let run_id = run_id(self.files.run_id.as_deref());
        let mut settings = self.replay.settings(backend, output, run_id)?;
        settings.tool = "run-all-op";
        settings.update_mode = self.selection.update_mode;
        self.files.apply(&mut settings);
        DispatchArguments::from(&self.dispatch).apply(&mut settings, DispatchPrefixedArguments::PREFIX)?;
        let looks_at_variable = operators.iter().any(|operator| operator.own_repeat_count.is_none());
        if self.selection.repeat_count.is_some() || looks_at_variable {
            settings.repeats = repeat_count(self.selection.repeat_count)?;
        }
        Ok(settings)
    }
}
