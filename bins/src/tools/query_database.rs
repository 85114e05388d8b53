//! Questions to a database, from the command line, a manifest or a simulator's trace.

mod answering;
mod comparison;
mod intervals;
mod known_names;
mod listing;
mod questions;
mod sink;
mod tensors;
mod traced;
mod version;

use crate::database::{DatabaseArguments, files_of};
use crate::database_folder::{refuse_other, warn_without_tables};
use crate::layout::LayoutArguments;
use crate::one_output::refuse_forms;
use crate::provenance::provenance;
use crate::registry::{Job, Tool};
use crate::terminal::TerminalArguments;
use crate::{Failure, Status, command_of, run, warn};
use answering::Asking;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser};
use comparison::compare;
use intervals::Intervals;
use known_names::KnownNames;
use listing::list;
use perfdb_files::escape::{one_line, shown};
use perfdb_files::replace::refuse_inputs;
use perfdb_query::{Database, Layer, ParallelConfig, ReaderSemantics};
use perfdb_report::answers::Details;
use questions::{Questions, traced_calls};
use sink::{Columns, Files, Sink};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "query-database",
    job: Job::CheckDatabase,
    summary: "ask what an operator costs, and why",
    main,
    command: command_of::<Arguments>,
};

/// Query a database for the duration of an operator or a kernel.
///
/// A query is an operator with its arguments, a kernel with its inputs, a manifest of JSON lines (--manifest, or stdin), or
/// each call of a simulator's trace (--from-trace). --list shows what can be queried. The answer is the duration in
/// microseconds with its 90 % interval where it was not measured, where it comes from, the rule and the rows.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    #[command(flatten)]
    question: QuestionArguments,

    #[command(flatten)]
    parallel: ParallelArguments,

    /// Lookup rules: corrected, best (adds predictions with intervals), upstream, upstream-2025
    #[arg(long, value_name = "NAME", default_value = ReaderSemantics::default().name(), value_parser = PossibleValuesParser::new(ReaderSemantics::ALL.map(ReaderSemantics::name)))]
    semantics: String,

    /// Rows only, or also between rows [default: interpolating; measured for a trace under upstream-2025]
    #[arg(long, value_name = "LAYER", value_parser = ["measured", "interpolating"])]
    layer: Option<String>,

    /// Print what was tried, table by table, and why it did not answer
    #[arg(long)]
    explain: bool,

    /// Name the N rows that come nearest
    #[arg(long, value_name = "N", default_value_t = 0)]
    nearest: usize,

    /// Show at most N answers, differences or names [default: all; 25 calls of a trace; a screen of names]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    #[command(flatten)]
    terminal: TerminalArguments,

    /// Exit with status 3 when a query has no answer, or --compare finds a difference
    #[arg(long)]
    require: bool,

    /// Write answers as JSON lines to FILE (-: stdout, and nothing else there)
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    /// Write answers as CSV to FILE (-: stdout, and nothing else there)
    #[arg(long, value_name = "FILE")]
    csv: Option<OsString>,

    /// Write answers as a Parquet table to FILE
    #[arg(long, value_name = "FILE")]
    parquet: Option<OsString>,

    /// Write answers as one HTML page to FILE
    #[arg(long, value_name = "FILE")]
    html: Option<OsString>,

    #[command(flatten)]
    database: DatabaseArguments,
}

/// What is asked.
#[derive(Args)]
#[command(next_help_heading = "Question")]
struct QuestionArguments {
    /// The database folder (the same as --database-path), then the operator as in op_mapping.yaml and its arguments, or the
    /// inputs of --kernel: DIMENSIONS:TYPE (16,512:bf16 or 16x512:bf16) for a tensor, with @VALUES for known contents, none,
    /// or JSON
    #[arg(value_name = "WORD", allow_negative_numbers = true, help_heading = None::<&str>)]
    words: Vec<String>,

    /// List the tables with their rows, and the operators; with words, those whose names hold one of them
    #[arg(long, conflicts_with_all = ["kernel", "manifest", "from_trace"])]
    list: bool,

    /// A result of the operator, DIMENSIONS:TYPE; once for each
    #[arg(long, value_name = "TENSOR")]
    result: Vec<String>,

    /// Query a kernel by its inputs, without the mapping
    #[arg(long, value_name = "TYPE")]
    kernel: Option<String>,

    /// Shapes of the kernel's inputs, as in a table, separated by ';' or spaces
    #[arg(long, value_name = "SHAPES", requires = "kernel")]
    input_shapes: Option<String>,

    /// Data types of inputs without one, as in a table; one stands for all, a scheme (w4a16) for activations and weights
    #[arg(long, value_name = "TYPES", requires = "kernel", default_value = "DT_BF16")]
    types: String,

    /// Questions as JSON lines, {"id": ..., "query": {...}} (-: stdin)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kernel", "from_trace"])]
    manifest: Option<OsString>,

    /// Query each call of a simulator's trace, and print the total
    #[arg(long, value_name = "TRACE", conflicts_with = "kernel")]
    from_trace: Option<OsString>,

    /// Compare with the durations recorded in the trace
    #[arg(long, requires = "from_trace")]
    compare: bool,
}

/// What surrounds a call.
#[derive(Args)]
#[command(next_help_heading = "Parallel configuration")]
struct ParallelArguments {
    /// Expert-parallel size
    #[arg(long, value_name = "N")]
    ep_size: Option<i64>,

    /// Tensor-parallel size
    #[arg(long, value_name = "N")]
    tp_size: Option<i64>,

    #[command(flatten)]
    layout: LayoutArguments,
}

impl ParallelArguments {
    /// What they say about each call.
    fn of_calls(&self) -> ParallelConfig {
        self.layout.parallel(self.tp_size, self.ep_size)
    }
}

const EXAMPLES: &str = "\
Examples:
  query-database db --list
  query-database db aten.mm.default 16,5120:bf16 5120,768:bf16
  query-database db --kernel MatMulV2 16,5120:bf16 768,5120:bf16 --explain
  query-database db --semantics best \\
      aten.mm.default 100x5120:bf16 5120x768:bf16
  query-database db --manifest questions.jsonl --json -
  query-database db --from-trace trace.json
  query-database db --from-trace trace.json --compare --semantics upstream \\
      --require

Exit status: 0 done, 1 failed or no query has an answer (programs that get --json or --csv read
that there), 2 wrong usage, 3 with --require: a query has no answer, or with --compare another one
than the trace.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(mut arguments: Arguments) -> Result<Status, Failure> {
    arguments.take_directory()?;
    let directory = arguments.directory()?;
    version::compare(&arguments.database, &directory)?;
    refuse_other(&directory)?;
    let semantics: ReaderSemantics = arguments.semantics.parse()?;
    let columns =
        Columns { intervals: semantics == ReaderSemantics::Best, calls: arguments.question.from_trace.is_some() };
    let files = Files {
        json: arguments.json.as_deref(),
        csv: arguments.csv.as_deref(),
        parquet: arguments.parquet.as_deref(),
        html: arguments.html.as_deref(),
    };
    if arguments.question.list {
        refuse_forms("--list", [files.parquet, files.html], &[".json", ".csv", ".md"])?;
    }
    let sink = Sink::open(&files, columns)?;
    refuse_overwriting(&arguments, &sink, &directory)?;
    let mapping = directory.join("op_mapping.yaml");
    if arguments.question.kernel.is_none() && directory.is_dir() && !mapping.exists() {
        warn(&format!("{}: no such file, so no operator is known (--kernel asks a table)", shown(&mapping)));
    }
    let database = Database::open(&directory)?;
    version::warn_of_collectives(&database, &directory);
    let layout = arguments.terminal.layout();
    if database.kernel_types().is_empty() {
        warn_without_tables(&directory);
    }
    if arguments.question.list {
        list(&database, &arguments.question.words, arguments.limit, layout, sink)?;
        return Ok(Status::Success);
    }
    let reader = database.reader(semantics, arguments.layer(semantics));
    let trace = arguments.question.from_trace.as_deref().map(Path::new);
    let queries = [("queries", arguments.question.manifest.as_deref().map(Path::new)), ("trace", trace)];
    let queries = queries.into_iter().filter_map(|(role, path)| Some((role, path?)));
    let read = provenance(TOOL.name, queries.chain([("database", directory.as_path())]));
    if let Some(trace) = trace.filter(|_| arguments.question.compare) {
        return compare(&reader, trace, &arguments, sink, read);
    }
    let details = Details { explained: arguments.explain, nearest: arguments.nearest };
    let (intervals, names) = (Intervals::of_database(&database), KnownNames::of(&database));
    let asking = Asking { reader, intervals, names, sink, details, limit: arguments.limit, layout, read };
    let outcome = match trace {
        Some(trace) => asking.ask_calls(traced_calls(trace, &arguments.parallel)?)?,
        None => asking.ask(Questions::of(&arguments)?)?,
    };
    if arguments.require && outcome.counts.missed() > 0 {
        return Ok(Status::LimitPassed);
    }
    outcome.failure().map_or(Ok(Status::Success), Err)
}

impl Arguments {
    /// Takes the database folder from the words in front, where no option names one.
    fn take_directory(&mut self) -> Result<(), Failure> {
        let words = &mut self.question.words;
        let is_folder = |word: &String| word.contains('/') || Path::new(word).is_dir();
        if self.database.database_path.is_none() && words.first().is_some_and(is_folder) {
            self.database.database_path = Some(words.remove(0).into());
        }
        let from_file = self.question.manifest.is_some() || self.question.from_trace.is_some();
        match words.first().filter(|_| from_file) {
            Some(word) if is_folder(word) => Err(Failure::usage(format!("'{word}': the database is named already"))),
            Some(word) => Err(Failure::usage(format!("'{word}': --manifest and --from-trace bring their own queries"))),
            None => Ok(()),
        }
    }

    /// The database. Where none is named, the first word may have been meant for one.
    fn directory(&self) -> Result<PathBuf, Failure> {
        self.database.directory(None).map_err(|failure| match (failure, self.question.words.first()) {
            (Failure::Lines(mut lines), Some(word)) => {
                let hint = format!("; '{}' is not a folder", one_line(word));
                lines.iter_mut().take(1).for_each(|line| line.push_str(&hint));
                Failure::Lines(lines)
            }
            (failure, _) => failure,
        })
    }

    fn layer(&self, semantics: ReaderSemantics) -> Layer {
        match self.layer.as_deref() {
            Some("measured") => Layer::Measured,
            Some(_) => Layer::Interpolating,
            // The simulator of 2025 did not interpolate.
            None if self.question.from_trace.is_some() && semantics == ReaderSemantics::Upstream2025 => Layer::Measured,
            None => Layer::Interpolating,
        }
    }
}

/// Refuses outputs that are inputs.
fn refuse_overwriting(arguments: &Arguments, sink: &Sink, directory: &Path) -> Result<(), Failure> {
    let asked = &arguments.question;
    let questions = [&asked.manifest, &asked.from_trace].into_iter().flatten().map(Path::new);
    let database_files = if directory.is_dir() { files_of(directory)? } else { Vec::new() };
    Ok(refuse_inputs(sink.files(), questions.chain(database_files.iter().map(PathBuf::as_path)))?)
}
