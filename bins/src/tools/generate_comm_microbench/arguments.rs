//! The command line of generate-comm-microbench.

use crate::Failure;
use crate::communication::{BenchModeName, RunArguments, collective, count, data_type, failure};
use clap::{Parser, ValueEnum};
use perfdb_comm::aggregate::DispatchOverhead;
use perfdb_comm::bench::Output;
use perfdb_comm::collective::Collective;
use perfdb_comm::dtype::CollectiveDType;
use perfdb_comm::engine::{Nodes, RankOfLauncher, RunOptions};
use perfdb_comm::plan::PlanRequest;
use perfdb_comm::tables::Destination;
use std::path::PathBuf;
use std::time::Duration;

/// Measure collectives and write the communication tables (hcom_*.csv) of a database.
///
/// The grid is operators x group sizes x tiers x message sizes. torch.distributed runs it, on NPUs (hccl), CUDA devices
/// (nccl) or plain CPUs (gloo); every result is checked before anything is timed. Without --do-run the tool plans
/// (--plan, --plan-out) or turns raw results into rows (--from-results), which needs neither Python nor a device.
#[derive(Parser)]
#[command(
    name = super::TOOL.name,
    after_help = "Exit status: 0 = every point has a row, 3 = some have none (each is named), 1 = nothing written, 2 = usage.

Examples:
  What would be measured
    generate-comm-microbench --plan --ops all_reduce --num-devices 16 8

  A small run on the CPUs of a laptop
    generate-comm-microbench --do-run --backend gloo --bench-mode event \\
        --num-devices 4 2 --grid-shape 2 2 --bytes-grid 1024 65536 1048576 \\
        --output-dir out --report out/report.csv

  All operators on one NPU server, 16 ranks
    generate-comm-microbench --do-run --num-devices 16 8 4 2 \\
        --output-dir data/ATLAS_800_A3_752T_128G_DIE/hccl/v8.5

  Rows from the raw results of a run that broke off
    generate-comm-microbench --from-results /tmp/perfdb-comm-x1 \\
        --output-dir out"
)]
pub(super) struct Arguments {
    /// Directory for the tables, one per operator; made if missing
    #[arg(long, value_name = "DIR")]
    pub(super) output_dir: Option<PathBuf>,

    /// Another name for --output-dir that implies --do-run
    #[arg(long, value_name = "DIR", conflicts_with = "output_dir")]
    pub(super) database_path: Option<PathBuf>,

    /// All rows into this one file; only with exactly one operator
    #[arg(long, value_name = "FILE")]
    pub(super) output_csv: Option<PathBuf>,

    /// Operators, run in this order: all_reduce, all_gather, reduce_scatter, all_to_all [default: all four]
    #[arg(long, value_name = "OP", num_args = 1.., value_parser = collective, action = clap::ArgAction::Set)]
    pub(super) ops: Option<Vec<Collective>>,

    /// Group sizes
    #[arg(long, value_name = "N", num_args = 1.., default_value = "16", value_parser = count, action = clap::ArgAction::Set)]
    pub(super) num_devices: Vec<u64>,

    /// Tiers to run for every group size, 0 = outermost [default: the tier of the group's ranks]
    #[arg(long, value_name = "T", num_args = 1.., value_parser = count, action = clap::ArgAction::Set)]
    pub(super) topology_tier: Option<Vec<u64>>,

    /// Hardware grid, outermost dimension first [default: 48 8 2]
    #[arg(long, value_name = "D", num_args = 1.., value_parser = count, action = clap::ArgAction::Set)]
    pub(super) grid_shape: Option<Vec<u64>>,

    /// torch.bfloat16, torch.float16, torch.float32 or torch.int8
    #[arg(long, value_name = "NAME", default_value = "torch.bfloat16", value_parser = data_type)]
    pub(super) dtype: CollectiveDType,

    /// Message sizes in bytes [default: powers of two from 1024 to 536870912]
    #[arg(long, value_name = "B", num_args = 1.., value_parser = count, action = clap::ArgAction::Set)]
    pub(super) bytes_grid: Option<Vec<u64>>,

    /// Timing: the profiler's kernel table (NPU only, elsewhere calls are timed), or around the call
    #[arg(long, value_name = "MODE", default_value = "kernel")]
    pub(super) bench_mode: BenchModeName,

    /// Really run
    #[arg(long)]
    pub(super) do_run: bool,

    /// Print the plan as JSON and stop
    #[arg(long)]
    pub(super) plan: bool,

    /// Write the plan as JSON to FILE and stop
    #[arg(long, value_name = "FILE")]
    pub(super) plan_out: Option<PathBuf>,

    /// No run: turn the raw results in DIR into rows
    #[arg(long, value_name = "DIR")]
    pub(super) from_results: Option<PathBuf>,

    /// Also write one HTML page with bandwidths and times over the size of the messages
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plan", "plan_out"])]
    pub(super) html: Option<PathBuf>,

    /// Where plan, worker, logs and raw results live [default: a temporary folder, removed on success]
    #[arg(long, value_name = "DIR")]
    pub(super) results_dir: Option<PathBuf>,

    /// Add the time of the serving framework's call chain: `auto` on hccl only
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(super) dispatch_overhead: Overhead,

    #[command(flatten)]
    pub(super) run: RunArguments,

    /// Ranks on this node [default: $NPROC, else as few as the plan needs]
    #[arg(long, value_name = "N")]
    pub(super) nproc: Option<String>,

    /// Number of nodes [default: $NNODES, else 1]
    #[arg(long, value_name = "N")]
    pub(super) nnodes: Option<String>,

    /// This node, from 0 [default: $NODE_RANK, else 0]
    #[arg(long, value_name = "N")]
    pub(super) node_rank: Option<String>,

    /// Address of node 0 [default: $MASTER_ADDR, else 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    pub(super) master_addr: Option<String>,

    /// Port on node 0 [default: $MASTER_PORT, else a free one]
    #[arg(long, value_name = "PORT")]
    pub(super) master_port: Option<String>,

    /// Timed calls per point (event timing)
    #[arg(long, value_name = "N", default_value = "100", value_parser = at_least_one)]
    pub(super) iters: u64,

    /// Calls per point before any timing
    #[arg(long, value_name = "N", default_value = "20", value_parser = count)]
    pub(super) warmup: u64,

    /// Stop sampling a point after this long, never below 5 samples [default: 30 on gloo, none elsewhere]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(super) point_budget: Option<Duration>,

    /// Longest wait for any one collective
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    pub(super) timeout: Duration,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Overhead {
    Auto,
    On,
    Off,
}

fn at_least_one(text: &str) -> Result<u64, String> {
    count(text).and_then(|number| if number == 0 { Err("must be at least 1".into()) } else { Ok(number) })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let in_range = |duration: &Duration| !duration.is_zero() && duration.as_secs() <= 100_000_000;
    perfdb_files::time::seconds(text).filter(in_range).ok_or_else(|| "not a number of seconds above 0".to_owned())
}

impl Arguments {
    /// The grid that is asked for.
    pub(super) fn request(&self) -> PlanRequest {
        let built_in = PlanRequest::default();
        PlanRequest {
            ops: self.ops.clone().unwrap_or(built_in.ops),
            num_devices: self.num_devices.clone(),
            topology_tier: self.topology_tier.clone(),
            grid_shape: self.grid_shape.clone().unwrap_or(built_in.grid_shape),
            dtype: self.dtype,
            bytes_grid: self.bytes_grid.clone().unwrap_or(built_in.bytes_grid),
            bench_mode: self.bench_mode.into(),
        }
    }

    /// Where the rows go.
    pub(super) fn output(&self) -> Result<Output, Failure> {
        let folder = self.output_dir.clone().or_else(|| self.database_path.clone());
        let file = self.output_csv.clone().map(Destination::File);
        if self.run.measured_by.is_some() && (folder.is_none() || file.is_some()) {
            return Err(Failure::usage(
                "--measured-by: database.toml is written next to the tables of --output-dir DIR",
            ));
        }
        Ok(Output {
            destination: file.or(folder.map(Destination::Directory)),
            existing: self.run.existing(),
            report: self.run.report.clone(),
            page: None,
            allow_foreign_times: self.run.allow_foreign_times,
            lock_timeout: self.run.lock.lock_timeout,
            dispatch_overhead: match self.dispatch_overhead {
                Overhead::Auto => DispatchOverhead::Auto,
                Overhead::On => DispatchOverhead::On,
                Overhead::Off => DispatchOverhead::Off,
            },
            tool: super::TOOL.name,
            run: self.run.run_of(super::TOOL.name)?,
        })
    }

    /// How the plan is to be run, by flags and variables.
    pub(super) fn run_options(&self) -> Result<RunOptions, Failure> {
        let variable = |name: &str| std::env::var(name).ok();
        let rank_of_launcher = RankOfLauncher::new(variable).map_err(failure)?;
        let nodes = match &rank_of_launcher {
            Some(_) => Nodes::default(),
            None => Nodes::new(
                (self.nnodes.clone(), variable("NNODES")),
                (self.node_rank.clone(), variable("NODE_RANK")),
                (self.master_addr.clone(), variable("MASTER_ADDR")),
                (self.master_port.clone(), variable("MASTER_PORT")),
                (self.nproc.clone(), variable("NPROC")),
            )
            .map_err(failure)?,
        };
        Ok(RunOptions {
            backend: self.run.backend(),
            launcher: self.run.launcher(),
            nodes,
            rank_of_launcher,
            iters: self.iters,
            warmup: self.warmup,
            point_budget: self.point_budget,
            timeout: self.timeout,
            results_dir: self.results_dir.clone(),
        })
    }
}
