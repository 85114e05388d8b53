//! Options of a run.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use perfdb_replay::accelerators::{choose, visible};
use perfdb_replay::backend::Backend;
use perfdb_replay::error::Error;
use perfdb_replay::removal::InvalidRows;
use perfdb_replay::row_selection::RowSelection;
use perfdb_replay::settings::{Limits, RunSettings, WorkerChoice};

use perfdb_files::shards::Shard;
use perfdb_store::Semantics;

use super::ranges::{integer, time};
use super::variables::{rank_of_launcher, variable, visibility};
use crate::Failure;
use crate::database::default_python;
use crate::semantics::{DEFAULT_SEMANTICS, semantics};
use crate::shards::is_recorded;

/// Options of a run that op-replay, run-all-op and start-microbench have, all of them new.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Running")]
pub struct ReplayArguments {
    /// Who runs the cases: native, torch-cpu, torch-cuda or npu [default: $PERFDB_REPLAY_BACKEND, else native]
    #[arg(long, value_name = "BACKEND")]
    pub backend: Option<Backend>,

    /// Untimed runs before the timed ones [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub warmup: Option<i64>,

    /// Build new inputs before every run [default on npu]
    #[arg(long, overrides_with = "reuse_inputs")]
    pub fresh_inputs: bool,

    /// Build inputs once per row [default on the other backends]
    #[arg(long, overrides_with = "fresh_inputs")]
    pub reuse_inputs: bool,

    /// Seed of random inputs [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Rows that cannot be replayed: drop them into the table's .dropped.csv, or keep them; auto = drop on npu [default: auto]
    #[arg(long, value_name = "MODE")]
    pub invalid_rows: Option<InvalidRowsMode>,

    /// Rows as profilers write them that the original refuses (the axis of ArgMaxV2, the value of MaskedFill): refused too, or run
    #[arg(long, value_name = "SEMANTICS", default_value = DEFAULT_SEMANTICS, value_parser = semantics())]
    pub semantics: Semantics,

    /// Another worker than the shipped one, split into words as a shell does [default: $PERFDB_WORKER]
    #[arg(long, value_name = "CMD")]
    pub worker: Option<OsString>,

    /// Interpreter of the shipped worker [default: $PERFDB_PYTHON, else python3]
    #[arg(long, value_name = "PATH")]
    pub python: Option<OsString>,

    /// Longest time for one row, in seconds [default: 300]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub case_timeout: Option<f64>,

    /// Longest time until a worker greets, in seconds [default: 120]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub worker_start_timeout: Option<f64>,

    /// Restarts of a worker in a run [default: 20]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_restarts: Option<i64>,

    /// Longest line that a worker may write, in MiB: some 20 bytes per dumped value [default: 64]
    #[arg(long, value_name = "MIB", allow_negative_numbers = true)]
    pub worker_line_limit: Option<i64>,

    /// Threads of the native backend [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threads: Option<i64>,

    /// Share the rows among local accelerators 0 to N-1
    #[arg(long, value_name = "N", conflicts_with = "devices", allow_negative_numbers = true)]
    pub num_devices: Option<i64>,

    /// Share the rows among these local accelerators
    #[arg(long, value_name = "I,J,…", value_delimiter = ',')]
    pub devices: Vec<usize>,

    /// Measure the rows of this shard only; tables stay as they are
    #[arg(long, value_name = "I/N", hide = true)]
    pub rows_of_shard: Option<Shard>,
}

/// Values of `--invalid-rows`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum InvalidRowsMode {
    /// Drop on npu, keep elsewhere
    Auto,
    /// Rows whose own fault it is leave their table
    Drop,
    /// All rows stay
    Keep,
}

impl ReplayArguments {
    /// The backend: the option, else the variable, else `default`. Says whether the default was taken.
    pub fn backend(&self, default: Backend) -> Result<(Backend, bool), Failure> {
        if let Some(backend) = self.backend {
            return Ok((backend, false));
        }
        match variable("PERFDB_REPLAY_BACKEND") {
            Some(text) => text
                .parse()
                .map(|backend| (backend, false))
                .map_err(|error| Failure::usage(format!("PERFDB_REPLAY_BACKEND: {error}"))),
            None => Ok((default, true)),
        }
    }

    /// The settings of a run with this backend.
    pub fn settings(&self, backend: Backend, output: PathBuf, run_id: String) -> Result<RunSettings, Failure> {
        let limits = Limits::default();
        let mut settings = RunSettings::new(output, run_id);
        settings.backend = backend;
        settings.warmup = integer("warmup", self.warmup, 0)?.unwrap_or(0);
        settings.fresh_inputs = match (self.fresh_inputs, self.reuse_inputs) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        settings.dispatch.semantics = self.semantics;
        settings.seed = self.seed.unwrap_or(0);
        settings.rows = self.rows_of_shard.map_or(RowSelection::All, RowSelection::Shard);
        settings.invalid_rows = match self.invalid_rows {
            Some(InvalidRowsMode::Drop) => InvalidRows::Drop,
            Some(InvalidRowsMode::Keep) => InvalidRows::Keep,
            Some(InvalidRowsMode::Auto) | None => InvalidRows::Auto,
        };
        settings.threads = integer("threads", self.threads, 1)?.map(|threads| threads as usize);
        settings.devices = self.devices(backend)?;
        settings.worker = WorkerChoice { command: self.worker_command(), python: self.interpreter(), msprof: false };
        settings.limits = Limits {
            case_timeout: time("case-timeout", self.case_timeout)?.unwrap_or(limits.case_timeout),
            worker_start_timeout: time("worker-start-timeout", self.worker_start_timeout)?
                .unwrap_or(limits.worker_start_timeout),
            max_restarts: integer("max-restarts", self.max_restarts, 0)?.unwrap_or(limits.max_restarts),
            worker_line_mib: integer("worker-line-limit", self.worker_line_limit, 1)?.unwrap_or(limits.worker_line_mib),
        };
        settings.launch.rank_of_launcher = rank_of_launcher();
        Ok(settings)
    }

    /// Another worker than the shipped one: the option, else the variable.
    fn worker_command(&self) -> Option<OsString> {
        let is_set = |command: &OsString| !command.is_empty() && !is_recorded();
        self.worker.clone().filter(is_set).or_else(|| std::env::var_os("PERFDB_WORKER").filter(is_set))
    }

    /// The interpreter: the option, else the variable, else `python3`.
    pub fn interpreter(&self) -> OsString {
        self.python.clone().filter(|python| !python.is_empty() && !is_recorded()).unwrap_or_else(default_python)
    }

    fn devices(&self, backend: Backend) -> Result<Vec<String>, Failure> {
        let indices: Vec<usize> = match integer("num-devices", self.num_devices, 1)? {
            // One device without a name is the default one.
            Some(1) => return Ok(Vec::new()),
            Some(number) => (0..number as usize).collect(),
            None => self.devices.clone(),
        };
        let mut distinct = indices.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() < indices.len() {
            return Err(Failure::usage("--devices names a device twice"));
        }
        if indices.is_empty() || (backend.is_host() && indices.len() == 1) {
            return Ok(Vec::new());
        }
        choose(&visible(backend, &visibility(backend)), &indices, backend)
            .map_err(|error| super::stopped(Error::from(error)))
    }
}
