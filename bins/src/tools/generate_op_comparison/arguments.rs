//! The command line of generate-op-comparison.

use crate::comparison::{GivenNumber, RegressionGate, usable_cores};
use crate::path_argument::path;
use crate::semantics::{DEFAULT_SEMANTICS, semantics};
use crate::shards::ShardArguments;
use clap::Parser;
use perfdb_compare::Semantics;
use perfdb_compare::operators::Order;
use perfdb_compare::scenario::Options;
use perfdb_store::op_mapping::OpMapping;
use std::path::PathBuf;

pub(super) const DATA_DIR: &str = "tensor_cast/performance_model/profiling_database/data/ATLAS_800_A3_752T_128G_DIE/vllm_ascend/vllm0.18.0_torch2.9.0_cann8.5";

/// Generate per-operator TC vs Profiling comparison data
///
/// Per kernel type: predicted and measured time and count of a forward pass, and how far they are apart. Prints a table per
/// scenario (the 15 largest kernel types) and writes all rows as JSON. A scenario with a missing file is skipped.
#[derive(Parser)]
#[command(
    name = super::TOOL.name,
    after_help = "\
Examples:
  generate-op-comparison         # the four default scenarios, below results/
  generate-op-comparison --scenarios testdata/scenarios.yaml \\
      --data-dir testdata/scenarios --output target/op_comparison.json
  generate-op-comparison --semantics corrected --fail-above 20 --min-share 2
  generate-op-comparison --tc-trace trace.json --prof-trace pass.csv \\
      --semantics corrected --sort delta --csv comparison.csv
  generate-op-comparison --baseline old.json --fail-regression 10
  generate-op-comparison --scenarios many.yaml --shard 3/8   # one of eight jobs

Exit status: 0 done (also when every scenario was skipped), 1 something failed, 2 wrong usage, 3 done but beyond --fail-above\nor --fail-regression."
)]
pub(super) struct Arguments {
    /// Folder of the forward-pass CSVs
    #[arg(long, value_name = "DIR", default_value = "docs/perf_database/forward_pass_traces", value_parser = path())]
    pub(super) trace_dir: PathBuf,

    /// Folder of the profiling database, with op_mapping.yaml
    #[arg(long, value_name = "DIR", default_value = DATA_DIR, value_parser = path())]
    pub(super) data_dir: PathBuf,

    /// JSON to write; missing folders are created
    #[arg(long, value_name = "FILE", default_value = "results/op_comparison.json", value_parser = path())]
    pub(super) output: PathBuf,

    /// Also write one HTML page with charts and all rows
    #[arg(long, visible_alias = "html-output", value_name = "FILE", value_parser = path())]
    pub(super) html: Option<PathBuf>,

    /// YAML list of scenarios instead of the default four: name, tc_trace, trace_csv and m6 or n_forward_passes each
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub(super) scenarios: Option<PathBuf>,

    /// Scenarios to compare at a time [default: one per usable core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(super) jobs: Option<u32>,

    /// Write the JSON of the scenarios that worked when others failed
    #[arg(long)]
    pub(super) keep_going: bool,

    /// Whether known faults of the original tool are kept
    #[arg(long, default_value = DEFAULT_SEMANTICS, value_parser = semantics())]
    pub(super) semantics: Semantics,

    /// Exit with status 3 if a kernel type is off by more than this, in percent of its measured time
    #[arg(long, value_name = "PCT", value_parser = GivenNumber::not_negative)]
    pub(super) fail_above: Option<GivenNumber>,

    /// Smallest share of the measured time that --fail-above looks at, in percent [default: 1]
    #[arg(long, value_name = "PCT", requires = "fail_above", value_parser = GivenNumber::not_negative)]
    pub(super) min_share: Option<GivenNumber>,

    /// Compare this TC chrome trace with --prof-trace, instead of scenarios
    #[arg(long, value_name = "FILE", requires = "prof_trace", conflicts_with = "scenarios")]
    pub(super) tc_trace: Option<PathBuf>,

    /// CSV of the measured forward pass for --tc-trace
    #[arg(long, value_name = "FILE", requires = "tc_trace")]
    pub(super) prof_trace: Option<PathBuf>,

    /// Order of the rows; every order but the default one shows them in English
    #[arg(long, value_enum)]
    pub(super) sort: Option<SortKey>,

    /// Language of the table and of the statuses in the JSON
    #[arg(long, value_enum)]
    pub(super) lang: Option<Language>,

    /// Also write all rows as CSV
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,

    /// Also write all rows as a Parquet table, not rounded
    #[arg(long, value_name = "FILE")]
    pub(super) parquet: Option<PathBuf>,

    /// Compute M6 files of scenarios that are not there, as --semantics corrected does
    #[arg(long)]
    pub(super) compute_missing_m6: bool,

    #[command(flatten)]
    pub(super) regression: RegressionGate,

    #[command(flatten)]
    pub(super) shards: ShardArguments,
}

/// `--sort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SortKey {
    /// Largest predicted or measured time first
    Time,
    /// Largest difference in microseconds first
    Delta,
    /// Largest error in percent first; never measured ones lead
    Error,
    /// Largest share of the measured time first
    Share,
}

impl From<SortKey> for Order {
    fn from(key: SortKey) -> Order {
        match key {
            SortKey::Time => Order::Time,
            SortKey::Delta => Order::Delta,
            SortKey::Error => Order::Error,
            SortKey::Share => Order::Share,
        }
    }
}

/// `--lang`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Language {
    /// The original's headings
    Zh,
    /// English, with a column of differences in microseconds
    En,
}

impl Arguments {
    /// How scenarios are compared.
    pub(super) fn options<'m>(&self, mapping: &'m OpMapping) -> Options<'m> {
        let jobs = self.jobs.map_or_else(usable_cores, |jobs| jobs as usize);
        Options { mapping, semantics: self.semantics, jobs }
    }

    /// Whether M6 files that are not there are made.
    pub(super) fn computes_m6(&self) -> bool {
        self.compute_missing_m6 || self.semantics == Semantics::Corrected
    }

    /// Whether the tables are in English.
    pub(super) fn speaks_english(&self) -> bool {
        match (self.lang, self.sort) {
            (Some(language), _) => language == Language::En,
            (None, sort) => sort.is_some_and(|key| key != SortKey::Time),
        }
    }
}
