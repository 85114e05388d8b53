//! The command line of explain-prediction.

use crate::comparison::RegressionGate;
use crate::shards::ShardArguments;
use crate::terminal::TerminalArguments;
use clap::Parser;
use perfdb_compare::attribution::Passes;
use std::path::PathBuf;

/// Explain where a prediction is wrong, adding up to 100 %
///
/// Splits predicted less measured time of a forward pass, exactly, into parts with a cause each: more calls, more time per
/// call, another kernel for the same work, shapes that do not meet, kernels that nobody predicts. Errors that cancel in the
/// total show up. Ends with what to do, each line with what it is worth.
#[derive(Parser)]
#[command(
    name = super::TOOL.name,
    after_help = "\
Examples:
  explain-prediction trace.json pass.csv --data-dir DATABASE_FOLDER
  explain-prediction trace.json kernel_details.csv --n-forward-passes 3 \\
      -o attribution.json -o attribution.html
  explain-prediction --scenarios testdata/scenarios.yaml \\
      --data-dir testdata/scenarios
  explain-prediction trace.json pass.csv --measure-dir to_measure
  explain-prediction trace.json pass.csv --trace-out both.json.gz
  explain-prediction --scenarios many.yaml --data-dir DATABASE_FOLDER \\
      --shard 3/8                 # one of eight jobs

Exit status: 0 done, 1 something failed, 2 wrong usage, 3 done but beyond --fail-regression."
)]
pub(super) struct Arguments {
    /// TC chrome trace (JSON, may be gzip)
    #[arg(long, value_name = "FILE", requires = "prof_trace", required_unless_present = "scenarios")]
    pub(super) tc_trace: Option<PathBuf>,

    /// CSV of the measured forward pass, cut out of kernel_details.csv (may be gzip)
    #[arg(long, value_name = "FILE", requires = "tc_trace")]
    pub(super) prof_trace: Option<PathBuf>,

    /// How many forward passes the CSV holds
    #[arg(long, value_name = "N", default_value = "1", value_parser = passes, allow_negative_numbers = true)]
    pub(super) n_forward_passes: Passes,

    /// Folder of the database, with op_mapping.yaml; adds intervals of predicted times
    #[arg(long, value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,

    /// YAML list of scenarios, as in generate-op-comparison, instead of two files
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tc_trace", "prof_trace", "n_forward_passes"])]
    pub(super) scenarios: Option<PathBuf>,

    /// What {trace_dir} stands for in the paths of the scenarios
    #[arg(long, value_name = "DIR", requires = "scenarios", default_value = "docs/perf_database/forward_pass_traces")]
    pub(super) trace_dir: PathBuf,

    /// YAML map of kernel types to families, for types that this program does not know
    #[arg(long, value_name = "FILE")]
    pub(super) families: Option<PathBuf>,

    /// Write everything as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,

    /// Write the parts of the difference as CSV
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,

    /// Write the parts of the difference as a Parquet table
    #[arg(long, value_name = "FILE")]
    pub(super) parquet: Option<PathBuf>,

    /// Write one HTML page with charts and all rows
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,

    /// Write both sides as one trace for Perfetto, below each other layer by layer (.gz: compressed)
    #[arg(long, value_name = "FILE", conflicts_with = "scenarios")]
    pub(super) trace_out: Option<PathBuf>,

    /// Write the rows that are worth measuring as tables for start-microbench; the folder is created
    #[arg(long, value_name = "DIR")]
    pub(super) measure_dir: Option<PathBuf>,

    /// Show at most N causes, and half as many things to do [default: one screen]
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<usize>,

    #[command(flatten)]
    pub(super) terminal: TerminalArguments,

    /// Scenarios to explain at a time [default: one per usable core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(super) jobs: Option<u32>,

    #[command(flatten)]
    pub(super) regression: RegressionGate,

    #[command(flatten)]
    pub(super) shards: ShardArguments,
}

fn passes(text: &str) -> Result<Passes, String> {
    Passes::parse(text).ok_or_else(|| "a positive number such as 3 or 2.5 is needed".to_owned())
}
