//! What the predictions of a database are worth.

use crate::database::{CheckedDatabase, files_of};
use crate::database_folder::{refuse_other, refuse_without_tables};
use crate::json_file::{JsonFile, ResultFiles};
use crate::provenance::provenance;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print_styled, progress, run, warn};
use clap::Parser;
use clap::builder::PossibleValuesParser;
use perfdb_files::escape::one_line;
use perfdb_files::replace::{commit, refuse_inputs};
use perfdb_query::{Database, ReaderSemantics};
use perfdb_report::evaluation::{document, text};
use perfdb_report::list_csv::{OF_EVALUATION, inner_objects, list_csv};
use perfdb_report::pages::evaluation_page;
use perfdb_store::near_name::nearest;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

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
/// Tables whose rows contradict each other are named. By default the predictions of query-database --semantics best are judged;
/// --semantics corrected judges the default lookup rules, and counts the rows without an answer. Changes nothing.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// Evaluate the table of this kernel type only; once for each
    #[arg(long, value_name = "TYPE")]
    kernel: Vec<String>,

    /// Lookup rules to judge: best, corrected, upstream, upstream-2025
    #[arg(long, value_name = "NAME", default_value = ReaderSemantics::Best.name(), value_parser = PossibleValuesParser::new(ReaderSemantics::ALL.map(ReaderSemantics::name)))]
    semantics: String,

    /// Show all tables and remarks, not the ten worst tables
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    files: ResultFiles,

    #[command(flatten)]
    database: CheckedDatabase,
}

const EXAMPLES: &str = "\
Examples:
  evaluate-database db
  evaluate-database db --semantics corrected
  evaluate-database db --kernel MatMulV2 -o figures.json -o figures.html

The figures are explained in docs/guide/prediction.md.

Exit status: 0 done, 1 failed, 2 wrong usage.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let semantics: ReaderSemantics = arguments.semantics.parse()?;
    let directory = arguments.database.directory()?;
    refuse_other(&directory)?;
    let database = Database::open(&directory)?;
    let inputs = files_of(&directory)?;
    refuse_inputs(arguments.files.paths(), inputs.iter().map(PathBuf::as_path))?;
    // What cannot be written is told before the work.
    let json = JsonFile::open(arguments.files.json.as_deref())?;
    let csv = JsonFile::open_beside_tables(arguments.files.csv.as_deref(), &directory)?;
    let html = JsonFile::open(arguments.files.html.as_deref())?;
    let known = database.kernel_types();
    if let Some(unknown) = arguments.kernel.iter().find(|name| !known.iter().any(|known| **known == ***name)) {
        let near = nearest(unknown, known.iter().map(|name| &**name), str::to_lowercase);
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        let folder = one_line(&directory.display().to_string());
        return Err(Failure::lines(vec![format!("{folder}: no table of kernel type {}{near}", one_line(unknown))]));
    }
    let is_asked = |name: &str| arguments.kernel.is_empty() || arguments.kernel.iter().any(|asked| asked == name);
    let names: Vec<_> = known.iter().filter(|name| is_asked(name)).collect();
    if names.is_empty() {
        refuse_without_tables(&directory)?;
        let folder = one_line(&directory.display().to_string());
        return Err(Failure::lines(vec![format!("{folder}: no table with durations is in this database")]));
    }
    let sizes: Vec<u64> = names.iter().map(|name| bytes_of(&database, name)).collect();
    let bar = progress::bytes("tables", Some(sizes.iter().sum()));
    let (mut evaluations, mut failed) = (Vec::new(), Vec::new());
    let mut before = 0;
    for (name, size) in names.into_iter().zip(sizes) {
        // The bytes of a table are done by and by, with each part of its rows that was left out.
        let parts = Mutex::new(0.0);
        let done = |share: f64| {
            let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
            *parts += share;
            bar.set_position(before + (size as f64 * f64::min(*parts, 1.0)) as u64);
        };
        match database.evaluate_under(name, semantics, &done) {
            Ok(evaluation) => evaluations.extend(evaluation),
            Err(miss) => failed.push(format!("{name}: not evaluated: {miss}")),
        }
        before += size;
        bar.set_position(before);
    }
    bar.finish_and_clear();
    if evaluations.is_empty() && !failed.is_empty() {
        return Err(Failure::lines(failed));
    }
    failed.iter().for_each(|line| warn(line));
    let mut written = Vec::new();
    if json.is_some() || csv.is_some() {
        let document = document(&evaluations)?;
        if let Some(file) = csv {
            let document: Value = serde_json::from_str(&document).map_err(std::io::Error::other)?;
            written.push(file.stage_text(&list_csv(&OF_EVALUATION, &inner_objects(&document["kernels"], "scores")))?);
        }
        if let Some(file) = json {
            written.push(file.stage_text(&document)?);
        }
    }
    if let Some(file) = html {
        let read = provenance(TOOL.name, [("database", directory.as_path())]);
        written.push(file.stage_text(&evaluation_page(&evaluations, read).to_html()?)?);
    }
    let is_all = arguments.all || !arguments.kernel.is_empty();
    print_styled(&text(&evaluations, is_all, arguments.database.layout()))?;
    commit(written)?;
    Ok(Status::Success)
}

fn bytes_of(database: &Database, kernel_type: &str) -> u64 {
    let file = database.file(kernel_type);
    file.and_then(|file| fs::metadata(file).ok()).map_or(0, |metadata| metadata.len())
}
