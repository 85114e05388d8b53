//! A database from Parquet.

use crate::database::LockArguments;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print, print_note, run, warn};
use clap::Parser;
use perfdb_files::lock::LockOptions;
use perfdb_parquet::{aiconfigurator, import};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "import-database",
    job: Job::MakeDatabase,
    summary: "a database from Parquet files",
    main,
    command: command_of::<Arguments>,
};

/// Make a database of the Parquet files that export-database wrote, or of another project's tables
///
/// Where no cell was changed since, tables get the bytes that were exported: line ends, quotes and byte order marks included. No
/// file that is there is replaced.
///
/// --from aiconfigurator reads the public tables of that project (GEMM, attention, MLA, MoE, collectives) and makes a database of
/// each SYSTEM/FRAMEWORK/VERSION below DIR.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  perfdb import-database tables --database-path db
  perfdb import-database --from aiconfigurator systems/data/h100_sxm \\
      --database-path gpus
  perfdb query-database --database-path gpus/h100_sxm/vllm/0.14.0 \\
      --kernel gemm_bfloat16 --input-shapes \"64,4096;4096,4096\"

The columns are described in docs/formats/tables.md.

Exit status: 0 done, 1 failed, 2 wrong usage."
)]
struct Arguments {
    /// What the folder holds
    #[arg(long, value_enum, value_name = "FORM", default_value = "parquet")]
    from: SourceForm,

    /// The folder with the files
    #[arg(value_name = "DIR")]
    source: PathBuf,

    /// Where the tables are put; the folder is created
    #[arg(long, value_name = "DIR")]
    database_path: PathBuf,

    #[command(flatten)]
    lock: LockArguments,
}

/// `--from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SourceForm {
    /// What export-database wrote
    Parquet,
    /// Tables of AIConfigurator
    Aiconfigurator,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(Arguments { from, source, database_path, lock }: Arguments) -> Result<Status, Failure> {
    let lock = lock.options(TOOL.name);
    if from == SourceForm::Aiconfigurator {
        return convert(&source, &database_path, &lock);
    }
    let done = import(&source, &database_path, &lock)?;
    let (tables, rows, copied) = (done.tables, done.rows, done.copied);
    print(&format!("{tables} tables with {rows} rows → {} ({copied} other files copied)\n", database_path.display()))?;
    Ok(Status::Success)
}

fn convert(source: &Path, target: &Path, lock: &LockOptions<'_>) -> Result<Status, Failure> {
    let done = aiconfigurator::import(source, target, lock)?;
    if done.without_duration > 0 {
        warn(&format!("{} rows without a duration were left out", done.without_duration));
    }
    if !done.passed_over.is_empty() {
        let names: Vec<&str> = done.passed_over.iter().map(String::as_str).collect();
        print_note(&format!("tables of other operators were passed over: {}", names.join(", ")));
    }
    let (databases, tables, rows) = (done.databases, done.tables, done.rows);
    print(&format!("{tables} tables with {rows} rows → {databases} databases below {}\n", target.display()))?;
    Ok(Status::Success)
}
