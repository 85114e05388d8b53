//! What the predictions of a database are worth.

use crate::database::{DatabaseArguments, files_of};
use crate::database_folder::{refuse_other, refuse_without_tables};
use crate::json_file::JsonFile;
use crate::provenance::provenance;
use crate::registry::{Job, Tool};
use crate::terminal::TerminalArguments;
use crate::{Failure, Status, command_of, print_styled, progress, run, warn};
use clap::Parser;
use perfdb_files::escape::one_line;
use perfdb_files::replace::{commit, refuse_inputs};
use perfdb_query::Database;
use perfdb_report::evaluation::{document, text};
use perfdb_report::pages::evaluation_page;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "evaluate-database",
    job: Job::CheckDatabase,
    summary: "how far its predictions can be trusted",
    main,
    command: command_of::<Arguments>,
};

/// Measure what predictions from a database are worth: leave rows out, predict them from the others, compare.
///
/// Per kernel type: single rows left out, all rows with one number on an axis, all rows of one configuration (weight, heads,
/// ranks). The error (median, p90), the bias, the coverage of the 90 % intervals and half their width.
/// Tables whose rows contradict each other are named. Predictions are those of query-database --semantics best. Changes nothing.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// Evaluate the table of this kernel type only; once for each
    #[arg(long, value_name = "TYPE")]
    kernel: Vec<String>,

    /// Show all tables and remarks, not the ten worst tables
    #[arg(long)]
    all: bool,

    /// Write all figures as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    /// Also write one HTML page with charts and all rows
    #[arg(long, value_name = "FILE")]
    html: Option<OsString>,

    #[command(flatten)]
    terminal: TerminalArguments,

    #[command(flatten)]
    database: DatabaseArguments,
}

const EXAMPLES: &str = "\
Examples:
  evaluate-database db
  evaluate-database db --kernel MatMulV2 -o figures.json -o figures.html

The figures are explained in docs/guide/prediction.md.

Exit status: 0 done, 1 failed, 2 wrong usage.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let directory = arguments.database.directory(None)?;
    refuse_other(&directory)?;
    let database = Database::open(&directory)?;
    let inputs = files_of(&directory)?;
    let outputs = [&arguments.json, &arguments.html].into_iter().flatten().map(Path::new);
    refuse_inputs(outputs, inputs.iter().map(PathBuf::as_path))?;
    // What cannot be written is told before the work.
    let json = JsonFile::open(arguments.json.as_deref())?;
    let html = JsonFile::open(arguments.html.as_deref())?;
    let known = database.kernel_types();
    if let Some(unknown) = arguments.kernel.iter().find(|name| !known.iter().any(|known| **known == ***name)) {
        return Err(Failure::lines(vec![format!("{}: no table of kernel type {unknown}", directory.display())]));
    }
    let is_asked = |name: &str| arguments.kernel.is_empty() || arguments.kernel.iter().any(|asked| asked == name);
    let names: Vec<_> = known.iter().filter(|name| is_asked(name)).collect();
    if names.is_empty() {
        refuse_without_tables(&directory)?;
        let folder = one_line(&directory.display().to_string());
        return Err(Failure::lines(vec![format!("{folder}: no table with durations is in this database")]));
    }
    let bar = progress::items("tables", Some(names.len() as u64));
    let (mut evaluations, mut failed) = (Vec::new(), Vec::new());
    for name in names {
        bar.set_message(name.to_string());
        match database.evaluate(name) {
            Ok(evaluation) => evaluations.extend(evaluation),
            Err(miss) => failed.push(format!("{name}: not evaluated: {miss}")),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if evaluations.is_empty() && !failed.is_empty() {
        return Err(Failure::lines(failed));
    }
    failed.iter().for_each(|line| warn(line));
    let mut written = Vec::new();
    if let Some(file) = json {
        written.push(file.stage_text(&document(&evaluations)?)?);
    }
    if let Some(file) = html {
        let read = provenance(TOOL.name, [("database", directory.as_path())]);
        written.push(file.stage_text(&evaluation_page(&evaluations, read).to_html()?)?);
    }
    let is_all = arguments.all || !arguments.kernel.is_empty();
    print_styled(&text(&evaluations, is_all, arguments.terminal.layout()))?;
    commit(written)?;
    Ok(Status::Success)
}
