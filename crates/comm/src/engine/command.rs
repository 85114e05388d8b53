//! The commands that start the ranks, and the folder that they work in.

use super::interpreter::Interpreter;
use super::options::{Nodes, RankOfLauncher, RunOptions};
use super::processes::RUN_VARIABLE;
use crate::backend::Backend;
use crate::error::Error;
use crate::plan::Plan;
use crate::results::Timing;
use perfdb_files::process;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const WORKER: &str = include_str!("worker.py");

/// What starts the ranks of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaunchKind {
    /// `python -m torch.distributed.run`
    Torchrun,
    /// One process per rank, by us.
    Direct,
    /// Another launcher has started us as one rank.
    Inside,
}

/// The results folder of a run.
#[derive(Debug)]
pub(crate) struct RunFolder {
    pub(crate) path: PathBuf,
}

impl RunFolder {
    /// Puts plan and worker into the folder.
    pub(crate) fn prepare(path: &Path, plan: &Plan) -> Result<Self, Error> {
        let write = |name: &str, text: &str| {
            let file = path.join(name);
            perfdb_files::replace::replace(&file, text.as_bytes(), perfdb_files::replace::Parents::MustExist)
        };
        write("plan.json", &plan.to_json())?;
        write("worker.py", WORKER)?;
        let logs = path.join("logs");
        std::fs::create_dir_all(&logs).map_err(|e| Error::io(logs, e))?;
        Ok(Self { path: path.to_owned() })
    }

    /// The log of the launcher, or of one rank.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.path.join("logs").join(format!("{name}.log"))
    }
}

/// A start of the ranks of this node.
pub(crate) struct Start<'a> {
    pub(crate) interpreter: &'a Interpreter,
    pub(crate) folder: &'a RunFolder,
    pub(crate) options: &'a RunOptions,
    pub(crate) backend: Backend,
    pub(crate) timing: Timing,
    pub(crate) skip: &'a [usize],
    pub(crate) nproc: u64,
    pub(crate) port: u16,
    pub(crate) mark: &'a str,
}

impl Start<'_> {
    /// Starts the processes: each with the log it writes to.
    pub(crate) fn spawn(&self, kind: LaunchKind) -> Result<Vec<(Child, PathBuf)>, Error> {
        match kind {
            LaunchKind::Torchrun => self.torchrun().map(|started| vec![started]),
            LaunchKind::Inside => {
                let rank = self.options.rank_of_launcher.as_ref().map_or(0, |rank| rank.rank);
                self.start(self.worker(), &format!("rank{rank}")).map(|started| vec![started])
            }
            LaunchKind::Direct => {
                let mut started = Vec::new();
                for local_rank in 0..self.nproc {
                    match self.direct(local_rank) {
                        Ok(rank) => started.push(rank),
                        Err(error) => {
                            super::processes::end_all(self.mark);
                            return Err(error);
                        }
                    }
                }
                Ok(started)
            }
        }
    }

    fn torchrun(&self) -> Result<(Child, PathBuf), Error> {
        let Nodes { count, rank, master_addr, .. } = &self.options.nodes;
        let mut command = Command::new(&self.interpreter.program);
        command.args(["-m", "torch.distributed.run"]);
        for (flag, value) in [
            ("--nnodes", count.to_string()),
            ("--node_rank", rank.to_string()),
            ("--master_addr", master_addr.clone()),
            ("--master_port", self.port.to_string()),
            ("--nproc_per_node", self.nproc.to_string()),
        ] {
            command.args([flag, &value]);
        }
        if self.interpreter.torchrun_needs_redirects() {
            command.args(["--redirects", "1", "--tee", "1", "--log_dir"]).arg(self.folder.path.join("logs"));
        }
        command.arg(self.folder.path.join("worker.py"));
        self.add_worker_arguments(&mut command);
        for name in ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"] {
            command.env_remove(name);
        }
        self.start(command, "torchrun")
    }

    fn direct(&self, local_rank: u64) -> Result<(Child, PathBuf), Error> {
        let nodes = &self.options.nodes;
        let rank = nodes.rank * self.nproc + local_rank;
        let mut command = self.worker();
        command
            .env("RANK", rank.to_string())
            .env("LOCAL_RANK", local_rank.to_string())
            .env("WORLD_SIZE", (nodes.count * self.nproc).to_string())
            .env("LOCAL_WORLD_SIZE", self.nproc.to_string())
            .env("MASTER_ADDR", &nodes.master_addr)
            .env("MASTER_PORT", self.port.to_string())
            .env_remove("TORCHELASTIC_USE_AGENT_STORE");
        self.start(command, &format!("rank{rank}"))
    }

    fn worker(&self) -> Command {
        let mut command = Command::new(&self.interpreter.program);
        command.arg(self.folder.path.join("worker.py"));
        self.add_worker_arguments(&mut command);
        command
    }

    fn add_worker_arguments(&self, command: &mut Command) {
        let options = self.options;
        let budget = match (options.point_budget, self.backend) {
            (Some(budget), _) => budget.as_secs_f64(),
            (None, Backend::Gloo) => 30.0,
            (None, _) => 0.0,
        };
        let timing = match self.timing {
            Timing::Event => "event",
            Timing::Profiler => "profiler",
        };
        let skip: Vec<String> = self.skip.iter().map(ToString::to_string).collect();
        command.arg(&self.folder.path);
        for (flag, value) in [
            ("--backend", self.backend.name().to_owned()),
            ("--timing", timing.to_owned()),
            ("--iters", options.iters.to_string()),
            ("--warmup", options.warmup.to_string()),
            ("--point-budget", budget.to_string()),
            ("--timeout", options.timeout.as_secs_f64().to_string()),
            ("--skip", skip.join(",")),
            ("--supervisor", std::process::id().to_string()),
        ] {
            command.arg(format!("{flag}={value}"));
        }
    }

    fn start(&self, mut command: Command, log_name: &str) -> Result<(Child, PathBuf), Error> {
        let path = self.folder.log(log_name);
        let log = File::create(&path).map_err(|e| Error::io(&path, e))?;
        let also = log.try_clone().map_err(|e| Error::io(&path, e))?;
        command.env(RUN_VARIABLE, self.mark).env("PYTHONUNBUFFERED", "1");
        let single_node = match &self.options.rank_of_launcher {
            Some(rank) => rank.local_world_size == rank.world_size,
            None => self.options.nodes.count == 1,
        };
        if self.backend == Backend::Gloo && single_node {
            set_default(&mut command, "GLOO_SOCKET_IFNAME", loopback());
        }
        set_default(&mut command, "OMP_NUM_THREADS", "1");
        // A process group of its own: Ctrl-C reaches us alone, and we end the run in order.
        command.stdin(Stdio::null()).stdout(log).stderr(also).process_group(0);
        let program = command.get_program().to_owned();
        tracing::info!(command = ?command, log = %path.display(), "starting");
        let child = process::spawn(&mut command).map_err(|e| Error::io(program, e))?;
        Ok((child, path))
    }

    /// Ranks of this node.
    pub(crate) fn local_ranks(&self) -> Vec<u64> {
        match &self.options.rank_of_launcher {
            Some(RankOfLauncher { rank, .. }) => vec![*rank],
            None => {
                let first = self.options.nodes.rank * self.nproc;
                (first..first + self.nproc).collect()
            }
        }
    }
}

fn set_default(command: &mut Command, name: &str, value: &str) {
    if std::env::var_os(name).is_none() {
        command.env(name, value);
    }
}

/// The name of the loopback interface.
fn loopback() -> &'static str {
    if cfg!(target_os = "macos") { "lo0" } else { "lo" }
}

/// A port that is free now.
pub(crate) fn free_port() -> Result<u16, Error> {
    perfdb_files::network::free_port().map_err(|error| Error::RunFailed(format!("no free port: {error}")))
}
