//! Several databases brought into one.

use crate::database::{LockArguments, files_of};
use crate::database_folder::{refuse_target, refuse_without_tables};
use crate::json_file::JsonFile;
use crate::registry::{Job, Tool};
use crate::run_record::run_of;
use crate::terminal::TerminalArguments;
use crate::{Failure, Status, command_of, print_escaped, print_note, progress, run};
use clap::Parser;
use clap::builder::PossibleValuesParser;
use perfdb_audit::versions::Error;
use perfdb_audit::versions::merge::{Decisions, Options, Prefer, TableMerge, Taken, prepare};
use perfdb_files::input::{self, Kind, LARGEST_DOCUMENT_BYTES};
use perfdb_files::paths::normalised;
use perfdb_files::replace::refuse_inputs;
use perfdb_report::versions::{conflict_csv, merge_document, merge_text};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "merge-databases",
    job: Job::MakeDatabase,
    summary: "bring the rows of several databases into one",
    main,
    command: command_of::<Arguments>,
};

/// Bring the rows of databases into another one, and lose none.
///
/// Rows that INTO lacks are added, durations fill rows that have none, columns are united. Where both have a duration and it
/// differs, --prefer decides; the row that loses goes to <Type>.conflicts.csv beside the table. Collectives that op_mapping.yaml
/// refers to are merged as well. All tables are replaced together. Databases of other devices or versions are refused.
/// database.toml says what was merged. An empty or new folder as INTO gets a copy.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// The database that rows go into
    #[arg(value_name = "INTO")]
    into: OsString,

    /// The databases that they come from, in this order
    #[arg(value_name = "FROM", required = true)]
    from: Vec<OsString>,

    /// Which of two durations stays: the newest (by database.toml or the collection_date of op_mapping.yaml), the fastest, the one of
    /// INTO, or ask-list: that of INTO until --decisions say otherwise
    #[arg(long, value_name = "WHICH", default_value = "into", value_parser = PossibleValuesParser::new(Prefer::ALL.map(Prefer::name)))]
    prefer: String,

    /// Write all conflicts as CSV to FILE
    #[arg(long, value_name = "FILE")]
    conflicts: Option<OsString>,

    /// The CSV of --conflicts with its column keep filled in: into or from
    #[arg(long, value_name = "FILE")]
    decisions: Option<OsString>,

    /// Print what would change; write nothing into INTO
    #[arg(long)]
    dry_run: bool,

    /// Write all figures as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    #[command(flatten)]
    terminal: TerminalArguments,

    #[command(flatten)]
    lock: LockArguments,
}

const EXAMPLES: &str = "\
Examples:
  merge-databases db from-ana from-wei --dry-run
  merge-databases db from-ana from-wei --prefer fastest
  merge-databases db from-ana --prefer ask-list --conflicts list.csv
  merge-databases db from-ana --prefer ask-list --decisions list.csv
  merge-databases copy db                    # a new folder: a whole copy

How conflicts are decided is explained in docs/guide/versions.md.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 done, and conflicts are left that nobody has decided.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let into = normalised(arguments.into.as_ref());
    let from: Vec<PathBuf> = arguments.from.iter().map(|path| normalised(path.as_ref())).collect();
    let mut inputs: Vec<PathBuf> = arguments.decisions.iter().map(PathBuf::from).collect();
    from.iter().try_for_each(|directory| refuse_without_tables(directory))?;
    refuse_target(&into)?;
    for directory in std::iter::once(&into).filter(|into| into.exists()).chain(&from) {
        inputs.extend(files_of(directory)?);
    }
    let outputs = [&arguments.json, &arguments.conflicts].into_iter().flatten().map(Path::new);
    refuse_inputs(outputs, inputs.iter().map(PathBuf::as_path))?;
    let made = !into.exists() && !arguments.dry_run;
    if made {
        std::fs::create_dir(&into).map_err(|error| perfdb_files::Error::io(&into, error))?;
    }
    let reading = progress::tables(inputs.iter().map(PathBuf::as_path));
    let done = merge(&arguments, &into, &from);
    drop(reading);
    if made && done.is_err() {
        // Only an empty folder goes.
        std::fs::remove_dir(&into).ok();
    }
    done
}

fn merge(arguments: &Arguments, into: &Path, from: &[PathBuf]) -> Result<Status, Failure> {
    // What cannot be written is reported before the work.
    let json = JsonFile::open_beside_tables(arguments.json.as_deref(), into)?;
    let list = JsonFile::open_beside_tables(arguments.conflicts.as_deref(), into)?;
    let options = Options {
        into,
        from,
        names: &[],
        prefer: arguments.prefer.parse()?,
        decisions: &decisions(arguments.decisions.as_ref())?,
        dry_run: arguments.dry_run,
        run: run_of(TOOL.name)?,
        lock: arguments.lock.options(TOOL.name),
    };
    let mut pending = prepare(&options).map_err(|error| match error {
        Error::SameDatabase { .. } => Failure::usage(error.to_string()),
        error => error.into(),
    })?;
    if let Some(json) = json {
        let document = merge_document(into, from, pending.tables(), pending.notes(), arguments.dry_run)?;
        pending.add(json.stage_text(&document)?);
    }
    if let Some(list) = list {
        pending.add(list.stage_text(&conflict_csv(pending.tables()))?);
    }
    pending.notes().iter().for_each(|note| print_note(note));
    let tables = pending.commit()?;
    print_escaped(&merge_text(&tables, arguments.dry_run, "--conflicts FILE has all", arguments.terminal.layout()))?;
    let is_open = |table: &TableMerge| table.conflicts.iter().any(|conflict| conflict.taken == Taken::Undecided);
    Ok(if tables.iter().any(is_open) { Status::LimitPassed } else { Status::Success })
}

fn decisions(path: Option<&OsString>) -> Result<Decisions, Failure> {
    let Some(path) = path else { return Ok(Decisions::default()) };
    let read = input::read(path.as_ref(), Kind::Stream, LARGEST_DOCUMENT_BYTES);
    let bytes = read.map_err(|error| perfdb_files::Error::io(path, error))?;
    Ok(Decisions::parse(path.as_ref(), &bytes)?)
}
