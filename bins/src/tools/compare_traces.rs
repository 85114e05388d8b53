//! Two GPU traces of the same workload, operation by operation.

use crate::compare_traces::{Common, Compat, ParquetTable, RankTraces, Request, RunTraces};
use crate::path_argument::path;
use crate::registry::{Job, Tool};
use crate::shards::{GivenArguments, ShardArguments};
use crate::terminal::TerminalArguments;
use crate::{command_of, run};
use clap::Parser;
use perfdb_doctor::Code;
use perfdb_model::roofline::Devices;
use perfdb_tracediff::{Format, PairSettings, PhaseFilter, RunVariation};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "compare-traces",
    job: Job::CompareTraces,
    summary: "where one GPU loses time against another",
    main,
    command: command_of::<Arguments>,
};

/// Options that are about two traces or pairs of them, and not about ranks.
const OF_TWO_TRACES: [&str; 25] = [
    "shapes",
    "devices",
    "unwindowed",
    "capture1",
    "capture2",
    "pairs",
    "phase",
    "layers",
    "explain",
    "no_confidence",
    "run_variation",
    "aligned",
    "full",
    "fusion",
    "threshold_ms",
    "events",
    "trace_out",
    "baseline",
    "max_stacks",
    "compat",
    "sections",
    "no_kernels",
    "stack_traces",
    "label1",
    "label2",
];

/// Those of them that are about runs before and after a change likewise.
const ALSO_OF_RUNS: [&str; 6] = ["unwindowed", "phase", "run_variation", "parquet", "html", "baseline"];

/// Options that are about two traces, or about ranks, and not about runs before and after a change.
fn not_of_runs() -> impl Iterator<Item = &'static str> {
    let of_two_traces = OF_TWO_TRACES.into_iter().filter(|option| !ALSO_OF_RUNS.contains(option));
    ["traces", "ranks", "ranks1", "fail_regression", "kernels"].into_iter().chain(of_two_traces)
}

/// Compare two GPU traces of the same workload: where does one platform lose time against the other?
///
/// Reads two PyTorch-profiler (Kineto) traces, JSON or gzip, usually one of an AMD and one of an NVIDIA GPU, and compares them
/// per operation, per layer and per aligned kernel. The first line is elapsed time per forward pass, trace 2 / trace 1: below 1,
/// trace 2 is faster. What makes the figures unreliable comes before it.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    override_usage = "compare-traces [OPTIONS] TRACE1 TRACE2\n       compare-traces [OPTIONS] --before DIR|FILE... --after DIR|FILE...\n       compare-traces [OPTIONS] --pairs LIST.yaml\n       compare-traces [OPTIONS] --ranks DIR|FILE...",
    after_help = "\
Examples:
  compare-traces mi300x.json.gz h100.json.gz
  compare-traces mi300x.json.gz h100.json.gz --phase decode --explain
  compare-traces --before main/ --after change/ --fail-slower 2% -o comment.md
  compare-traces amd.json nvidia.json --layers -o layers.csv
  compare-traces amd.json nvidia.json --full --output comparison.json
  compare-traces amd.json nvidia.json --shapes --format csv
  compare-traces amd.json nvidia.json --capture1 amd_capture.json
  compare-traces before.json after.json --events kernels.csv -o page.html
  compare-traces before.json after.json --trace-out both.json.gz   # Perfetto
  compare-traces before.json after.json --baseline last.json --fail-regression 5
  compare-traces --pairs pairs.yaml --jobs 4 --output-dir results
  compare-traces --ranks traces-of-one-run
  compare-traces --ranks1 before/ --ranks2 after/
  compare-traces --pairs pairs.yaml --shard 3/8    # one of eight jobs

Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but beyond --fail-regression\nor --fail-slower."
)]
struct Arguments {
    /// Traces or profiles, gzip or not
    #[arg(value_name = "TRACE", value_parser = path())]
    traces: Vec<PathBuf>,

    /// Runs before a change: traces, folders of them, or JSON of an earlier comparison; three or more are best
    #[arg(long, value_name = "DIR|FILE", value_parser = path(), num_args = 1.., conflicts_with_all = not_of_runs())]
    before: Vec<PathBuf>,

    /// Runs after the change
    #[arg(long, value_name = "DIR|FILE", value_parser = path(), num_args = 1.., group = "judged", conflicts_with_all = not_of_runs())]
    after: Vec<PathBuf>,

    /// With --after: exit with 3 if the runs are slower by more than this for certain: the lower end of the interval
    #[arg(long, value_name = "PCT", value_parser = percent, requires = "after")]
    fail_slower: Option<f64>,

    /// Compare the pairs of this list (YAML) instead of two traces
    #[arg(long, value_name = "LIST.yaml", value_parser = path())]
    pairs: Option<PathBuf>,

    /// Find the late rank in the traces of all ranks of a run: files, or folders of traces and profiles
    #[arg(long, value_name = "DIR|FILE", value_parser = path(), num_args = 1.., conflicts_with = "traces", conflicts_with_all = OF_TWO_TRACES)]
    ranks: Vec<PathBuf>,

    /// Like --ranks, of the first of two runs that are compared
    #[arg(long, value_name = "DIR|FILE", value_parser = path(), num_args = 1.., requires = "ranks2", conflicts_with_all = ["ranks", "traces"], conflicts_with_all = OF_TWO_TRACES)]
    ranks1: Vec<PathBuf>,

    /// Like --ranks, of the second run
    #[arg(long, value_name = "DIR|FILE", value_parser = path(), num_args = 1.., requires = "ranks1", conflicts_with_all = ["ranks", "traces"], conflicts_with_all = OF_TWO_TRACES)]
    ranks2: Vec<PathBuf>,

    /// Take the traces as --ranks: `perfdb trace ranks`
    #[arg(long, hide = true, conflicts_with_all = OF_TWO_TRACES)]
    of_ranks: bool,

    /// With --pairs, --ranks, --before: traces or pairs read at the same time [default: half the cores; 1 with --before]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// With --pairs: folder of outputs that the list does not name
    #[arg(long, value_name = "DIR", default_value = ".", value_parser = path())]
    output_dir: PathBuf,

    /// Compare only kernels of that phase [default: all]
    #[arg(long, value_name = "all|prefill|decode|mixed")]
    phase: Option<PhaseFilter>,

    /// Form of the output [default: text; json with --compat, --aligned, --full, --fusion]
    #[arg(long, value_name = "text|json|csv")]
    format: Option<Format>,

    /// Write FILE as .json .csv .html .parquet .md; repeatable
    #[arg(long, value_name = "FILE", value_parser = path())]
    output: Option<PathBuf>,

    /// Also write the whole result as JSON to FILE, with any --format
    #[arg(long, value_name = "FILE", value_parser = path(), conflicts_with = "pairs")]
    result_json: Option<PathBuf>,

    /// Also write the table of --format csv to FILE
    #[arg(long, value_name = "FILE", value_parser = path(), conflicts_with_all = ["pairs", "aligned", "full", "fusion"])]
    result_csv: Option<PathBuf>,

    /// Add layers; CSV: layers instead of operations
    #[arg(long)]
    layers: bool,

    /// Add what limits operators by shape; CSV: these instead of operations
    #[arg(long)]
    shapes: bool,

    /// Peaks of devices (YAML), before those that are known
    #[arg(long, value_name = "FILE", value_parser = path(), conflicts_with = "compat")]
    devices: Option<PathBuf>,

    /// No layer of attention hides far keys behind a window, where the trace does not say
    #[arg(long, conflicts_with = "compat")]
    unwindowed: bool,

    /// Trace of the capture of the graphs that trace 1 replays: their kernels get operators, shapes and stacks
    #[arg(long, value_name = "FILE", value_parser = path(), conflicts_with_all = ["pairs", "compat"])]
    capture1: Option<PathBuf>,

    /// The same for trace 2
    #[arg(long, value_name = "FILE", value_parser = path(), conflicts_with_all = ["pairs", "compat"])]
    capture2: Option<PathBuf>,

    /// Add coverage and what changed and why, adding up to 100 %
    #[arg(long)]
    explain: bool,

    /// Leave out verdicts and intervals (slower, faster, same, inconclusive)
    #[arg(long)]
    no_confidence: bool,

    /// Percent that runs vary by [default: 2, and only below 5 passes or 3 runs]
    #[arg(long, value_name = "PCT", value_parser = run_variation, conflicts_with = "compat")]
    run_variation: Option<RunVariation>,

    /// JSON with layers aligned kernel by kernel, fusion and same kernels, instead of operations and layers
    #[arg(long)]
    aligned: bool,

    /// JSON with everything
    #[arg(long)]
    full: bool,

    /// JSON with differences of launch counts
    #[arg(long)]
    fusion: bool,

    /// With --fusion: kernels that a correlation group must have
    #[arg(long, value_name = "N", default_value_t = 50)]
    min_group_size: usize,

    /// Gap in ms beyond which an operation is slower or faster [default: 1 % of the elapsed time; 5 with --compat]
    #[arg(long, value_name = "X", value_parser = threshold)]
    threshold_ms: Option<f64>,

    /// Also write a CSV with a row per kernel: its class, layer, and the group that it is compared in
    #[arg(long, value_name = "FILE", value_parser = path(), conflicts_with_all = ["pairs", "compat"])]
    events: Option<PathBuf>,

    /// Also write a Parquet table of the operations, or of TABLE: operations, kernels or layers; once for each
    #[arg(long, value_name = "[TABLE=]FILE", value_parser = ParquetTable::parser(), conflicts_with_all = ["pairs", "compat", "aligned", "fusion"])]
    parquet: Vec<ParquetTable>,

    /// Also write both traces as one for Perfetto, below each other layer by layer (.gz: compressed)
    #[arg(long, value_name = "FILE", value_parser = path(), conflicts_with_all = ["pairs", "compat"])]
    trace_out: Option<PathBuf>,

    /// Also write one HTML page with charts and all rows
    #[arg(long, value_name = "FILE", value_parser = path(), conflicts_with_all = ["pairs", "compat", "aligned", "fusion"])]
    html: Option<PathBuf>,

    /// JSON of an earlier comparison, for --fail-regression; with --after, its runs are those before
    #[arg(long, value_name = "OLD.json", value_parser = path(), requires = "judged")]
    baseline: Option<PathBuf>,

    /// Exit with 3 if trace 2 takes this many percent longer, and more than in --baseline
    #[arg(
        long,
        group = "judged",
        value_name = "PCT",
        requires = "baseline",
        value_parser = threshold,
        conflicts_with_all = ["pairs", "compat", "aligned", "fusion"]
    )]
    fail_regression: Option<f64>,

    /// Python stacks per operation and trace; 0: all [default: 3]
    #[arg(long, value_name = "N")]
    max_stacks: Option<usize>,

    /// Ignore Python frames: no stacks, no CPU operator taken from frames
    #[arg(long)]
    no_stacks: bool,

    /// End a kernel that reaches into its successor on the same stream where that begins
    #[arg(long)]
    clip_overlaps: bool,

    /// Compare although the trace doctor found this (WRONG_UNIT)
    #[arg(long, value_name = "CODE,...", value_delimiter = ',')]
    accept: Vec<Code>,

    /// Kernel patterns (YAML) tried before the built-in table
    #[arg(long, value_name = "FILE", value_parser = path())]
    registry: Option<PathBuf>,

    /// Rules of an old release: same numbers, quirks included
    #[arg(long, value_name = "0.1.33|0.1.35")]
    compat: Option<Compat>,

    /// JSON: keep only these top-level keys
    #[arg(long, value_name = "A,B,...")]
    sections: Option<String>,

    /// JSON: leave out the kernel lists of operations
    #[arg(long)]
    no_kernels: bool,

    /// Show everything, every kernel and layer
    #[arg(long = "all", alias = "show-all")]
    show_all: bool,

    /// List the kernels of operations
    #[arg(long)]
    kernels: bool,

    /// Text: print Python stacks
    #[arg(long)]
    stack_traces: bool,

    #[command(flatten)]
    terminal: TerminalArguments,

    /// Name of trace 1 in the result [default: its path]
    #[arg(long, value_name = "T")]
    label1: Option<String>,

    /// Name of trace 2 in the result [default: its path]
    #[arg(long, value_name = "T")]
    label2: Option<String>,

    #[command(flatten)]
    shards: ShardArguments,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    let given = GivenArguments::of(&arguments);
    run(arguments, &[], |arguments: Arguments| Request::from(arguments).run(&given))
}

impl From<Arguments> for Request {
    fn from(arguments: Arguments) -> Request {
        let mut arguments = arguments;
        if arguments.of_ranks {
            arguments.ranks.append(&mut arguments.traces);
        }
        let ranks = match (arguments.ranks.is_empty(), arguments.ranks1.is_empty()) {
            (false, _) => Some(RankTraces::One(arguments.ranks)),
            (_, false) => Some(RankTraces::Two([arguments.ranks1, arguments.ranks2])),
            (true, true) => None,
        };
        let is_of_runs = !arguments.before.is_empty() || !arguments.after.is_empty();
        let runs = is_of_runs.then(|| RunTraces {
            before: arguments.before,
            baseline: arguments.baseline.clone(),
            after: arguments.after,
            fail_slower: arguments.fail_slower,
        });
        let settings = PairSettings {
            phase: arguments.phase,
            max_stacks: arguments.max_stacks,
            no_stacks: arguments.no_stacks.then_some(true),
            aligned: arguments.aligned.then_some(true),
            full: arguments.full.then_some(true),
            layers: arguments.layers.then_some(true),
            format: arguments.format,
            threshold_ms: arguments.threshold_ms,
            label1: arguments.label1,
            label2: arguments.label2,
        };
        let common = Common {
            compat: arguments.compat,
            registry: None,
            registry_file: arguments.registry,
            shapes: arguments.shapes,
            devices: Devices::default(),
            devices_file: arguments.devices,
            explain: arguments.explain,
            no_confidence: arguments.no_confidence,
            run_variation: arguments.run_variation.unwrap_or_default(),
            fusion: arguments.fusion,
            min_group_size: arguments.min_group_size,
            clip_overlaps: arguments.clip_overlaps,
            unwindowed: arguments.unwindowed,
            accept: arguments.accept,
            sections: arguments.sections.map(|keys| keys.split(',').map(|key| key.trim().to_owned()).collect()),
            no_kernels: arguments.no_kernels,
            show_all: arguments.show_all,
            list_kernels: arguments.kernels,
            stack_traces: arguments.stack_traces,
            layout: match arguments.output {
                Some(_) => arguments.terminal.layout_of_files(),
                None => arguments.terminal.layout(),
            },
        };
        Request {
            traces: arguments.traces,
            list: arguments.pairs,
            ranks,
            runs,
            jobs: arguments.jobs.map(NonZeroUsize::get),
            output_dir: arguments.output_dir,
            output: arguments.output,
            json: arguments.result_json,
            csv: arguments.result_csv,
            events: arguments.events,
            parquet: arguments.parquet,
            trace: arguments.trace_out,
            page: arguments.html,
            captures: [arguments.capture1, arguments.capture2],
            gate: arguments.baseline.zip(arguments.fail_regression),
            settings,
            common,
            shards: arguments.shards,
        }
    }
}

fn run_variation(text: &str) -> Result<RunVariation, String> {
    let percent = text.parse::<f64>().ok().and_then(RunVariation::of_percent);
    percent.ok_or_else(|| "a number from 0 to 100 is needed".to_owned())
}

/// A number of percent, with or without the sign.
fn percent(text: &str) -> Result<f64, String> {
    threshold(text.trim_end_matches('%').trim_end())
}

fn threshold(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(limit) if limit.is_finite() && limit >= 0.0 => Ok(limit),
        _ => Err("a number of at least 0 is needed".to_owned()),
    }
}
