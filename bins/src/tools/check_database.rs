//! Lint of a database directory.

use crate::database::DatabaseArguments;
use crate::json_file::JsonFile;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print, run, warn};
use clap::Parser;
use clap::builder::PossibleValuesParser;
use perfdb_files::escape::excerpt;
use perfdb_files::replace::refuse_inputs;
use perfdb_store::directory::tables_in;
use perfdb_store::lint::{Checked, Finding, Kind, check};
use serde::Serialize;
use std::collections::BTreeMap;
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
/// Reads every table of the directory (and the communication tables that its op_mapping.yaml refers to), takes no lock
/// and changes nothing. Exit status 3 when something is found.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// Kinds of findings that are accepted: not printed, and no reason for exit status 3
    #[arg(long, num_args = 1.., value_name = "KIND", value_parser = PossibleValuesParser::new(Kind::ALL.map(Kind::name)), action = clap::ArgAction::Set)]
    ignore: Vec<String>,

    /// Write all findings as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    #[command(flatten)]
    database: DatabaseArguments,
}

const EXAMPLES: &str = "\
Examples:
  check-database --database-path db/
  check-database --database-path db/ --json findings.json \\
      --ignore no-duration table-without-mapping";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let database = arguments.database.directory(None)?;
    let json = JsonFile::open_for(arguments.json.as_deref(), &database)?;
    if let (Some(json), true) = (&json, database.is_dir()) {
        let mut inputs = tables_in(&database)?;
        inputs.push(database.join("op_mapping.yaml"));
        refuse_inputs([json.path()], inputs.iter().map(PathBuf::as_path))?;
    }
    let mut checked = check(&database)?;
    add_passed_over(&database, &mut checked);
    let is_ignored = |finding: &Finding| arguments.ignore.iter().any(|kind| kind == finding.kind.name());
    let shown: Vec<&Finding> = checked.findings.iter().filter(|finding| !is_ignored(finding)).collect();
    let mut text: String = shown.iter().map(|finding| format!("{finding}\n")).collect();
    text.push_str(&format!("{} findings in {} tables, {} rows\n", shown.len(), checked.tables, checked.rows));
    if checked.tables == 0 {
        warn(&format!("{}: no table (*.csv) is here; is this a database directory?", database.display()));
    }
    print(&text)?;
    if let Some(json) = json {
        json.write(&Summary::new(&database, &checked, is_ignored))?;
    }
    Ok(if shown.is_empty() { Status::Success } else { Status::LimitPassed })
}

/// Adds the rows that questions pass over, where nothing was found about that cell yet.
fn add_passed_over(database: &Path, checked: &mut Checked) {
    // A mapping that cannot be read is among the findings.
    let Ok(rows) = perfdb_query::passed_over(database) else { return };
    for row in rows {
        let is_known = |finding: &Finding| {
            finding.line == Some(row.line) && *finding.file == *row.path && finding.message.starts_with(row.column)
        };
        if !checked.findings.iter().any(is_known) {
            let cell = if row.cell.is_empty() { String::new() } else { format!(" {}", excerpt(&row.cell)) };
            let message = format!("{}:{cell} {}; queries pass over this row", row.column, row.reason);
            checked.findings.push(Finding {
                kind: Kind::PassedOver,
                file: row.path.to_path_buf(),
                line: Some(row.line),
                message,
            });
        }
    }
    checked.sort();
}

#[derive(Serialize)]
struct Summary {
    database: String,
    tables: usize,
    rows: usize,
    counts: BTreeMap<&'static str, usize>,
    findings: Vec<FindingSummary>,
}

#[derive(Serialize)]
struct FindingSummary {
    kind: &'static str,
    file: String,
    line: Option<u64>,
    message: String,
    ignored: bool,
}

impl Summary {
    fn new(database: &Path, checked: &Checked, is_ignored: impl Fn(&Finding) -> bool) -> Summary {
        let mut counts = BTreeMap::new();
        for finding in &checked.findings {
            *counts.entry(finding.kind.name()).or_insert(0) += 1;
        }
        let summary = |finding: &Finding| FindingSummary {
            kind: finding.kind.name(),
            file: finding.file.to_string_lossy().into_owned(),
            line: finding.line,
            message: finding.message.clone(),
            ignored: is_ignored(finding),
        };
        Summary {
            database: database.to_string_lossy().into_owned(),
            tables: checked.tables,
            rows: checked.rows,
            counts,
            findings: checked.findings.iter().map(summary).collect(),
        }
    }
}
