//! op-replay: measures the rows of one operator's tables again.

mod arguments;
mod shard;

use crate::registry::{Job, Tool};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::database::DATABASE_OPTIONS;
use crate::replay::{ReportFiles, RunPrinter, stopped, worker_listener};
use crate::shards::{GivenArguments, Part, shared_inputs};
use crate::{Failure, Status, command_of, print, print_bytes, run};
use arguments::{Arguments, PlanFormatArgument};
use perfdb_files::shards::ShardWriter;
use perfdb_replay::case_file::read_cases;
use perfdb_replay::error::Error;
use perfdb_replay::executor::start::starters;
use perfdb_replay::operator::Operator;
use perfdb_replay::operators::{DISPATCH_FFN_COMBINE, OPERATORS, find, suggestion};
use perfdb_replay::plan::{PlannedRow, RowPlan, plan_rows};
use perfdb_replay::plan_writer::{PlanFormat, PlanWriter};
use perfdb_replay::row_selection::RowSelection;
use perfdb_replay::session::{Event, Rows, replay_operator};
use perfdb_replay::settings::RunSettings;
use perfdb_replay::table;
use perfdb_store::kernel::operator_name;
use shard::JOURNAL;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "op-replay",
    job: Job::MeasureOperators,
    summary: "measure the rows of one operator",
    main,
    command: command_of::<Arguments>,
};

fn main(arguments: Vec<OsString>) -> ExitCode {
    let mut original = DATABASE_OPTIONS.to_vec();
    original.extend(["repeat-count", "update-mode", "ep-size", "balanced", "no-balanced", "max-output-size"]);
    original.extend(["nproc-per-node", "nnodes", "node-rank", "master-addr", "master-port"]);
    let arguments = with_operator_of_link(arguments);
    let given = GivenArguments::of(&arguments);
    run(arguments, &original, |arguments| main_of(arguments, &given))
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

fn main_of(arguments: Arguments, given: &GivenArguments) -> Result<Status, Failure> {
    arguments.check()?;
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
    let mut settings = arguments.settings(operator, &database)?;
    settings.check().map_err(Error::from).map_err(stopped)?;
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
        return print_plan(arguments.plan_format, operator, &settings, &files, &cases);
    }
    settings.check_ranks(operator).map_err(Error::from).map_err(stopped)?;
    let reports = ReportFiles::open(&arguments.files, &settings.output)?;
    reports.refuse_inputs(files.iter().chain(&arguments.cases))?;
    let job =
        || given.job(TOOL.name, shared_inputs(files.iter().chain(&arguments.cases).map(PathBuf::as_path))?, Vec::new());
    let part = arguments.shards.part()?;
    let writer = match part {
        Part::Whole => None,
        Part::Shard(shard, ref folder) => {
            settings.rows = RowSelection::Shard(shard);
            Some((shard, ShardWriter::create(folder, shard, job()?)?))
        }
        Part::Done(set) => {
            set.check(&job()?)?;
            settings.rows = RowSelection::Journals(set.shards().map(|(folder, _)| folder.join(JOURNAL)).collect());
            None
        }
    };
    let interrupt = perfdb_files::interrupt::cooperate().clone();
    let printer = RunPrinter::to_stdout();
    let notify = |event: Event<'_>| printer.print(event);
    let rows = if files.is_empty() { Rows::Cases(cases) } else { Rows::Tables(files) };
    if let Some((shard, writer)) = writer {
        return shard::measure(operator, rows, settings, &interrupt, shard, writer);
    }
    let starters = starters(&settings, &interrupt, &worker_listener());
    let mut run = replay_operator(operator, rows, &settings, starters, &interrupt, &notify).map_err(stopped)?;
    if let Some(error @ Error::NotEachOnce { .. }) = run.failure {
        return Err(stopped(error));
    }
    if settings.writes_files() {
        reports.write(&mut run.report, &notify)?;
    }
    printer.print_end(run.report.counts, run.report.op_summary.as_deref());
    run.failure.map_or(Ok(Status::Success), |error| Err(stopped(error)))
}

fn print_plan(
    format: PlanFormatArgument,
    operator: &'static Operator,
    settings: &RunSettings,
    files: &[PathBuf],
    rows: &[PlannedRow],
) -> Result<Status, Failure> {
    let plan = settings.plan_settings(operator);
    let printer = RunPrinter::to_stderr();
    // Nothing is printed before all tables have been read.
    let tables = files.iter().map(|file| table::read(file, operator)).collect::<Result<Vec<_>, _>>()?;
    let format = match format {
        PlanFormatArgument::Jsonl => PlanFormat::Lines,
        PlanFormatArgument::Json => PlanFormat::Array,
    };
    let mut writer = PlanWriter::new(format, print_bytes);
    rows.iter().try_for_each(|row| writer.write(row))?;
    for row in tables.iter().flat_map(|table| plan_rows(table, operator, &plan)) {
        if let RowPlan::Invalid(refusal) = &row.plan {
            printer.print(Event::Invalid(&row, refusal));
        }
        writer.write(&row)?;
    }
    writer.finish()?;
    Ok(Status::Success)
}
