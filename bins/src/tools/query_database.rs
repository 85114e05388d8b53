//! Questions to a database, from the command line, a manifest or a simulator's trace.

mod comparison;
mod printing;
mod questions;
mod version;

use crate::database::DatabaseArguments;
use crate::json_file::JsonFile;
use crate::layout::LayoutArguments;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print_escaped, run, warn};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser};
use comparison::compare;
use perfdb_files::escape::{for_terminal, one_line, shown};
use perfdb_files::replace::refuse_inputs;
use perfdb_query::{Answer, Database, Layer, Miss, Query, Reader, ReaderSemantics, Surroundings};
use perfdb_store::directory::tables_in;
use printing::{Form, Sink};
use questions::Questions;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
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
        Surroundings { tp_size: self.tp_size, ep_size: self.ep_size, sequence_parallel: self.layout.sequence_parallel }
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

/// A question and what it is called.
pub(crate) struct Question {
    /// As in the manifest; `None` where there is only one.
    id: Option<serde_json::Value>,
    /// For people.
    name: String,
    query: Query,
}

/// A question with its answer.
struct Answered {
    question: Question,
    answer: Result<Answer, Miss>,
}

/// People read a table of so many answers at a time.
const TABLE_ROWS: usize = 1000;

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let directory = arguments.database.directory(None)?;
    version::compare(&arguments.database, &directory)?;
    let semantics: ReaderSemantics = arguments.semantics.parse()?;
    let is_trace = arguments.question.from_trace.is_some();
    let layer = match arguments.layer.as_deref() {
        Some("measured") => Layer::Measured,
        Some(_) => Layer::Interpolating,
        // The simulator of 2025 did not interpolate.
        None if is_trace && semantics == ReaderSemantics::Upstream2025 => Layer::Measured,
        None => Layer::Interpolating,
    };
    let mut sink = Sink::open(arguments.json.as_deref(), arguments.csv.as_deref(), semantics == ReaderSemantics::Best)?;
    let asked = &arguments.question;
    let questions = [&asked.manifest, &asked.from_trace].into_iter().flatten().map(Path::new);
    let mut database_files = if directory.is_dir() { tables_in(&directory)? } else { Vec::new() };
    database_files.push(directory.join("op_mapping.yaml"));
    refuse_inputs(sink.files(), questions.chain(database_files.iter().map(PathBuf::as_path)))?;
    let mapping = directory.join("op_mapping.yaml");
    if asked.kernel.is_none() && directory.is_dir() && !mapping.exists() {
        warn(&format!("{}: there is no such file, so no operator is known (--kernel asks a table)", shown(&mapping)));
    }
    let database = Database::open(&directory)?;
    version::warn_of_foreign_collectives(&database);
    let reader = database.reader(semantics, layer);
    if let Some(trace) = arguments.question.from_trace.as_deref().filter(|_| arguments.question.compare) {
        return compare(&reader, trace.as_ref(), &arguments, sink);
    }
    let mut questions = Questions::of(&arguments)?;
    let mut shown = Vec::new();
    let mut has_misses = false;
    let ended = loop {
        let question = match questions.next() {
            Ok(Some(question)) => question,
            ended => break ended,
        };
        let answer = reader.lookup(&question.query);
        has_misses |= answer.is_err();
        sink.add(&question.id, &question.name, &answer)?;
        shown.push(Answered { question, answer });
        if shown.len() == TABLE_ROWS || !sink.shows_table() {
            show(&reader, &mut shown, &arguments, &sink)?;
        }
        if questions.would_wait() {
            sink.flush()?;
        }
    };
    // What was asked before a line that is no question is answered.
    show(&reader, &mut shown, &arguments, &sink)?;
    sink.flush()?;
    ended?;
    sink.finish()?;
    Ok(if has_misses && arguments.require { Status::LimitPassed } else { Status::Success })
}

/// Shows answers to people, and what they asked for besides.
fn show(reader: &Reader, shown: &mut Vec<Answered>, arguments: &Arguments, sink: &Sink) -> Result<(), Failure> {
    let shows_table = sink.shows_table();
    if shows_table && !shown.is_empty() {
        print_escaped(&printing::table(shown))?;
        print_escaped(&printing::sentences(shown))?;
    }
    // Answers for programs have stdout for themselves; what was asked for besides goes to stderr.
    for one in shown.drain(..).filter(|_| shows_table || arguments.explain || arguments.nearest > 0) {
        let text = more(reader, &one, arguments);
        if shows_table {
            print_escaped(&text)?;
        } else {
            // Nobody who reads stderr: no reason to stop.
            let _ = std::io::stderr().write_all(for_terminal(&text).as_bytes());
        }
    }
    Ok(())
}

/// What was tried for a question, and the nearest rows.
fn more(reader: &Reader, one: &Answered, arguments: &Arguments) -> String {
    let name = one_line(&one.question.name);
    let mut text = String::new();
    if let Err(miss) = &one.answer {
        let reason = one_line(&miss.to_string());
        text.push_str(&format!("\nno answer to {name}: {} ({reason})\n", miss.reason.meaning()));
    }
    if arguments.explain {
        let (answer, explanation) = reader.explain(&one.question.query);
        text.push_str(&format!("\nhow {name} was looked up\n"));
        explanation.lines.iter().for_each(|line| text.push_str(&format!("  {}\n", one_line(line))));
        if let Ok(answer) = &answer {
            text.push_str(&printing::details(answer));
        }
    }
    // A question without an answer always names some.
    let count = if one.answer.is_err() && arguments.nearest == 0 { 1 } else { arguments.nearest };
    let nearest = reader.nearest(&one.question.query, count);
    if !nearest.is_empty() {
        text.push_str(&format!("\nnearest rows to {name}\n"));
    }
    for near in nearest {
        let why = if near.difference.is_empty() { "fits".to_owned() } else { near.difference };
        text.push_str(&format!("  {}  {}  {} us  {why}\n", near.row, near.inputs, near.duration_us));
    }
    text
}

fn open_output(path: Option<&OsStr>) -> Result<(bool, Option<JsonFile>), Failure> {
    match path {
        Some(path) if path == "-" => Ok((true, None)),
        path => Ok((false, JsonFile::open(path)?)),
    }
}

impl Form {
    /// Opens where answers of this form go.
    fn open(path: Option<&OsStr>) -> Result<Form, Failure> {
        let (is_stdout, file) = open_output(path)?;
        Ok(Form { is_stdout, file, text: String::new() })
    }
}
