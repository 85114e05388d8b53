//! Options of a run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use perfdb_replay::accelerators::{Visibility, choose, visible};
use perfdb_replay::backend::Backend;
use perfdb_replay::error::Error;
use perfdb_replay::operator::PlanOptions;
use perfdb_replay::removal::InvalidRows;
use perfdb_replay::settings::{Launch, Limits, Repeats, RunSettings, WorkerChoice};

use perfdb_store::update::Mode;

use super::ranges::{integer, port, time};
use crate::Failure;
use crate::database::{LockArguments, default_python};

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

    /// Build inputs anew before every run [default on npu]
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

    /// Another worker than the shipped one, split into words as a shell does [default: $PERFDB_WORKER]
    #[arg(long, value_name = "CMD")]
    pub worker: Option<String>,

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
}

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

/// Options of DispatchFFNCombine as op-replay spells them.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "DispatchFFNCombine only")]
pub struct DispatchArguments {
    /// Ranks that share the experts [default: 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub ep_size: Option<i64>,

    /// Spread tokens evenly over the experts (the default)
    #[arg(long, overrides_with = "no_balanced")]
    pub balanced: bool,

    /// Spread tokens at random
    #[arg(long, overrides_with = "balanced")]
    pub no_balanced: bool,

    /// Largest number of rows that a rank's experts may receive [default: 65536]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_output_size: Option<i64>,

    /// Processes on each node [default: the EP size]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub nproc_per_node: Option<i64>,

    /// Number of nodes [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub nnodes: Option<i64>,

    /// Number of this node [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub node_rank: Option<i64>,

    /// Address of node 0 [default: 127.0.0.1]
    #[arg(long, value_name = "A")]
    pub master_addr: Option<String>,

    /// Port on node 0 [default: a free one on a single node]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub master_port: Option<i64>,
}

impl DispatchArguments {
    /// Whether any of them was given.
    pub fn is_given(&self) -> bool {
        self.ep_size.is_some()
            || self.balanced
            || self.no_balanced
            || self.max_output_size.is_some()
            || self.nproc_per_node.is_some()
            || self.nnodes.is_some()
            || self.node_rank.is_some()
            || self.master_addr.is_some()
            || self.master_port.is_some()
    }

    /// Puts them into the settings of a run. `prefix` stands before their names on this tool's command line.
    pub fn apply(&self, settings: &mut RunSettings, prefix: &str) -> Result<(), Failure> {
        let integer = |name: &str, value, least| super::ranges::integer(&format!("{prefix}{name}"), value, least);
        let defaults = PlanOptions::default();
        settings.dispatch = PlanOptions {
            ep_size: integer("ep-size", self.ep_size, 1)?.unwrap_or(defaults.ep_size),
            balanced: !self.no_balanced,
            max_output_size: integer("max-output-size", self.max_output_size, 1)?
                .map_or(defaults.max_output_size, u64::from),
        };
        let launch = Launch::default();
        settings.launch = Launch {
            per_node: integer("nproc-per-node", self.nproc_per_node, 1)?,
            nodes: integer("nnodes", self.nnodes, 1)?.unwrap_or(launch.nodes),
            node_rank: integer("node-rank", self.node_rank, 0)?.unwrap_or(launch.node_rank),
            master_addr: self.master_addr.clone().unwrap_or(launch.master_addr),
            master_port: port(&format!("{prefix}master-port"), self.master_port)?,
            rank_of_launcher: rank_of_launcher(),
        };
        Ok(())
    }
}

/// The rank of this process, where a launcher has started it as one of several.
fn rank_of_launcher() -> Option<u32> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    let is_launched =
        number("WORLD_SIZE").is_some_and(|size| size > 1) || variable("_DFC_AUTO_TORCHRUN").as_deref() == Some("1");
    is_launched.then(|| number("RANK").unwrap_or(0))
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
        settings.seed = self.seed.unwrap_or(0);
        settings.invalid_rows = match self.invalid_rows {
            Some(InvalidRowsMode::Drop) => InvalidRows::Drop,
            Some(InvalidRowsMode::Keep) => InvalidRows::Keep,
            Some(InvalidRowsMode::Auto) | None => InvalidRows::Auto,
        };
        settings.threads = integer("threads", self.threads, 1)?.map(|threads| threads as usize);
        settings.devices = self.devices(backend)?;
        settings.worker = WorkerChoice {
            command: self.worker.clone().filter(|command| !command.is_empty()).or_else(|| variable("PERFDB_WORKER")),
            python: self.interpreter(),
            msprof: false,
        };
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

    /// The interpreter: the option, else the variable, else `python3`.
    pub fn interpreter(&self) -> OsString {
        self.python.clone().filter(|python| !python.is_empty()).unwrap_or_else(default_python)
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

/// What the environment says about the accelerators of a backend.
pub fn visibility(backend: Backend) -> Visibility {
    Visibility {
        number: variable("PERFDB_VISIBLE_NPUS"),
        limited_to: backend.visible_devices_variable().and_then(variable),
    }
}

/// The value of an environment variable; an empty one counts as unset.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(|value| value.to_string_lossy().into_owned())
}

/// The path in an environment variable; an empty one counts as unset.
pub(crate) fn path_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Timed runs per row, from `--repeat-count` and the environment.
pub fn repeat_count(flag: Option<i64>) -> Result<Repeats, Failure> {
    const VARIABLE: &str = "MSMODELING_OP_REPLAY_REPEAT_COUNT";
    if let Some(count) = integer("repeat-count", flag, 1)? {
        return Ok(Repeats { flag: Some(count), variable: None });
    }
    let Some(text) = variable(VARIABLE).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()) else {
        return Ok(Repeats::default());
    };
    match text.parse::<u32>() {
        Ok(count) if count >= 1 => Ok(Repeats { flag: None, variable: Some(count) }),
        _ => Err(Failure::lines(vec![format!("{VARIABLE}: {text:?} is no integer from 1 up")])),
    }
}

/// The name of a run: the option, else the time (of `SOURCE_DATE_EPOCH`, where that is set) in UTC.
pub fn run_id(option: Option<&str>) -> String {
    if let Some(id) = option.filter(|id| !id.is_empty()) {
        return id.to_owned();
    }
    let fixed = variable("SOURCE_DATE_EPOCH").and_then(|text| text.trim().parse::<u64>().ok());
    let time = fixed.map_or_else(SystemTime::now, |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    perfdb_files::time::utc_text(time).chars().filter(char::is_ascii_digit).collect()
}

/// Values of `--update-mode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum UpdateModeArgument {
    /// Every row
    #[default]
    All,
    /// Rows without a valid duration
    MissingOnly,
}

impl From<UpdateModeArgument> for Mode {
    fn from(mode: UpdateModeArgument) -> Mode {
        match mode {
            UpdateModeArgument::All => Mode::All,
            UpdateModeArgument::MissingOnly => Mode::MissingOnly,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_by_its_time() {
        assert_eq!(run_id(Some("x")), "x");
        assert_eq!(run_id(None).len(), 14);
    }

    #[test]
    fn a_flag_below_one_is_refused() {
        assert!(repeat_count(Some(0)).is_err() && repeat_count(Some(-3)).is_err());
        assert_eq!(repeat_count(Some(7)).ok(), Some(Repeats { flag: Some(7), variable: None }));
    }
}
