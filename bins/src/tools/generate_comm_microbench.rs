//! Plans a grid of collectives, runs it, writes communication tables.

use crate::communication::{
    BenchModeName, Display, RunArguments, collective, data_type, failure, tell_outcome, whole_number,
};
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print, run, warn};
use clap::{Parser, ValueEnum};
use perfdb_comm::aggregate::DispatchOverhead;
use perfdb_comm::bandwidth::to_table;
use perfdb_comm::bench::{Bench, Outcome, Output, collect, several_operators};
use perfdb_comm::collective::Collective;
use perfdb_comm::dtype::DataType;
use perfdb_comm::engine::{Interpreter, Nodes, RankOfLauncher, RunOptions};
use perfdb_comm::plan::PlanRequest;
use perfdb_comm::tables::Destination;
use perfdb_files::replace::{Parents, replace};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "generate-comm-microbench",
    job: Job::MeasureCollectives,
    summary: "plan and measure collectives",
    main,
    command: command_of::<Arguments>,
};

const ORIGINAL_OPTIONS: [&str; 11] = [
    "output-dir",
    "database-path",
    "output-csv",
    "ops",
    "num-devices",
    "topology-tier",
    "grid-shape",
    "dtype",
    "bytes-grid",
    "bench-mode",
    "do-run",
];

/// Measure collectives and write the communication tables (hcom_*.csv) of a database.
///
/// The grid is operators x group sizes x tiers x message sizes. torch.distributed runs it, on NPUs (hccl), CUDA devices
/// (nccl) or plain CPUs (gloo); every result is checked before anything is timed. Without --do-run the tool plans
/// (--plan, --plan-out) or turns raw results into rows (--from-results), which needs neither Python nor a device.
#[derive(Parser)]
#[command(
    name = TOOL.name,
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
struct Arguments {
    /// Directory for the tables, one per operator; made if missing
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,

    /// Another name for --output-dir that implies --do-run
    #[arg(long, value_name = "DIR", conflicts_with = "output_dir")]
    database_path: Option<PathBuf>,

    /// All rows into this one file; only with exactly one operator
    #[arg(long, value_name = "FILE")]
    output_csv: Option<PathBuf>,

    /// Operators, run in this order: all_reduce, all_gather, reduce_scatter, all_to_all [default: all four]
    #[arg(long, value_name = "OP", num_args = 1.., value_parser = collective, action = clap::ArgAction::Set)]
    ops: Option<Vec<Collective>>,

    /// Group sizes
    #[arg(long, value_name = "N", num_args = 1.., default_value = "16", value_parser = whole_number, action = clap::ArgAction::Set)]
    num_devices: Vec<u64>,

    /// Tiers to run for every group size, 0 = outermost [default: the tier of the group's ranks]
    #[arg(long, value_name = "T", num_args = 1.., value_parser = whole_number, action = clap::ArgAction::Set)]
    topology_tier: Option<Vec<u64>>,

    /// Hardware grid, outermost dimension first [default: 48 8 2]
    #[arg(long, value_name = "D", num_args = 1.., value_parser = whole_number, action = clap::ArgAction::Set)]
    grid_shape: Option<Vec<u64>>,

    /// torch.bfloat16, torch.float16, torch.float32 or torch.int8
    #[arg(long, value_name = "NAME", default_value = "torch.bfloat16", value_parser = data_type)]
    dtype: DataType,

    /// Message sizes in bytes [default: powers of two from 1024 to 536870912]
    #[arg(long, value_name = "B", num_args = 1.., value_parser = whole_number, action = clap::ArgAction::Set)]
    bytes_grid: Option<Vec<u64>>,

    /// Timing: the profiler's kernel table (NPU only, elsewhere calls are timed), or around the call
    #[arg(long, value_name = "MODE", default_value = "kernel")]
    bench_mode: BenchModeName,

    /// Really run
    #[arg(long)]
    do_run: bool,

    /// Print the plan as JSON and stop
    #[arg(long)]
    plan: bool,

    /// Write the plan as JSON to FILE and stop
    #[arg(long, value_name = "FILE")]
    plan_out: Option<PathBuf>,

    /// No run: turn the raw results in DIR into rows
    #[arg(long, value_name = "DIR")]
    from_results: Option<PathBuf>,

    /// Where plan, worker, logs and raw results live [default: a temporary folder, removed on success]
    #[arg(long, value_name = "DIR")]
    results_dir: Option<PathBuf>,

    /// Add the time of the serving framework's call chain: `auto` on hccl only
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    dispatch_overhead: Overhead,

    #[command(flatten)]
    run: RunArguments,

    /// Ranks on this node [default: $NPROC, else as few as the plan needs]
    #[arg(long, value_name = "N")]
    nproc: Option<String>,

    /// Number of nodes [default: $NNODES, else 1]
    #[arg(long, value_name = "N")]
    nnodes: Option<String>,

    /// This node, from 0 [default: $NODE_RANK, else 0]
    #[arg(long, value_name = "N")]
    node_rank: Option<String>,

    /// Address of node 0 [default: $MASTER_ADDR, else 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    master_addr: Option<String>,

    /// Port on node 0 [default: $MASTER_PORT, else a free one]
    #[arg(long, value_name = "PORT")]
    master_port: Option<String>,

    /// Timed calls per point (event timing)
    #[arg(long, value_name = "N", default_value = "100", value_parser = at_least_one)]
    iters: u64,

    /// Calls per point before any timing
    #[arg(long, value_name = "N", default_value = "20", value_parser = whole_number)]
    warmup: u64,

    /// Stop sampling a point after this long, never below 5 samples [default: 30 on gloo, none elsewhere]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    point_budget: Option<Duration>,

    /// Longest wait for any one collective
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    timeout: Duration,
}

#[derive(Clone, Copy, ValueEnum)]
enum Overhead {
    Auto,
    On,
    Off,
}

fn at_least_one(text: &str) -> Result<u64, String> {
    whole_number(text).and_then(|number| if number == 0 { Err("must be at least 1".into()) } else { Ok(number) })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let in_range = |duration: &Duration| !duration.is_zero() && duration.as_secs() <= 100_000_000;
    perfdb_files::time::seconds(text).filter(in_range).ok_or_else(|| "not a number of seconds above 0".to_owned())
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &ORIGINAL_OPTIONS, generate)
}

fn generate(arguments: Arguments) -> Result<Status, Failure> {
    let planning = arguments.plan || arguments.plan_out.is_some();
    let running = arguments.do_run || arguments.database_path.is_some();
    if !planning && !running && arguments.from_results.is_none() {
        return Err(Failure::usage("nothing to do: give --do-run, --plan, --plan-out or --from-results"));
    }
    let request = arguments.request();
    request.check().map_err(failure)?;
    let names_one = request.ops.len() == 1 || (arguments.from_results.is_some() && arguments.ops.is_none());
    if arguments.output_csv.is_some() && !names_one {
        return Err(failure(several_operators()));
    }
    if planning {
        let plan = request.plan().map_err(failure)?;
        plan.warnings().iter().for_each(|warning| warn(warning));
        if let Some(path) = &arguments.plan_out {
            replace(path, plan.to_json().as_bytes(), Parents::MustExist)?;
        }
        if arguments.plan {
            print(&plan.to_json())?;
        }
        return Ok(Status::Success);
    }
    let display = Display::default();
    let events = |event| display.show(event);
    let outcome = match &arguments.from_results {
        Some(directory) => collect(directory, &arguments.output(), &events).map_err(failure)?,
        None => {
            let options = arguments.run_options()?;
            let silent = options.rank_of_launcher.as_ref().is_some_and(|rank| rank.rank != 0);
            let events = |event| {
                if !silent {
                    display.show(event)
                }
            };
            let bench = Bench::new(&request, options, arguments.output()).map_err(failure)?;
            bench.plan().warnings().iter().filter(|_| !silent).for_each(|warning| warn(warning));
            let interpreter = Interpreter::find(arguments.run.interpreter().as_ref())?;
            let stop = perfdb_files::interrupt::cooperate().flag();
            bench.run(&interpreter, &events, stop).map_err(failure)?
        }
    };
    tell(&outcome, running || (arguments.output_csv.is_none() && arguments.output_dir.is_none()))
}

fn tell(outcome: &Outcome, with_table: bool) -> Result<Status, Failure> {
    if with_table && !outcome.bandwidths.is_empty() {
        print(&to_table(&outcome.bandwidths))?;
    }
    tell_outcome(outcome);
    Ok(if outcome.is_complete() { Status::Success } else { Status::LimitPassed })
}

impl Arguments {
    fn request(&self) -> PlanRequest {
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

    fn output(&self) -> Output {
        let folder = self.output_dir.clone().or_else(|| self.database_path.clone());
        let file = self.output_csv.clone().map(Destination::File);
        Output {
            destination: file.or(folder.map(Destination::Directory)),
            existing: self.run.existing(),
            report: self.run.report.clone(),
            allow_foreign_times: self.run.allow_foreign_times,
            lock_timeout: self.run.lock.lock_timeout,
            dispatch_overhead: match self.dispatch_overhead {
                Overhead::Auto => DispatchOverhead::Auto,
                Overhead::On => DispatchOverhead::On,
                Overhead::Off => DispatchOverhead::Off,
            },
            tool: "generate-comm-microbench",
        }
    }

    fn run_options(&self) -> Result<RunOptions, Failure> {
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
