//! A database as Parquet.

use crate::database::lock_options;
use crate::database_folder::refuse_without_tables;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print, print_note, progress, run, warn};
use clap::Parser;
use perfdb_files::escape::shown;
use perfdb_files::lock::{DEFAULT_TIMEOUT, finish_pending};
use perfdb_store::directory::{tables_below, tables_in};
use perfdb_store::parquet::aiconfigurator::{self, Place};
use perfdb_store::parquet::export;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "export-database",
    job: Job::CheckDatabase,
    summary: "a database as Parquet, for DuckDB and the like",
    main,
    command: command_of::<Arguments>,
};

/// Write the tables of a database as Parquet files, which import-database turns into the same bytes again
///
/// Every table below DIR becomes a file of the same path with the columns kernel_type, device, version, line and duration_us in
/// front and all columns of the table behind them, as numbers where all their cells are. Other files (op_mapping.yaml) are copied; reports and profiles of runs stay where
/// they are. Collectives that op_mapping.yaml takes from elsewhere come along as hccl.
///
/// --to aiconfigurator writes SYSTEM/FAMILY/FRAMEWORK/VERSION/OPERATOR_perf.parquet, as that project reads them. Tables that
/// were imported from it keep all columns, with the durations of the database. Other tables of products and attention
/// get theirs from shapes and types; what has no table there is listed. No file that is there is replaced.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  perfdb export-database db tables
  perfdb export-database gpus parquet
  perfdb export-database db --parquet tables
  perfdb export-database mine systems/data --to aiconfigurator \\
      --as h100_sxm/vllm/0.24.0
  duckdb -c \"select kernel_type, count(*) from
             read_parquet('tables/*.parquet', union_by_name=true) group by all\"

The columns are described in docs/formats/tables.md.

Exit status: 0 done, 1 failed, 2 wrong usage."
)]
struct Arguments {
    /// The database: a folder with tables, or one with such folders below it
    #[arg(value_name = "DIR")]
    database: PathBuf,

    /// Where the files are put; the folder is created
    #[arg(value_name = "TABLES", required_unless_present = "parquet")]
    tables: Option<PathBuf>,

    /// The same as TABLES
    #[arg(long, value_name = "DIR", conflicts_with = "tables")]
    parquet: Option<PathBuf>,

    /// What the files are for
    #[arg(long, value_enum, value_name = "FORM", default_value = "parquet")]
    to: TargetForm,

    /// Where the database stands there: SYSTEM/FRAMEWORK/VERSION, where its path does not end with them
    #[arg(long = "as", value_name = "PLACE")]
    place: Option<Place>,
}

/// `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TargetForm {
    /// A file for each table, for any engine
    Parquet,
    /// Tables of AIConfigurator
    Aiconfigurator,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(Arguments { database, tables, parquet, to, place }: Arguments) -> Result<Status, Failure> {
    let target = tables.or(parquet).ok_or_else(|| Failure::usage("TABLES is needed".to_owned()))?;
    // What a killed run has begun is finished first, so that all tables are of one run.
    finish_pending([&database], &lock_options(TOOL.name, DEFAULT_TIMEOUT))?;
    if tables_below(&database)?.is_empty() {
        refuse_without_tables(&database)?;
    }
    if to == TargetForm::Aiconfigurator {
        return convert(&database, &target, place.as_ref());
    }
    if place.is_some() {
        return Err(Failure::usage("--as needs --to aiconfigurator".to_owned()));
    }
    let tables: Vec<PathBuf> = tables_in(&database)?;
    let reading = progress::tables(tables.iter().map(PathBuf::as_path));
    let done = export(&database, &target)?;
    drop(reading);
    if let Some((folder, name)) = &done.collectives {
        print_note(&format!(
            "the collectives of {} came along as {name}; the exported op_mapping.yaml refers to them there",
            shown(folder)
        ));
    }
    if let Some(folder) = &done.missing_collectives {
        warn(&format!("{}: the folder of its collectives is missing: {}", shown(&database), shown(folder)));
    }
    let (tables, rows, copied) = (done.tables, done.rows, done.copied);
    print(&format!("{tables} tables with {rows} rows → {} ({copied} other files copied)\n", target.display()))?;
    Ok(Status::Success)
}

fn convert(database: &Path, target: &Path, place: Option<&Place>) -> Result<Status, Failure> {
    let done = aiconfigurator::export(database, target, place, &lock_options(TOOL.name, DEFAULT_TIMEOUT))?;
    if !done.left_out.is_empty() {
        let names: Vec<String> = done.left_out.iter().map(|(name, rows)| format!("{name} ({rows} rows)")).collect();
        warn(&format!("without a table in AIConfigurator: {}", names.join(", ")));
    }
    let (databases, tables, rows) = (done.databases, done.tables, done.rows);
    print(&format!("{tables} tables with {rows} rows of {databases} databases → {}\n", target.display()))?;
    Ok(Status::Success)
}
