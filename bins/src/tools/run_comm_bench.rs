//! The standard collection of communication times: several sessions of the bench, on one node or on many.

mod arguments;
mod printer;

use crate::communication::failure;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print, run, warn};
use arguments::Arguments;
use perfdb_comm::Error;
use perfdb_comm::collection::Collection;
use perfdb_comm::engine::Interpreter;
use perfdb_comm::sessions::{Environment, SessionPlan};
use perfdb_files::escape::shown;
use perfdb_files::replace::{Parents, replace};
use perfdb_report::collection as text;
use printer::Printer;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::SystemTime;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "run-comm-bench",
    job: Job::MeasureCollectives,
    summary: "measure all collectives of one or many nodes",
    main,
    command: command_of::<Arguments>,
};

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], collect)
}

fn collect(arguments: Arguments) -> Result<Status, Failure> {
    let environment =
        Environment::read(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()));
    let plan = SessionPlan::new(&environment, &arguments.sessions()).map_err(failure)?;
    plan.warnings.iter().for_each(|warning| warn(warning));
    if arguments.plan || arguments.plan_out.is_some() {
        if let Some(path) = &arguments.plan_out {
            replace(path, plan.to_json().as_bytes(), Parents::MustExist)?;
        }
        if arguments.plan {
            print(&plan.to_json())?;
        }
        return Ok(Status::Success);
    }
    let options = arguments.collection()?;
    let collection = Collection::new(&plan, &options).map_err(failure)?;
    let interrupt = perfdb_files::interrupt::cooperate().flag();
    let interpreter = Interpreter::find(arguments.run.interpreter().as_ref(), interrupt).map_err(failure)?;
    print(&text::heading(&plan, SystemTime::now()))?;
    let printer = Printer::default();
    let collected = collection.run(&interpreter, interrupt, &|step| printer.print(step));
    printer.finish()?;
    let collected = match collected {
        Err(Error::Interrupted { .. }) => {
            return Err(Failure::lines(vec!["ended by a signal; the tables hold the sessions so far".into()]));
        }
        other => other.map_err(failure)?,
    };
    print(&text::summary(&collected, SystemTime::now()))?;
    if collected.complete == plan.sessions.len() {
        Ok(Status::Success)
    } else if collected.useful > 0 {
        Ok(Status::LimitPassed)
    } else {
        Err(Failure::lines(vec![format!("{}: no session gave a row", shown(&plan.output_dir))]))
    }
}
