//! The command line of start-microbench.

use crate::Failure;
use crate::database::{DATABASE_OPTIONS, DatabaseArguments, LockArguments};
use crate::replay::{DispatchPrefixedArguments, ReplayArguments, repeat_count, run_id, stopped_run_of_all};
use crate::shards::ShardArguments;
use crate::update_mode::{DEFAULT_UPDATE_MODE, update_mode};
use clap::Parser;
use perfdb_replay::backend::Backend;
use perfdb_replay::error::Error;
use perfdb_replay::microbench::msprof::ReplayCommand;
use perfdb_replay::operator::PlanOptions;
use perfdb_replay::operators::suggestion;
use perfdb_replay::settings::{Launch, Repeats, RunSettings};
use perfdb_store::kernel::{REPLAYABLE, operator_name};
use perfdb_store::update::Mode;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Names, without dashes, of the options that the original had.
pub(super) fn original_options() -> Vec<&'static str> {
    let mut names = DATABASE_OPTIONS.to_vec();
    names.extend(["ops", "prof-path", "update-mode", "repeat-count", "prune-empty-duration-rows", "fail-fast"]);
    names.extend(DispatchPrefixedArguments::NAMES);
    names
}

/// Measure every case of a database again and write durations and hardware counters back into its tables.
///
/// With --prof-path an existing profile is written back and nothing is started. A report goes to stdout and to
/// `<database>/reports/`.
#[derive(Debug, Clone, Parser)]
#[command(name = "start-microbench", after_help = after_help(), mut_arg("backend", |argument| argument.help("Who measures: npu (under msprof), native, torch-cpu or torch-cuda [default: $PERFDB_REPLAY_BACKEND, else npu]")))]
pub(super) struct Arguments {
    /// Only these operators
    #[arg(long, alias = "op", num_args = 1.., value_name = "OP", action = clap::ArgAction::Set)]
    pub ops: Option<Vec<String>>,

    /// Write an existing profile back (a PROF_* directory, or one that contains some) and start nothing
    #[arg(long, value_name = "DIR")]
    pub prof_path: Option<OsString>,

    /// Which rows may change: all matched ones (and unmatched samples become rows), or only rows without a duration
    #[arg(long, default_value = DEFAULT_UPDATE_MODE, value_name = "MODE", value_parser = update_mode())]
    pub update_mode: Mode,

    /// Remove rows that have no valid duration afterwards; they are listed in the report
    #[arg(long)]
    pub prune_empty_duration_rows: bool,

    /// Compute and print the report and what would change, write nothing (only with --prof-path)
    #[arg(long)]
    pub dry_run: bool,

    /// Write a summary as JSON to FILE; - = stdout, instead of the report
    #[arg(long, value_name = "FILE")]
    pub json: Option<OsString>,

    /// Also write the report as one HTML page with charts and all rows
    #[arg(long, value_name = "FILE")]
    pub html: Option<OsString>,

    /// Record in the database's database.toml that NAME has measured these kernel types now, and how
    #[arg(long, value_name = "NAME")]
    pub measured_by: Option<String>,

    /// Fail where the database folder is not there, in place of making a new one
    #[arg(long)]
    pub must_exist: bool,

    /// Write reports also where `reports/` is a link that leads out of the database
    #[arg(long)]
    pub follow_links: bool,

    /// Accept durations measured on another device than this database's
    #[arg(long)]
    pub allow_foreign_times: bool,

    /// Times that every case is replayed; 0 = the replay's own default
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Replay")]
    pub repeat_count: i64,

    /// Stop at the first operator that fails
    #[arg(long, help_heading = "Replay")]
    pub fail_fast: bool,

    /// Continue the newest preserved msprof_run_* of this database
    #[arg(long, help_heading = "Replay")]
    pub resume: bool,

    /// Expert-parallel size of DispatchFFNCombine, also the EP Size of its rows
    #[arg(long, default_value_t = 16, value_name = "N", help_heading = "Replay")]
    pub dispatch_ffn_combine_ep_size: i64,

    /// Processes per node for DispatchFFNCombine [default: its expert-parallel size]
    #[arg(long, value_name = "N", help_heading = "Replay")]
    pub dispatch_ffn_combine_nproc_per_node: Option<i64>,

    /// Nodes for DispatchFFNCombine
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Replay")]
    pub dispatch_ffn_combine_nnodes: i64,

    /// Number of this node for DispatchFFNCombine
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "Replay")]
    pub dispatch_ffn_combine_node_rank: i64,

    /// Address of the first node for DispatchFFNCombine
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS", help_heading = "Replay")]
    pub dispatch_ffn_combine_master_addr: String,

    /// Port of the first node for DispatchFFNCombine [default: a free one]
    #[arg(long, value_name = "PORT", help_heading = "Replay")]
    pub dispatch_ffn_combine_master_port: Option<i64>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub replay: ReplayArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub lock: LockArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub database: DatabaseArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub shards: ShardArguments,
}

impl Arguments {
    /// Whether the summary takes stdout, so that everything else has to go to stderr.
    pub(super) fn json_on_stdout(&self) -> bool {
        self.json.as_deref().is_some_and(|file| file == "-")
    }

    /// The file of the summary, if it goes to one.
    pub(super) fn json_file(&self) -> Option<&OsStr> {
        self.json.as_deref().filter(|_| !self.json_on_stdout())
    }

    /// Arguments of the program that replays, besides its output and its operators.
    pub(super) fn replay_command(&self, program: Vec<OsString>) -> ReplayCommand {
        let mut database: Vec<OsString> = Vec::new();
        match &self.database.database_path {
            Some(path) => database.extend(["--database-path".into(), path.clone()]),
            None => {
                let device = self.database.named_device().unwrap_or_default();
                database.extend(["--device".into(), device.name().into()]);
                let versions = [
                    ("--vllm-version", &self.database.vllm_version),
                    ("--torch-version", &self.database.torch_version),
                    ("--cann-version", &self.database.cann_version),
                ];
                for (name, version) in versions {
                    database.extend(version.iter().flat_map(|version| [name.into(), version.as_str().into()]));
                }
            }
        }
        ReplayCommand {
            program,
            fail_fast: self.fail_fast,
            database,
            repeat_count: self.repeat_count,
            update_mode: self.update_mode.name(),
            ep_size: self.dispatch_ffn_combine_ep_size,
            per_node: self.dispatch_ffn_combine_nproc_per_node,
            nodes: self.dispatch_ffn_combine_nnodes,
            node_rank: self.dispatch_ffn_combine_node_rank,
            master_addr: self.dispatch_ffn_combine_master_addr.clone(),
            master_port: self.dispatch_ffn_combine_master_port,
            further: self.replay.given(),
        }
    }

    /// The settings of a run in this process, which the command line of run-all-op stands for.
    pub(super) fn settings(&self, backend: Backend) -> Result<RunSettings, Failure> {
        let mut settings = self.replay.settings(backend, PathBuf::new(), run_id(None))?;
        settings.tool = "start-microbench";
        settings.update_mode = self.update_mode;
        settings.lock_timeout = self.lock.lock_timeout;
        if backend == Backend::Npu {
            let flag = u32::try_from(self.repeat_count).ok().filter(|&count| count > 0);
            settings.repeats = Repeats { flag, variable: None };
            return Ok(settings);
        }
        settings.repeats = repeat_count(Some(self.repeat_count).filter(|&count| count != 0))?;
        let number = |name: &str, value: i64| {
            u32::try_from(value)
                .map_err(|_| Failure::lines(vec![format!("--dispatch-ffn-combine-{name}: {value} is out of range")]))
        };
        let defaults = PlanOptions::default();
        let ep_size = number("ep-size", self.dispatch_ffn_combine_ep_size)?;
        settings.dispatch.ep_size = if ep_size == 0 { defaults.ep_size } else { ep_size };
        let port = self.dispatch_ffn_combine_master_port.map(|port| number("master-port", port)).transpose()?;
        let per_node = self.dispatch_ffn_combine_nproc_per_node;
        settings.launch = Launch {
            per_node: per_node.map(|count| number("nproc-per-node", count)).transpose()?,
            nodes: number("nnodes", self.dispatch_ffn_combine_nnodes)?,
            node_rank: number("node-rank", self.dispatch_ffn_combine_node_rank)?,
            master_port: port.and_then(|port| u16::try_from(port).ok()),
            ..settings.launch
        };
        settings.check().map_err(|error| stopped_run_of_all(Error::from(error)))?;
        Ok(settings)
    }

    /// Refuses options that do not go together.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match (&self.prof_path, self.dry_run, self.resume) {
            (None, true, _) => Err(Failure::usage("--dry-run goes with --prof-path only")),
            (Some(_), _, true) => Err(Failure::usage("--resume does not go with --prof-path")),
            (Some(_), ..) if self.shards.is_given() => Err(Failure::usage("--shard measures, without --prof-path")),
            (None, _, true) if self.shards.is_given() => {
                Err(Failure::usage("--resume does not go with --shard: a shard is measured as a whole"))
            }
            _ => Ok(()),
        }
    }

    /// The selected operators in the given order, or none for all.
    pub(super) fn selected_operators(&self) -> Result<Option<Vec<String>>, Failure> {
        let Some(given) = &self.ops else { return Ok(None) };
        let names: Vec<String> = given.iter().map(|name| operator_name(name).to_owned()).collect();
        let mut unknown: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| !REPLAYABLE.contains(name)).collect();
        if unknown.is_empty() {
            return Ok(Some(names));
        }
        unknown.sort_unstable();
        let near: String = unknown.iter().map(|name| suggestion(name)).collect();
        let available = REPLAYABLE.join(", ");
        Err(Failure::usage(format!("Unsupported --ops: {}{near}. Available: {available}", unknown.join(", "))))
    }
}

fn after_help() -> String {
    format!(
        "\
Update modes:
  all           update every matched row, append unmatched samples
  missing-only  fill only rows without a valid duration

Operators: {}

Examples:
  start-microbench db/ --repeat-count 10
  start-microbench db/ --device HOST_CPU --backend native
  start-microbench db/ --prof-path PROF_000001_20260101/ --dry-run
  start-microbench db/ --prof-path PROF_000001_20260101/ --ops MatMulV2 Add
  start-microbench db/ --update-mode missing-only --prune-empty-duration-rows
  start-microbench db/ --shard 3/8    # on one of eight nodes

Exit status: 0 done, 1 failed, 2 wrong usage.",
        REPLAYABLE.join(", ")
    )
}
