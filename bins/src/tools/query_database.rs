//! Questions to a database, from the command line, a manifest or a simulator's trace.

mod answering;
mod comparison;
mod questions;
mod sink;
mod version;

use crate::database::{DatabaseArguments, files_of};
use crate::layout::LayoutArguments;
use crate::registry::{Job, Tool};
use crate::terminal::TerminalArguments;
use crate::{Failure, Status, command_of, run, warn};
use answering::Asking;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser};
use comparison::compare;
use perfdb_files::escape::shown;
use perfdb_files::replace::refuse_inputs;
use perfdb_query::{Database, Layer, ReaderSemantics, Surroundings};
use perfdb_report::answers::Details;
use questions::Questions;
use sink::Sink;
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

/// Ask a database what an operator or a kernel costs.
///
/// A question is an operator with its arguments, a kernel with the shapes of its inputs, a manifest of JSON lines
/// (--manifest, or stdin when no question is given), or every call of a simulator's trace (--from-trace). The answer is the
/// duration in microseconds, where it comes from, how far it can be trusted, the rule and the rows.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    #[command(flatten)]
    question: QuestionArguments,

    #[command(flatten)]
    surroundings: SurroundingArguments,

    /// Whose answers: the product's own, these with predictions and intervals between rows (best), or those of the
    /// simulator's reader of 2026 or of 2025
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

    /// Show so many answers, or differences [default: all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    #[command(flatten)]
    terminal: TerminalArguments,

    /// Exit with status 3 when a question has no answer, or --compare finds a difference
    #[arg(long)]
    require: bool,

    /// Write answers as JSON lines to FILE (-: stdout, and nothing else there)
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    /// Write answers as CSV to FILE (-: stdout, and nothing else there)
    #[arg(long, value_name = "FILE")]
    csv: Option<OsString>,

    #[command(flatten)]
    database: DatabaseArguments,
}

/// What is asked.
#[derive(Args)]
#[command(next_help_heading = "Question")]
struct QuestionArguments {
    /// The operator, as in op_mapping.yaml
    #[arg(value_name = "OPERATOR", help_heading = None::<&str>)]
    operator: Option<String>,

    /// Its arguments: DIMENSIONS:TYPE for a tensor, with @VALUES for known contents, none, or JSON
    #[arg(value_name = "ARGUMENT", allow_negative_numbers = true, help_heading = None::<&str>)]
    arguments: Vec<String>,

    /// A result of the operator, DIMENSIONS:TYPE; once for each
    #[arg(long, value_name = "TENSOR")]
    output: Vec<String>,

    /// Ask a kernel by its inputs, whatever the mapping says
    #[arg(long, value_name = "TYPE", conflicts_with = "operator")]
    kernel: Option<String>,

    /// Shapes of the kernel's inputs, as in a table
    #[arg(long, value_name = "SHAPES", requires = "kernel")]
    input_shapes: Option<String>,

    /// Data types of the kernel's inputs, as in a table; one stands for all
    #[arg(long, value_name = "TYPES", requires = "kernel", default_value = "DT_BF16")]
    types: String,

    /// Questions as JSON lines, {"id": ..., "query": {...}} (-: stdin)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["operator", "kernel", "from_trace"])]
    manifest: Option<OsString>,

    /// Ask every call of a simulator's trace
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["operator", "kernel"])]
    from_trace: Option<OsString>,

    /// Set the answers beside those in the trace and list what differs
    #[arg(long, requires = "from_trace")]
    compare: bool,
}

/// What surrounds a call.
#[derive(Args)]
#[command(next_help_heading = "Surroundings")]
struct SurroundingArguments {
    /// Expert-parallel size
    #[arg(long, value_name = "N")]
    ep_size: Option<i64>,

    /// Tensor-parallel size
    #[arg(long, value_name = "N")]
    tp_size: Option<i64>,

    #[command(flatten)]
    layout: LayoutArguments,
}

impl SurroundingArguments {
    /// What they say about each call.
    fn of_calls(&self) -> Surroundings {
        self.layout.surroundings(self.tp_size, self.ep_size)
    }
}

const EXAMPLES: &str = "\
Examples:
  query-database --database-path db aten.mm.default 16,5120:bf16 5120,768:bf16
  query-database --database-path db --explain --nearest 3 \\
      --kernel MatMulV2 --input-shapes '16,5120;5120,768' --types DT_BF16
  query-database --database-path db --semantics best \\
      aten.mm.default 100,5120:bf16 5120,768:bf16
  query-database --database-path db --manifest questions.jsonl --json -
  query-database --database-path db --from-trace trace.json --compare \\
      --semantics upstream --require

Exit status: 0 done, 1 failed, 2 wrong usage, 3 with --require: a question has no answer,
or with --compare another one than the trace.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let directory = arguments.database.directory(None)?;
    version::compare(&arguments.database, &directory)?;
    let semantics: ReaderSemantics = arguments.semantics.parse()?;
    let sink = Sink::open(arguments.json.as_deref(), arguments.csv.as_deref(), semantics == ReaderSemantics::Best)?;
    refuse_overwriting(&arguments, &sink, &directory)?;
    let mapping = directory.join("op_mapping.yaml");
    if arguments.question.kernel.is_none() && directory.is_dir() && !mapping.exists() {
        warn(&format!("{}: there is no such file, so no operator is known (--kernel asks a table)", shown(&mapping)));
    }
    let database = Database::open(&directory)?;
    version::warn_of_foreign_collectives(&database);
    let reader = database.reader(semantics, arguments.layer(semantics));
    if let Some(trace) = arguments.question.from_trace.as_deref().filter(|_| arguments.question.compare) {
        return compare(&reader, trace.as_ref(), &arguments, sink);
    }
    let details = Details { explained: arguments.explain, nearest: arguments.nearest };
    let layout = arguments.terminal.layout();
    let asking = Asking { reader, sink, details, limit: arguments.limit, layout };
    let all_answered = asking.ask(Questions::of(&arguments)?)?;
    Ok(if all_answered || !arguments.require { Status::Success } else { Status::LimitPassed })
}

impl Arguments {
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
