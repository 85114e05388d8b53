//! The command line of run-comm-bench.

use crate::Failure;
use crate::communication::{BenchModeName, RunArguments, count, data_type};
use crate::path_argument::path;
use clap::Parser;
use perfdb_comm::collection::CollectionOptions;
use perfdb_comm::dtype::CollectiveDType;
use perfdb_comm::sessions::SessionOptions;
use std::path::PathBuf;

/// Collect the communication tables of a machine in the standard sessions of generate-comm-microbench.
///
/// One node: all operators over groups of 16, 8, 4 and 2 ranks. Many nodes (NNODES of 2 or more): all operators over groups
/// of 32 ranks and more, between pods; start it on every node, differing only in NODE_RANK.
#[derive(Parser)]
#[command(
    name = super::TOOL.name,
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
pub(super) struct Arguments {
    /// Directory for the tables [default: ./hccl_bench_data; ./hccl_bench_inter_pod_v8.5 with many nodes]
    #[arg(value_parser = path())]
    output_dir: Option<PathBuf>,

    /// Print the sessions as JSON and stop
    #[arg(long)]
    pub(super) plan: bool,

    /// Write the sessions as JSON to FILE and stop
    #[arg(long, value_name = "FILE")]
    pub(super) plan_out: Option<PathBuf>,

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
    pub(super) run: RunArguments,
}

impl Arguments {
    /// Which sessions to run.
    pub(super) fn sessions(&self) -> SessionOptions {
        SessionOptions {
            output_dir: self.output_dir.clone().filter(|folder| !folder.as_os_str().is_empty()),
            num_devices: self.num_devices.clone(),
            bytes_grid: self.bytes_grid.clone(),
            grid_shape: self.grid_shape.clone(),
            bench_mode: Some(self.bench_mode.into()),
            dtype: Some(self.dtype),
        }
    }

    /// How to run them.
    pub(super) fn collection(&self) -> Result<CollectionOptions, Failure> {
        Ok(CollectionOptions {
            dtype: self.dtype,
            backend: self.run.backend(),
            launcher: self.run.launcher(),
            existing: self.run.existing(),
            report: self.run.report.clone(),
            allow_foreign_times: self.run.allow_foreign_times,
            lock_timeout: self.run.lock.lock_timeout,
            tool: super::TOOL.name,
            run: self.run.run_of(super::TOOL.name)?,
        })
    }
}
