//! What is asked for: two traces or a list of pairs, and what comes of them.

use perfdb_tracediff::{Format, PairSettings, Registry, open_devices};
use std::path::{Path, PathBuf};

use super::outputs;
use super::pairs::Pairs;
use super::parquet::ParquetTable;
use super::plan::Common;
use super::ranks::{RankTraces, compare_ranks};
use super::runs::{self, RunTraces};
use super::single::{Outputs, compare_one};
use crate::shards::{GivenArguments, ShardArguments};
use crate::{Failure, Status};

/// One run of the tool.
#[derive(Debug)]
pub struct Request {
    /// Two traces, or none with a list.
    pub traces: Vec<PathBuf>,
    /// A list of pairs.
    pub list: Option<PathBuf>,
    /// Ranks of one run or of two, instead of traces and a list.
    pub ranks: Option<RankTraces>,
    /// Runs before and after a change, instead of traces and a list.
    pub runs: Option<RunTraces>,
    /// Pairs of the list that are compared at the same time.
    pub jobs: Option<usize>,
    /// Folder of outputs that the list does not name.
    pub output_dir: PathBuf,
    /// The result of two traces; stdout otherwise.
    pub output: Option<PathBuf>,
    /// The result as JSON, besides.
    pub json: Option<PathBuf>,
    /// The result as a table, besides.
    pub csv: Option<PathBuf>,
    /// The table of kernels.
    pub events: Option<PathBuf>,
    /// Tables with typed columns.
    pub parquet: Vec<ParquetTable>,
    /// Both traces as one.
    pub trace: Option<PathBuf>,
    /// The HTML page.
    pub page: Option<PathBuf>,
    /// Traces of the captures of the graphs that trace 1 and 2 replay.
    pub captures: [Option<PathBuf>; 2],
    /// JSON of an earlier run, and the limit in percent.
    pub gate: Option<(PathBuf, f64)>,
    /// Options that a pair of a list may set itself; those that are not set are left to the list.
    pub settings: PairSettings,
    /// The others. The registry is still to be read: from `registry_file`, once the request is known to be sound.
    pub common: Common,
    /// Which pairs of the list.
    pub shards: ShardArguments,
}

impl Request {
    /// Compares what is asked for; `given` is the command line.
    ///
    /// # Errors
    /// A request that cannot be (exit 2), traces that cannot be read or compared, an output that cannot be written (exit 1).
    pub fn run(mut self, given: &GivenArguments) -> Result<Status, Failure> {
        let contradiction = match (&self.list, self.traces.len()) {
            (None, 0) if self.ranks.is_some() || self.runs.is_some() => "",
            (Some(_), 0) if self.output.is_some() => {
                "--output takes one result; with --pairs, the list or --output-dir say where results go"
            }
            (Some(_), 0) | (None, 2) => "",
            (Some(_), _) => "--pairs takes no traces",
            (None, 1) => "two traces are needed; explain-trace (perfdb trace explain) reads one",
            (None, _) => "two traces are needed, or --before and --after, or --pairs, or --ranks",
        };
        let contradiction = if self.list.is_none() && self.shards.is_given() && contradiction.is_empty() {
            "--shard is about the pairs of --pairs"
        } else {
            contradiction
        };
        if !contradiction.is_empty() {
            return Err(Failure::usage(contradiction));
        }
        self.common.plan(&self.settings).map_err(Failure::usage)?;
        let open = if self.common.compat.is_some() { Registry::open } else { Registry::open_checked };
        self.common.registry = self.common.registry_file.as_deref().map(open).transpose()?;
        if let Some(file) = &self.common.devices_file {
            self.common.devices = open_devices(file)?;
        }
        let of_many = outputs::Outputs {
            result: self.output.as_deref(),
            format: self.settings.format.unwrap_or(Format::Text),
            json: self.json.as_deref(),
            csv: self.csv.as_deref(),
            page: self.page.as_deref(),
            parquet: &self.parquet,
        };
        if let Some(given) = &self.runs {
            let phase = self.settings.phase.unwrap_or_default();
            return runs::compare(given, &self.common, phase, self.jobs, &of_many);
        }
        if let Some(given) = &self.ranks {
            return compare_ranks(given, &self.common, self.jobs, &of_many);
        }
        match (&self.list, self.traces.as_slice()) {
            (None, [first, second]) => {
                let gate = self.gate.as_ref().map(|(baseline, limit)| (baseline.as_path(), *limit));
                let outputs = Outputs {
                    result: self.output.as_deref(),
                    json: self.json.as_deref(),
                    csv: self.csv.as_deref(),
                    events: self.events.as_deref(),
                    parquet: &self.parquet,
                    trace: self.trace.as_deref(),
                    page: self.page.as_deref(),
                    gate,
                };
                let captures = [0, 1].map(|side| self.captures[side].as_deref());
                compare_one([first, second], captures, &self.settings, &self.common, &outputs)
            }
            (list, _) => {
                let list = list.as_deref().unwrap_or(Path::new(""));
                let list = Pairs::open(list, &self.settings, &self.common, &self.output_dir)?;
                list.compare(self.jobs, &self.shards, given)
            }
        }
    }
}
