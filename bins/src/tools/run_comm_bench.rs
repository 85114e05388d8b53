//! The standard collection of communication times: several sessions of the bench, on one node or on many.

use crate::communication::{
    BenchModeName, Display, RunArguments, count, data_type, failure, message, plan_warning, report_outcome,
};
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print, print_error, run, warn};
use clap::Parser;
use perfdb_comm::Error;
use perfdb_comm::collection::{Collection, CollectionOptions, Step};
use perfdb_comm::dtype::CollectiveDType;
use perfdb_comm::engine::Interpreter;
use perfdb_comm::sessions::{Environment, SessionOptions, SessionPlan};
use perfdb_files::replace::{Parents, replace};
use perfdb_report::collection as text;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::SystemTime;

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
    #[arg(long, value_name = "N", num_args = 1.., value_parser = count, action = clap::ArgAction::Set)]
    num_devices: Option<Vec<u64>>,

    /// Message sizes in bytes [default: powers of two from 128 to 536870912]
    #[arg(long, value_name = "B", num_args = 1.., value_parser = count, action = clap::ArgAction::Set)]
    bytes_grid: Option<Vec<u64>>,

    /// Hardware grid, outermost dimension first [default: 48 8 2]
    #[arg(long, value_name = "D", num_args = 1.., value_parser = count, action = clap::ArgAction::Set)]
    grid_shape: Option<Vec<u64>>,

    /// Timing: the profiler's kernel table (NPU only, elsewhere calls are timed), or around the call
    #[arg(long, value_name = "MODE", default_value = "kernel")]
    bench_mode: BenchModeName,

    /// torch.bfloat16, torch.float16, torch.float32 or torch.int8
    #[arg(long, value_name = "NAME", default_value = "torch.bfloat16", value_parser = data_type)]
    dtype: CollectiveDType,

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
    let report = &arguments.run.report;
    let collection_options = CollectionOptions {
        dtype: arguments.dtype,
        backend: arguments.run.backend(),
        launcher: arguments.run.launcher(),
        existing: arguments.run.existing(),
        report: report.clone(),
        allow_foreign_times: arguments.run.allow_foreign_times,
        lock_timeout: arguments.run.lock.lock_timeout,
        tool: "run-comm-bench",
    };
    let collection = Collection::new(&plan, &collection_options).map_err(failure)?;
    let interrupt = perfdb_files::interrupt::cooperate().flag();
    let interpreter = Interpreter::find(arguments.run.interpreter().as_ref(), interrupt).map_err(failure)?;
    print(&text::heading(&plan, SystemTime::now()))?;
    let display = Display::default();
    // The first line that could not be printed.
    let unprinted = Mutex::new(None);
    let show = |text: &str| {
        if let (Err(error), Ok(mut first)) = (print(text), unprinted.lock()) {
            first.get_or_insert(error);
        }
    };
    let collected = collection.run(&interpreter, interrupt, &|step| match step {
        Step::Begin { number, total, session } => show(&text::begin(number, total, session, SystemTime::now())),
        Step::Warning(warning) => warn(&plan_warning(&warning)),
        Step::Event(event) => display.show(event),
        Step::End { outcome, elapsed } => {
            match outcome {
                Ok(outcome) => report_outcome(outcome),
                Err(error) => print_error(&message(error)),
            }
            show(&text::end(outcome, elapsed));
        }
    });
    if let Some(error) = unprinted.into_inner().unwrap_or_default() {
        return Err(error);
    }
    let collected = match collected {
        Err(Error::Interrupted { .. }) => {
            return Err(Failure::lines(vec!["ended by a signal; the tables hold the sessions so far".into()]));
        }
        other => other.map_err(failure)?,
    };
    print(&text::summary(&collected, SystemTime::now()))?;
    if collected.complete == plan.sessions.len() {
        Ok(Status::Success)
    } else if collected.useful > 0 {
        Ok(Status::LimitPassed)
    } else {
        Err(Failure::lines(vec![format!("{}: no session gave a row", plan.output_dir)]))
    }
}
