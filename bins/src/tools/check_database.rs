//! Lint of a database directory.

use crate::database::{CheckedDatabase, files_of};
use crate::database_folder::{refuse_other, warn_without_tables};
use crate::json_file::JsonFile;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print_styled, progress, run};
use clap::Parser;
use clap::builder::PossibleValuesParser;
use perfdb_files::escape::shown as path;
use perfdb_files::paths::within;
use perfdb_files::replace::{commit, refuse_inputs};
use perfdb_query::add_findings;
use perfdb_replay::plan::refusal;
use perfdb_report::database_check::{Shown, Summary, text};
use perfdb_report::list_csv::{OF_DATABASE_CHECK, list_csv};
use perfdb_store::directory::tables_in;
use perfdb_store::kernel::operator_name;
use perfdb_store::lint::{Checked, Finding, Kind, check_with, disagreements};
use perfdb_store::provenance::{Error as RecordError, FILE_NAME, Record};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "check-database",
    job: Job::CheckDatabase,
    summary: "find rows and files that can never answer",
    main,
    command: command_of::<Arguments>,
};

/// Look for what is wrong with a database: files that no tool can use, old columns, shapes that cannot be read, rows that
/// never answer, durations that are none or cannot be right, an operator mapping that does not fit the tables.
///
/// Findings of a kind are counted, and the first of them is shown; --all lists them all. Reads every table of the directory (and the communication tables that its op_mapping.yaml refers to), takes no lock
/// and changes nothing. Exit status 3 when something is found, and where there is no table.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// Kinds of findings that are accepted: not printed, and no reason for exit status 3
    #[arg(long, num_args = 1.., value_name = "KIND", value_parser = PossibleValuesParser::new(Kind::ALL.map(Kind::name)), action = clap::ArgAction::Set)]
    ignore: Vec<String>,

    /// List every finding, not only the first of each kind
    #[arg(long)]
    all: bool,

    /// Also find rows whose measured and profiled durations are further apart than 0.8 to 1.2 times and than the profiled calls vary
    #[arg(long)]
    against_samples: bool,

    /// Show at most N findings of each kind
    #[arg(long, value_name = "N", default_value_t = 1)]
    limit: usize,

    /// Write all findings as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    /// Write all findings as CSV to FILE
    #[arg(long, value_name = "FILE")]
    csv: Option<OsString>,

    #[command(flatten)]
    database: CheckedDatabase,
}

const EXAMPLES: &str = "\
Examples:
  check-database db/
  check-database db/ --against-samples --all
  check-database db/ -o findings.csv --ignore no-duration table-without-mapping

Exit status: 0 nothing found, 1 failed, 2 wrong usage, 3 something found (also a mapping without tables).";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let database = arguments.database.directory()?;
    refuse_other(&database)?;
    let json = JsonFile::open_for(arguments.json.as_deref(), &database)?;
    let csv = JsonFile::open_beside_tables(arguments.csv.as_deref(), &database)?;
    if database.is_dir() {
        let inputs = files_of(&database)?;
        let outputs = [&json, &csv].into_iter().flatten().map(JsonFile::path);
        refuse_inputs(outputs, inputs.iter().map(PathBuf::as_path))?;
    }
    let refused = |kernel: &str, columns: &[String], cells: &[&str]| {
        refusal(operator_name(kernel), columns, cells).map(|refusal| refusal.to_string())
    };
    let reading = progress::tables(tables_in(&database).unwrap_or_default().iter().map(PathBuf::as_path));
    let mut checked = check_with(&database, &refused)?;
    drop(reading);
    add_findings(&database, &mut checked);
    if arguments.against_samples {
        checked.findings.extend(disagreements(&database)?);
        checked.sort();
    }
    let record = read_record(&database, &mut checked)?;
    if checked.tables == 0 {
        warn_without_tables(&database);
    }
    let is_ignored = |finding: &Finding| arguments.ignore.iter().any(|kind| kind == finding.kind.name());
    let listed: Vec<&Finding> = checked.findings.iter().filter(|finding| !is_ignored(finding)).collect();
    let shown = if arguments.all { Shown::All } else { Shown::OfKind { limit: arguments.limit, hint: "--all" } };
    print_styled(&text(&checked, &listed, record.as_ref(), shown, arguments.database.layout()))?;
    let summary = Summary::new(&database, &checked, record.as_ref(), is_ignored);
    let mut written = Vec::new();
    if let Some(json) = json {
        written.push(json.stage(&summary)?);
    }
    if let Some(csv) = csv {
        let document = serde_json::to_value(&summary).map_err(std::io::Error::other)?;
        written.push(csv.stage_text(&list_csv(&OF_DATABASE_CHECK, &document["findings"]))?);
    }
    commit(written)?;
    // A folder without tables is no database that is in order.
    Ok(if listed.is_empty() && checked.tables > 0 { Status::Success } else { Status::LimitPassed })
}

/// Where the durations come from, if the database tells. A file that cannot be used is a finding.
fn read_record(database: &Path, checked: &mut Checked) -> Result<Option<Record>, Failure> {
    let (line, error) = match Record::load(database) {
        Ok(record) => return Ok(record),
        Err(RecordError::Files(error)) => return Err(error.into()),
        Err(error @ RecordError::Malformed { line, .. }) => (Some(line as u64), error),
        Err(error) => (None, error),
    };
    let file = within(database, FILE_NAME);
    let place = line.map_or_else(|| format!("{}: ", path(&file)), |line| format!("{}:{line}: ", path(&file)));
    let message = error.to_string();
    let message = message.strip_prefix(&place).unwrap_or(&message).to_owned();
    checked.findings.push(Finding { kind: Kind::Unreadable, file, line, message });
    checked.sort();
    Ok(None)
}
