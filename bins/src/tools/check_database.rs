//! Lint of a database directory.

use crate::database::DatabaseArguments;
use crate::json_file::{JsonFile, Versioned};
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print_escaped, run, warn};
use clap::Parser;
use clap::builder::PossibleValuesParser;
use perfdb_files::escape::{excerpt, one_line, shown};
use perfdb_files::paths::within;
use perfdb_files::replace::refuse_inputs;
use perfdb_provenance::{Error as RecordError, FILE_NAME, Record, Run};
use perfdb_replay::plan::refusal;
use perfdb_store::directory::tables_in;
use perfdb_store::kernel::operator_name;
use perfdb_store::lint::{Checked, Finding, Kind, check_with, disagreements};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
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

    /// Write all findings as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    #[command(flatten)]
    database: DatabaseArguments,
}

const EXAMPLES: &str = "\
Examples:
  check-database --database-path db/
  check-database --database-path db/ --against-samples --all
  check-database --database-path db/ --json findings.json \\
      --ignore no-duration table-without-mapping

Exit status: 0 nothing found, 1 failed, 2 wrong usage, 3 something found (also that there is no table).";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let database = arguments.database.directory(None)?;
    let json = JsonFile::open_for(arguments.json.as_deref(), &database)?;
    if let (Some(json), true) = (&json, database.is_dir()) {
        let mut inputs = tables_in(&database)?;
        inputs.extend(["op_mapping.yaml", FILE_NAME].map(|name| database.join(name)));
        refuse_inputs([json.path()], inputs.iter().map(PathBuf::as_path))?;
    }
    let refused = |kernel: &str, columns: &[String], cells: &[&str]| {
        refusal(operator_name(kernel), columns, cells).map(|refusal| refusal.to_string())
    };
    let mut checked = check_with(&database, &refused)?;
    add_passed_over(&database, &mut checked);
    add_outliers(&database, &mut checked);
    if arguments.against_samples {
        checked.findings.extend(disagreements(&database)?);
        checked.sort();
    }
    let record = read_record(&database, &mut checked)?;
    let is_ignored = |finding: &Finding| arguments.ignore.iter().any(|kind| kind == finding.kind.name());
    let listed: Vec<&Finding> = checked.findings.iter().filter(|finding| !is_ignored(finding)).collect();
    let mut text: String = match arguments.all {
        true => listed.iter().map(|finding| format!("{finding}\n")).collect(),
        false => by_kind(&listed),
    };
    text.push_str(&record.as_ref().map(record_text).unwrap_or_default());
    text.push_str(&format!("{} findings in {} tables, {} rows\n", listed.len(), checked.tables, checked.rows));
    if checked.tables == 0 {
        warn(&format!("{}: no table (*.csv) is here; is this a database directory?", database.display()));
    }
    print_escaped(&text)?;
    if let Some(json) = json {
        json.write(&Versioned::first(Summary::new(&database, &checked, record.as_ref(), is_ignored)))?;
    }
    // A folder without tables is no database that is in order.
    Ok(if listed.is_empty() && checked.tables > 0 { Status::Success } else { Status::LimitPassed })
}

/// A paragraph for each kind of findings, the worst first: how many, and the first one.
fn by_kind(findings: &[&Finding]) -> String {
    let mut kinds: Vec<(Kind, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        match kinds.iter_mut().find(|(kind, _)| *kind == finding.kind) {
            Some((_, of_kind)) => of_kind.push(finding),
            None => kinds.push((finding.kind, vec![finding])),
        }
    }
    kinds.sort_by_key(|(kind, of_kind)| (kind.severity(), std::cmp::Reverse(of_kind.len()), *kind));
    let mut text = String::new();
    for (kind, of_kind) in kinds {
        let mut files: Vec<&Path> = of_kind.iter().map(|finding| finding.file.as_path()).collect();
        files.dedup();
        let place = match files.as_slice() {
            [file] => shown(file),
            files => format!("{} files", files.len()),
        };
        text.push_str(&format!("{}: {} {} in {place}\n", kind.severity().name(), of_kind.len(), kind.name()));
        if let Some(first) = of_kind.first() {
            text.push_str(&format!("  {first}\n"));
        }
        if of_kind.len() > 1 {
            text.push_str(&format!("  and {} more (--all)\n", of_kind.len() - 1));
        }
    }
    text
}

/// Adds the rows that questions pass over, where nothing was found about that cell yet.
fn add_passed_over(database: &Path, checked: &mut Checked) {
    // A mapping that cannot be read is among the findings.
    let Ok(rows) = perfdb_query::passed_over(database) else { return };
    let mut known: HashMap<(&Path, Option<u64>), Vec<&str>> = HashMap::new();
    for finding in &checked.findings {
        known.entry((&finding.file, finding.line)).or_default().push(&finding.message);
    }
    let is_known = |path: &Path, line: u64, column: &str| {
        known
            .get(&(path, Some(line)))
            .is_some_and(|messages| messages.iter().any(|message| message.starts_with(column)))
    };
    let mut found = Vec::new();
    for row in rows.into_iter().filter(|row| !is_known(&row.path, row.line, row.column)) {
        let cell = if row.cell.is_empty() { String::new() } else { format!(": {}", excerpt(&row.cell)) };
        let message = format!("{}{cell} {}; queries pass over this row", row.column, row.reason);
        found.push(Finding { kind: Kind::PassedOver, file: row.path.to_path_buf(), line: Some(row.line), message });
    }
    checked.findings.extend(found);
    checked.sort();
}

/// Adds the rows that the rows around them contradict.
fn add_outliers(database: &Path, checked: &mut Checked) {
    let Ok(rows) = perfdb_query::outliers(database) else { return };
    checked.findings.extend(rows.into_iter().map(|row| Finding {
        kind: Kind::OutlierDuration,
        file: row.path.to_path_buf(),
        line: Some(row.line.into()),
        message: format!(
            "{:.1} us, {:.0} standard deviations from the {:.1} us that the rows around it say; measure it again",
            row.measured_us, row.sigmas, row.predicted_us
        ),
    }));
    checked.sort();
}

/// Runs that are shown, the last ones.
const RUNS_SHOWN: usize = 5;

/// Where the durations come from, if the database tells. A file that cannot be used is a finding.
fn read_record(database: &Path, checked: &mut Checked) -> Result<Option<Record>, Failure> {
    let (line, error) = match Record::load(database) {
        Ok(record) => return Ok(record),
        Err(RecordError::Files(error)) => return Err(error.into()),
        Err(error @ RecordError::Malformed { line, .. }) => (Some(line as u64), error),
        Err(error) => (None, error),
    };
    let file = within(database, FILE_NAME);
    let place = line.map_or_else(|| format!("{}: ", shown(&file)), |line| format!("{}:{line}: ", shown(&file)));
    let message = error.to_string();
    let message = message.strip_prefix(&place).unwrap_or(&message).to_owned();
    checked.findings.push(Finding { kind: Kind::Unreadable, file, line, message });
    checked.sort();
    Ok(None)
}

fn record_text(record: &Record) -> String {
    let versions = &record.versions;
    let named =
        [("", &record.device), ("vLLM ", &versions.vllm), ("PyTorch ", &versions.torch), ("CANN ", &versions.cann)];
    let known: Vec<String> =
        named.iter().filter_map(|(name, value)| Some(format!("{name}{}", one_line(value.as_deref()?)))).collect();
    let what = if known.is_empty() { "device and versions are not told".to_owned() } else { known.join(", ") };
    let mut text = format!("{FILE_NAME}: {what}\n");
    let runs = record.runs();
    if runs.len() > RUNS_SHOWN {
        text.push_str(&format!("  {} earlier runs\n", runs.len() - RUNS_SHOWN));
    }
    runs[runs.len().saturating_sub(RUNS_SHOWN)..].iter().for_each(|run| text.push_str(&run_text(run)));
    text
}

fn run_text(run: &Run) -> String {
    let by = run.by.as_ref().map(|name| format!(" by {}", excerpt(name))).unwrap_or_default();
    let from = if run.from.is_empty() { String::new() } else { format!(" from {}", excerpt(&run.from.join(", "))) };
    let settings: Vec<String> = run.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let settings = if settings.is_empty() { String::new() } else { format!(" ({})", excerpt(&settings.join(", "))) };
    format!(
        "  {} {}{by}{from}: {}{settings}\n",
        one_line(&run.date),
        one_line(&run.tool),
        excerpt(&run.types.join(", "))
    )
}

#[derive(Serialize)]
struct Summary<'s> {
    database: String,
    tables: usize,
    rows: usize,
    counts: BTreeMap<&'static str, usize>,
    findings: Vec<FindingSummary>,
    provenance: Option<&'s Record>,
}

#[derive(Serialize)]
struct FindingSummary {
    kind: &'static str,
    severity: &'static str,
    file: String,
    line: Option<u64>,
    message: String,
    ignored: bool,
}

impl<'s> Summary<'s> {
    fn new(
        database: &Path,
        checked: &Checked,
        provenance: Option<&'s Record>,
        is_ignored: impl Fn(&Finding) -> bool,
    ) -> Summary<'s> {
        let mut counts = BTreeMap::new();
        for finding in &checked.findings {
            *counts.entry(finding.kind.name()).or_insert(0) += 1;
        }
        let summary = |finding: &Finding| FindingSummary {
            kind: finding.kind.name(),
            severity: finding.kind.severity().name(),
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
            provenance,
        }
    }
}
