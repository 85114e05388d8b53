//! A database from Parquet.

use crate::database::LockArguments;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print, print_note, run, warn};
use clap::Parser;
use perfdb_files::lock::LockOptions;
use perfdb_store::parquet::aiconfigurator::Choices;
use perfdb_store::parquet::plain_csv::Layout;
use perfdb_store::parquet::{aiconfigurator, import, plain_csv};
use perfdb_store::registry::is_known;
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

/// Make a database of Parquet files of any engine, or of another project's tables
///
/// Where no cell was changed since the export, tables get the bytes that were exported: line ends, quotes and byte order
/// marks included. A changed duration_us goes into the column that it came from. Files of pandas, polars, DuckDB or Spark
/// become a table for each kernel_type by the names of their columns: input_shapes, input_data_types, duration_us. No file
/// that is there is replaced.
///
/// --map makes a table of a plain CSV: it names the kernel, its inputs and outputs with columns as dimensions, and the column
/// of durations, whose unit its name may have (latency_ms); else it is us. A data type can be a column, too. Dimensions tell a product
/// of matrices; KERNEL:CLASS says what another kernel does: flash:attention_decode.
///
/// --from aiconfigurator reads the public tables of that project and makes a database of each SYSTEM/FRAMEWORK/VERSION below DIR.
/// Tables that a version takes from another one (reuse.yaml) come along. op_mapping.yaml says what each table is.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  perfdb import-database tables db
  perfdb import-database gemm.csv db \\
      --map 'gemm m,k:bf16 n,k:bf16 -> m,n:bf16 = us'
  perfdb import-database --from aiconfigurator systems/data/h100_sxm gpus
  perfdb query-database gpus/h100_sxm/vllm/0.14.0 --kernel gemm_bfloat16 \\
      64x4096 4096x4096

The columns are described in docs/formats/tables.md.

Exit status: 0 done, 1 failed, 2 wrong usage."
)]
struct Arguments {
    /// What the folder holds
    #[arg(long, value_enum, value_name = "FORM", default_value = "parquet")]
    from: SourceForm,

    /// Columns of a plain CSV: KERNEL[:CLASS] TENSOR... [-> TENSOR...] = COLUMN [us|ms|s|ns]
    #[arg(long, value_name = "LAYOUT", conflicts_with = "from")]
    map: Option<Layout>,

    /// Let collectives of single calls answer, not those of captured graphs
    #[arg(long, conflicts_with = "map")]
    eager: bool,

    /// The folder with the files, or with --map a CSV
    #[arg(value_name = "DIR")]
    source: PathBuf,

    /// Where the tables are put; the folder is created
    #[arg(value_name = "DATABASE", required_unless_present = "database_path")]
    database: Option<PathBuf>,

    /// The same as DATABASE
    #[arg(long, value_name = "DIR", conflicts_with = "database")]
    database_path: Option<PathBuf>,

    #[command(flatten)]
    lock: LockArguments,
}

/// `--from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SourceForm {
    /// Parquet files, of export-database or any engine
    Parquet,
    /// Tables of AIConfigurator
    Aiconfigurator,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let Arguments { from, map, eager, source, database, database_path, lock } = arguments;
    let target = database.or(database_path).ok_or_else(|| Failure::usage("DATABASE is needed".to_owned()))?;
    let lock = lock.options(TOOL.name);
    if let Some(layout) = map {
        return take_csv(&source, &layout, &target, &lock);
    }
    if source.extension().is_some_and(|extension| extension == "csv") && source.is_file() {
        let reason = "a CSV needs --map, such as --map \"gemm m,k:bf16 n,k:bf16 -> m,n:bf16 = us\"";
        return Err(Failure::usage(format!("{}: {reason}", source.display())));
    }
    if from == SourceForm::Aiconfigurator {
        return convert(&source, &target, Choices { is_eager: eager }, &lock);
    }
    if eager {
        return Err(Failure::usage("--eager needs --from aiconfigurator".to_owned()));
    }
    if is_of_aiconfigurator(&source) {
        let reason = "these are tables of AIConfigurator: --from aiconfigurator takes them";
        return Err(Failure::usage(format!("{}: {reason}", source.display())));
    }
    let done = import(&source, &target, &lock)?;
    let (tables, rows, copied) = (done.tables, done.rows, done.copied);
    print(&format!("{tables} tables with {rows} rows → {} ({copied} other files copied)\n", target.display()))?;
    Ok(Status::Success)
}

/// Whether tables named as AIConfigurator's are below a folder: `SYSTEM/FAMILY/FRAMEWORK/VERSION/OPERATOR_perf.parquet`.
fn is_of_aiconfigurator(folder: &Path) -> bool {
    let mut level = vec![folder.to_owned()];
    for _ in 0..6 {
        let entries = level.iter().flat_map(std::fs::read_dir).flatten().flatten();
        let paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if paths.iter().map(name).any(|name| name.ends_with("_perf.parquet") || name.ends_with("_perf.txt")) {
            return true;
        }
        level = paths.into_iter().filter(|path| path.is_dir()).take(100).collect();
    }
    false
}

fn take_csv(source: &Path, layout: &Layout, target: &Path, lock: &LockOptions<'_>) -> Result<Status, Failure> {
    let done = plain_csv::import(source, layout, target, lock)?;
    warn_of_missing(done.without_duration);
    print(&format!("{} rows → {}\n", done.rows, done.table.display()))?;
    let kernel = layout.kernel_type();
    if let Some(class) = done.class {
        let asked = done.operator.map_or(String::new(), |operator| format!("; {operator} is looked up in it"));
        print_note(&format!("{kernel}: class {}{asked}", class.name()));
    } else if !is_known(kernel) {
        print_note(&format!(
            "nothing says what {kernel} does, so its sizes alone count; --map '{kernel}:CLASS ...' says it"
        ));
    }
    print_note(&format!("query it with: query-database {} --kernel {kernel} SHAPES:TYPES", target.display()));
    Ok(Status::Success)
}

fn warn_of_missing(without_duration: usize) {
    if without_duration > 0 {
        warn(&format!("{without_duration} rows without a duration were left out"));
    }
}

fn convert(source: &Path, target: &Path, choices: Choices, lock: &LockOptions<'_>) -> Result<Status, Failure> {
    let done = aiconfigurator::import(source, target, choices, lock)?;
    warn_of_missing(done.without_duration);
    if !done.passed_over.is_empty() {
        let names: Vec<String> = done.passed_over.iter().map(|(name, rows)| format!("{name} ({rows} rows)")).collect();
        warn(&format!("tables without durations or sizes were left out: {}", names.join(", ")));
    }
    for missing in &done.missing {
        warn(&format!("{missing}: the other version does not have it; the table was left out"));
    }
    if done.repeats > 0 {
        let repeats = done.repeats;
        print_note(&format!(
            "{repeats} rows repeat the case of an earlier row: such rows are one, with the mean and a deviation"
        ));
    }
    if done.reused > 0 {
        print_note(&format!("{} tables come from another version, as reuse.yaml says", done.reused));
    }
    let (databases, tables, rows) = (done.databases, done.tables, done.rows);
    print(&format!("{tables} tables with {rows} rows → {databases} databases below {}\n", target.display()))?;
    Ok(Status::Success)
}
