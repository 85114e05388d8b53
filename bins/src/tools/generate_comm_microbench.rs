//! Plans a grid of collectives, runs it, writes communication tables.

mod arguments;

use crate::communication::{Display, failure, plan_warning, report_outcome};
use crate::provenance::provenance;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print, run, warn};
use arguments::Arguments;
use perfdb_comm::Error;
use perfdb_comm::bandwidth::to_table;
use perfdb_comm::bench::{Bench, Outcome, Output, Page, collect};
use perfdb_comm::engine::Interpreter;
use perfdb_files::replace::{Parents, refuse_inputs, replace};
use perfdb_report::pages::bandwidth_page;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "generate-comm-microbench",
    job: Job::MeasureCollectives,
    summary: "plan and measure collectives",
    main,
    command: command_of::<Arguments>,
};

const ORIGINAL_OPTIONS: [&str; 11] = [
    "output-dir",
    "database-path",
    "output-csv",
    "ops",
    "num-devices",
    "topology-tier",
    "grid-shape",
    "dtype",
    "bytes-grid",
    "bench-mode",
    "do-run",
];

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &ORIGINAL_OPTIONS, generate)
}

fn generate(arguments: Arguments) -> Result<Status, Failure> {
    let planning = arguments.plan || arguments.plan_out.is_some();
    let running = arguments.do_run || arguments.database_path.is_some();
    if !planning && !running && arguments.from_results.is_none() {
        return Err(Failure::usage("nothing to do: give --do-run, --plan, --plan-out or --from-results"));
    }
    let request = arguments.request();
    request.check().map_err(failure)?;
    let names_one = request.ops.len() == 1 || (arguments.from_results.is_some() && arguments.ops.is_none());
    if arguments.output_csv.is_some() && !names_one {
        return Err(failure(Error::SeveralOperators));
    }
    if planning {
        let plan = request.plan().map_err(failure)?;
        plan.warnings().iter().for_each(|warning| warn(&plan_warning(warning)));
        if let Some(path) = &arguments.plan_out {
            replace(path, plan.to_json().as_bytes(), Parents::MustExist)?;
        }
        if arguments.plan {
            print(&plan.to_json())?;
        }
        return Ok(Status::Success);
    }
    let output = Output { page: arguments.html.clone().map(|path| page(path, &arguments)), ..arguments.output()? };
    let display = Display::default();
    let events = |event| display.show(event);
    let outcome = match &arguments.from_results {
        Some(directory) => {
            let inputs = files_in(directory);
            let outputs = [&arguments.output_csv, &arguments.run.report, &arguments.html]
                .into_iter()
                .filter_map(|file| file.as_deref());
            refuse_inputs(outputs, inputs.iter().map(PathBuf::as_path))?;
            collect(directory, &output, &events).map_err(failure)?
        }
        None => {
            let interrupt = perfdb_files::interrupt::cooperate().flag();
            let options = arguments.run_options()?;
            let silent = options.rank_of_launcher.as_ref().is_some_and(|rank| rank.rank != 0);
            let events = |event| {
                if !silent {
                    display.show(event)
                }
            };
            let bench = Bench::new(&request, options, output).map_err(failure)?;
            bench.plan().warnings().iter().filter(|_| !silent).for_each(|warning| warn(&plan_warning(warning)));
            let interpreter = Interpreter::find(arguments.run.interpreter().as_ref(), interrupt).map_err(failure)?;
            bench.run(&interpreter, &events, interrupt).map_err(failure)?
        }
    };
    report(&outcome, running || (arguments.output_csv.is_none() && arguments.output_dir.is_none()))
}

/// The page, which is written in one step with the tables.
fn page(path: PathBuf, arguments: &Arguments) -> Page {
    let read = provenance(TOOL.name, arguments.from_results.as_deref().map(|folder| ("results", folder)));
    let html = move |outcome: &Outcome| bandwidth_page(outcome, read.clone()).to_html().map_err(io::Error::other);
    Page { path, content: Arc::new(move |outcome| html(outcome).map(String::into_bytes)) }
}

/// The files of a results folder; a folder that cannot be read is refused by whoever reads it.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn report(outcome: &Outcome, with_table: bool) -> Result<Status, Failure> {
    if with_table && !outcome.bandwidths.is_empty() {
        print(&to_table(&outcome.bandwidths))?;
    }
    report_outcome(outcome);
    Ok(if outcome.is_complete() { Status::Success } else { Status::LimitPassed })
}
