//! Options about the files of a run.

use std::path::PathBuf;

use clap::Args;
use perfdb_replay::settings::RunSettings;

use super::variables::path_variable;
use crate::database::LockArguments;

/// Files of a run that op-replay and run-all-op write.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Files")]
pub struct OutputArguments {
    /// Folder of op_summary [default: the database folder; for single files the current one]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Name of the run in the path of op_summary [default: UTC time]
    #[arg(long, value_name = "ID")]
    pub run_id: Option<String>,

    /// Write one result object per row, a JSON array
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,

    /// Write the outputs of the last timed run of each row
    #[arg(long, value_name = "FILE")]
    pub dump_outputs: Option<PathBuf>,

    /// Keep a journal, and pass over rows that it says are done [default: $PERFDB_REPLAY_JOURNAL]
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// Start msprof around the worker (npu only)
    #[arg(long)]
    pub msprof: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub lock: LockArguments,
}

impl OutputArguments {
    /// Puts them into the settings of a run.
    pub fn apply(&self, settings: &mut RunSettings) {
        settings.lock_timeout = self.lock.lock_timeout;
        settings.dump_outputs = self.dump_outputs.is_some();
        settings.worker.msprof = self.msprof;
        settings.journal = self.journal.clone().or_else(|| path_variable("PERFDB_REPLAY_JOURNAL"));
    }
}
