//! The standard collection of communication times: several sessions of the bench, on one node or on many.

use crate::communication::{BenchModeName, Display, RunArguments, data_type, failure, tell_outcome, whole_number};
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, error_line, print, print_error, run, warn};
use clap::Parser;
use perfdb_comm::Error;
use perfdb_comm::bandwidth::{BandwidthRow, to_table};
use perfdb_comm::bench::{Bench, Outcome, Output, report_bytes};
use perfdb_comm::collective::Collective;
use perfdb_comm::dtype::DataType;
use perfdb_comm::engine::{Interpreter, RunOptions};
use perfdb_comm::sessions::{Environment, Mode, Session, SessionOptions, SessionPlan};
use perfdb_comm::tables::{self, Destination, Existing};
use perfdb_files::replace::{Parents, replace};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "run-comm-bench",
    job: Job::MeasureCollectives,
    summary: "measure all collectives of one or many nodes",
    main,
    command: command_of::<Arguments>,
};

/// Collect the communication tables of a machine in the standard sessions of generate-comm-microbench.
///
/// One node: all operators over groups of 16, 8, 4 and 2 ranks. Many nodes (NNODES of 2 or more): all operators over groups
/// of 32 ranks and more, between pods; start it on every node, differing only in NODE_RANK.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "Variables with NNODES of 2 or more (on one node they have no effect):
  NODE_RANK, MASTER_ADDR  needed
  MASTER_PORT             base of the rounds' ports [default: 29700]
  NPROC                   ranks per node [default: 16]
  QUICK=1                 five message sizes instead of 23

Exit status: 0 = all sessions complete, 3 = some are not, 1 = no row at all, 2 = usage.

Examples:
  One NPU server
    run-comm-bench data/ATLAS_800_A3_752T_128G_DIE/hccl/v8.5

  The first of two servers (on the second: NODE_RANK=1)
    NNODES=2 NODE_RANK=0 MASTER_ADDR=10.0.0.1 run-comm-bench out

  A laptop
    run-comm-bench out --backend gloo --bench-mode event --grid-shape 2 2 \\
        --num-devices 4 2 --bytes-grid 1024 65536

OUTPUT_DIR comes before options that take several values, or after `--`."
)]
struct Arguments {
    /// Directory for the tables [default: ./hccl_bench_data; ./hccl_bench_inter_pod_v8.5 with many nodes]
    output_dir: Option<String>,

    /// Print the sessions as JSON and stop
    #[arg(long)]
    plan: bool,

    /// Write the sessions as JSON to FILE and stop
    #[arg(long, value_name = "FILE")]
    plan_out: Option<PathBuf>,

    /// Group sizes, one session per round each (one node only) [default: 16 8 4 2]
    #[arg(long, value_name = "N", num_args = 1.., value_parser = whole_number, action = clap::ArgAction::Set)]
    num_devices: Option<Vec<u64>>,

    /// Message sizes in bytes [default: powers of two from 128 to 536870912]
    #[arg(long, value_name = "B", num_args = 1.., value_parser = whole_number, action = clap::ArgAction::Set)]
    bytes_grid: Option<Vec<u64>>,

    /// Hardware grid, outermost dimension first [default: 48 8 2]
    #[arg(long, value_name = "D", num_args = 1.., value_parser = whole_number, action = clap::ArgAction::Set)]
    grid_shape: Option<Vec<u64>>,

    /// Timing: the profiler's kernel table (NPU only, elsewhere calls are timed), or around the call
    #[arg(long, value_name = "MODE", default_value = "kernel")]
    bench_mode: BenchModeName,

    /// torch.bfloat16, torch.float16, torch.float32 or torch.int8
    #[arg(long, value_name = "NAME", default_value = "torch.bfloat16", value_parser = data_type)]
    dtype: DataType,

    #[command(flatten)]
    run: RunArguments,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], collect)
}

fn environment() -> Environment {
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    Environment {
        nnodes: variable("NNODES"),
        node_rank: variable("NODE_RANK"),
        master_addr: variable("MASTER_ADDR"),
        master_port: variable("MASTER_PORT"),
        nproc: variable("NPROC"),
        quick: variable("QUICK"),
    }
}

fn collect(arguments: Arguments) -> Result<Status, Failure> {
    let options = SessionOptions {
        output_dir: arguments.output_dir.clone().filter(|folder| !folder.is_empty()),
        num_devices: arguments.num_devices.clone(),
        bytes_grid: arguments.bytes_grid.clone(),
        grid_shape: arguments.grid_shape.clone(),
        bench_mode: Some(arguments.bench_mode.into()),
        dtype: Some(arguments.dtype),
    };
    let plan = SessionPlan::new(&environment(), &options).map_err(failure)?;
    plan.warnings.iter().for_each(|warning| warn(warning));
    if arguments.plan || arguments.plan_out.is_some() {
        if let Some(path) = &arguments.plan_out {
            replace(path, plan.to_json().as_bytes(), Parents::MustExist)?;
        }
        if arguments.plan {
            print(&plan.to_json())?;
        }
        return Ok(Status::Success);
    }
    Collection::new(&arguments, &plan)?.run()
}

/// A collection that is going on.
struct Collection<'a> {
    arguments: &'a Arguments,
    plan: &'a SessionPlan,
    folder: &'a Path,
    interpreter: Interpreter,
    stop: &'static AtomicBool,
    bandwidths: Vec<BandwidthRow>,
    complete: usize,
    with_part: usize,
}

impl<'a> Collection<'a> {
    fn new(arguments: &'a Arguments, plan: &'a SessionPlan) -> Result<Self, Failure> {
        let folder = Path::new(&plan.output_dir);
        let destination = Destination::Directory(folder.to_owned());
        tables::check(&destination, &Collective::ALL, arguments.run.existing()).map_err(failure)?;
        if let Some(report) = &arguments.run.report {
            tables::check_file(report).map_err(failure)?;
        }
        let interpreter = Interpreter::find(arguments.run.interpreter().as_ref())?;
        let stop = perfdb_files::interrupt::cooperate().flag();
        Ok(Self { arguments, plan, folder, interpreter, stop, bandwidths: Vec::new(), complete: 0, with_part: 0 })
    }

    fn run(mut self) -> Result<Status, Failure> {
        print(&self.heading())?;
        let total = self.plan.sessions.len();
        for (number, session) in (1..).zip(&self.plan.sessions) {
            print(&format!(
                "[{number}/{total}] {}  port {}  {} ranks per node  {}  {} sizes  {}\n",
                session.description,
                session.master_port,
                session.nproc_per_node,
                session.ops.iter().map(|op| op.name()).collect::<Vec<_>>().join(" "),
                session.bytes_grid.len(),
                now(),
            ))?;
            let begin = Instant::now();
            let outcome = self.session(session);
            let seconds = begin.elapsed().as_secs();
            print(&format!("      {} ({seconds} s)\n", self.told(outcome)))?;
            if self.stop.load(Ordering::Relaxed) {
                return Err(Failure::lines(vec!["ended by a signal; the tables hold the sessions so far".into()]));
            }
        }
        self.summary()
    }

    fn heading(&self) -> String {
        let mode = match self.plan.mode {
            Mode::SingleNode => "single node",
            Mode::MultiNode => "multi-node",
        };
        let first = self.plan.sessions.first();
        let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let mut devices: Vec<u64> = Vec::new();
        for devices_of_session in self.plan.sessions.iter().flat_map(|session| &session.num_devices) {
            if !devices.contains(devices_of_session) {
                devices.push(*devices_of_session);
            }
        }
        format!(
            "Communication bench, {mode}\n  output : {}\n  devices: {}\n  grid   : {}\n  start  : {}\n",
            self.plan.output_dir,
            list(&devices),
            list(first.map_or(&[], |session| &session.grid_shape)),
            now(),
        )
    }

    fn session(&self, session: &Session) -> Result<Outcome, Error> {
        let display = Display::default();
        let events = |event| display.show(event);
        let run = &self.arguments.run;
        let options = RunOptions {
            backend: run.backend(),
            launcher: run.launcher(),
            nodes: session.nodes(),
            ..RunOptions::default()
        };
        let existing = match run.existing() {
            // That no table was there has been checked; by now there may be those of earlier sessions.
            Existing::Error => Existing::Merge,
            other => other,
        };
        let output = Output {
            destination: Some(Destination::Directory(self.folder.to_owned())),
            existing,
            report: None,
            allow_foreign_times: run.allow_foreign_times,
            lock_timeout: run.lock.lock_timeout,
            tool: "run-comm-bench",
            ..Output::default()
        };
        let bench = Bench::new(&session.request(self.arguments.dtype), options, output)?;
        bench.plan().warnings().iter().for_each(|warning| warn(warning));
        bench.run(&self.interpreter, &events, self.stop)
    }

    /// Takes over what a session came to, and says it in a few words.
    fn told(&mut self, outcome: Result<Outcome, Error>) -> String {
        match outcome {
            Ok(mut outcome) => {
                tell_outcome(&outcome);
                let (rows, missing) = (outcome.rows.len(), outcome.missing.len());
                self.bandwidths.append(&mut outcome.bandwidths);
                // Nodes other than the first never have rows.
                self.with_part += usize::from(rows > 0 || outcome.is_complete());
                if !outcome.is_complete() {
                    return format!("incomplete: {rows} rows, {missing} points without one");
                }
                self.complete += 1;
                let shutdown = if outcome.bad_shutdown { ", the launcher died at shutdown" } else { "" };
                format!("ok: {rows} rows{shutdown}")
            }
            Err(error) => {
                let reason = error_line(&error);
                print_error(&reason);
                format!("failed: {reason}")
            }
        }
    }

    fn summary(self) -> Result<Status, Failure> {
        let mut text = format!("End: {}\n", now());
        for op in Collective::ALL {
            let path = self.folder.join(op.table_file());
            if let Some(rows) = tables::count_rows(&path) {
                text.push_str(&format!("  {}: {rows} rows\n", path.display()));
            }
        }
        if let (Some(path), false) = (&self.arguments.run.report, self.bandwidths.is_empty()) {
            replace(path, &report_bytes(path, &self.bandwidths), Parents::Create)?;
        }
        if !self.bandwidths.is_empty() {
            text.push_str(&to_table(&self.bandwidths));
        }
        print(&text)?;
        if self.complete == self.plan.sessions.len() {
            Ok(Status::Success)
        } else if self.with_part > 0 {
            Ok(Status::LimitPassed)
        } else {
            Err(Failure::lines(vec![format!("{}: no session gave a row", self.plan.output_dir)]))
        }
    }
}

/// The time, to the second.
fn now() -> String {
    perfdb_files::time::utc_text(std::time::SystemTime::now())
}
