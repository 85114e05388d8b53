//! A public database scaled to rows that were measured here.

use crate::database::{LockArguments, files_of};
use crate::database_folder::refuse_without_tables;
use crate::registry::{Job, Tool};
use crate::run_record::run_of;
use crate::{Failure, Status, command_of, print_escaped, print_note, run};
use clap::Parser;
use perfdb_audit::calibrate::calibrate;
use perfdb_files::paths::normalised;
use perfdb_files::replace::refuse_inputs;
use perfdb_report::calibration::{suggestions, text};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "calibrate-database",
    job: Job::MakeDatabase,
    summary: "scale a public database to a few rows measured here",
    main,
    command: command_of::<Arguments>,
};

/// Scale a public database to the few rows that were measured here
///
/// Rows of MINE and PUBLIC are of one case when class, shapes and types are the same; names of tables do not count. The ratios
/// of their durations are pooled by class, table, range of durations and range of sizes, each drawn to the level above it and
/// all to no change by as much as rows scatter. Every other row is scaled and gets a 90 % interval. The column Duration
/// Source says which rows were measured here and which are calibrated. Tables of collectives stay as they are.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  calibrate-database gpus/h100_sxm/vllm/0.24.0 --with mine \\
      -o gpus/h100_sxm/vllm/mine
  calibrate-database public --with mine --suggest 10
  calibrate-database public --with mine -o own --top 20

Exit status: 0 done, 1 failed (also when no row is of a public case), 2 wrong usage."
)]
struct Arguments {
    /// The public database, as import-database makes it
    #[arg(value_name = "PUBLIC")]
    public: PathBuf,

    /// A database that was measured here; repeatable
    #[arg(long = "with", value_name = "MINE", required = true)]
    mine: Vec<PathBuf>,

    /// Folder of the calibrated database, which is created
    #[arg(short, long, value_name = "DIR", required_unless_present = "suggest")]
    output: Option<PathBuf>,

    /// List the N rows to measure next that narrow the intervals of most rows
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10")]
    suggest: Option<usize>,

    /// List at most N tables
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,

    #[command(flatten)]
    lock: LockArguments,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let public = normalised(&arguments.public);
    let mine: Vec<PathBuf> = arguments.mine.iter().map(|path| normalised(path)).collect();
    let mut inputs = Vec::new();
    for folder in std::iter::once(&public).chain(&mine) {
        refuse_without_tables(folder)?;
        inputs.extend(files_of(folder)?);
    }
    if let Some(output) = &arguments.output {
        refuse_inputs(std::iter::once(output.as_path()), inputs.iter().map(PathBuf::as_path))?;
    }
    let mine: Vec<&Path> = mine.iter().map(PathBuf::as_path).collect();
    let found = calibrate(&public, &mine)?;
    let mut record = run_of(TOOL.name)?;
    record.types = found.tables.iter().map(|table| table.name.clone()).collect();
    let names = std::iter::once(&public).map(PathBuf::as_path).chain(mine.iter().copied());
    record.from = names.map(|path| path.display().to_string()).collect();
    record.settings.insert("measured_rows".to_owned(), found.matched.to_string());
    if let Some(output) = &arguments.output {
        found.write(&public, output, record, &arguments.lock.options(TOOL.name))?;
    }
    for (table, rows) in &found.unmatched {
        print_note(&format!("{table}: {rows} measured rows are of no case of the public database"));
    }
    if found.collectives > 0 {
        print_note(&format!("{} tables of collectives stay as they are", found.collectives));
    }
    let mut shown = text(&found, arguments.output.as_deref(), arguments.top);
    if let Some(count) = arguments.suggest {
        shown += &suggestions(&found.suggestions(count));
    }
    print_escaped(&shown)?;
    Ok(Status::Success)
}
