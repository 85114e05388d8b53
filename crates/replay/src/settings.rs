//! How a run is made: the options that op-replay, run-all-op and start-microbench share.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::backend::Backend;
use crate::operator::{Operator, PlanOptions};
use crate::operators::DISPATCH_FFN_COMBINE;
use crate::plan::PlanSettings;
use crate::removal::InvalidRows;
use crate::row_selection::RowSelection;
pub use crate::settings_error::SettingsError;
use perfdb_store::update::Mode;

/// Options of a run. `RunSettings::new` has the defaults of the command line.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Who runs the cases.
    pub backend: Backend,
    /// Which rows by their durations.
    pub update_mode: Mode,
    /// Which of these.
    pub rows: RowSelection,
    /// Timed runs per row.
    pub repeats: Repeats,
    /// Untimed runs before them.
    pub warmup: u32,
    /// Build new inputs before every run; `None` means on `npu` alone.
    pub fresh_inputs: Option<bool>,
    /// Seed of random inputs.
    pub seed: u64,
    /// Which rows may leave a table.
    pub invalid_rows: InvalidRows,
    /// Threads of the `native` backend; `None` means all cores.
    pub threads: Option<usize>,
    /// Local accelerators that share the rows, as the driver names them; empty means the default device alone.
    pub devices: Vec<String>,
    /// The worker of the other backends.
    pub worker: WorkerChoice,
    /// Supervision of executors.
    pub limits: Limits,
    /// Folder of op_summary.
    pub output: PathBuf,
    /// Name of the run in op_summary's path.
    pub run_id: String,
    /// Keep the outputs of the last timed run.
    pub dump_outputs: bool,
    /// Journal of the run.
    pub journal: Option<PathBuf>,
    /// Hand the files of the run to the process that started it, in this document, instead of writing them.
    pub hand_over: Option<PathBuf>,
    /// How long to wait for the lock of a folder whose table loses rows.
    pub lock_timeout: Duration,
    /// What row rules need besides the row: most of it is of DispatchFFNCombine.
    pub dispatch: PlanOptions,
    /// DispatchFFNCombine: ranks on this node and others.
    pub launch: Launch,
    /// The tool, for the lock's line.
    pub tool: &'static str,
}

/// Timed runs per row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// From the command line.
    pub flag: Option<u32>,
    /// From the environment; does not count for operators with a default of their own.
    pub variable: Option<u32>,
}

/// Timed runs per row by default.
pub(crate) const DEFAULT_REPEATS: u32 = 30;

/// The worker of the backends other than `native`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerChoice {
    /// Another command than the shipped worker.
    pub command: Option<OsString>,
    /// Interpreter of the shipped worker, and of torchrun.
    pub python: OsString,
    /// Start msprof around the worker.
    pub msprof: bool,
}

/// Limits of supervision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest time for one case.
    pub case_timeout: Duration,
    /// Longest time until a worker greets.
    pub worker_start_timeout: Duration,
    /// Restarts per worker in a run.
    pub max_restarts: u32,
    /// Longest line that a worker may write, in MiB.
    pub worker_line_mib: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            case_timeout: Duration::from_secs(300),
            worker_start_timeout: Duration::from_secs(120),
            max_restarts: 20,
            worker_line_mib: 64,
        }
    }
}

/// How the ranks of DispatchFFNCombine are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Processes on each node; `None` means as many as the EP size.
    pub per_node: Option<u32>,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of this node.
    pub node_rank: u32,
    /// Address of node 0.
    pub master_addr: String,
    /// Port on node 0; `None` means a free one, on a single node.
    pub master_port: Option<u16>,
    /// This process is itself one of the ranks that a launcher started; its number.
    pub rank_of_launcher: Option<u32>,
}

impl Default for Launch {
    fn default() -> Launch {
        Launch {
            per_node: None,
            nodes: 1,
            node_rank: 0,
            master_addr: "127.0.0.1".to_owned(),
            master_port: None,
            rank_of_launcher: None,
        }
    }
}

impl RunSettings {
    /// The defaults of the command line, writing below `output` under the name `run_id`.
    pub fn new(output: impl Into<PathBuf>, run_id: impl Into<String>) -> RunSettings {
        RunSettings {
            backend: Backend::Native,
            update_mode: Mode::All,
            rows: RowSelection::All,
            repeats: Repeats::default(),
            warmup: 0,
            fresh_inputs: None,
            seed: 0,
            invalid_rows: InvalidRows::Auto,
            threads: None,
            devices: Vec::new(),
            worker: WorkerChoice { command: None, python: "python3".into(), msprof: false },
            limits: Limits::default(),
            output: output.into(),
            run_id: run_id.into(),
            dump_outputs: false,
            journal: None,
            hand_over: None,
            lock_timeout: perfdb_files::lock::DEFAULT_TIMEOUT,
            dispatch: PlanOptions::default(),
            launch: Launch::default(),
            tool: "op-replay",
        }
    }

    /// Timed runs per row of an operator.
    pub(crate) fn repeat_of(&self, operator: &Operator) -> u32 {
        self.repeats.flag.or(operator.own_repeat_count).or(self.repeats.variable).unwrap_or(DEFAULT_REPEATS)
    }

    /// Timed runs per row of operators without a default of their own.
    pub(crate) fn general_repeat(&self) -> u32 {
        self.repeats.flag.or(self.repeats.variable).unwrap_or(DEFAULT_REPEATS)
    }

    /// Whether new inputs are built before every run.
    pub(crate) fn has_fresh_inputs(&self) -> bool {
        self.fresh_inputs.unwrap_or(self.backend == Backend::Npu)
    }

    /// How the rows of an operator are planned.
    pub fn plan_settings(&self, operator: &Operator) -> PlanSettings {
        PlanSettings {
            update_mode: self.update_mode,
            options: self.dispatch.clone(),
            repeat: self.repeat_of(operator),
            warmup: self.warmup,
            fresh_inputs: self.has_fresh_inputs(),
        }
    }

    /// Whether rows whose own fault it is leave their table.
    pub(crate) fn drops_rows(&self) -> bool {
        if matches!(self.rows, RowSelection::Shard(_)) {
            return false;
        }
        match self.invalid_rows {
            InvalidRows::Auto => self.backend == Backend::Npu,
            InvalidRows::Drop => true,
            InvalidRows::Keep => false,
        }
    }

    /// Of several ranks only the first writes files.
    pub fn writes_files(&self) -> bool {
        self.launch.rank_of_launcher.is_none_or(|rank| rank == 0)
    }

    /// Checks what contradicts itself, before anything is started.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.repeats.flag == Some(0) {
            return Err(SettingsError::NoTimedRuns);
        }
        if self.devices.len() > 1 && self.backend.is_host() {
            return Err(SettingsError::HostHasNoDevices(self.backend));
        }
        if self.run_id.contains(['/', '\\', '\0']) {
            return Err(SettingsError::RunId(self.run_id.clone()));
        }
        if self.worker.msprof && self.backend != Backend::Npu {
            return Err(SettingsError::MsprofWithoutNpu(self.backend));
        }
        Ok(())
    }

    /// True where the cases of an operator run on ranks that this process starts.
    pub(crate) fn starts_ranks(&self, operator: &Operator) -> bool {
        self.backend == Backend::Npu
            && operator.name == DISPATCH_FFN_COMBINE
            && self.dispatch.ep_size > 1
            && self.launch.rank_of_launcher.is_none()
    }

    /// Checks the ranks that this process starts for an operator, if any, against its EP size.
    pub fn check_ranks(&self, operator: &Operator) -> Result<(), SettingsError> {
        if !self.starts_ranks(operator) {
            return Ok(());
        }
        let Launch { nodes, node_rank, master_port, .. } = self.launch;
        let ep_size = self.dispatch.ep_size;
        let per_node = self.launch.per_node.unwrap_or(ep_size);
        if u64::from(per_node) * u64::from(nodes) != u64::from(ep_size) {
            return Err(SettingsError::RankCount { per_node, nodes, ep_size });
        }
        if nodes > 1 && master_port.is_none() {
            return Err(SettingsError::NoPort(nodes));
        }
        if node_rank >= nodes {
            return Err(SettingsError::NodeRank { rank: node_rank, nodes });
        }
        Ok(())
    }
}
