//! run-all-op: measures the tables of all operators, or of some, again.

use crate::program::command_for;
use crate::registry::{Job, Tool};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::database::{DATABASE_OPTIONS, DatabaseArguments};
use crate::replay::{
    DispatchArguments, DispatchPrefixedArguments, Narrator, OutputArguments, ReplayArguments, ReportFiles,
    UpdateModeArgument, child_arguments, repeat_count, run_id, stopped, visibility, warn_of_host, worker_listener,
};
use crate::{Failure, Status, command_of, run};
use clap::{Args, Parser, ValueEnum};
use perfdb_microbench::run_all::{self, RunAllOptions, RunAllOutcome};
use perfdb_replay::backend::Backend;
use perfdb_replay::executor::start::starters;
use perfdb_replay::operator::Operator;
use perfdb_replay::operators::DISPATCH_FFN_COMBINE;
use perfdb_replay::settings::RunSettings;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "run-all-op",
    job: Job::MeasureOperators,
    summary: "measure all operators into an op_summary",
    main,
    command: command_of::<Arguments>,
};

/// Measure the tables of all operators of a database again, one operator after the other.
#[derive(Debug, Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    #[command(flatten)]
    database: DatabaseArguments,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    dispatch: DispatchPrefixedArguments,

    #[command(flatten)]
    replay: ReplayArguments,

    #[command(flatten)]
    files: OutputArguments,
}

#[derive(Debug, Args)]
struct Selection {
    /// Only these operators; --op is the same option
    #[arg(long, visible_alias = "op", value_name = "NAME", num_args = 1.., action = clap::ArgAction::Set)]
    ops: Vec<String>,

    /// Timed runs per row [default: $MSMODELING_OP_REPLAY_REPEAT_COUNT, else 30; DispatchFFNCombine: 20]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    repeat_count: Option<i64>,

    /// Which rows: all, or those without a valid duration
    #[arg(long, value_name = "MODE", default_value = "all")]
    update_mode: UpdateModeArgument,

    /// All operators in this process, or a process for each
    #[arg(long, value_name = "MODE", default_value = "inprocess")]
    execution_mode: ExecutionMode,

    /// Go on after a failed operator
    #[arg(long)]
    continue_on_error: bool,

    /// Which operators ran, failed or had no table, as JSON
    /// [default: $PERFDB_RUN_STATUS, else run_all_op_status.json in the database folder]
    #[arg(long, value_name = "FILE")]
    status_file: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  run-all-op --database-path db --continue-on-error
  run-all-op --database-path db --ops MatMulV2 RmsNorm --repeat-count 5 \\
      --results results.json
  run-all-op --database-path db --backend torch-cpu --update-mode missing-only";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExecutionMode {
    /// One driver and one executor for all operators
    Inprocess,
    /// A child op-replay for each operator
    Subprocess,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    let mut original = DATABASE_OPTIONS.to_vec();
    original.extend(["ops", "repeat-count", "update-mode", "execution-mode", "continue-on-error"]);
    original.extend(DispatchPrefixedArguments::NAMES);
    run(arguments, &original, main_of)
}

fn main_of(arguments: Arguments) -> Result<Status, Failure> {
    let operators = run_all::choose(&arguments.selection.ops)?;
    let database = arguments.database.directory(Some(arguments.replay.interpreter()))?;
    let settings = settings(&arguments, &operators, &database)?;
    settings.check()?;
    let from_variable = || std::env::var_os("PERFDB_RUN_STATUS").filter(|path| !path.is_empty()).map(PathBuf::from);
    let options = RunAllOptions {
        status_file: arguments
            .selection
            .status_file
            .clone()
            .or_else(from_variable)
            .unwrap_or_else(|| database.join("run_all_op_status.json")),
        database,
        operators,
        continue_on_error: arguments.selection.continue_on_error,
    };
    let mut reports = Some(ReportFiles::open(&arguments.files, &settings.output)?);
    let interrupt = perfdb_files::interrupt::cooperate().clone();
    let narrator = Narrator::to_stdout();
    let outcome = match arguments.selection.execution_mode {
        ExecutionMode::Inprocess => {
            let notify = |event: perfdb_replay::session::Event<'_>| narrator.tell(event);
            let starters = starters(&settings, &interrupt, &worker_listener());
            run_all::run(&options, &settings, starters, &interrupt, &notify)
        }
        ExecutionMode::Subprocess => {
            let parts = tempfile::tempdir()?;
            let command = |operator: &Operator| child(&arguments, &settings, operator, parts.path());
            let outcome = run_all::run_in_children(&options, &command, &interrupt);
            let results = join_parts(&options.operators, parts.path(), "results")?;
            let dumps = join_parts(&options.operators, parts.path(), "dump-outputs")?;
            reports.take().map_or(Ok(()), |reports| reports.write_parts(&results, &dumps))?;
            outcome
        }
    };
    let RunAllOutcome { status, report, stopped_by } = outcome.map_err(stopped)?;
    if let Some(report) = report {
        if let Some(reports) = reports.filter(|_| settings.writes_files()) {
            reports.write(&report)?;
        }
        narrator.tell_end(report.counts, report.op_summary.as_deref());
    }
    narrator.tell_status(&status);
    match stopped_by {
        Some(error) => Err(stopped(error)),
        None => Ok(Status::Success),
    }
}

fn settings(arguments: &Arguments, operators: &[&'static Operator], database: &Path) -> Result<RunSettings, Failure> {
    let (backend, is_default) = arguments.replay.backend(Backend::Native)?;
    if is_default {
        warn_of_host(&visibility(Backend::Npu));
    }
    let output = arguments.files.output.clone().unwrap_or_else(|| database.to_owned());
    let run_id = run_id(arguments.files.run_id.as_deref());
    let mut settings = arguments.replay.settings(backend, output, run_id)?;
    settings.tool = "run-all-op";
    settings.update_mode = arguments.selection.update_mode.into();
    arguments.files.apply(&mut settings);
    DispatchArguments::from(&arguments.dispatch).apply(&mut settings, DispatchPrefixedArguments::PREFIX)?;
    let looks_at_variable = operators.iter().any(|operator| operator.own_repeat_count.is_none());
    if arguments.selection.repeat_count.is_some() || looks_at_variable {
        settings.repeats = repeat_count(arguments.selection.repeat_count)?;
    }
    Ok(settings)
}

/// The child that replays one operator, with the options that apply to it.
fn child(arguments: &Arguments, settings: &RunSettings, operator: &Operator, parts: &Path) -> Command {
    let mut command = command_for(super::op_replay::TOOL.name);
    command.arg(operator.name);
    let database = &arguments.database;
    match &database.database_path {
        Some(path) => {
            command.arg("--database-path").arg(path);
        }
        None => {
            command.args(database.device.iter().flat_map(|device| ["--device", device.as_str()]));
            let versions = [
                ("--vllm-version", &database.vllm_version),
                ("--torch-version", &database.torch_version),
                ("--cann-version", &database.cann_version),
            ];
            for (name, version) in versions {
                command.args(version.iter().flat_map(|version| [name, version.as_str()]));
            }
        }
    }
    let update_mode = if arguments.selection.update_mode == UpdateModeArgument::All { "all" } else { "missing-only" };
    command.args(["--update-mode", update_mode]);
    if let Some(count) = settings.repeats.flag {
        command.arg("--repeat-count").arg(count.to_string());
    }
    command.args(child_arguments(&arguments.replay, &arguments.files, settings));
    for (given, name) in [(&arguments.files.results, "results"), (&arguments.files.dump_outputs, "dump-outputs")] {
        if given.is_some() {
            command.arg(format!("--{name}")).arg(parts.join(format!("{}.{name}.json", operator.name)));
        }
    }
    if operator.name == DISPATCH_FFN_COMBINE {
        command.args(arguments.dispatch.for_op_replay());
    }
    command
}

/// Joins what the children have written, in running order.
fn join_parts(operators: &[&'static Operator], parts: &Path, name: &str) -> Result<Vec<serde_json::Value>, Failure> {
    let mut joined = Vec::new();
    for operator in operators {
        if let Ok(text) = std::fs::read_to_string(parts.join(format!("{}.{name}.json", operator.name))) {
            joined.extend(serde_json::from_str::<Vec<serde_json::Value>>(&text)?);
        }
    }
    Ok(joined)
}
