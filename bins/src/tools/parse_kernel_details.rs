//! Profiler output to database tables.

mod merged;

use crate::database::{DATABASE_OPTIONS, DatabaseArguments, LockArguments};
use crate::json_file::{JsonFile, Versioned};
use crate::registry::{Job, Tool};
use crate::shards::{GivenArguments, Part, ShardArguments, finish, is_recorded};
use crate::{Failure, Status, command_of, error_line, print, print_note, progress, run, warn};
use clap::Parser;
use perfdb_files::escape::{excerpt, shown};
use perfdb_files::paths::normalised;
use perfdb_files::replace::refuse_inputs;
use perfdb_files::shards::{Case, InputFile, Shard, ShardWriter};
use perfdb_store::Error;
use perfdb_store::directory::tables_in;
use perfdb_store::kernel_details::{self, NewTable, Options, Overview, Summary, Warning};
use perfdb_store::update::target_tables;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "parse-kernel-details",
    job: Job::MakeDatabase,
    summary: "profiler output into tables",
    main,
    command: command_of::<Arguments>,
};

/// Turn profiler output into database tables: one CSV per kernel type, one row per pair of input and output shapes,
/// with mean, median and standard deviation of the durations and the mean of every hardware counter.
///
/// Existing tables of the same kernel types are replaced, all or none; other files of the directory are left alone.
/// A replaced table with measured or filled values is kept as `<Type>.csv.replaced`. --merge replaces none and adds the rows that are new.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// A kernel_details CSV file, or a directory that is searched for `*kernel_details*.csv`
    #[arg(long, value_name = "PATH")]
    profiling_path: OsString,

    /// Drop rows that would stop the run (a duration that is nan, infinite or negative, a cell that is too long)
    #[arg(long)]
    skip_bad_rows: bool,

    /// Add to existing tables the rows and durations that they lack, as merge-databases does; change no duration
    #[arg(long, conflicts_with_all = ["shard", "from_shards"])]
    merge: bool,

    /// Write nothing, show which tables would be written
    #[arg(long)]
    dry_run: bool,

    /// Write a summary as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    #[command(flatten)]
    lock: LockArguments,

    #[command(flatten)]
    database: DatabaseArguments,

    #[command(flatten)]
    shards: ShardArguments,
}

const EXAMPLES: &str = "\
Examples:
  parse-kernel-details profile/ db/
  parse-kernel-details rank0/kernel_details.csv \\
      --device ATLAS_800_A3_752T_128G_DIE --vllm-version 0.18.0 \\
      --torch-version 2.9.0 --cann-version 8.5
  parse-kernel-details profile/ db/ --dry-run
  parse-kernel-details profile/ db/ --merge
  parse-kernel-details profile/ db/ --shard 3/8    # a part of the kernel types

Exit status: 0 done, 1 failed, 2 wrong usage.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    let originals: Vec<&str> = ["profiling-path"].into_iter().chain(DATABASE_OPTIONS).collect();
    let given = GivenArguments::of(&arguments);
    run(arguments, &originals, |arguments| execute(arguments, &given))
}

fn execute(arguments: Arguments, given: &GivenArguments) -> Result<Status, Failure> {
    let profile = &normalised(arguments.profiling_path.as_ref());
    let database = arguments.database.directory(None)?;
    let part = arguments.shards.part()?;
    let json = match part {
        Part::Shard(..) => None,
        Part::Whole | Part::Done(_) => JsonFile::open_for(arguments.json.as_deref(), &database)?,
    };
    if let Some(json) = &json {
        let tables = target_tables(&database, None)?;
        let inputs = kernel_details::files_of(profile)?;
        refuse_inputs([json.path()], tables.iter().chain(&inputs).map(PathBuf::as_path))?;
    }
    let bar = progress::bytes("reading", file_size(profile));
    let progress = |bytes| bar.set_position(bytes);
    let mut options = Options::new(profile, &database, arguments.lock.options(TOOL.name));
    options.skip_bad_rows = arguments.skip_bad_rows;
    options.dry_run = arguments.dry_run;
    options.progress = &progress;
    if arguments.merge {
        return merged::merge(&options, json);
    }
    let prepared = match part {
        Part::Whole => {
            let prepared = kernel_details::prepare(&options);
            bar.finish_and_clear();
            prepared.map_err(with_options)?
        }
        Part::Shard(shard, folder) => {
            let read = kernel_details::read_tables(&options, &|table| shard.owns(table));
            bar.finish_and_clear();
            let (overview, tables) = read.map_err(with_options)?;
            let job = job(given, profile, &overview)?;
            return write_shard(shard, ShardWriter::create(&folder, shard, job)?, &overview, &tables);
        }
        Part::Done(set) => {
            let overview: Overview = set.attached(OVERVIEW)?;
            refuse_replacing(&database)?;
            let mut results = set.results(&job(given, profile, &overview)?)?;
            let tables = (0..overview.tables.len()).map(|at| results.take(at)).collect::<Result<_, _>>()?;
            kernel_details::prepare_tables(&options, overview, tables)?
        }
    };
    let json = json.map(|json| json.stage(&Versioned::first(prepared.summary()))).transpose()?;
    let replaced = replaced(prepared.summary());
    // A stdout that takes nothing fails before any table changes.
    print(&report(prepared.summary(), arguments.profiling_path.as_ref()))?;
    match replaced {
        Some((line, true)) => warn(&line),
        Some((line, false)) => print_note(&line),
        None => {}
    }
    prepared.commit(json.into_iter().collect())?;
    Ok(Status::Success)
}

/// Without a command that somebody has typed, shards replace no tables.
fn refuse_replacing(database: &Path) -> Result<(), Failure> {
    if is_recorded() && database.is_dir() && !tables_in(database)?.is_empty() {
        let remedy = "give the command of the job itself: perfdb merge-shards DIR -- parse-kernel-details ARGUMENTS";
        let reason = "has tables already, which shards alone do not replace";
        return Err(Failure::lines(vec![format!("{}: {reason}; {remedy}", shown(database))]));
    }
    Ok(())
}

/// What is beside the tables in a shard.
const OVERVIEW: &str = "overview.bin";

/// The making of all tables. A profile is hashed in pieces: every shard reads all of it.
fn job(given: &GivenArguments, profile: &Path, overview: &Overview) -> Result<perfdb_files::shards::Job, Failure> {
    let files = kernel_details::files_of(profile)?;
    let inputs = files.iter().map(|file| InputFile::of_case(file)).collect::<Result<_, _>>()?;
    given.job(TOOL.name, inputs, overview.tables.clone())
}

/// Leaves the tables of a shard in its folder.
fn write_shard(
    shard: Shard,
    mut writer: ShardWriter,
    overview: &Overview,
    tables: &[NewTable],
) -> Result<Status, Failure> {
    writer.attach(OVERVIEW, overview)?;
    let own = overview.tables.iter().enumerate().filter(|(_, table)| shard.owns(table));
    for ((number, _), table) in own.zip(tables) {
        writer.record(Case::done(number), table)?;
    }
    finish(shard, writer, [tables.len(), overview.tables.len()], Vec::new())
}

/// The failure of a profile that cannot be read as it is, with the option that helps.
fn with_options(error: Error) -> Failure {
    match error {
        Error::BadDuration { .. } => {
            Failure::lines(vec![format!("{}; --skip-bad-rows drops such rows", error_line(&error))])
        }
        error => error.into(),
    }
}

/// How many tables a run replaces, and how many of their rows it drops: the line, and whether rows are lost.
fn replaced(summary: &Summary) -> Option<(String, bool)> {
    let old = || summary.files.iter().filter_map(|file| Some((file, file.replaces_rows?)));
    let (tables, rows) = old().fold((0, 0), |(tables, rows), (_, count)| (tables + 1, rows + count));
    if tables == 0 {
        return None;
    }
    let verb = if summary.dry_run { "would replace" } else { "replaced" };
    let plural = if tables == 1 { "" } else { "s" };
    let mut lost: Vec<(usize, &str)> = old()
        .filter_map(|(file, _)| Some((file.drops_rows.filter(|count| *count > 0)?, file.kernel_type.as_str())))
        .collect();
    if lost.is_empty() {
        return Some((format!("{verb} {tables} table{plural}; the profile has all their {rows} rows"), false));
    }
    lost.sort_by(|first, second| second.0.cmp(&first.0).then(first.1.cmp(second.1)));
    let dropped: usize = lost.iter().map(|(count, _)| count).sum();
    let named: Vec<String> = lost.iter().take(3).map(|(count, name)| format!("{} {count}", excerpt(name))).collect();
    let more = if lost.len() > 3 { ", …" } else { "" };
    let drop = if summary.dry_run { "drop" } else { "dropped" };
    let line = format!(
        "{verb} {tables} table{plural} and {drop} {dropped} of their {rows} rows, which the profile lacks ({}{more}); --merge keeps them",
        named.join(", ")
    );
    Some((line, true))
}

/// Warns of what is not a part of the output, and returns what is.
fn warn_of(summary: &Summary) -> String {
    let mut out = String::new();
    for warning in &summary.warnings {
        match warning {
            // The original's own line, on stdout.
            Warning::AttentionRowCounts { .. } => out.push_str(&format!("Warning: {warning}\n")),
            _ => warn(&warning.to_string()),
        }
    }
    out
}

/// `profile` is the path as it was given: the original prints it so, and every other path normalised.
fn report(summary: &Summary, profile: &Path) -> String {
    let mut out = warn_of(summary);
    let verb = if summary.dry_run { "Would generate" } else { "Generated" };
    let (count, directory) = (summary.files.len(), summary.output.display());
    out.push_str(&format!("{verb} {count} csv file(s) under {directory} from {}\n", profile.display()));
    if !summary.dry_run {
        return out;
    }
    for file in &summary.files {
        let replaced = match file.replaces_rows {
            Some(rows) => format!("replaces {rows} row(s)"),
            None if file.path.exists() => "replaces an unreadable file".to_owned(),
            None => "new".to_owned(),
        };
        let path = file.path.display();
        out.push_str(&format!("  {path}: {} row(s) from {} sample(s), {replaced}\n", file.rows, file.samples));
    }
    out
}

/// For the progress bar; what a directory holds is not known before it is read.
fn file_size(profile: &Path) -> Option<u64> {
    std::fs::metadata(profile).ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
}
