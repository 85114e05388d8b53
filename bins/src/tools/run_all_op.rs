//! run-all-op: measures the tables of all operators, or of some, again.

mod arguments;
mod child;

use crate::registry::{Job, Tool};
use perfdb_files::replace::refuse_inputs;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::database::DATABASE_OPTIONS;
use crate::replay::{
    DispatchPrefixedArguments, ReportFiles, RunPrinter, path_variable, stopped_run_of_all, worker_listener,
};
use crate::{Failure, Status, command_of, run};
use arguments::{Arguments, ExecutionMode};
use child::{child, write_together};
use perfdb_replay::error::Error;
use perfdb_replay::executor::start::starters;
use perfdb_replay::microbench::run_all::children::{HandedOver, run_in_children};
use perfdb_replay::microbench::run_all::{self, RunAllOptions, RunAllOutcome};
use perfdb_replay::operator::Operator;
use perfdb_store::directory::tables_in;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "run-all-op",
    job: Job::MeasureOperators,
    summary: "measure all operators into an op_summary",
    main,
    command: command_of::<Arguments>,
};

fn main(arguments: Vec<OsString>) -> ExitCode {
    let mut original = DATABASE_OPTIONS.to_vec();
    original.extend(["ops", "repeat-count", "update-mode", "execution-mode", "continue-on-error"]);
    original.extend(DispatchPrefixedArguments::NAMES);
    run(arguments, &original, main_of)
}

fn main_of(arguments: Arguments) -> Result<Status, Failure> {
    let operators = run_all::choose(&arguments.selection.ops)?;
    let database = arguments.database.directory(Some(arguments.replay.interpreter()))?;
    let settings = arguments.settings(&operators, &database)?;
    settings.check().map_err(Error::from).map_err(stopped_run_of_all)?;
    let options = RunAllOptions {
        status_file: arguments
            .selection
            .status_file
            .clone()
            .or_else(|| path_variable("PERFDB_RUN_STATUS"))
            .unwrap_or_else(|| database.join("run_all_op_status.json")),
        database,
        operators,
        continue_on_error: arguments.selection.continue_on_error,
    };
    let reports = ReportFiles::open(&arguments.files, &settings.output)?;
    if options.database.is_dir() {
        let tables = tables_in(&options.database)?;
        reports.refuse_inputs(tables.iter())?;
        refuse_inputs([options.status_file.as_path()], tables.iter().map(PathBuf::as_path))?;
    }
    let mut reports = Some(reports);
    let interrupt = perfdb_files::interrupt::cooperate().clone();
    let printer = RunPrinter::to_stdout();
    let outcome = match arguments.selection.execution_mode {
        ExecutionMode::Inprocess => {
            let notify = |event: perfdb_replay::session::Event<'_>| printer.print(event);
            let starters = starters(&settings, &interrupt, &worker_listener());
            run_all::run(&options, &settings, starters, &interrupt, &notify)
        }
        ExecutionMode::Subprocess => {
            let handed_over = HandedOver::new().map_err(stopped_run_of_all)?;
            let command = |operator: &Operator| child(&arguments, &settings, operator, &handed_over);
            let outcome = run_in_children(&options, &command, &interrupt);
            if outcome.is_ok()
                && settings.writes_files()
                && let Some(reports) = reports.take()
            {
                write_together(&handed_over, &options.operators, &settings, reports)?;
            }
            outcome
        }
    };
    let RunAllOutcome { status, report, stopped_by } = outcome.map_err(stopped_run_of_all)?;
    if let Some(mut report) = report {
        if let Some(reports) = reports.filter(|_| settings.writes_files()) {
            reports.write(&mut report, &|event| printer.print(event))?;
        }
        printer.print_end(report.counts, report.op_summary.as_deref());
    }
    printer.print_status(&status);
    match stopped_by {
        Some(error) => Err(stopped_run_of_all(error)),
        None => Ok(Status::Success),
    }
}
