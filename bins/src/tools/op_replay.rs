//! op-replay: measures the rows of one operator's tables again.

use crate::registry::{Job, Tool};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::database::{DATABASE_OPTIONS, DatabaseArguments, lock_options};
use crate::replay::{
    DispatchArguments, Narrator, OutputArguments, ReplayArguments, ReportFiles, UpdateModeArgument, repeat_count,
    run_id, stopped, visibility, warn_of_host, worker_listener,
};
use crate::{Failure, Status, command_of, print, print_bytes, run};
use clap::{Parser, ValueEnum};
use perfdb_files::lock::finish_pending;
use perfdb_files::paths::parent_of;
use perfdb_replay::backend::Backend;
use perfdb_replay::case_file::read_cases;
use perfdb_replay::error::Error;
use perfdb_replay::executor::start::starters;
use perfdb_replay::operator::Operator;
use perfdb_replay::operators::{DISPATCH_FFN_COMBINE, OPERATORS, find, suggestion};
use perfdb_replay::plan::{PlannedRow, RowFate, plan_rows};
use perfdb_replay::session::{Event, OperatorOutcome, Session};
use perfdb_replay::settings::RunSettings;
use perfdb_replay::table;
use perfdb_store::kernel::operator_name;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "op-replay",
    job: Job::MeasureOperators,
    summary: "measure the rows of one operator",
    main,
    command: command_of::<Arguments>,
};

/// Measure the rows of one operator's tables again: each row becomes an explicit case, an executor runs it N times,
/// and the times go into an op_summary file and, on request, a results file.
#[derive(Debug, Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// Operator: one of --list; a final _run.py, _run or .csv is cut off
    #[arg(value_name = "OP")]
    op: Option<String>,

    /// Print the names of the operators
    #[arg(long)]
    list: bool,

    #[command(flatten)]
    database: DatabaseArguments,

    /// Timed runs per row [default: $MSMODELING_OP_REPLAY_REPEAT_COUNT, else 30; DispatchFFNCombine: 20]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    repeat_count: Option<i64>,

    /// Which rows: all, or those without a valid duration
    #[arg(long, value_name = "MODE", default_value = "all")]
    update_mode: UpdateModeArgument,

    /// Replay exactly this table (repeatable); the database options are not looked at
    #[arg(long, value_name = "FILE")]
    csv: Vec<PathBuf>,

    /// Run the cases of this file (JSON array or JSON lines) instead of database rows
    #[arg(long, value_name = "FILE", conflicts_with = "csv")]
    cases: Option<PathBuf>,

    /// Print the cases and stop: nothing is started or changed
    #[arg(long)]
    plan: bool,

    /// Form of the plan
    #[arg(long, value_name = "FORM", default_value = "jsonl")]
    plan_format: PlanFormat,

    #[command(flatten)]
    replay: ReplayArguments,

    #[command(flatten)]
    files: OutputArguments,

    #[command(flatten)]
    dispatch: DispatchArguments,
}

const EXAMPLES: &str = "\
Examples:
  op-replay MatMulV2 --database-path db --plan            # what the rows become
  op-replay MatMulV2 --database-path db --results r.json  # measure on this CPU
  op-replay Add --csv Add.csv --backend torch-cpu --repeat-count 5
  op-replay Sort --csv Sort.csv --backend npu --msprof --output prof";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PlanFormat {
    /// One object per line
    Jsonl,
    /// One array
    Json,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    let mut original = DATABASE_OPTIONS.to_vec();
    original.extend(["repeat-count", "update-mode", "ep-size", "balanced", "no-balanced", "max-output-size"]);
    original.extend(["nproc-per-node", "nnodes", "node-rank", "master-addr", "master-port"]);
    run(with_operator_of_link(arguments), &original, main_of)
}

/// A program that is called through a link `<Op>_run` or `<Op>_run.py` takes OP from that name.
fn with_operator_of_link(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let name =
        arguments.first().and_then(|name| Path::new(name).file_name()).map(|name| name.to_string_lossy().into_owned());
    if let Some(name) = name.filter(|name| name.ends_with("_run") || name.ends_with("_run.py")) {
        arguments.insert(1, name.into());
    }
    arguments
}

fn main_of(arguments: Arguments) -> Result<Status, Failure> {
    if arguments.list {
        let names: Vec<&str> = OPERATORS.iter().map(|operator| operator.name).collect();
        print(&format!("{}\n", names.join("\n")))?;
        return Ok(Status::Success);
    }
    let name = arguments.op.as_deref().ok_or_else(|| Failure::usage("which operator? --list shows their names"))?;
    let name = operator_name(name);
    let operator = find(name).ok_or_else(|| {
        Failure::usage(format!("unknown operator {name:?}{}; --list shows their names", suggestion(name)))
    })?;
    if operator.name != DISPATCH_FFN_COMBINE && arguments.dispatch.is_given() {
        return Err(Failure::usage(format!("the options of {DISPATCH_FFN_COMBINE} do not fit {name}")));
    }
    let is_free = !arguments.csv.is_empty() || arguments.cases.is_some();
    let database = if is_free {
        PathBuf::from(".")
    } else {
        arguments.database.directory(Some(arguments.replay.interpreter()))?
    };
    let settings = settings(&arguments, operator, &database)?;
    settings.check()?;
    let files = match (&arguments.cases, arguments.csv.as_slice()) {
        (Some(_), _) => Vec::new(),
        (None, []) => perfdb_replay::table::find(&database, operator.name)?,
        (None, files) => files.to_vec(),
    };
    if files.is_empty() && arguments.cases.is_none() {
        return Err(Error::NoTable { op: operator.name.to_owned(), database }.into());
    }
    let cases = match &arguments.cases {
        Some(path) => read_cases(path, operator, settings.repeats.flag)?,
        None => Vec::new(),
    };
    if arguments.plan {
        return print_plan(arguments.plan_format, operator, &settings, &files, cases);
    }
    let folders: BTreeSet<PathBuf> =
        files.iter().map(|file| parent_of(file)).filter(|folder| folder.is_dir()).collect();
    finish_pending(folders, &lock_options(settings.tool, settings.lock_timeout))?;
    let reports = ReportFiles::open(&arguments.files, &settings.output)?;
    reports.refuse_inputs(files.iter().chain(&arguments.cases))?;
    let interrupt = perfdb_files::interrupt::cooperate().clone();
    let narrator = Narrator::to_stdout();
    let notify = |event: Event<'_>| narrator.tell(event);
    let starters = starters(&settings, &interrupt, &worker_listener());
    let mut session = Session::new(&settings, starters, &interrupt, &notify)?;
    let outcome = match files.as_slice() {
        [] => session.replay_cases(operator, cases),
        files => session.replay_tables(operator, files),
    };
    if let Ok(OperatorOutcome::RunEnds(error)) = outcome {
        session.abandon();
        return Err(stopped(error.into()));
    }
    let report = session.finish()?;
    if settings.writes_files() {
        reports.write(&report)?;
    }
    narrator.tell_end(report.counts, report.op_summary.as_deref());
    match outcome.map_err(stopped)? {
        OperatorOutcome::Failed(reason) => Err(stopped(Error::OperatorFailed { op: operator.name.to_owned(), reason })),
        _ => Ok(Status::Success),
    }
}

fn settings(arguments: &Arguments, operator: &Operator, database: &Path) -> Result<RunSettings, Failure> {
    let (backend, is_default) = arguments.replay.backend(Backend::Native)?;
    if is_default && !arguments.plan {
        warn_of_host(&visibility(Backend::Npu));
    }
    let output = arguments.files.output.clone().unwrap_or_else(|| database.to_owned());
    let mut settings = arguments.replay.settings(backend, output, run_id(arguments.files.run_id.as_deref()))?;
    settings.tool = "op-replay";
    settings.update_mode = arguments.update_mode.into();
    arguments.files.apply(&mut settings);
    arguments.dispatch.apply(&mut settings, "")?;
    // An operator with a default of its own does not look at the variable.
    if arguments.repeat_count.is_some() || operator.own_repeat_count.is_none() {
        settings.repeats = repeat_count(arguments.repeat_count)?;
    }
    Ok(settings)
}

fn print_plan(
    format: PlanFormat,
    operator: &'static Operator,
    settings: &RunSettings,
    files: &[PathBuf],
    rows: Vec<PlannedRow>,
) -> Result<Status, Failure> {
    let plan = settings.plan_settings(operator);
    let narrator = Narrator::to_stderr();
    // Nothing is printed before all tables have been read.
    let tables = files.iter().map(|file| table::read(file, operator)).collect::<Result<Vec<_>, _>>()?;
    let mut printer = PlanPrinter { format, has_rows: false, text: Vec::new() };
    rows.iter().try_for_each(|row| printer.print(row))?;
    for row in tables.iter().flat_map(|table| plan_rows(table, operator, &plan)) {
        if let RowFate::Invalid(refusal) = &row.fate {
            narrator.tell(Event::Invalid(&row, refusal));
        }
        printer.print(&row)?;
    }
    printer.finish()?;
    Ok(Status::Success)
}

/// Prints a plan row by row, some hundred kilobytes at a time.
struct PlanPrinter {
    format: PlanFormat,
    has_rows: bool,
    text: Vec<u8>,
}

const PRINTED_AT_ONCE_BYTES: usize = 1 << 18;

impl PlanPrinter {
    fn print(&mut self, row: &PlannedRow) -> Result<(), Failure> {
        if self.format == PlanFormat::Json {
            self.text.extend_from_slice(if self.has_rows { b",\n" } else { b"[\n" });
        }
        self.has_rows = true;
        row.write_json(&mut self.text);
        if self.format == PlanFormat::Jsonl {
            self.text.push(b'\n');
        }
        if self.text.len() >= PRINTED_AT_ONCE_BYTES {
            print_bytes(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        if self.format == PlanFormat::Json {
            self.text.extend_from_slice(if self.has_rows { b"\n]\n" } else { b"[\n\n]\n" });
        }
        print_bytes(&self.text)
    }
}
